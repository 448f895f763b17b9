//! `sandquic serve`: a server of the files in a directory.

mod answer;
mod args;
mod body;
mod client;
mod listing;
mod log;
mod path;
mod plain;
mod range;
mod root;
mod server;
mod session;
mod setup;
mod upload;

use std::fmt;
use std::future::Future;

use clap::Parser;
use clap::error::ErrorKind;

pub use args::{Args, LogLevel, Retry};

/// Serves until standard input is at its end, and returns the exit status: 0, 1 (failed) or 2 (usage).
///
/// `arguments` are those after the program's name.
pub async fn run(arguments: &[String]) -> u8 {
    let words = std::iter::once("sandquic serve").chain(arguments.iter().map(String::as_str));
    match Args::try_parse_from(words) {
        Ok(args) => run_until(args, sandquic::stdin_closed()).await,
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            print!("{error}");
            0
        }
        Err(error) => {
            eprint!("{error}");
            2
        }
    }
}

/// Serves until `stop` is done, and returns the exit status. What is wrong is said on standard error.
pub async fn run_until(args: Args, stop: impl Future<Output = ()>) -> u8 {
    match server::serve(args, stop).await {
        Ok(()) => 0,
        Err(Failure(message)) => {
            eprintln!("sandquic serve: {message}");
            1
        }
    }
}

/// Why the server could not start or go on: a sentence.
#[derive(Debug)]
struct Failure(String);

impl<E: fmt::Display> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}
