//! The form of a record: JSON lines, appended one by one, so that an interrupted measurement loses at most the run that
//! it was in.
//!
//! A file holds one or more sessions. Each begins with a [`Session`] line that says on what and by what command it was
//! measured; [`Run`], [`Profile`] and [`Skipped`] lines refer to it by its name. A measurement that is resumed appends
//! another session, and what the first one has is not measured again.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Version of the form. A reader refuses lines of any other.
pub const SCHEMA_VERSION: u32 = 1;

/// One line of a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Line {
    /// A measurement begins or is taken up again.
    Session(Session),
    /// One run, whatever became of it.
    Run(Run),
    /// CPU time by category and symbol, sampled during one run that counts for nothing else.
    Profile(Profile),
    /// What was asked for and not done, with the reason.
    Skipped(Skipped),
}

/// Where and how the lines that name this session were measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Its name, unique in the file.
    pub session: String,
    /// `smoke`, `quick` or `full`.
    pub effort: String,
    /// The origin of the figures.
    pub provenance: Provenance,
    /// What was the same for all runs: buffers, windows, pinning, and the sizes that the time allowed, by name.
    pub setup: BTreeMap<String, String>,
}

/// Everything that is needed to repeat a measurement or to doubt it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// When the measurement began, in seconds since 1970-01-01 UTC.
    pub unix_time: u64,
    /// The command, argument by argument, without the directory of its program.
    pub command: Vec<String>,
    /// The commit of the sources from which the runner was built, with `+` after it if they had been changed;
    /// `unknown` outside a repository.
    pub commit: String,
    /// The version of the runner.
    pub version: String,
    /// The compiler of the native code, as it names itself.
    pub rustc: String,
    /// The target of the native code.
    pub target: String,
    /// The target features with which the native code was compiled, separated by commas.
    pub target_features: String,
    /// `release` or `debug`: what was measured in `debug` is worth nothing.
    pub profile: String,
    /// The engine that ran components, with its version.
    pub engine: String,
    /// The processor's name.
    pub cpu: String,
    /// How many processors the runner may use.
    pub cpus: usize,
    /// The processor's features that matter to these programs.
    pub cpu_features: Vec<String>,
    /// Name and release of the operating system's kernel.
    pub kernel: String,
}

/// What is measured: runs of equal cells are repetitions of one another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Cell {
    /// Name of the scenario.
    pub scenario: String,
    /// `receive`, `send` or `connect`: what the measured process does.
    pub workload: String,
    /// Name of the build that is measured.
    pub build: String,
    /// Name of the cipher.
    pub cipher: String,
    /// Bytes of content in one transfer.
    pub bytes: u64,
    /// What else sets the cell apart from others of its scenario (`mtu`, `loss_percent`, `delay_ms`, `start`, ...), by
    /// name; absent names have their ordinary value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The session.
    pub session: String,
    /// What was measured.
    pub cell: Cell,
    /// Number of the repetition, from 1.
    pub round: u32,
    /// What became of it. Only `ok` runs enter means.
    pub outcome: Outcome,
    /// What was measured, by name. A name ends in its unit: `seconds`, `goodput_mbps`, `cpu_user_s`, `cpu_system_s`,
    /// `sender_cpu_s`, `handshake_s`, `first_byte_s`, `handshakes_per_s`, `drops`, `recv_buffer_bytes`, ...
    pub metrics: BTreeMap<String, f64>,
}

/// What became of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", content = "message", rename_all = "kebab-case")]
pub enum Outcome {
    /// It counts.
    Ok,
    /// What arrived is not what was sent.
    Mismatch(String),
    /// There is no result.
    Failed(String),
}

/// A profile of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// The session.
    pub session: String,
    /// What was measured.
    pub cell: Cell,
    /// Number of the repetition, from 1.
    pub round: u32,
    /// Samples that were taken.
    pub samples: u64,
    /// User and system time of the measured process over the run, in seconds: what the shares are shares of.
    pub cpu_s: f64,
    /// Share of each category, from 0 to 1; together 1.
    pub categories: BTreeMap<String, f64>,
    /// The heaviest symbols of each category, heaviest first.
    pub symbols: Vec<Symbol>,
}

/// A symbol of a profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Symbol {
    /// Its category.
    pub category: String,
    /// Its name, demangled.
    pub symbol: String,
    /// The object (program, library, `[kernel]`, `[jit]`) that holds it.
    pub object: String,
    /// Its share of the whole profile, from 0 to 1.
    pub share: f64,
}

/// Something that was not measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// The session.
    pub session: String,
    /// Name of the scenario.
    pub scenario: String,
    /// What was not done.
    pub what: String,
    /// Why, and how to have it done.
    pub why: String,
}

/// What a file held.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Record {
    /// Its good lines, in order.
    pub lines: Vec<Line>,
    /// Its bad lines.
    pub problems: Vec<Problem>,
}

/// A line that could not be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

#[derive(Serialize, Deserialize)]
struct Versioned<T> {
    schema_version: u32,
    #[serde(flatten)]
    line: T,
}

/// Appends a line and hands it to the system.
///
/// # Errors
/// Those of the writer.
pub fn append(out: &mut impl Write, line: &Line) -> io::Result<()> {
    let mut text = serde_json::to_vec(&Versioned { schema_version: SCHEMA_VERSION, line })?;
    text.push(b'\n');
    out.write_all(&text)?;
    out.flush()
}

/// Reads a record. Lines that cannot be used are told of and the others are kept.
///
/// # Errors
/// Those of opening and reading the file.
pub fn read(path: &Path) -> io::Result<Record> {
    parse(BufReader::new(File::open(path)?))
}

/// Reads a record from its text, like [`read`].
///
/// # Errors
/// Those of the reader.
pub fn parse(mut text: impl BufRead) -> io::Result<Record> {
    let mut record = Record::default();
    let mut line = Vec::new();
    let mut number = 0;
    while text.read_until(b'\n', &mut line)? > 0 {
        number += 1;
        if !line.trim_ascii().is_empty() {
            match parse_line(&line) {
                Ok(line) => record.lines.push(line),
                Err(message) => record.problems.push(Problem { line: number, message }),
            }
        }
        line.clear();
    }
    Ok(record)
}

fn parse_line(line: &[u8]) -> Result<Line, String> {
    #[derive(Deserialize)]
    struct Version {
        schema_version: Option<u32>,
    }
    let truncated = if line.ends_with(b"\n") { "" } else { " (the line is cut off)" };
    let version: Version = serde_json::from_slice(line)
        .map_err(|error| format!("not a line of a record: {error}{truncated}"))?;
    match version.schema_version {
        Some(SCHEMA_VERSION) => {}
        Some(other) => {
            return Err(format!("schema_version {other}; this program reads {SCHEMA_VERSION}"));
        }
        None => return Err("no schema_version, so not a line of a record".into()),
    }
    serde_json::from_slice::<Versioned<Line>>(line)
        .map(|versioned| versioned.line)
        .map_err(|error| format!("not a line of a record: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(round: u32) -> Line {
        Line::Run(Run {
            session: "s".into(),
            cell: Cell {
                scenario: "headline".into(),
                workload: "receive".into(),
                build: "wasm-sandquic".into(),
                cipher: "aes-128-gcm".into(),
                bytes: 1 << 30,
                options: BTreeMap::from([("mtu".into(), "1452".into())]),
            },
            round,
            outcome: if round == 2 { Outcome::Mismatch("one byte".into()) } else { Outcome::Ok },
            metrics: BTreeMap::from([("seconds".into(), 1.25)]),
        })
    }

    fn text(lines: &[Line]) -> Vec<u8> {
        let mut text = Vec::new();
        for line in lines {
            append(&mut text, line).unwrap();
        }
        text
    }

    #[test]
    fn what_is_appended_is_read() {
        let lines = [run(1), run(2)];
        let record = parse(&text(&lines)[..]).unwrap();
        assert_eq!(record.lines, lines);
        assert!(record.problems.is_empty());
    }

    #[test]
    fn a_bad_line_is_named_and_the_others_are_kept() {
        let mut bytes = text(&[run(1)]);
        bytes.extend_from_slice(b"{\"schema_version\":7,\"type\":\"run\"}\n\n{\"type\":\"run\"}\n");
        bytes.extend_from_slice(&text(&[run(3)]));
        let whole = text(&[run(4)]);
        bytes.extend_from_slice(&whole[..whole.len() / 2]);
        let record = parse(&bytes[..]).unwrap();
        assert_eq!(record.lines, [run(1), run(3)]);
        let problems: Vec<_> = record.problems.iter().map(|problem| problem.line).collect();
        assert_eq!(problems, [2, 4, 6]);
        assert!(record.problems[0].message.contains("schema_version 7"));
        assert!(record.problems[1].message.contains("no schema_version"));
        assert!(record.problems[2].message.contains("cut off"));
    }
}
