//! Runs of one cell, summarized.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::record::{Cell, Outcome, Run};
use crate::stats::Summary;

/// Bytes in a GiB.
pub const GIB: f64 = (1_u64 << 30) as f64;

/// What is known of a cell.
#[derive(Debug, Clone, Serialize)]
pub struct CellSummary {
    /// What was measured.
    #[serde(flatten)]
    pub cell: Cell,
    /// Runs that count.
    pub ok: usize,
    /// What was wrong with runs whose bytes did not match.
    pub mismatches: Vec<String>,
    /// Why runs have no result.
    pub failures: Vec<String>,
    /// Counted runs in which datagrams found a full socket buffer.
    pub runs_with_drops: usize,
    /// Datagrams that did, over all counted runs.
    pub drops: f64,
    /// The sessions, by their place in the analysis.
    pub sessions: BTreeSet<usize>,
    /// The metrics of the record and those derived of them (`cpu_s`, `cpu_s_per_gib`, ...), by name.
    pub metrics: BTreeMap<String, Summary>,
    /// The single values of `cpu_s` and of what else is fitted.
    #[serde(skip)]
    pub values: BTreeMap<String, Vec<f64>>,
}

impl CellSummary {
    /// A metric.
    pub fn metric(&self, name: &str) -> Option<&Summary> {
        self.metrics.get(name)
    }

    /// The mean of a metric.
    pub fn mean(&self, name: &str) -> Option<f64> {
        self.metric(name).map(|summary| summary.mean)
    }

    /// Runs that do not count.
    pub fn left_out(&self) -> usize {
        self.mismatches.len() + self.failures.len()
    }
}

/// Summarizes runs, each with the place of its session.
pub(super) fn summarize(runs: &[(usize, Run)]) -> Vec<CellSummary> {
    let mut cells: BTreeMap<&Cell, Vec<(usize, &Run)>> = BTreeMap::new();
    for (session, run) in runs {
        cells.entry(&run.cell).or_default().push((*session, run));
    }
    let mut summaries: Vec<CellSummary> = cells.into_iter().map(|(cell, runs)| one(cell, &runs)).collect();
    summaries.sort_by_cached_key(|summary| sort_key(&summary.cell));
    summaries
}

/// The order in which cells are shown.
pub(super) fn sort_key(cell: &Cell) -> impl Ord + use<> {
    let cipher = crate::catalog::CIPHERS.iter().position(|(name, _)| *name == cell.cipher);
    // Options are numbers in text: by number where they are.
    let options: Vec<(String, u64, String)> = cell
        .options
        .iter()
        .map(|(name, value)| {
            let number = value.parse::<f64>().unwrap_or(0.0);
            (name.clone(), (number * 1e6) as u64, value.clone())
        })
        .collect();
    (
        cell.scenario.clone(),
        cell.workload.clone(),
        cipher,
        options,
        crate::catalog::rank(&cell.build),
        cell.bytes,
    )
}

fn one(cell: &Cell, runs: &[(usize, &Run)]) -> CellSummary {
    let mut summary = CellSummary {
        cell: cell.clone(),
        ok: 0,
        mismatches: Vec::new(),
        failures: Vec::new(),
        runs_with_drops: 0,
        drops: 0.0,
        sessions: BTreeSet::new(),
        metrics: BTreeMap::new(),
        values: BTreeMap::new(),
    };
    for (session, run) in runs {
        summary.sessions.insert(*session);
        match &run.outcome {
            Outcome::Ok => {}
            Outcome::Mismatch(message) => {
                summary.mismatches.push(message.clone());
                continue;
            }
            Outcome::Failed(message) => {
                summary.failures.push(message.clone());
                continue;
            }
        }
        summary.ok += 1;
        let drops = run.metrics.get("drops").copied().unwrap_or(0.0);
        if drops > 0.0 {
            summary.runs_with_drops += 1;
            summary.drops += drops;
        }
        for (name, value) in &run.metrics {
            summary.values.entry(name.clone()).or_default().push(*value);
        }
        for (name, value) in derived(cell, &run.metrics) {
            if !run.metrics.contains_key(name) {
                summary.values.entry(name.to_owned()).or_default().push(value);
            }
        }
    }
    summary.metrics = summary
        .values
        .iter()
        .filter_map(|(name, values)| Some((name.clone(), Summary::of(values)?)))
        .collect();
    summary
}

/// What follows from a run's metrics.
fn derived(cell: &Cell, metrics: &BTreeMap<String, f64>) -> Vec<(&'static str, f64)> {
    let metric = |name: &str| metrics.get(name).copied();
    let gib = cell.bytes as f64 / GIB;
    let mut found = Vec::new();
    let cpu = metric("cpu_user_s").zip(metric("cpu_system_s")).map(|(user, system)| user + system);
    if let Some(cpu) = cpu {
        found.push(("cpu_s", cpu));
    }
    if cell.workload == "connect" {
        let connections = metric("connections").filter(|connections| *connections > 0.0);
        if let Some((cpu, connections)) = cpu.zip(connections) {
            found.push(("cpu_ms_per_connection", cpu * 1e3 / connections));
        }
        if let Some((seconds, connections)) = metric("seconds").filter(|s| *s > 0.0).zip(connections) {
            found.push(("handshakes_per_s", connections / seconds));
        }
    } else if gib > 0.0 {
        if let Some(cpu) = cpu {
            found.push(("cpu_s_per_gib", cpu / gib));
        }
        for (name, derived) in [
            ("sender_cpu_s", "sender_cpu_s_per_gib"),
            ("host_calls", "host_calls_per_gib"),
            ("host_bytes_copied", "host_bytes_copied_per_byte"),
        ] {
            if let Some(value) = metric(name) {
                let unit = if name == "host_bytes_copied" { cell.bytes as f64 } else { gib };
                found.push((derived, value / unit));
            }
        }
        if let Some(seconds) = metric("seconds").filter(|seconds| *seconds > 0.0) {
            found.push(("goodput_mbps", 8.0 * cell.bytes as f64 / (1e6 * seconds)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(outcome: Outcome, metrics: &[(&str, f64)]) -> (usize, Run) {
        let cell = Cell {
            scenario: "headline".into(),
            workload: "receive".into(),
            build: "wasm-base".into(),
            cipher: "aes-128-gcm".into(),
            bytes: 1 << 29,
            options: BTreeMap::new(),
        };
        let metrics = metrics.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        (3, Run { session: "s".into(), cell, round: 1, outcome, metrics })
    }

    #[test]
    fn runs_that_do_not_count_are_counted_apart() {
        let runs = [
            run(Outcome::Ok, &[("seconds", 2.0), ("cpu_user_s", 1.0), ("cpu_system_s", 0.5), ("drops", 4.0)]),
            run(Outcome::Ok, &[("seconds", 4.0), ("cpu_user_s", 2.0), ("cpu_system_s", 0.5), ("drops", 0.0)]),
            run(Outcome::Mismatch("one byte".into()), &[("seconds", 900.0), ("drops", 50.0)]),
            run(Outcome::Failed("no answer".into()), &[]),
        ];
        let [cell] = &summarize(&runs)[..] else { panic!("one cell") };
        assert_eq!((cell.ok, cell.left_out(), cell.runs_with_drops, cell.drops), (2, 2, 1, 4.0));
        // 0.5 GiB: 1.5 and 2.5 s are 3 and 5 s a GiB.
        assert_eq!(cell.mean("cpu_s_per_gib"), Some(4.0));
        assert_eq!(cell.mean("seconds"), Some(3.0));
        let mbps = 8.0 * f64::from(1 << 29) / 1e6;
        assert!((cell.mean("goodput_mbps").unwrap() - (mbps / 2.0 + mbps / 4.0) / 2.0).abs() < 1e-9);
    }
}
