//! `sandquic-bench-host`: runs the transfer client whose packets the host protects.

#![forbid(unsafe_code)]
#![allow(clippy::print_stderr, reason = "a command speaks on its standard streams")]

use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use sandquic_bench_host::aead;
use sandquic_host::{Cache, Host, HostOptions, Network, Preopen, Profile, Program, RunOptions, Udp};

/// The component, or nothing if it had not been built.
const CLIENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/client.wasm"));

/// Run the transfer client in the sandbox, but with the AEAD of its packets outside: for a benchmark.
///
/// When it has ended, one line on standard error says what crossed the boundary:
/// {"metrics":{"host_calls":N,"host_bytes_copied":N}}.
#[derive(Debug, Parser)]
#[command(name = "sandquic-bench-host", version, max_term_width = 100)]
struct Args {
    /// Let the client see a directory, to read only; GUEST is its path in there [default: the same].
    #[arg(long = "dir-ro", value_name = "HOST[::GUEST]")]
    read_only_directories: Vec<String>,

    /// Tell a profiler which functions the machine code belongs to.
    #[arg(long, value_name = "FORMAT")]
    profile: Option<ProfileFormat>,

    /// Compile anew: neither take compiled code from the disk nor keep it there.
    #[arg(long)]
    no_cache: bool,

    /// What is handed to the client.
    #[arg(value_name = "ARGS", last = true)]
    client: Vec<String>,
}

/// How compiled code is described to a profiler.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ProfileFormat {
    /// /tmp/perf-PID.map, read by `perf report`.
    Perfmap,
    /// Records for `perf inject --jit`.
    Jitdump,
}

fn main() -> ExitCode {
    match run(Args::parse()) {
        // The system keeps eight bits. A status that they cannot hold must not turn into success.
        Ok(status) => ExitCode::from(u8::try_from(status).unwrap_or(u8::MAX)),
        Err(message) => {
            eprintln!("sandquic-bench-host: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: Args) -> Result<i32, String> {
    if CLIENT.is_empty() {
        return Err("this program was built without its component; run `cargo xtask build`".to_owned());
    }
    let failed = |error: sandquic_host::Error| error.to_string();
    let program = Program::from_bytes("host-crypto-client", CLIENT).map_err(failed)?;
    let mut options = RunOptions::inherit();
    options.args = args.client;
    options.network = Network::All;
    options.preopens = args.read_only_directories.iter().map(|text| Preopen::parse(text, false)).collect();
    let counts = aead::prepare(&mut options);
    let host_options = HostOptions {
        cache: if args.no_cache { Cache::Off } else { Cache::Default },
        profile: match args.profile {
            None => Profile::None,
            Some(ProfileFormat::Perfmap) => Profile::PerfMap,
            Some(ProfileFormat::Jitdump) => Profile::JitDump,
        },
        // As for every other build in the sandbox that it is compared with.
        udp: Udp::Stock,
        ..HostOptions::default()
    };
    let host = Host::with_imports(host_options, aead::add_to_linker).map_err(failed)?;
    let outcome = host.run(&program, options).map_err(failed);
    let (host_calls, host_bytes_copied) = (counts.calls(), counts.bytes_copied());
    let line = serde_json::json!({
        "metrics": { "host_calls": host_calls, "host_bytes_copied": host_bytes_copied }
    });
    eprintln!("{line}");
    outcome
}
