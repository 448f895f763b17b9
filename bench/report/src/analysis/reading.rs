//! Lines of records, gathered and checked.

use std::collections::{BTreeMap, BTreeSet};

use super::{Analysis, Gap, SessionInfo, cells, gaps, profiles};
use crate::catalog::{self, CATEGORIES, CIPHERS, Kind};
use crate::record::{Cell, Line, Profile, Run, Session};
use crate::source::{Error, Source};

/// Workloads that are known.
const WORKLOADS: [&str; 3] = ["receive", "send", "connect"];

/// Lines that are named of each file before the rest is only counted.
const NAMED_PROBLEMS: usize = 20;

/// Something that sessions should have in common.
type Property = fn(&SessionInfo) -> String;

/// What is gathered while records are read.
#[derive(Default)]
pub(super) struct Reading {
    records: Vec<String>,
    sessions: Vec<SessionInfo>,
    runs: Vec<(usize, Run)>,
    profiles: Vec<Profile>,
    gaps: BTreeSet<Gap>,
    problems: Vec<String>,
}

impl Reading {
    pub(super) fn read(&mut self, source: Source) -> Result<(), Error> {
        let Source { name, record } = source;
        let first = self.sessions.len();
        for problem in record.problems.iter().take(NAMED_PROBLEMS) {
            self.problems.push(format!("{name}: line {}: {}", problem.line, problem.message));
        }
        if let Some(more) = record.problems.len().checked_sub(NAMED_PROBLEMS).filter(|more| *more > 0) {
            self.problems.push(format!("{name}: {more} more lines that cannot be used"));
        }
        // Each thing that is wrong with runs and profiles, with the number of lines it is true of.
        let mut refused: BTreeMap<String, usize> = BTreeMap::new();
        for line in record.lines {
            match line {
                Line::Session(session) => self.session(&name, first, session)?,
                Line::Skipped(skipped) => {
                    self.gaps.insert(Gap {
                        scenario: skipped.scenario,
                        what: skipped.what,
                        why: skipped.why,
                    });
                }
                Line::Run(run) => match self.place(first, &run.session, &run.cell) {
                    Ok(session) => {
                        self.sessions[session].runs += 1;
                        self.runs.push((session, run));
                    }
                    Err(why) => *refused.entry(why).or_default() += 1,
                },
                Line::Profile(profile) => match self.place(first, &profile.session, &profile.cell) {
                    Ok(session) => {
                        let unknown = profile
                            .categories
                            .keys()
                            .find(|name| CATEGORIES.iter().all(|category| category.name != **name));
                        if let Some(category) = unknown {
                            let why =
                                format!("unknown category of profiles {category:?}; its time is left out");
                            *refused.entry(why).or_default() += 1;
                        }
                        self.sessions[session].profiles += 1;
                        self.profiles.push(profile);
                    }
                    Err(why) => *refused.entry(why).or_default() += 1,
                },
            }
        }
        for (why, lines) in refused {
            let unit = if lines == 1 { "line" } else { "lines" };
            self.problems.push(format!("{name}: {why} ({lines} {unit})"));
        }
        self.records.push(name);
        Ok(())
    }

    fn session(&mut self, record: &str, first: usize, session: Session) -> Result<(), Error> {
        let twin = |(at, other): &(usize, &SessionInfo)| {
            other.session.session == session.session
                && (*at >= first || other.session.provenance == session.provenance)
        };
        if let Some((_, other)) = self.sessions.iter().enumerate().find(twin) {
            return Err(Error::Twice(format!("{} (in {} and in {record})", session.session, other.record)));
        }
        let provenance = &session.provenance;
        if provenance.profile == "debug" {
            self.problems.push(format!(
                "{record}: session {} was measured with a debug build and is worth nothing",
                session.session
            ));
        }
        if provenance.commit.ends_with('+') || provenance.commit == "unknown" {
            self.problems.push(format!(
                "{record}: session {}: the sources are not those of a commit ({})",
                session.session, provenance.commit
            ));
        }
        self.sessions.push(SessionInfo { record: record.to_owned(), session, runs: 0, profiles: 0 });
        Ok(())
    }

    /// The place of a line's session, or why the line cannot be used.
    fn place(&self, first: usize, session: &str, cell: &Cell) -> Result<usize, String> {
        let at = self.sessions[first..]
            .iter()
            .position(|info| info.session.session == session)
            .ok_or_else(|| format!("no session {session:?} before its runs; they are left out"))?;
        if catalog::find(&cell.build).is_none() {
            let known: Vec<&str> = catalog::BUILDS.iter().map(|build| build.name).collect();
            return Err(format!(
                "unknown build {:?}; its runs are left out; known are {}",
                cell.build,
                known.join(", ")
            ));
        }
        if catalog::cipher(&cell.cipher).is_none() {
            let known: Vec<&str> = CIPHERS.iter().map(|(name, _)| *name).collect();
            return Err(format!(
                "unknown cipher {:?}; its runs are left out; known are {}",
                cell.cipher,
                known.join(", ")
            ));
        }
        if !WORKLOADS.contains(&cell.workload.as_str()) {
            return Err(format!(
                "unknown workload {:?}; its runs are left out; known are {}",
                cell.workload,
                WORKLOADS.join(", ")
            ));
        }
        Ok(first + at)
    }

    pub(super) fn finish(mut self, mixed: bool) -> Result<Analysis, Error> {
        if self.runs.is_empty() && self.profiles.is_empty() {
            return Err(Error::Nothing(self.problems));
        }
        if let Some(what) = self.differences() {
            if !mixed {
                return Err(Error::Mixed(what));
            }
            self.problems.push(format!("the sessions are not of the same code on the same machine: {what}"));
        }
        let mut analysis = Analysis {
            records: self.records,
            sessions: self.sessions,
            cells: cells::summarize(&self.runs),
            profiles: profiles::summarize(&self.profiles),
            gaps: Vec::new(),
            problems: self.problems,
        };
        for (kind, name) in analysis.scenarios() {
            if kind == Kind::Other {
                analysis.problems.push(format!(
                    "unknown scenario {name:?}: nothing in it tells what it varies; its figures are shown as they are"
                ));
            }
        }
        self.gaps.retain(|gap| !gaps::is_filled(&analysis, gap));
        let found = gaps::missing(&analysis, &self.gaps);
        self.gaps.extend(found);
        analysis.gaps = self.gaps.into_iter().collect();
        Ok(analysis)
    }

    /// What differs between the sessions that brought something.
    fn differences(&self) -> Option<String> {
        let used = || self.sessions.iter().filter(|info| info.runs + info.profiles > 0);
        let mut found = Vec::new();
        let of: [(&str, Property); 6] = [
            ("commit", |info| info.session.provenance.commit.clone()),
            ("compiler", |info| info.session.provenance.rustc.clone()),
            ("engine", |info| info.session.provenance.engine.clone()),
            ("processor", |info| info.session.provenance.cpu.clone()),
            ("processors", |info| info.session.provenance.cpus.to_string()),
            ("kernel", |info| info.session.provenance.kernel.clone()),
        ];
        for (name, value) in of {
            let values: BTreeSet<String> = used().map(value).collect();
            if values.len() > 1 {
                found.push(format!("{name} {}", values.into_iter().collect::<Vec<_>>().join(" and ")));
            }
        }
        (!found.is_empty()).then(|| found.join("; "))
    }
}
