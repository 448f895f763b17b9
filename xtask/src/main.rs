//! Set-up, builds, checks and tests of the workspace: `cargo xtask COMMAND`.

#![forbid(unsafe_code)]
// A command line tool: what it says goes to the terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod build;
mod cmd;
mod demo;
mod fuzz;
mod guests;
mod interop;
mod kernels;
mod lint;
mod report;
mod setup;
mod test;
mod tools;
mod workspace;

use std::process::ExitCode;

use crate::workspace::Workspace;

const USAGE: &str = "\
Set-up, builds, checks and tests of the workspace.

usage: cargo xtask COMMAND [OPTIONS]

commands:
  setup   find or make a compiler for wasm32-wasip2 and wasm32-wasip1
  build   build the components and the `sandquic` command (target/release/sandquic)
  demo    build everything, send a 256 MiB file into the sandbox, print the table
  lint    format, lints, documentation, licences, layers, `unsafe`, guests' dependencies and imports
  test    the whole test suite: lint, build, native (end to end too), sandbox, interop, kernels, fuzz
  interop build, then `sandquic serve` and `get` against clients and servers of others
  bench   build, then `sandquic bench` with the arguments given

`cargo xtask COMMAND --help` tells more. Exit status: 0 done, 1 failed, 2 usage.
";

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum Error {
    /// The command line is wrong: exit status 2.
    Usage(String),
    /// Something failed: what, and what to do. Exit status 1.
    Failed(String),
    /// Something failed and has been told. Exit status 1.
    Told,
}

impl Error {
    fn message(&self) -> &str {
        match self {
            Self::Usage(text) | Self::Failed(text) => text,
            Self::Told => "failed as told above",
        }
    }
}

/// The result of everything here.
pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// An `Err(Error::Failed)` with a formatted message.
macro_rules! fail {
    ($($arg:tt)*) => { return Err($crate::Error::Failed(format!($($arg)*))) };
}
pub(crate) use fail;

/// A command: what it does with the arguments behind its name.
type Command = fn(&Workspace, &[String]) -> Result<()>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Error::Usage(text)) => {
            eprintln!("{}", text.trim_end());
            ExitCode::from(2)
        }
        Err(Error::Failed(text)) => {
            eprintln!("xtask: {}", text.trim_end());
            ExitCode::FAILURE
        }
        Err(Error::Told) => ExitCode::FAILURE,
    }
}

fn dispatch(args: &[String]) -> Result<()> {
    let Some((command, rest)) = args.split_first() else {
        return Err(Error::Usage(USAGE.to_owned()));
    };
    let (help, run): (&str, Command) = match command.as_str() {
        "setup" => (setup::HELP, setup::run),
        "build" => (build::HELP, build::run),
        "demo" => (demo::HELP, demo::run),
        "lint" => (lint::HELP, lint::run),
        "test" => (test::HELP, test::run),
        "interop" => (interop::HELP, interop::run),
        "bench" => (bench::HELP, bench::run),
        "help" | "--help" | "-h" => {
            print!("{USAGE}");
            return Ok(());
        }
        other => return Err(Error::Usage(format!("xtask: no command `{other}`\n\n{USAGE}"))),
    };
    if rest.iter().take_while(|arg| *arg != "--").any(|arg| arg == "--help" || arg == "-h") {
        print!("{help}");
        return Ok(());
    }
    run(&Workspace::find()?, rest)
}

/// Refuses arguments of a command that takes none.
pub(crate) fn no_arguments(args: &[String], help: &str) -> Result<()> {
    match args.first() {
        None => Ok(()),
        Some(arg) => Err(unknown_argument(arg, help)),
    }
}

/// The error for an argument that a command does not know.
pub(crate) fn unknown_argument(arg: &str, help: &str) -> Error {
    Error::Usage(format!("xtask: unknown argument `{arg}`\n\n{help}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn unknown_commands_and_arguments_are_usage_errors() {
        for line in
            ["", "frobnicate", "setup --frobnicate", "build extra", "lint --fix", "test --only nothing"]
        {
            assert!(matches!(dispatch(&args(line)), Err(Error::Usage(_))), "`{line}` was accepted");
        }
        for line in [
            "help",
            "--help",
            "setup --help",
            "build -h",
            "demo --help",
            "lint --help",
            "test --help",
            "interop --help",
            "bench --help",
        ] {
            assert!(dispatch(&args(line)).is_ok(), "`{line}` was refused");
        }
    }
}
