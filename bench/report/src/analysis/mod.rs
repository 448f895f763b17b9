//! From lines of records to what is known: cells with their means, ratios, breakdowns, ladders, lines.

pub mod cells;
pub mod ladder;
pub mod profiles;
pub mod ratio;
pub mod regression;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::catalog::{self, CATEGORIES, CIPHERS, Kind, Role};
use crate::record::{Cell, Line, Profile, Run, Session};
use crate::source::{Error, Source};

pub use cells::{CellSummary, GIB};
pub use ladder::{Change, Estimate, Step};
pub use profiles::{Breakdown, ProfileSummary};
pub use ratio::{Ratio, ratio};

/// The metric of the CPU time of the measured process.
pub const CPU: &str = "cpu_s_per_gib";
/// The metric of goodput.
pub const GOODPUT: &str = "goodput_mbps";

/// How a program starts that is not compiled when it is run.
pub const NATIVE_START: &str = "native";

/// Workloads that are known.
const WORKLOADS: [&str; 3] = ["receive", "send", "connect"];

/// Lines that are named of each file before the rest is only counted.
const NAMED_PROBLEMS: usize = 20;

/// What the records say.
#[derive(Debug, Clone)]
pub struct Analysis {
    /// Names of the records.
    pub records: Vec<String>,
    /// The sessions, in order.
    pub sessions: Vec<SessionInfo>,
    /// The cells, in the order in which they are shown.
    pub cells: Vec<CellSummary>,
    /// The profiles of each cell.
    pub profiles: Vec<ProfileSummary>,
    /// What was not measured: what the records say of it, and what is found missing.
    pub gaps: Vec<Gap>,
    /// What is wrong with the records.
    pub problems: Vec<String>,
}

/// A session and what it brought.
#[derive(Debug, Clone, Serialize)]
pub struct SessionInfo {
    /// The record that holds it.
    pub record: String,
    /// What it says of itself.
    #[serde(flatten)]
    pub session: Session,
    /// Runs in it, of any outcome.
    pub runs: usize,
    /// Profiles in it.
    pub profiles: usize,
}

/// Something that was not measured.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Gap {
    /// The scenario.
    pub scenario: String,
    /// What is missing.
    pub what: String,
    /// Why.
    pub why: String,
}

/// The ratio of one build to another in the headline.
#[derive(Debug, Clone, Serialize)]
pub struct BuildRatio {
    /// The metric: [`GOODPUT`] or [`CPU`].
    pub metric: &'static str,
    /// The cipher.
    pub cipher: String,
    /// The numerator's build.
    pub build: String,
    /// The denominator's build.
    pub to: String,
    /// The ratio.
    #[serde(flatten)]
    pub ratio: Ratio,
}

/// The CPU time of transfers over their length.
#[derive(Debug, Clone, Serialize)]
pub struct FixedCost {
    /// The scenario.
    pub scenario: String,
    /// The build.
    pub build: String,
    /// The cipher.
    pub cipher: String,
    /// `aot`, `jit` or [`NATIVE_START`].
    pub start: String,
    /// CPU seconds over GiB.
    #[serde(flatten)]
    pub line: regression::Line,
    /// What was measured: GiB, and the CPU time of a run in seconds.
    pub sizes: Vec<(f64, crate::stats::Summary)>,
}

impl Analysis {
    /// Analyses records. What cannot be used is named in [`Analysis::problems`]; the rest is used.
    ///
    /// # Errors
    /// [`Error::Nothing`] if nothing can be used, [`Error::Mixed`] if the sessions are not of the same code on the
    /// same machine and `mixed` is false, [`Error::Twice`] if a session is there twice.
    pub fn new(sources: Vec<Source>, mixed: bool) -> Result<Self, Error> {
        let mut reading = Reading::default();
        for source in sources {
            reading.read(source)?;
        }
        reading.finish(mixed)
    }

    /// The cell of a bulk transfer of the headline: the longest, if there are several.
    pub fn headline(&self, build: &str, cipher: &str) -> Option<&CellSummary> {
        self.cells
            .iter()
            .filter(|summary| is_headline(&summary.cell, build, cipher) && summary.ok > 0)
            .max_by_key(|summary| summary.cell.bytes)
    }

    /// A metric of the headline.
    pub fn headline_mean(&self, build: &str, cipher: &str, metric: &str) -> Option<f64> {
        self.headline(build, cipher)?.mean(metric)
    }

    /// The builds of the headline that were measured with at least one cipher, in order.
    pub fn headline_builds(&self) -> Vec<&'static catalog::Build> {
        catalog::BUILDS
            .iter()
            .filter(|build| {
                CIPHERS.iter().any(|(cipher, _)| self.headline(build.name, cipher).is_some())
                    || self.cells.iter().any(|s| s.cell.scenario == "headline" && s.cell.build == build.name)
            })
            .collect()
    }

    /// The profiles of the headline.
    pub fn headline_profile(&self, build: &str, cipher: &str) -> Option<&ProfileSummary> {
        self.profiles
            .iter()
            .filter(|profile| is_headline(&profile.cell, build, cipher))
            .max_by_key(|profile| profile.cell.bytes)
    }

    /// The CPU time by category of the headline.
    pub fn breakdown(&self, build: &str, cipher: &str) -> Option<Breakdown> {
        let profile = self.headline_profile(build, cipher)?;
        let gib = profile.cell.bytes as f64 / GIB;
        let total = match self.headline_mean(build, cipher, CPU) {
            Some(total) => total,
            None if gib > 0.0 => profile.cpu_s / gib,
            None => return None,
        };
        let categories =
            profile.categories.iter().map(|(name, share)| (name.clone(), total * share.mean)).collect();
        Some(Breakdown { build: build.to_owned(), cipher: cipher.to_owned(), total, categories })
    }

    /// The scenarios, each with its kind, in the order in which they are shown.
    pub fn scenarios(&self) -> Vec<(Kind, String)> {
        let mut names: BTreeMap<&str, Vec<&Cell>> = BTreeMap::new();
        for summary in &self.cells {
            names.entry(&summary.cell.scenario).or_default().push(&summary.cell);
        }
        let mut scenarios: Vec<(Kind, String)> = names
            .into_iter()
            .map(|(name, cells)| (Kind::of(name, cells.iter().copied()), name.to_owned()))
            .collect();
        scenarios.sort();
        scenarios
    }

    /// The cells of a scenario.
    pub fn scenario(&self, name: &str) -> Vec<&CellSummary> {
        self.cells.iter().filter(|summary| summary.cell.scenario == name).collect()
    }

    /// The cell that a variant is compared with: the whole build in the same scenario with the same options, or in the
    /// headline.
    pub fn whole(&self, summary: &CellSummary) -> Option<&CellSummary> {
        let whole = catalog::find(&summary.cell.build)?.role.whole()?;
        let mut twin = summary.cell.clone();
        twin.build = whole.to_owned();
        let headline = || {
            (summary.cell.workload == "receive" && summary.cell.options.is_empty())
                .then(|| self.headline(whole, &summary.cell.cipher))
                .flatten()
        };
        self.cells.iter().find(|other| other.cell == twin && other.ok > 0).or_else(headline)
    }

    /// Every ratio of two builds of the headline.
    pub fn ratios(&self) -> Vec<BuildRatio> {
        let mut found = Vec::new();
        for metric in [GOODPUT, CPU] {
            for (cipher, _) in CIPHERS {
                for build in self.headline_builds() {
                    for to in self.headline_builds() {
                        if let Some(ratio) = self.build_ratio(metric, cipher, build.name, to.name)
                            && build.name != to.name
                        {
                            found.push(BuildRatio {
                                metric,
                                cipher: (*cipher).to_owned(),
                                build: build.name.to_owned(),
                                to: to.name.to_owned(),
                                ratio,
                            });
                        }
                    }
                }
            }
        }
        found
    }

    /// The ratio of two builds of the headline.
    pub fn build_ratio(&self, metric: &str, cipher: &str, build: &str, to: &str) -> Option<Ratio> {
        ratio(self.headline(build, cipher)?.metric(metric)?, self.headline(to, cipher)?.metric(metric)?)
    }

    /// CPU time over length, of every scenario whose cells say how they started.
    pub fn fixed_costs(&self) -> Vec<FixedCost> {
        let scenarios: BTreeSet<&str> = self
            .cells
            .iter()
            .filter(|summary| summary.cell.options.contains_key("start"))
            .map(|summary| summary.cell.scenario.as_str())
            .collect();
        let mut groups: BTreeMap<_, Vec<&CellSummary>> = BTreeMap::new();
        for summary in &self.cells {
            if !scenarios.contains(&summary.cell.scenario.as_str()) {
                continue;
            }
            // What runs outside the sandbox was compiled long before.
            let start = summary.cell.options.get("start").map_or(NATIVE_START, String::as_str);
            if summary.ok > 0 && summary.cell.workload == "receive" {
                let cell = &summary.cell;
                let cipher = CIPHERS.iter().position(|(name, _)| *name == cell.cipher);
                groups
                    .entry((&cell.scenario, cipher, catalog::rank(&cell.build), start))
                    .or_default()
                    .push(summary);
            }
        }
        groups
            .into_iter()
            .filter_map(|((scenario, _, _, start), cells)| {
                let gib = |summary: &CellSummary| summary.cell.bytes as f64 / GIB;
                let points: Vec<(f64, f64)> = cells
                    .iter()
                    .flat_map(|s| s.values.get("cpu_s").into_iter().flatten().map(move |cpu| (gib(s), *cpu)))
                    .collect();
                let mut sizes: Vec<_> =
                    cells.iter().filter_map(|s| Some((gib(s), *s.metric("cpu_s")?))).collect();
                sizes.sort_by(|a, b| a.0.total_cmp(&b.0));
                Some(FixedCost {
                    scenario: scenario.clone(),
                    build: cells[0].cell.build.clone(),
                    cipher: cells[0].cell.cipher.clone(),
                    start: start.to_owned(),
                    line: regression::fit(&points)?,
                    sizes,
                })
            })
            .collect()
    }

    /// What the sessions say of a scenario's sizes where they had to be reduced.
    pub fn reduced_sizes(&self, scenario: &str) -> Vec<&str> {
        let (divisor, sizes) = (format!("divisor.{scenario}"), format!("sizes.{scenario}"));
        let mut found: Vec<&str> = self
            .sessions
            .iter()
            .filter(|info| info.session.setup.get(&divisor).is_some_and(|divisor| divisor != "1"))
            .filter_map(|info| info.session.setup.get(&sizes).map(String::as_str))
            .collect();
        found.dedup();
        found
    }

    /// Whether a counted run had drops.
    pub fn has_drops(&self) -> bool {
        self.cells.iter().any(|summary| summary.runs_with_drops > 0)
    }
}

fn is_headline(cell: &Cell, build: &str, cipher: &str) -> bool {
    cell.scenario == "headline" && cell.workload == "receive" && cell.build == build && cell.cipher == cipher
}

/// Something that sessions should have in common.
type Property = fn(&SessionInfo) -> String;

/// What is gathered while records are read.
#[derive(Default)]
struct Reading {
    records: Vec<String>,
    sessions: Vec<SessionInfo>,
    runs: Vec<(usize, Run)>,
    profiles: Vec<Profile>,
    gaps: BTreeSet<Gap>,
    problems: Vec<String>,
}

impl Reading {
    fn read(&mut self, source: Source) -> Result<(), Error> {
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

    fn finish(mut self, mixed: bool) -> Result<Analysis, Error> {
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
        self.gaps.retain(|gap| !is_filled(&analysis, gap));
        let found = missing(&analysis, &self.gaps);
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

/// Whether what a session did not do is there nevertheless, by another session.
fn is_filled(analysis: &Analysis, gap: &Gap) -> bool {
    let of_cells = analysis.cells.iter().any(|summary| {
        summary.ok > 0 && summary.cell.scenario == gap.scenario && summary.cell.build == gap.what
    });
    let of_profiles = gap.what == "profiles"
        && analysis.profiles.iter().any(|profile| profile.cell.scenario == gap.scenario);
    of_cells || of_profiles
}

/// Whether a text is about a build, and about a cipher if it names one.
fn speaks_of(text: &str, build: &str, cipher: &str) -> bool {
    let words = || text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let names_a_cipher = words().any(|word| catalog::cipher(word).is_some());
    words().any(|word| word == build) && (!names_a_cipher || words().any(|word| word == cipher))
}

/// What a whole evaluation has and these records do not, beyond what they say themselves.
fn missing(analysis: &Analysis, told: &BTreeSet<Gap>) -> Vec<Gap> {
    let mut found = Vec::new();
    let scenarios = analysis.scenarios();
    for kind in Kind::KNOWN {
        if scenarios.iter().any(|(other, _)| other == kind) {
            continue;
        }
        found.push(Gap {
            scenario: kind.title().to_owned(),
            what: "the whole scenario".to_owned(),
            why: "not in these records".to_owned(),
        });
    }
    // Every build of a scenario with every cipher and in every variant that the scenario has.
    for (kind, name) in &scenarios {
        let cells = analysis.scenario(name);
        let mut builds: BTreeSet<usize> = cells.iter().map(|s| catalog::rank(&s.cell.build)).collect();
        let mut ciphers: BTreeSet<&str> = cells.iter().map(|s| &*s.cell.cipher).collect();
        if *kind == Kind::Headline {
            builds.extend(catalog::BUILDS.iter().enumerate().filter_map(|(at, build)| {
                // The batched host is no part of this evaluation until it is measured.
                (build.role == Role::Headline && build.name != "wasm-sandquic-host").then_some(at)
            }));
            ciphers.extend(CIPHERS.iter().map(|(name, _)| *name));
        }
        let variants: BTreeSet<_> =
            cells.iter().map(|s| (&s.cell.workload, s.cell.bytes, &s.cell.options)).collect();
        // The headline is shown at one length; other scenarios vary it on purpose.
        let variants: Vec<_> = match kind {
            Kind::Headline => variants.into_iter().next_back().into_iter().collect(),
            _ => variants.into_iter().collect(),
        };
        for build in builds {
            let build = catalog::BUILDS[build].name;
            for cipher in &ciphers {
                for (workload, bytes, options) in &variants {
                    // Only the sandbox has a start to choose.
                    if *kind == Kind::FixedCost
                        && options.contains_key("start") != catalog::is_sandboxed(build)
                    {
                        continue;
                    }
                    let is = |summary: &&&CellSummary| {
                        let cell = &summary.cell;
                        cell.build == build
                            && cell.cipher == *cipher
                            && &cell.options == *options
                            && (*kind == Kind::Headline
                                || cell.bytes == *bytes && &cell.workload == *workload)
                    };
                    let measured = cells.iter().filter(is).map(|summary| summary.ok).sum::<usize>();
                    if measured > 0 {
                        continue;
                    }
                    let failed: usize = cells.iter().filter(is).map(|summary| summary.left_out()).sum();
                    let why = if failed > 0 {
                        format!("none of its {failed} runs counts")
                    } else {
                        told.iter()
                            .find(|gap| gap.scenario == *name && speaks_of(&gap.what, build, cipher))
                            .map_or_else(|| "not in these records".to_owned(), |gap| gap.why.clone())
                    };
                    let variant: Vec<String> =
                        options.iter().map(|(name, value)| format!(", {name} {value}")).collect();
                    let size = if *kind == Kind::FixedCost {
                        format!(", {}", crate::text::size(*bytes))
                    } else {
                        String::new()
                    };
                    found.push(Gap {
                        scenario: name.clone(),
                        what: format!(
                            "{build}, {}{}{size}",
                            catalog::cipher(cipher).unwrap_or(cipher),
                            variant.concat()
                        ),
                        why,
                    });
                }
            }
        }
    }
    found
}
