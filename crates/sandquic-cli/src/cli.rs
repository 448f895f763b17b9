//! The command line.

use std::num::NonZeroU16;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use sandquic_bench::units::parse_size;

/// QUIC, TLS and cryptography at speed inside the WebAssembly sandbox.
#[derive(Debug, Parser)]
#[command(name = "sandquic", version, max_term_width = 100, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant, reason = "one is made, at the start")]
pub(crate) enum Command {
    Serve(ServeArgs),
    Get(GetArgs),
    Run(RunArgs),
    Compile(CompileArgs),
    Info(InfoArgs),
    /// Measure.
    #[command(subcommand)]
    Bench(BenchCommand),
    Report(ReportArgs),
    /// One native end of a transfer that is measured.
    #[command(hide = true)]
    BenchPeer(sandquic_bench::peer::Args),
}

/// What can be measured.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Our primitives beside RustCrypto's crates, in Wasmtime, in V8 and natively.
    Kernels(sandquic_bench::kernels::Args),
    /// Bulk transfers from stock quinn to each build of the receiver: goodput and CPU time.
    Transfer(sandquic_bench::transfer::Args),
    /// CPU time of a datagram sent and received: on Wasmtime's own sockets, on the batched ones, natively.
    Udp(sandquic_bench::udp::Args),
    /// Many connections at once to a server in the sandbox, in one instance or several: memory, CPU time.
    Connections(sandquic_bench::connections::Args),
    Instances(crate::bench::instances::InstancesArgs),
    /// Transfers without end over a network that loses datagrams, to see whether memory grows.
    Soak(sandquic_bench::soak::Args),
    /// The scenarios of the evaluation, into a record that an interrupted measurement takes up again.
    Evaluate(sandquic_bench::evaluate::Args),
}

/// Serve the files of a directory over HTTP/3.
///
/// It runs until SIGINT or SIGTERM, then finishes the requests that it has and tells its clients; a second signal ends
/// it at once.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) server: sandquic_web::serve::Args,

    #[command(flatten)]
    pub(crate) place: Place,

    /// Run N instances of the server, each on a thread of its own; they share the port, and a connection stays with its
    /// instance when its client's address changes.
    #[arg(long, value_name = "N", value_parser = instances)]
    pub(crate) instances: Option<NonZeroU16>,
}

/// Fetch or send files over HTTP/3, with curl's flags and exit statuses where curl has them.
///
/// Each URL goes to standard output unless -o or -O says otherwise. URLs of one host share a connection; those that go
/// to files are fetched at the same time.
#[derive(Debug, Args)]
pub(crate) struct GetArgs {
    #[command(flatten)]
    pub(crate) client: sandquic_web::get::Args,

    #[command(flatten)]
    pub(crate) place: Place,
}

/// Where a program of HTTP/3 runs.
#[derive(Debug, Args)]
pub(crate) struct Place {
    /// Run natively, outside the sandbox.
    #[arg(long)]
    pub(crate) native: bool,

    /// The release of WASI that the component is built for.
    #[arg(long, value_name = "RELEASE", default_value = "0.3", conflicts_with = "native")]
    pub(crate) wasi: Wasi,

    /// Use Wasmtime's own UDP sockets instead of those that batch datagrams.
    #[arg(long, conflicts_with = "native")]
    pub(crate) stock_udp: bool,

    /// The memory that the component may have, for example 64MiB [default: 1GiB].
    #[arg(long, value_name = "SIZE", value_parser = parse_size, conflicts_with = "native")]
    pub(crate) max_memory: Option<u64>,
}

/// A release of WASI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Wasi {
    #[value(name = "0.2")]
    P2,
    #[value(name = "0.3")]
    P3,
}

/// Run a WASI command: a component (WASI 0.2 or 0.3) or a core module (WASI 0.1).
///
/// The program is granted what the options say and nothing else. Its exit status becomes the command's.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Let the program see a directory, to read and write; GUEST is its path in there [default: the same].
    #[arg(long = "dir", value_name = "HOST[::GUEST]")]
    pub(crate) directories: Vec<String>,

    /// Let the program see a directory, to read only.
    #[arg(long = "dir-ro", value_name = "HOST[::GUEST]")]
    pub(crate) read_only_directories: Vec<String>,

    /// Set an environment variable, or hand on one of this environment.
    #[arg(long = "env", value_name = "NAME[=VALUE]")]
    pub(crate) variables: Vec<String>,

    /// Let the program use UDP, TCP and name look-up.
    #[arg(long)]
    pub(crate) inherit_network: bool,

    /// Give the program Wasmtime's own UDP sockets: one datagram a system call.
    #[arg(long)]
    pub(crate) stock_udp: bool,

    /// The memory that the program may have, for example 256MiB [default: 1GiB].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) max_memory: Option<u64>,

    /// Run N instances of a server, each on a thread of its own; a UDP port that they bind is shared by all, and a
    /// connection stays with its instance. One that traps is reported and, unless it did at its start, made anew.
    #[arg(long, value_name = "N", value_parser = instances)]
    pub(crate) instances: Option<NonZeroU16>,

    /// Tell a profiler which functions the machine code belongs to.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) profile: Option<ProfileFormat>,

    /// Compile anew: neither take compiled code from the disk nor keep it there.
    #[arg(long)]
    pub(crate) no_cache: bool,

    /// The program: the path of a .wasm file, or @NAME for one that is built in (`sandquic info` lists them);
    /// what follows is handed to it.
    #[arg(value_name = "COMPONENT [ARGS]", required = true, num_args = 1.., trailing_var_arg = true,
          allow_hyphen_values = true)]
    pub(crate) program: Vec<String>,
}

/// Reads a number of instances.
fn instances(text: &str) -> Result<NonZeroU16, String> {
    let most = sandquic_host::instances::MAX_INSTANCES;
    match text.parse::<NonZeroU16>() {
        Ok(count) if count.get() <= most => Ok(count),
        _ => Err(format!("a number from 1 to {most}")),
    }
}

/// Compile programs beforehand, so that the first run of each starts as fast as every later one.
#[derive(Debug, Args)]
pub(crate) struct CompileArgs {
    /// Programs: paths of .wasm files, or @NAME for those that are built in.
    #[arg(value_name = "COMPONENT", required_unless_present = "all")]
    pub(crate) programs: Vec<String>,

    /// All that are built in.
    #[arg(long)]
    pub(crate) all: bool,
}

/// How compiled code is described to a profiler.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ProfileFormat {
    /// /tmp/perf-PID.map, read by `perf report`.
    Perfmap,
    /// Records for `perf inject --jit`.
    Jitdump,
}

/// Say what this build holds: version, backend, engine, features, components.
#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    /// Write one JSON object to FILE ('-' or nothing: standard output).
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub(crate) json: Option<PathBuf>,
}

/// Make a report of records of `sandquic bench evaluate`: tables and charts, or figures in other documents.
///
/// What is wrong with a record is named, in the report and on standard error, and the rest of it is used.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Records, as `sandquic bench evaluate --record FILE` writes them.
    #[arg(value_name = "RECORD", required = true)]
    pub(crate) records: Vec<PathBuf>,

    /// Write report.html, report.md, report.csv and report.json into DIR.
    #[arg(long, value_name = "DIR", conflicts_with = "check")]
    pub(crate) out: Option<PathBuf>,

    /// Put the headline into FILE, between `<!-- headline:begin -->` and `<!-- headline:end -->`, and its chart into
    /// docs/img/headline.svg beside it.
    #[arg(long, value_name = "FILE")]
    pub(crate) readme: Option<PathBuf>,

    /// Put our figures beside the paper's into FILE, between `<!-- paper-mapping:begin -->` and
    /// `<!-- paper-mapping:end -->`.
    #[arg(long, value_name = "FILE")]
    pub(crate) mapping: Option<PathBuf>,

    /// Write nothing; fail if the documents are not what the records give.
    #[arg(long)]
    pub(crate) check: bool,

    /// Merge the runs of sessions of different code or machines.
    #[arg(long)]
    pub(crate) allow_mixed: bool,
}
