//! From a cell to the run that measures it, and to the words that name it.

use std::time::Duration;

use clap::ValueEnum;
use sandquic_report::record::Cell;

use super::plan::Cost;
use super::scenario::{Scenario, Start, Target, Workload};
use crate::peer::Mode;
use crate::transfer::session::{self, Content, Job, Measured, Relay};
use crate::units::show_size;

/// The run of a target with this amount of bytes or connections.
pub(super) fn job<'a>(scenario: &Scenario, target: &'a Target, amount: u64, round: u32) -> Job<'a> {
    let (workload, bytes) = match scenario.workload {
        Workload::Receive => (session::Workload::Receive, amount),
        Workload::Send => (session::Workload::Send, amount),
        Workload::Connect => {
            // The scenario was checked.
            let mode = target.option("mode").and_then(|mode| Mode::from_str(mode, false).ok());
            let mode = mode.unwrap_or(Mode::Full);
            let connections = u32::try_from(amount).unwrap_or(u32::MAX);
            (session::Workload::Connect { connections, mode }, target.bytes)
        }
    };
    let impaired = target.option("loss_percent").is_some() || target.option("delay_ms").is_some();
    let relay = impaired.then(|| Relay {
        loss_percent: target.option("loss_percent").unwrap_or("0"),
        delay_ms: target.option("delay_ms").unwrap_or("0"),
        // The same losses for all builds of a round.
        seed: u64::from(round) + 1,
    });
    // A transfer through a relay may be slow; 16 Mb/s is slow without one.
    let slowest = if impaired { 20_000 } else { 2_000_000 };
    Job {
        workload,
        build: target.build,
        cipher: target.cipher,
        content: Content::Pattern(bytes),
        mtu: target.option("mtu"),
        relay,
        just_in_time: target.option("start").is_some_and(|start| start == Start::Jit.to_string()),
        profile: None,
        timeout: Duration::from_secs(120 + bytes / slowest),
    }
}

/// What a pilot says about the cost of runs.
pub(super) fn cost(measured: &Measured, amount: u64) -> Cost {
    let seconds = measured.told.seconds();
    Cost { fixed: (measured.elapsed.as_secs_f64() - seconds).max(0.0), each: seconds / amount.max(1) as f64 }
}

/// Build, cipher, size and options in one line.
pub(super) fn describe(cell: &Cell) -> String {
    let mut text = format!("{} {}", cell.build, cell.cipher);
    if cell.bytes > 0 {
        text += &format!(" {}", show_size(cell.bytes));
    } else if cell.workload != Workload::Receive.to_string() {
        text += &format!(" {}", cell.workload);
    }
    for (name, value) in &cell.options {
        text += &format!(" {name}={value}");
    }
    text
}

/// The sizes of a scenario with this divisor, and what they would have been.
pub(super) fn sizes(scenario: &Scenario, divisor: u32) -> String {
    let show = |divisor: u32| match scenario.workload {
        Workload::Connect => format!("{} connections", scenario.connections / divisor),
        Workload::Receive | Workload::Send => {
            let sizes: Vec<String> =
                scenario.bytes.iter().map(|bytes| show_size(bytes / u64::from(divisor))).collect();
            sizes.join(", ")
        }
    };
    match divisor {
        1 => show(1),
        _ => format!("{} instead of {}, to fit into the time", show(divisor), show(1)),
    }
}
