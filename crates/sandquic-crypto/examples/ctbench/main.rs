//! Checks that keyed functions take no longer for one secret than for another, in the manner of dudect (Reparaz,
//! Balasch, Verbauwhede: "Dude, is my code constant time?", 2017).
//!
//! Each function is timed with one fixed secret and with random ones, in random order. Welch's t-test tells whether the two
//! sets of times have different means; it is done on all samples and on those below several percentiles, since
//! interruptions only add time. |t| > 10 is a leak. A function with a planted leak is measured first: if that is not
//! found, nothing else that is measured would mean anything. So is a control, which has nothing that could leak: its t
//! tells what this machine, now, makes of no difference at all.
//!
//! The program runs natively and as wasm32-wasip1.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program speaks on its standard streams")]

use std::process::ExitCode;

mod functions;
mod measure;

use functions::{Function, control, functions, planted};
use measure::{Outcome, THRESHOLD, measure};

const USAGE: &str = "\
usage: ctbench [smoke|full|planted] [--samples N] [--only NAME[,NAME...]] [--json]

  smoke     20000 samples of each function (the default)
  full      1000000 samples of each function
  planted   only the function with the planted leak, which fails
  --json    one JSON object on standard output instead of the table

Status 0: no leak was found. 1: one was, or the planted one was not. 2: usage.";

/// A leak is one in so many measurements.
const REPEATS: usize = 4;

struct Options {
    mode: Mode,
    samples: usize,
    only: Vec<String>,
    json: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Smoke,
    Full,
    Planted,
}

impl Options {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self { mode: Mode::Smoke, samples: 0, only: Vec::new(), json: false };
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "smoke" => options.mode = Mode::Smoke,
                "full" => options.mode = Mode::Full,
                "planted" => options.mode = Mode::Planted,
                "--json" => options.json = true,
                "--samples" => {
                    let value = args.next().and_then(|value| value.parse().ok());
                    options.samples = value
                        .filter(|n| (1_000..=100_000_000).contains(n))
                        .ok_or("--samples needs a number from 1000 to 100000000")?;
                }
                "--only" => {
                    let value = args.next().ok_or("--only needs a list of functions")?;
                    options.only = value.split(',').map(str::to_owned).collect();
                }
                other => return Err(format!("unknown argument {other}")),
            }
        }
        if options.samples == 0 {
            options.samples = if options.mode == Mode::Full { 1_000_000 } else { 20_000 };
        }
        let known: Vec<&str> = functions().iter().map(|function| function.name).collect();
        match options.only.iter().find(|name| !known.contains(&name.as_str())) {
            Some(name) => Err(format!("no function {name}; there are {}", known.join(", "))),
            None => Ok(options),
        }
    }
}

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("ctbench: {message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let leak = measure(&mut planted(), options.samples, 0);
    let mut outcomes = Vec::new();
    if options.mode != Mode::Planted {
        let wanted = |function: &Function| {
            options.only.is_empty() || options.only.iter().any(|name| name == function.name)
        };
        for mut function in [control()].into_iter().chain(functions().into_iter().filter(wanted)) {
            let mut outcome = measure(&mut function, options.samples, 0);
            // What disturbs the machine does not come back in a second measurement, nor does what the processor makes of one
            // value at one place come back with another value at another place; a leak does.
            for which in 1..REPEATS {
                if outcome.leaks() {
                    function.change_fixed(which as u64);
                    outcome = outcome.or_smaller(measure(&mut function, options.samples, which));
                }
            }
            if !options.json {
                show(&outcome);
            }
            outcomes.push(outcome);
        }
    }
    if options.json {
        println!("{}", json(&leak, &outcomes, options.samples));
    } else {
        show(&leak);
    }
    verdict(options.mode, &leak, &outcomes)
}

fn verdict(mode: Mode, leak: &Outcome, outcomes: &[Outcome]) -> ExitCode {
    if mode == Mode::Planted {
        return if leak.leaks() {
            eprintln!("ctbench: {} leaks, as it should", leak.name);
            ExitCode::FAILURE
        } else {
            // The caller expects a failure and shall notice.
            eprintln!("ctbench: the planted leak was not found");
            ExitCode::SUCCESS
        };
    }
    let leaks: Vec<&str> =
        outcomes.iter().filter(|outcome| outcome.leaks()).map(|outcome| outcome.name).collect();
    if !leak.leaks() {
        eprintln!("ctbench: the planted leak was not found, so the others mean nothing; take more samples");
        return ExitCode::FAILURE;
    }
    if leaks.is_empty() {
        return ExitCode::SUCCESS;
    }
    if leaks.contains(&"control") {
        eprintln!("ctbench: the control differs too: this machine is too busy to tell; measure again");
    }
    eprintln!("ctbench: time depends on the secret in {}", leaks.join(", "));
    ExitCode::FAILURE
}

fn show(outcome: &Outcome) {
    let verdict = if outcome.leaks() { "LEAK" } else { "ok" };
    println!(
        "{:<28} t {:>9.2}  {:>9.1} ns fixed, {:>9.1} ns random, {} samples  {verdict}",
        outcome.name, outcome.t, outcome.fixed_ns, outcome.random_ns, outcome.samples
    );
}

fn json(leak: &Outcome, outcomes: &[Outcome], samples: usize) -> String {
    let row = |outcome: &Outcome| {
        format!(
            "{{\"function\":\"{}\",\"t\":{:.3},\"fixed_ns\":{:.2},\"random_ns\":{:.2},\"samples\":{},\"leak\":{}}}",
            outcome.name,
            outcome.t,
            outcome.fixed_ns,
            outcome.random_ns,
            outcome.samples,
            outcome.leaks()
        )
    };
    let rows: Vec<String> = outcomes.iter().map(row).collect();
    format!(
        "{{\"schema_version\":1,\"kind\":\"constant-time\",\"version\":\"{}\",\"arch\":\"{}\",\"backend\":\"{}\",\"aes\":\"{}\",\"clmul\":\"{}\",\"samples\":{samples},\"threshold\":{THRESHOLD},\"planted\":{},\"rows\":[{}]}}",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::ARCH,
        sandquic_crypto::backend(),
        sandquic_crypto::aes_backend(),
        sandquic_crypto::clmul_backend(),
        row(leak),
        rows.join(",")
    )
}
