//! `sandquic bench udp`: what one datagram sent and one received cost in CPU time, in the sandbox and outside it.

use std::fmt::Write as _;
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::output::Output;
use crate::provenance::{self, Provenance};
use crate::system::Process;
use crate::{Context, Error};

/// Version of the record's form. A reader refuses a higher one.
const SCHEMA_VERSION: u32 = 1;
/// How long one process may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// Command line of `sandquic bench udp`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Datagrams that a process moves; another moves a tenth, and the difference counts.
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = clap::value_parser!(u32).range(1_000..))]
    pub datagrams: u32,
    /// How many are sent before as many are received, separated by commas.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "32,1",
          value_parser = clap::value_parser!(u32).range(1..=64))]
    pub burst: Vec<u32>,
    /// Bytes of a datagram.
    #[arg(long, value_name = "N", default_value_t = 1350, value_parser = clap::value_parser!(u32).range(1..=1472))]
    pub bytes: u32,
    /// Runs of each row, in turn.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub runs: u32,
    /// Write the record as JSON to this file; - is standard output (the table then goes to standard error).
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// Command line of the native loop.
#[derive(Debug, Clone, clap::Args)]
pub struct PairsArgs {
    /// Datagrams.
    pub count: u32,
    /// How many are sent before as many are received.
    pub burst: u32,
    /// Bytes of each.
    pub bytes: usize,
}

/// The surroundings that are compared: a name, the release of WASI, whether the sockets are Wasmtime's own.
const HOSTS: [(&str, Option<(&str, bool)>); 5] = [
    ("native", None),
    ("wasm-p3-stock", Some(("0.3", true))),
    ("wasm-p3-batched", Some(("0.3", false))),
    ("wasm-p2-stock", Some(("0.2", true))),
    ("wasm-p2-batched", Some(("0.2", false))),
];

#[derive(Debug, Serialize)]
struct Record {
    schema_version: u32,
    kind: &'static str,
    provenance: Provenance,
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    host: &'static str,
    burst: u32,
    bytes: u32,
    runs: u32,
    /// CPU time of a datagram sent and received, in microseconds, user and system: the least of all runs.
    us: f64,
    us_median: f64,
    #[serde(skip)]
    samples: Vec<f64>,
}

/// Runs the measurement.
///
/// # Errors
/// [`Error::Failed`] if a process cannot be started, fails or does not end.
pub fn run(args: Args, context: &Context) -> Result<(), Error> {
    let output = Output::open(args.json.as_deref())?;
    let mut rows: Vec<Row> = args
        .burst
        .iter()
        .flat_map(|&burst| HOSTS.map(|(host, _)| (host, burst)))
        .map(|(host, burst)| {
            let (bytes, runs) = (args.bytes, args.runs);
            Row { host, burst, bytes, runs, us: 0.0, us_median: 0.0, samples: Vec::new() }
        })
        .collect();
    for _ in 0..args.runs {
        for (at, row) in rows.iter_mut().enumerate() {
            let few = args.datagrams / 10;
            let time = |count| process_time(context, HOSTS[at % HOSTS.len()].1, count, row.burst, row.bytes);
            let more = time(args.datagrams)?.as_secs_f64() - time(few)?.as_secs_f64();
            row.samples.push(more * 1e6 / f64::from(args.datagrams - few));
        }
    }
    for row in &mut rows {
        row.samples.sort_by(f64::total_cmp);
        row.us = row.samples.first().copied().unwrap_or_default();
        row.us_median = row.samples.get(row.samples.len() / 2).copied().unwrap_or_default();
    }
    let provenance = provenance::collect(&context.engine);
    let table = table(&rows);
    output.write(&table, &Record { schema_version: SCHEMA_VERSION, kind: "udp", provenance, rows })
}

/// CPU time of a process that moves so many datagrams.
fn process_time(
    context: &Context,
    host: Option<(&str, bool)>,
    count: u32,
    burst: u32,
    bytes: u32,
) -> Result<Duration, Error> {
    let mut command = match host {
        None => {
            let mut command = Command::new(&context.peer);
            command.args(["bench-peer", "udp-pairs"]).args([count, burst, bytes].map(|n| n.to_string()));
            command
        }
        Some((release, stock)) => {
            let mut command = Command::new(&context.sandquic);
            command.args(["run", "--inherit-network"]);
            if stock {
                command.arg("--stock-udp");
            }
            command.args(["@udp", release, &format!("pairs={count}/{burst}/{bytes}")]);
            command
        }
    };
    let mut process = Process::spawn("the loop of datagrams", &mut command, None)?;
    match process.wait_until(Instant::now() + PATIENCE)? {
        Some((status, time)) if status.success() => Ok(time.total()),
        Some((status, _)) => Err(Error::failed(format!("the loop of datagrams failed: {status}"))),
        None => {
            Err(Error::failed("the loop of datagrams does not end; a datagram may have been lost".to_owned()))
        }
    }
}

fn table(rows: &[Row]) -> String {
    let mut table =
        format!("{:5} {:16} {:>8} {:>8} {:>9}\n", "burst", "host", "us/pair", "median", "to native");
    for row in rows {
        let native = rows.iter().find(|other| other.burst == row.burst && other.host == "native");
        let ratio = native.map_or(f64::NAN, |native| row.us / native.us);
        // A String takes every write.
        let _ = writeln!(
            table,
            "{:5} {:16} {:8.2} {:8.2} {:8.2}x",
            row.burst, row.host, row.us, row.us_median, ratio
        );
    }
    table
}

/// The native loop: sends and receives as the component does.
///
/// # Errors
/// [`Error::Failed`] with what the system says.
pub fn pairs(args: &PairsArgs) -> Result<(), Error> {
    let failed = |error: std::io::Error| Error::failed(format!("cannot move datagrams: {error}"));
    let bind = || UdpSocket::bind("127.0.0.1:0");
    let (from, to) = (bind().map_err(failed)?, bind().map_err(failed)?);
    let addr = to.local_addr().map_err(failed)?;
    let data = vec![7; args.bytes];
    let mut buffer = vec![0; 65_536];
    for _ in 0..args.count.div_ceil(args.burst.max(1)) {
        for _ in 0..args.burst {
            from.send_to(&data, addr).map_err(failed)?;
        }
        for _ in 0..args.burst {
            if to.recv_from(&mut buffer).map_err(failed)?.0 != args.bytes {
                return Err(Error::failed("a datagram of another size came".to_owned()));
            }
        }
    }
    Ok(())
}
