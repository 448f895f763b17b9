//! The runner as a program of its own: what `sandquic bench transfer` and `sandquic bench-peer` do, without the sandbox's
//! host in it. Sandboxed builds need the `sandquic` program beside it.
#![forbid(unsafe_code)]
#![allow(clippy::print_stderr)]

use std::path::{Path, PathBuf};
use std::process::{self, ExitCode};

use clap::Parser;
use sandquic_bench::{Context, Error, evaluate, peer, transfer};

/// Measures QUIC transfers.
#[derive(Parser)]
#[command(name = "sandquic-bench", version)]
struct CommandLine {
    /// The program that runs components.
    #[arg(long, value_name = "FILE", default_value = "sandquic")]
    sandquic: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Bulk transfers from stock quinn to each build of the receiver.
    Transfer(transfer::Args),
    /// The scenarios of the evaluation, into a record.
    Evaluate(evaluate::Args),
    /// One native end of a transfer.
    BenchPeer(peer::Args),
}

fn main() -> ExitCode {
    match run(CommandLine::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sandquic-bench: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(line: CommandLine) -> Result<(), Error> {
    match line.command {
        Command::BenchPeer(args) => peer::run(args),
        Command::Transfer(args) => transfer::run(args, &context(line.sandquic)?),
        Command::Evaluate(args) => evaluate::run(args, &context(line.sandquic)?),
    }
}

fn context(sandquic: PathBuf) -> Result<Context, Error> {
    let peer = std::env::current_exe()
        .map_err(|error| Error::Failed(format!("cannot find this program's own file: {error}")))?;
    let engine = engine(&sandquic).unwrap_or_else(|| "unknown".into());
    Ok(Context { sandquic, peer, engine })
}

/// The engine that a `sandquic` program says it holds; `None` if it cannot be asked.
fn engine(sandquic: &Path) -> Option<String> {
    let output = process::Command::new(sandquic).args(["info", "--json", "-"]).output().ok()?;
    let info: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
    info.get("engine")?.as_str().map(str::to_owned)
}
