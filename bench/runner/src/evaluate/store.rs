//! The record on disk: what it has already, and lines appended to it.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use sandquic_report::record::{self, Cell, Line, Outcome, Problem, Provenance, Run};

use crate::Error;

/// A record that is being written.
pub(crate) struct Store {
    file: File,
    path: PathBuf,
    done: BTreeMap<Cell, Done>,
    sessions: Vec<record::Session>,
}

/// What a record has of a cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Done {
    /// Runs that need not be done again: those that count, and those whose bytes did not match.
    pub(crate) runs: u32,
    pub(crate) profiles: u32,
}

impl Store {
    /// Opens a record, or makes an empty one. Lines that cannot be used are returned; what is there stays there.
    pub(crate) fn open(path: &Path) -> Result<(Self, Vec<Problem>), Error> {
        let failed = |error: io::Error| {
            Error::failed(format!("cannot read and write the record {}: {error}", path.display()))
        };
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::failed(format!(
                    "another measurement is writing {}; wait for it, or give another file",
                    path.display()
                )));
            }
            // Some file systems have no locks.
            Err(TryLockError::Error(_)) => {}
        }
        let found = record::parse(io::BufReader::new(&file)).map_err(failed)?;
        let mut store = Self {
            file: file.try_clone().map_err(failed)?,
            path: path.to_owned(),
            done: BTreeMap::new(),
            sessions: Vec::new(),
        };
        for line in found.lines {
            store.note(&line);
        }
        if ends_within_a_line(&mut file).map_err(failed)? {
            io::Write::write_all(&mut store.file, b"\n").map_err(failed)?;
        }
        Ok((store, found.problems))
    }

    /// Appends a line.
    pub(crate) fn append(&mut self, line: &Line) -> Result<(), Error> {
        // In one piece, so that an interruption leaves a whole line or a cut-off one, never two halves in each other.
        let mut text = Vec::new();
        record::append(&mut text, line)
            .and_then(|()| io::Write::write_all(&mut self.file, &text))
            .map_err(|error| Error::failed(format!("cannot append to {}: {error}", self.path.display())))?;
        self.note(line);
        Ok(())
    }

    fn note(&mut self, line: &Line) {
        match line {
            Line::Session(session) => self.sessions.push(session.clone()),
            Line::Run(Run { outcome: Outcome::Failed(_), .. }) | Line::Skipped(_) => {}
            Line::Run(run) => self.done.entry(run.cell.clone()).or_default().runs += 1,
            Line::Profile(profile) => self.done.entry(profile.cell.clone()).or_default().profiles += 1,
        }
    }

    /// What there is of a cell.
    pub(crate) fn done(&self, cell: &Cell) -> Done {
        self.done.get(cell).copied().unwrap_or_default()
    }

    /// A name that no session has.
    pub(crate) fn session_name(&self, unix_time: u64) -> String {
        let taken = |name: &String| self.sessions.iter().any(|session| session.session == *name);
        let mut name = unix_time.to_string();
        let mut number = 1;
        while taken(&name) {
            number += 1;
            name = format!("{unix_time}-{number}");
        }
        name
    }

    /// The divisor of a scenario's sizes that earlier sessions used, if anything was measured with it.
    pub(crate) fn settled_divisor(&self, scenario: &str) -> Option<u32> {
        self.done.keys().find(|cell| cell.scenario == scenario)?;
        let key = divisor_key(scenario);
        self.sessions.iter().rev().find_map(|session| session.setup.get(&key)?.parse().ok())
    }

    /// What about the record's sessions differs from a new one, such that their runs should not be put together.
    pub(crate) fn mixture(&self, now: &Provenance, effort: &str) -> Option<String> {
        for session in &self.sessions {
            let before = &session.provenance;
            for (what, before, now) in [
                ("effort", session.effort.as_str(), effort),
                ("commit", &before.commit, &now.commit),
                ("engine", &before.engine, &now.engine),
                ("compiler", &before.rustc, &now.rustc),
                ("build profile", &before.profile, &now.profile),
                ("processor", &before.cpu, &now.cpu),
            ] {
                if before != now {
                    return Some(format!("{what} `{before}` instead of `{now}`"));
                }
            }
        }
        None
    }
}

/// Where a session's set-up has the divisor of a scenario's sizes.
pub(crate) fn divisor_key(scenario: &str) -> String {
    format!("divisor.{scenario}")
}

fn ends_within_a_line(file: &mut File) -> io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(bytes: u64) -> Cell {
        Cell {
            scenario: "s".into(),
            workload: "receive".into(),
            build: "native-quinn".into(),
            cipher: "aes-128-gcm".into(),
            bytes,
            options: BTreeMap::new(),
        }
    }

    fn run(bytes: u64, outcome: Outcome) -> Line {
        Line::Run(Run { session: "1".into(), cell: cell(bytes), round: 1, outcome, metrics: BTreeMap::new() })
    }

    fn session(name: &str, setup: &[(&str, &str)]) -> Line {
        Line::Session(record::Session {
            session: name.into(),
            effort: "quick".into(),
            provenance: crate::provenance::collect("engine"),
            setup: setup.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        })
    }

    #[test]
    fn what_counts_and_what_mismatched_is_done_and_what_failed_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new/record.jsonl");
        let (mut store, problems) = Store::open(&path).unwrap();
        assert!(problems.is_empty());
        store.append(&session("7", &[("divisor.s", "4")])).unwrap();
        assert_eq!(store.settled_divisor("s"), None);
        for outcome in [Outcome::Ok, Outcome::Mismatch("m".into()), Outcome::Failed("f".into())] {
            store.append(&run(5, outcome)).unwrap();
        }
        drop(store);
        let (store, problems) = Store::open(&path).unwrap();
        assert!(problems.is_empty());
        assert_eq!(store.done(&cell(5)), Done { runs: 2, profiles: 0 });
        assert_eq!(store.done(&cell(6)), Done::default());
        assert_eq!(store.settled_divisor("s"), Some(4));
        assert_eq!(store.settled_divisor("t"), None);
        assert_eq!((store.session_name(6).as_str(), store.session_name(7).as_str()), ("6", "7-2"));
        let mut now = crate::provenance::collect("engine");
        assert_eq!(store.mixture(&now, "quick"), None);
        assert!(store.mixture(&now, "full").unwrap().contains("effort `quick` instead of `full`"));
        now.commit = "other".into();
        assert!(store.mixture(&now, "quick").unwrap().contains("instead of `other`"));
    }

    #[test]
    fn bad_lines_are_named_and_a_cut_off_one_is_ended() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("record.jsonl");
        let mut text = Vec::new();
        record::append(&mut text, &run(5, Outcome::Ok)).unwrap();
        text.extend_from_slice(b"{\"schema_version\":9,\"type\":\"run\"}\n");
        let mut half = Vec::new();
        record::append(&mut half, &run(5, Outcome::Ok)).unwrap();
        half.truncate(half.len() / 2);
        text.extend_from_slice(&half);
        fs::write(&path, &text).unwrap();

        let (mut store, problems) = Store::open(&path).unwrap();
        assert_eq!(problems.iter().map(|problem| problem.line).collect::<Vec<_>>(), [2, 3]);
        assert_eq!(store.done(&cell(5)).runs, 1);
        store.append(&run(5, Outcome::Ok)).unwrap();
        assert_eq!(store.done(&cell(5)).runs, 2);
        let found = record::read(&path).unwrap();
        assert_eq!((found.lines.len(), found.problems.len()), (2, 2));
    }

    #[test]
    fn two_cannot_write_one_record() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("record.jsonl");
        let _first = Store::open(&path).unwrap();
        let error = Store::open(&path).err().unwrap().to_string();
        assert!(error.contains("another measurement is writing"), "{error}");
        assert!(Store::open(directory.path()).err().unwrap().to_string().contains("cannot read and write"));
    }
}
