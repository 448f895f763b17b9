//! The `sandquic` command.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command speaks on its standard streams")]

mod bench;
mod cli;
mod compile;
mod components;
mod get;
mod info;
mod json;
mod report;
mod run;
mod sandbox;
mod serve;
mod signals;

use std::fmt;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use cli::{Cli, Command};

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let outcome = match cli.command {
        Command::Serve(arguments) => serve::serve(arguments),
        Command::Get(arguments) => get::get(arguments),
        Command::Run(arguments) => run::run(arguments),
        Command::Compile(arguments) => compile::compile(&arguments),
        Command::Info(arguments) => info::info(&arguments),
        Command::Bench(command) => bench::bench(command),
        Command::Report(arguments) => report::report(&arguments),
        Command::BenchPeer(arguments) => bench::peer(arguments),
    };
    match outcome {
        Ok(status) => status,
        Err(failure) => {
            eprintln!("sandquic: {failure}");
            failure.status()
        }
    }
}

/// Help and version as clap prints them; anything else as one line, with status 2.
fn usage(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // Nothing is left to do if standard output is closed.
            let _ = error.print();
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            ExitCode::from(2)
        }
        _ => {
            let text = error.to_string();
            // The message proper ends at the first blank line; hints and usage follow.
            let message: Vec<&str> =
                text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
            let message = message.join(" ");
            let message = message.strip_prefix("error: ").unwrap_or(&message);
            eprintln!("sandquic: {message}; `sandquic --help` shows the usage");
            ExitCode::from(2)
        }
    }
}

/// Why a subcommand did not do its work: printed after `sandquic: ` on one line.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line asks for what cannot be: status 2.
    Usage(String),
    /// The work failed: status 1.
    Failed(String),
}

impl Failure {
    fn status(&self) -> ExitCode {
        match self {
            Self::Usage(_) => ExitCode::from(2),
            Self::Failed(_) => ExitCode::FAILURE,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(message) | Self::Failed(message) => f.write_str(message),
        }
    }
}

impl From<sandquic_host::Error> for Failure {
    fn from(error: sandquic_host::Error) -> Self {
        Self::Failed(error.to_string())
    }
}
