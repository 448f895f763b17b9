//! `sandquic bench transfer`: a bulk transfer over QUIC on loopback, from stock quinn to each build of the receiver.
//!
//! For every run a sender (always `native-quinn`) and a receiver are started as processes of their own, pinned apart
//! where there are two processors or more. Runs of different builds are interleaved, so that what changes on the
//! machine meanwhile hits all of them. Measured are:
//! - goodput `G = 8B/(10^6 t)` in Mb/s: `B` bytes of content, `t` seconds from the request to the last byte, as the
//!   receiver sees them;
//! - CPU time in s/GiB: user and system time of the receiving process from its start to its end, read when it is waited
//!   for; loading the component is part of it, compiling it is not (a first transfer that is not counted fills the cache).
//!
//! The receiver hashes what arrives. A run whose bytes do not match is a failure; it is counted and left out of the means.

mod builds;
pub(crate) mod certificate;
pub(crate) mod record;
pub(crate) mod session;
mod table;

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

pub use builds::{Build, Cipher};

use crate::choice::chosen;
use crate::output::Output;
use crate::system::{Buffers, split_cpus};
use crate::units::{parse_size, show_size};
use crate::{Context, Error, provenance};
use record::{Record, Row, Setup};
use session::{Content, Failure, Job, Session};

/// Bytes of the transfer that comes before the first counted run of a build: it shows that the build works, and puts
/// its compiled code into the cache.
const WARM_UP: u64 = 1 << 20;

/// Command line of `sandquic bench transfer`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Bytes to transfer, for example 256MiB or 1GiB.
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "256MiB")]
    pub size: u64,
    /// Counted runs of each build with each cipher.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub runs: u32,
    /// Builds of the receiver, separated by commas; without it the ladder, wasm-base to native-quinn.
    #[arg(long, value_name = "LIST", value_enum, value_delimiter = ',')]
    pub build: Vec<Build>,
    /// Ciphers, separated by commas; all of them without it.
    #[arg(long, value_name = "LIST", value_enum, value_delimiter = ',')]
    pub cipher: Vec<Cipher>,
    /// Transfer this file instead of a pattern.
    #[arg(long, value_name = "FILE", conflicts_with = "size")]
    pub file: Option<PathBuf>,
    /// Write the record as JSON to this file; - is standard output (the table then goes to standard error).
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Receive buffer to ask for at every socket. A sandboxed receiver is granted at most net.core.rmem_max.
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "8MiB")]
    pub recv_buffer: u64,
    /// Send buffer to ask for at every socket.
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "8MiB")]
    pub send_buffer: u64,
    /// Most bytes that the sender has on the way unacknowledged; without it 4 MiB, or less if the smallest receive
    /// buffer (that of a sandboxed receiver: at most net.core.rmem_max) holds less.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub window: Option<u64>,
    /// Longest time for one run; without it a minute and what the size takes at 16 Mb/s.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=604_800))]
    pub timeout: Option<u64>,
    /// Leave it to the system on which processors sender and receiver run.
    #[arg(long)]
    pub no_pin: bool,
}

/// Measures, prints the table and writes the record.
///
/// # Errors
/// [`Error::Usage`] for a command line that makes no sense. [`Error::Failed`] when a build does not work at all (nothing
/// is measured then), when the record cannot be written, and, after the table, when any run failed.
pub fn run(args: Args, context: &Context) -> Result<(), Error> {
    let content = match &args.file {
        Some(path) => {
            let metadata = std::fs::metadata(path)
                .map_err(|error| Error::failed(format!("cannot read {}: {error}", path.display())))?;
            if !metadata.is_file() {
                return Err(Error::failed(format!("{} is not a file", path.display())));
            }
            Content::File(path, metadata.len())
        }
        None => Content::Pattern(args.size),
    };
    let bytes = content.bytes();
    if bytes == 0 {
        return Err(Error::Usage(
            "a transfer of no bytes has no goodput; give --size or --file at least one".into(),
        ));
    }
    if args.window.is_some_and(|window| window < 64 << 10) {
        return Err(Error::Usage("--window must be at least 64KiB".into()));
    }
    let output = Output::open(args.json.as_deref())?;

    let builds = if args.build.is_empty() { Build::headline().to_vec() } else { chosen(&args.build) };
    builds.iter().try_for_each(|build| build.check(context))?;
    let ciphers = chosen(&args.cipher);
    let cpus = if args.no_pin { None } else { split_cpus() };
    let buffers = Buffers { receive: args.recv_buffer, send: args.send_buffer };
    let setup = Setup::collect(buffers, args.window, cpus.as_ref());
    let session = Session {
        context,
        directory: certificate::issue()?,
        buffers,
        window: setup.window(),
        cpus: cpus.as_ref(),
    };
    let timeout = Duration::from_secs(args.timeout.unwrap_or(60 + bytes / 2_000_000));
    let provenance = provenance::collect(&context.engine);

    let mut rows: Vec<Row> = Vec::new();
    for &cipher in &ciphers {
        rows.extend(builds.iter().map(|&build| Row::new(build, cipher, bytes)));
    }
    let progress = Progress::new(bytes, rows.len() as u64 * u64::from(args.runs));
    for &build in &builds {
        progress.say(format!("trying {build}"));
        session
            .run(&Job::receive(build, ciphers[0], Content::Pattern(WARM_UP), timeout), &mut |_| {})
            .map_err(|failure| Error::failed(format!("build {build} does not work: {failure}")))?;
    }
    for round in 1..=args.runs {
        for row in &mut rows {
            progress.say(format!("run {round} of {}: {} {}", args.runs, row.build, row.cipher));
            let job = Job::receive(row.build, row.cipher, content, timeout);
            match session.run(&job, &mut |done| progress.within(done)) {
                Ok(measured) => row.samples.extend(measured.sample(bytes)),
                Err(failure) => {
                    progress.note(&format!("{} {}, run {round}: {failure}", row.build, row.cipher));
                    match failure {
                        Failure::Mismatch(_) => row.mismatched_runs += 1,
                        Failure::Broken(error) => row.failures.push(error.to_string()),
                    }
                }
            }
            progress.step();
        }
    }
    progress.finish();

    let record = Record::new(provenance, setup, rows);
    output.write(&table::render(&record), &record)?;
    match record.failed_runs() {
        0 => Ok(()),
        1 => Err(Error::failed("1 run failed; it is left out of the means")),
        count => Err(Error::failed(format!("{count} runs failed; they are left out of the means"))),
    }
}

/// A progress bar on standard error, if that is a terminal. It counts bytes of all counted runs.
struct Progress {
    bar: ProgressBar,
    run_bytes: u64,
}

impl Progress {
    fn new(run_bytes: u64, runs: u64) -> Self {
        let target = if io::stderr().is_terminal() {
            ProgressDrawTarget::stderr_with_hz(5)
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(run_bytes.saturating_mul(runs)), target);
        if let Ok(style) = ProgressStyle::with_template("{msg:44} {bar:20} {percent:>3} %, {eta} left") {
            bar.set_style(style);
        }
        bar.set_message(format!("{} a run", show_size(run_bytes)));
        Self { bar, run_bytes }
    }

    fn say(&self, message: String) {
        self.bar.set_message(message);
    }

    /// So many bytes of the present run have arrived.
    fn within(&self, bytes: u64) {
        let before = self.bar.position() / self.run_bytes * self.run_bytes;
        self.bar.set_position(before + bytes.min(self.run_bytes - 1));
    }

    /// The present run has ended, well or not.
    fn step(&self) {
        self.bar.set_position((self.bar.position() / self.run_bytes + 1) * self.run_bytes);
    }

    /// Prints a line that stays, also without a terminal.
    fn note(&self, line: &str) {
        self.bar.suspend(|| {
            let _ = writeln!(io::stderr(), "{line}");
        });
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
