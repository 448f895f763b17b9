//! The record as a table for people.

use std::fmt::Write;

use super::record::{Record, ShownRow};
use crate::units::show_size;

const HEADINGS: [&str; 7] = ["cipher", "build", "Mb/s", "to native", "CPU s/GiB", "to native", "drops"];

/// Goodput and CPU time of each build, grouped by cipher, with the ratios to `native-quinn`; below it what a reader
/// must know to trust the figures.
pub(super) fn render(record: &Record) -> String {
    let rows = record.rows();
    let mut cells: Vec<[String; 7]> = vec![HEADINGS.map(str::to_owned)];
    for (i, row) in rows.iter().enumerate() {
        let first = i == 0 || rows[i - 1].cipher != row.cipher;
        cells.push([
            if first { row.cipher.to_string() } else { String::new() },
            row.build.to_string(),
            with_interval(row.goodput_mbps, row.goodput_ci95, 0),
            row.goodput_to_native_quinn.map_or("-".into(), |ratio| format!("{:.1} %", ratio * 100.0)),
            with_interval(row.cpu_s_per_gib, row.cpu_ci95, 2),
            row.cpu_to_native_quinn.map_or("-".into(), |ratio| format!("{ratio:.2} x")),
            row.drops.map_or("?".into(), |drops| drops.to_string()),
        ]);
    }
    let mut widths = [0; 7];
    for line in &cells {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut out = String::new();
    for (i, line) in cells.iter().enumerate() {
        if i > 1 && !line[0].is_empty() {
            out.push('\n');
        }
        let mut text = String::new();
        for (column, (cell, width)) in line.iter().zip(widths).enumerate() {
            // Names to the left, figures to the right.
            let _ = match column {
                0 | 1 => write!(text, "{cell:<width$}  "),
                _ => write!(text, "{cell:>width$}  "),
            };
        }
        out.push_str(text.trim_end());
        out.push('\n');
    }
    out.push('\n');
    for note in notes(record) {
        let _ = writeln!(out, "{note}");
    }
    out
}

fn with_interval(mean: Option<f64>, interval: Option<f64>, digits: usize) -> String {
    match (mean, interval) {
        (None, _) => "failed".into(),
        (Some(mean), None) => format!("{mean:.digits$}"),
        (Some(mean), Some(interval)) => format!("{mean:.digits$} ±{interval:.digits$}"),
    }
}

fn notes(record: &Record) -> Vec<String> {
    let mut notes = Vec::new();
    let rows = record.rows();
    if let Some(row) = rows.first() {
        let runs = rows.iter().map(|row| row.runs).max().unwrap_or(0);
        let intervals = if runs > 1 { "; ± is the 95 % interval of the mean" } else { "" };
        notes.push(format!(
            "{} over loopback from native-quinn, runs: {runs}{intervals}. CPU time is the receiver's, user and system.",
            show_size(row.bytes)
        ));
    }
    for row in rows {
        if row.mismatched_runs > 0 || row.failed_runs > 0 {
            notes.push(failures(row));
        }
    }
    if rows.iter().any(|row| row.drops.is_some_and(|drops| drops > 0)) {
        notes.push(
            "Datagrams were dropped at a full socket buffer: the goodput may be that of the buffer.".into(),
        );
    }
    if let Some((granted, wanted)) = record.small_buffer() {
        notes.push(format!(
            "A receive buffer of {} was granted instead of {} (net.core.rmem_max).",
            show_size(granted),
            show_size(wanted)
        ));
    }
    if !record.is_pinned() {
        notes.push("Sender and receiver shared processors: trust the CPU time, not the goodput.".into());
    }
    notes
}

fn failures(row: &ShownRow) -> String {
    let ShownRow { build, cipher, mismatched_runs, failed_runs, .. } = row;
    format!(
        "{build} {cipher}: {mismatched_runs} runs with wrong bytes, {failed_runs} without a result; left out."
    )
}

#[cfg(test)]
mod tests {
    use super::super::Args;
    use super::super::builds::{Build, Cipher};
    use super::super::record::{Row, Sample, Setup};
    use super::*;
    use crate::system::Buffers;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn sample(seconds: f64, cpu: f64, drops: u64) -> Sample {
        Sample {
            seconds,
            goodput_mbps: 8.0 * (1 << 28) as f64 / (1e6 * seconds),
            cpu_user_s: cpu / 2.0,
            cpu_system_s: cpu / 2.0,
            sender_cpu_s: None,
            handshake_seconds: 0.01,
            drops: Some(drops),
            recv_buffer: 4 << 20,
            send_buffer: 8 << 20,
        }
    }

    fn record() -> Record {
        let args = <Line as clap::Parser>::parse_from(["bench", "--size", "256MiB"]).args;
        let mut base = Row::new(Build::WasmBase, Cipher::Aes128Gcm, 1 << 28);
        base.samples = vec![sample(4.0, 4.0, 0), sample(4.0, 4.0, 3)];
        base.mismatched_runs = 1;
        let mut native = Row::new(Build::NativeQuinn, Cipher::Aes128Gcm, 1 << 28);
        native.samples = vec![sample(0.4, 0.25, 0), sample(0.6, 0.25, 0)];
        let mut failed = Row::new(Build::WasmBase, Cipher::ChaCha20Poly1305, 1 << 28);
        failed.failures.push("no".into());
        Record::new(
            crate::provenance::collect("none"),
            Setup::collect(Buffers { receive: args.recv_buffer, send: args.send_buffer }, None, None),
            vec![base, native, failed],
        )
    }

    #[test]
    fn the_table_shows_means_ratios_and_failures() {
        let text = render(&record());
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("cipher"), "{text}");
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
        assert_eq!(words(lines[1]), "aes-128-gcm wasm-base 537 ±0 12.0 % 16.00 ±0.00 16.00 x 3");
        assert!(words(lines[2]).starts_with("native-quinn 4474 ±"), "{text}");
        assert!(words(lines[2]).contains("100.0 % 1.00 ±0.00 1.00 x 0"), "{text}");
        assert_eq!(lines[3], "");
        assert_eq!(words(lines[4]), "chacha20-poly1305 wasm-base failed - failed - 0");
        assert!(text.contains("wasm-base aes-128-gcm: 1 runs with wrong bytes"), "{text}");
        assert!(text.contains("4 MiB was granted instead of 8 MiB"), "{text}");
        assert!(text.contains("shared processors"), "{text}");
        assert!(text.contains("dropped at a full socket buffer"), "{text}");
    }

    #[test]
    fn the_record_has_the_fields_of_the_interface() {
        let record = record();
        assert_eq!(record.failed_runs(), 2);
        let value = serde_json::to_value(&record).unwrap();
        assert_eq!(value["schema_version"], 1);
        assert!(value["provenance"]["rustc"].is_string());
        let row = &value["rows"][0];
        for field in [
            "build",
            "cipher",
            "direction",
            "bytes",
            "runs",
            "mismatched_runs",
            "drops",
            "goodput_mbps",
            "goodput_median",
            "goodput_ci95",
            "cpu_s_per_gib",
            "cpu_median",
            "cpu_ci95",
        ] {
            assert!(!row[field].is_null(), "{field} is missing: {row}");
        }
        assert_eq!(row["mismatched_runs"], 1);
        assert_eq!(row["runs"], 2);
        assert_eq!(row["cpu_s_per_gib"], 16.0);
        assert!(value["rows"][2]["goodput_mbps"].is_null());
    }
}
