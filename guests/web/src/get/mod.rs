//! `sandquic get`: a client of HTTP/3 with curl's habits.
//!
//! | module | what it has |
//! | --- | --- |
//! | `args`, `options`, `target` | the command line, and what it asks for |
//! | `connect`, `tls`, `session` | from a name to a connection: addresses, trust, sessions of earlier runs |
//! | `link`, `exchange` | connections that transfers share, and requests over them |
//! | `transfer`, `body`, `sink` | one URL: redirects, resumption, what is sent and what is kept |
//! | `report`, `progress`, `failure` | what the user is told |
//!
//! The exit status is curl's where curl has one for the case.

mod args;
mod body;
mod connect;
mod exchange;
mod failure;
mod link;
mod options;
mod progress;
mod report;
mod session;
mod sink;
mod target;
mod tls;
mod transfer;

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::IsTerminal;
use std::sync::Arc;

use clap::Parser;
use futures_util::StreamExt;

pub use args::Args;

use connect::{Family, Sockets};
use failure::Failure;
use link::Links;
use options::{Destination, Job, Options};
use progress::Progress;
use report::Report;
use session::Sessions;
use tls::Trust;
use transfer::Client;

/// Fetches or sends what the command line says, and returns the exit status, one of curl's: 0, 2 for a wrong command
/// line, 6 for a host without an address, and so on. With several URLs it is that of the first that failed.
///
/// `arguments` are those after the program's name.
pub async fn run(arguments: &[String]) -> u8 {
    let words = std::iter::once("sandquic get").chain(arguments.iter().map(String::as_str));
    match Args::try_parse_from(words) {
        Ok(args) => fetch(&args).await,
        Err(error) if error.use_stderr() => {
            eprint!("{error}");
            failure::status::USAGE
        }
        Err(help) => {
            print!("{help}");
            0
        }
    }
}

/// The same for a command line that was read already.
pub async fn fetch(args: &Args) -> u8 {
    match whole(args).await {
        Ok(()) => 0,
        Err(failure) => failure.status,
    }
}

async fn whole(args: &Args) -> Result<(), Failure> {
    let told = |failure: Failure| {
        complain(args, &failure);
        failure
    };
    let options = Options::new(args).map_err(told)?;
    let progress =
        Progress::new(args.shows_progress(std::io::stdout().is_terminal(), std::io::stderr().is_terminal()));
    let tell = |text: &str| {
        if args.verbose {
            progress.clear();
            eprintln!("* {text}");
        }
    };
    let mut sessions = None;
    let mut provider = sandquic_rustls::provider();
    if let Some(path) = &args.session {
        let (opened, note) = Sessions::open(path).map_err(told)?;
        if let Some(note) = note.filter(|_| !args.silent) {
            eprintln!("sandquic: {note}");
        }
        provider = session::tape::provider(provider);
        sessions = Some(Arc::new(opened));
    }
    let links = Links {
        trust: Trust::new(args, provider).map_err(told)?,
        sessions,
        early_data: !args.no_early_data,
        alpn: if args.http09 { crate::hq::ALPN } else { crate::tls::H3_ALPN },
        family: match (args.ipv4, args.ipv6) {
            (true, _) => Family::V4,
            (_, true) => Family::V6,
            _ => Family::Any,
        },
        limit: options.connect_timeout,
        addresses: &options.addresses,
        transport: connect::transport(),
        sockets: Sockets::default(),
        tell: &tell,
        servers: RefCell::new(HashMap::new()),
    };
    let client = Client { args, options: &options, links, progress: &progress, tell: &tell };
    // What goes to standard output goes there in order; files need no order.
    let at_once = match options.jobs.iter().any(|job| job.destination == Destination::Stdout) {
        true => 1,
        false => usize::from(args.parallel_max),
    };
    let mut failures: Vec<(usize, Failure)> = Vec::new();
    let numbered = options.jobs.iter().enumerate();
    let mut transfers =
        futures_util::stream::iter(numbered.map(|(at, job)| one(&client, at, job))).buffer_unordered(at_once);
    while let Some((at, outcome)) = transfers.next().await {
        failures.extend(outcome.err().map(|failure| (at, failure)));
    }
    drop(transfers);
    progress.finish();
    if let Err(failure) = client.links.close().await {
        failures.push((usize::MAX, told(failure)));
    }
    match failures.into_iter().min_by_key(|(at, _)| *at) {
        Some((_, failure)) => Err(failure),
        None => Ok(()),
    }
}

async fn one(client: &Client<'_>, at: usize, job: &Job) -> (usize, Result<(), Failure>) {
    let (report, mut outcome): (Report, _) = client.run(job).await;
    if let Err(failure) = &outcome {
        client.progress.clear();
        complain(client.args, failure);
    }
    if let Some(format) = &client.args.write_out {
        client.progress.clear();
        let text = report.text(format, outcome.as_ref().err());
        if let Err(failure) = sink::write_stdout(text.as_bytes()) {
            outcome = outcome.and(Err(failure));
        }
    }
    (at, outcome)
}

fn complain(args: &Args, failure: &Failure) {
    if !args.silent || args.show_error {
        eprintln!("sandquic: ({}) {failure}", failure.status);
    }
}
