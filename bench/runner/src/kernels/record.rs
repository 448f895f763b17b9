//! The rows, the record and the table.

use std::fmt::Write as _;

use sandquic_kernels::{Op, Row};
use serde::Serialize;

use super::builds::{Build, Engine};
use crate::provenance::Provenance;

/// Version of the record's form. A reader refuses a higher one.
const SCHEMA_VERSION: u32 = 1;

/// A whole measurement.
#[derive(Debug, Serialize)]
pub(super) struct Record {
    schema_version: u32,
    kind: &'static str,
    provenance: Provenance,
    setup: Setup,
    pub(super) rows: Vec<ShownRow>,
}

/// What was the same for all rows.
#[derive(Debug, Serialize)]
pub(super) struct Setup {
    /// Processes of each module, interleaved.
    pub(super) rounds: u32,
    /// Samples of each row in a round.
    pub(super) repetitions: usize,
    /// Shortest time of a sample in microseconds.
    pub(super) sample_us: u64,
    /// Version of Node, if it ran.
    pub(super) node: Option<String>,
}

/// One row.
#[derive(Debug, Clone, Serialize)]
pub(super) struct ShownRow {
    pub(super) engine: Engine,
    pub(super) build: Build,
    backend: String,
    target_features: String,
    pub(super) primitive: String,
    pub(super) op: Op,
    pub(super) bytes: usize,
    /// Nanoseconds an operation: the least of all samples.
    pub(super) ns: f64,
    ns_median: f64,
    /// 10^6 bytes a second, from `ns`.
    pub(super) mb_s: f64,
    #[serde(skip)]
    samples: Vec<f64>,
}

impl Record {
    pub(super) fn new(provenance: Provenance, setup: Setup) -> Self {
        Self { schema_version: SCHEMA_VERSION, kind: "kernels", provenance, setup, rows: Vec::new() }
    }

    /// Takes a row of one round in; rounds of the same become one row.
    pub(super) fn add(&mut self, engine: Engine, build: Build, row: Row) {
        let same = self.rows.iter_mut().find(|shown| {
            (shown.engine, shown.build, shown.op, shown.bytes) == (engine, build, row.op, row.bytes)
                && shown.primitive == row.primitive
        });
        match same {
            Some(shown) => shown.samples.extend(row.samples),
            None => self.rows.push(ShownRow {
                engine,
                build,
                backend: row.backend,
                target_features: row.target_features,
                primitive: row.primitive,
                op: row.op,
                bytes: row.bytes,
                ns: 0.0,
                ns_median: 0.0,
                mb_s: 0.0,
                samples: row.samples,
            }),
        }
    }

    /// Computes minima and medians.
    pub(super) fn finish(&mut self) {
        for row in &mut self.rows {
            row.samples.sort_by(f64::total_cmp);
            let n = row.samples.len();
            if n == 0 {
                continue;
            }
            row.ns = row.samples[0];
            row.ns_median = (row.samples[(n - 1) / 2] + row.samples[n / 2]) / 2.0;
            row.mb_s = row.bytes as f64 * 1e3 / row.ns;
        }
    }

    /// For each engine, primitive, operation and length a line: MB/s of each build.
    pub(super) fn table(&self) -> String {
        let mut builds = Vec::new();
        let mut lines: Vec<&ShownRow> = Vec::new();
        for row in &self.rows {
            if !builds.contains(&row.build) {
                builds.push(row.build);
            }
            if !lines.iter().any(|line| line.is_beside(row)) {
                lines.push(row);
            }
        }
        let mut out = String::new();
        // Writing to a String does not fail.
        let _ = write!(out, "{:<9} {:<20} {:<6} {:>8}", "engine", "primitive", "op", "bytes");
        for build in &builds {
            let _ = write!(out, " {:>17}", build.to_string());
        }
        out.push_str("  (MB/s)\n");
        for line in lines {
            let op = format!("{:?}", line.op).to_lowercase();
            let _ = write!(
                out,
                "{:<9} {:<20} {op:<6} {:>8}",
                line.engine.to_string(),
                line.primitive,
                line.bytes
            );
            for build in &builds {
                let cell = self.rows.iter().find(|row| row.build == *build && row.is_beside(line));
                let _ = match cell {
                    Some(row) => write!(out, " {:>17.0}", row.mb_s),
                    None => write!(out, " {:>17}", ""),
                };
            }
            while out.ends_with(' ') {
                out.pop();
            }
            out.push('\n');
        }
        out
    }
}

impl ShownRow {
    /// Whether both belong in one line of the table.
    fn is_beside(&self, other: &Self) -> bool {
        (self.engine, self.op, self.bytes) == (other.engine, other.op, other.bytes)
            && self.primitive == other.primitive
    }
}
