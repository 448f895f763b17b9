#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
// A command line tool: what it says goes to the terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod case;
mod files;
mod job;
mod matrix;
mod network;
mod peer;
mod plan;
mod process;
mod report;
mod run;
mod stock;
mod tshark;

use std::process::ExitCode;

use clap::Parser;

/// What this program is asked to be.
#[derive(Debug, Parser)]
#[command(name = "sandquic-interop", about = "sandquic against clients and servers of others")]
enum Cli {
    /// Runs cases and prints the matrix.
    Run(plan::Args),
    /// A server of files on stock quinn, for the cases.
    #[command(hide = true)]
    QuinnServer(stock::server::Args),
    /// A client on stock quinn, for the cases.
    #[command(hide = true)]
    QuinnClient(stock::client::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("sandquic-interop: cannot start tokio: {error}");
            return ExitCode::FAILURE;
        }
    };
    let ended = match cli {
        Cli::Run(args) => match plan::run(args, &runtime) {
            Ok(true) => Ok(()),
            Ok(false) => return ExitCode::FAILURE,
            Err(error) => Err(error.into()),
        },
        Cli::QuinnServer(args) => runtime.block_on(stock::server::run(args)),
        Cli::QuinnClient(args) => runtime.block_on(stock::client::run(args)),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sandquic-interop: {error}");
            ExitCode::FAILURE
        }
    }
}
