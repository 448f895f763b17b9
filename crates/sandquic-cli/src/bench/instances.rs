//! `sandquic bench instances`: what it takes to start a process, and to make one more instance in it.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use sandquic_bench::provenance;
use sandquic_host::{Allocation, ENGINE, Host, HostOptions, Prepared, RunOptions};
use serde_json::{Value, json};

use crate::{Failure, components, json::write_json};

/// How long a process takes to start a component, and a process to make one more instance of it.
///
/// Processes run the component with an argument at which it ends at once. Instances are made in a store of their own, up to
/// where the program would start, and dropped; both kinds of allocation take turns.
#[derive(Debug, Args)]
pub(crate) struct InstancesArgs {
    /// The component: a path, or @NAME for one that is built in.
    #[arg(long, value_name = "COMPONENT", default_value = "@transfer-server")]
    component: String,

    /// The argument at which it ends at once.
    #[arg(long, value_name = "ARG", default_value = "--help", allow_hyphen_values = true)]
    argument: OsString,

    /// Processes to start.
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    processes: u32,

    /// Instances to make of each allocation.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    instances: u32,

    /// Write one JSON object to FILE ('-' is standard output; the table is then left out).
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn run(arguments: &InstancesArgs) -> Result<(), Failure> {
    let program = components::open(&arguments.component)?;
    // The first process would compile it.
    Host::new(HostOptions::default())?.compile(&program)?;
    let mut rows = vec![processes(arguments)?];
    rows.extend(instances(arguments)?);

    if arguments.json.as_deref() != Some("-".as_ref()) {
        for row in &rows {
            let what =
                row["allocation"].as_str().map_or("process".to_owned(), |kind| format!("instance, {kind}"));
            let number = |key: &str| row[key].as_f64();
            print!(
                "{what:<20} {:>8.0} us at least, {:>8.0} us median",
                number("wall_us_min").unwrap_or_default(),
                number("wall_us_median").unwrap_or_default()
            );
            match number("cpu_us_mean") {
                Some(cpu) => println!(", {cpu:>8.0} us of CPU on average"),
                None => println!(", {:>8.0} us median to end", number("drop_us_median").unwrap_or_default()),
            }
        }
    }
    let Some(path) = &arguments.json else { return Ok(()) };
    let record = json!({
        "schema_version": 1,
        "kind": "instances",
        "provenance": provenance::collect(ENGINE),
        "setup": { "component": arguments.component, "bytes": program.bytes().len() },
        "rows": rows,
    });
    write_json(path, &record)
}

/// Starts processes one after another.
fn processes(arguments: &InstancesArgs) -> Result<Value, Failure> {
    let failed = |what: &str, error: std::io::Error| Failure::Failed(format!("cannot {what}: {error}"));
    let this = std::env::current_exe().map_err(|error| failed("find this program's own file", error))?;
    let mut wall = Vec::new();
    let before = children_cpu();
    for _ in 0..arguments.processes {
        let mut command = Command::new(&this);
        command.arg("run").arg(&arguments.component).arg("--").arg(&arguments.argument);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let started = Instant::now();
        let status = command.status().map_err(|error| failed("start a process", error))?;
        wall.push(started.elapsed());
        if !status.success() {
            return Err(Failure::Failed(format!(
                "{} ended with {status}; give it an argument at which it ends at once (--argument)",
                arguments.component
            )));
        }
    }
    let cpu =
        before.zip(children_cpu()).map(|(before, after)| micros((after - before) / arguments.processes));
    Ok(json!({
        "what": "process",
        "samples": arguments.processes,
        "wall_us_min": micros(least(&wall)),
        "wall_us_median": micros(median(&mut wall)),
        "cpu_us_mean": cpu,
    }))
}

/// Makes instances, of each allocation in turn.
fn instances(arguments: &InstancesArgs) -> Result<Vec<Value>, Failure> {
    const KINDS: [(&str, Allocation); 2] =
        [("on-demand", Allocation::OnDemand), ("pooled", Allocation::Pooled(4))];
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Failed(format!("cannot start a runtime: {error}")))?;
    let program = components::open(&arguments.component)?;
    let mut kinds: Vec<(&str, Prepared, Vec<Duration>, Vec<Duration>)> = Vec::new();
    for (name, allocation) in KINDS {
        let host = Host::new(HostOptions { allocation, ..HostOptions::default() })?;
        kinds.push((name, host.prepare(&program)?, Vec::new(), Vec::new()));
    }
    for _ in 0..arguments.instances {
        for (_, prepared, make, end) in &mut kinds {
            let started = Instant::now();
            let instance = runtime.block_on(prepared.instance(RunOptions::default()))?;
            let made = Instant::now();
            drop(instance);
            make.push(made - started);
            end.push(made.elapsed());
        }
    }
    Ok(kinds
        .into_iter()
        .map(|(allocation, _, mut make, mut end)| {
            json!({
                "what": "instance",
                "allocation": allocation,
                "samples": arguments.instances,
                "wall_us_min": micros(least(&make)),
                "wall_us_median": micros(median(&mut make)),
                "drop_us_median": micros(median(&mut end)),
            })
        })
        .collect())
}

/// User and system time of the child processes that have ended, from /proc/self/stat (`proc(5)`).
fn children_cpu() -> Option<Duration> {
    /// The unit in which Linux reports to programs, on every architecture: USER_HZ.
    const TICK: Duration = Duration::from_millis(10);
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The program's name, in brackets, may hold anything; field 3 is the first after it, cutime and cstime are 16 and 17.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(16 - 3);
    let mut ticks = || fields.next()?.parse::<u32>().ok();
    Some(TICK * (ticks()? + ticks()?))
}

fn least(samples: &[Duration]) -> Duration {
    samples.iter().min().copied().unwrap_or_default()
}

fn median(samples: &mut [Duration]) -> Duration {
    samples.sort_unstable();
    samples.get(samples.len() / 2).copied().unwrap_or_default()
}

fn micros(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1_000.0
}
