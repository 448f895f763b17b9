//! What a measurement leaves: rows with their samples, the set-up and the provenance.

use std::fs;

use sandquic_report::stats::Summary;
use serde::Serialize;

use super::builds::{Build, Cipher};
use crate::provenance::Provenance;
use crate::system::{Buffers, CpuList};
use crate::units::GIB;

/// Version of the record's form. A reader refuses a higher one.
const SCHEMA_VERSION: u32 = 1;

/// A whole measurement.
#[derive(Debug, Serialize)]
pub(super) struct Record {
    schema_version: u32,
    kind: &'static str,
    provenance: Provenance,
    setup: Setup,
    rows: Vec<ShownRow>,
}

/// What was the same for all rows.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Setup {
    /// The build that sends.
    sender: Build,
    /// What lies between the two.
    network: &'static str,
    /// Buffers asked for at every socket, in bytes; what a receiver was granted is in its samples.
    recv_buffer: u64,
    send_buffer: u64,
    /// The system's limits for those who may not exceed them, in bytes.
    rmem_max: Option<u64>,
    wmem_max: Option<u64>,
    /// Most bytes on the way unacknowledged.
    window: u64,
    congestion: &'static str,
    initial_mtu: u32,
    /// Processors of the sender and of the receiver; absent if not pinned.
    sender_cpus: Option<String>,
    receiver_cpus: Option<String>,
    /// How drops were counted.
    drops: &'static str,
}

impl Setup {
    pub(crate) fn collect(buffers: Buffers, window: Option<u64>, cpus: Option<&(CpuList, CpuList)>) -> Self {
        let limit = |name: &str| {
            fs::read_to_string(format!("/proc/sys/net/core/{name}"))
                .ok()
                .and_then(|text| text.trim().parse().ok())
        };
        let rmem_max = limit("rmem_max");
        Self {
            sender: Build::NativeQuinn,
            network: "loopback, 127.0.0.1",
            recv_buffer: buffers.receive,
            send_buffer: buffers.send,
            rmem_max,
            wmem_max: limit("wmem_max"),
            window: window.unwrap_or_else(|| widest(buffers.receive, rmem_max)),
            congestion: "CUBIC",
            initial_mtu: 1_452,
            sender_cpus: cpus.map(|(sender, _)| sender.to_string()),
            receiver_cpus: cpus.map(|(_, receiver)| receiver.to_string()),
            drops: "at the sockets of both ends (/proc/net/udp), where they could be seen; else UDP RcvbufErrors of the \
                    network namespace",
        }
    }

    /// Most bytes that the sender may have on the way unacknowledged.
    pub(crate) fn window(&self) -> u64 {
        self.window
    }
}

/// The window with which no receive buffer overflows, at most 4 MiB. A buffer of n bytes by the units of the request
/// holds a little more than n bytes of full datagrams: Linux doubles n and counts about 2,300 bytes for one of 1,452.
fn widest(recv_buffer: u64, rmem_max: Option<u64>) -> u64 {
    (4 << 20).min(recv_buffer).min(rmem_max.unwrap_or(u64::MAX)).max(64 << 10)
}

/// One counted run.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Sample {
    pub(super) seconds: f64,
    pub(super) goodput_mbps: f64,
    /// CPU time of the receiving process.
    pub(super) cpu_user_s: f64,
    pub(super) cpu_system_s: f64,
    /// CPU time of the sending process, hashing what it sends included; absent if it had to be killed.
    pub(super) sender_cpu_s: Option<f64>,
    pub(super) handshake_seconds: f64,
    /// Datagrams that found a full receive buffer; absent where the system does not tell.
    pub(super) drops: Option<u64>,
    /// Granted to the receiver, in bytes.
    pub(super) recv_buffer: u64,
    pub(super) send_buffer: u64,
}

/// Runs of one build with one cipher.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) build: Build,
    pub(super) cipher: Cipher,
    pub(super) bytes: u64,
    pub(super) samples: Vec<Sample>,
    pub(super) mismatched_runs: u32,
    pub(super) failures: Vec<String>,
}

impl Row {
    pub(super) fn new(build: Build, cipher: Cipher, bytes: u64) -> Self {
        Self { build, cipher, bytes, samples: Vec::new(), mismatched_runs: 0, failures: Vec::new() }
    }
}

/// A row with its means. Those are absent if no run succeeded, intervals also if only one did.
#[derive(Debug, Clone, Serialize)]
pub(super) struct ShownRow {
    pub(super) build: Build,
    pub(super) cipher: Cipher,
    direction: &'static str,
    pub(super) bytes: u64,
    /// Runs that count.
    pub(super) runs: usize,
    pub(super) mismatched_runs: u32,
    pub(super) failed_runs: usize,
    /// Over all runs that count; absent where the system does not tell.
    pub(super) drops: Option<u64>,
    pub(super) goodput_mbps: Option<f64>,
    goodput_median: Option<f64>,
    goodput_min: Option<f64>,
    /// Half the width of the mean's 95 % interval.
    pub(super) goodput_ci95: Option<f64>,
    pub(super) cpu_s_per_gib: Option<f64>,
    cpu_median: Option<f64>,
    cpu_min: Option<f64>,
    pub(super) cpu_ci95: Option<f64>,
    /// Ratios of the means to those of `native-quinn` with the same cipher in this record.
    pub(super) goodput_to_native_quinn: Option<f64>,
    pub(super) cpu_to_native_quinn: Option<f64>,
    samples: Vec<Sample>,
    failures: Vec<String>,
}

impl ShownRow {
    fn new(row: Row) -> Self {
        let per_gib = GIB as f64 / row.bytes as f64;
        let goodput: Vec<f64> = row.samples.iter().map(|sample| sample.goodput_mbps).collect();
        let cpu: Vec<f64> =
            row.samples.iter().map(|sample| (sample.cpu_user_s + sample.cpu_system_s) * per_gib).collect();
        let goodput = Summary::of(&goodput);
        let cpu = Summary::of(&cpu);
        Self {
            build: row.build,
            cipher: row.cipher,
            direction: "receive",
            bytes: row.bytes,
            runs: row.samples.len(),
            mismatched_runs: row.mismatched_runs,
            failed_runs: row.failures.len(),
            drops: row.samples.iter().map(|sample| sample.drops).sum(),
            goodput_mbps: goodput.map(|summary| summary.mean),
            goodput_median: goodput.map(|summary| summary.median),
            goodput_min: goodput.map(|summary| summary.min),
            goodput_ci95: goodput.and_then(|summary| summary.ci95),
            cpu_s_per_gib: cpu.map(|summary| summary.mean),
            cpu_median: cpu.map(|summary| summary.median),
            cpu_min: cpu.map(|summary| summary.min),
            cpu_ci95: cpu.and_then(|summary| summary.ci95),
            goodput_to_native_quinn: None,
            cpu_to_native_quinn: None,
            samples: row.samples,
            failures: row.failures,
        }
    }
}

impl Record {
    pub(super) fn new(provenance: Provenance, setup: Setup, rows: Vec<Row>) -> Self {
        let mut rows: Vec<_> = rows.into_iter().map(ShownRow::new).collect();
        let natives: Vec<_> = rows
            .iter()
            .filter(|row| row.build == Build::NativeQuinn)
            .filter_map(|row| Some((row.cipher, row.goodput_mbps?, row.cpu_s_per_gib?)))
            .collect();
        for row in &mut rows {
            if let Some((_, goodput, cpu)) = natives.iter().find(|(cipher, ..)| *cipher == row.cipher) {
                row.goodput_to_native_quinn = row.goodput_mbps.map(|value| value / goodput);
                row.cpu_to_native_quinn = row.cpu_s_per_gib.map(|value| value / cpu);
            }
        }
        Self { schema_version: SCHEMA_VERSION, kind: "transfer", provenance, setup, rows }
    }

    pub(super) fn rows(&self) -> &[ShownRow] {
        &self.rows
    }

    /// Runs that do not count, for whatever reason.
    pub(super) fn failed_runs(&self) -> usize {
        self.rows.iter().map(|row| row.failed_runs + row.mismatched_runs as usize).sum()
    }

    /// The smallest receive buffer that a receiver was granted, if that is less than was asked for.
    pub(super) fn small_buffer(&self) -> Option<(u64, u64)> {
        let smallest =
            self.rows.iter().flat_map(|row| &row.samples).map(|sample| sample.recv_buffer).min()?;
        (smallest < self.setup.recv_buffer).then_some((smallest, self.setup.recv_buffer))
    }

    /// Whether sender and receiver had processors of their own.
    pub(super) fn is_pinned(&self) -> bool {
        self.setup.receiver_cpus.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_fits_the_smallest_buffer() {
        assert_eq!(widest(8 << 20, Some(4 << 20)), 4 << 20);
        assert_eq!(widest(8 << 20, Some(212_992)), 212_992);
        assert_eq!(widest(1 << 20, None), 1 << 20);
        assert_eq!(widest(1, Some(1)), 64 << 10);
    }
}
