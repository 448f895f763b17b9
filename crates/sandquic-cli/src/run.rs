//! `sandquic run`.

use std::env;
use std::num::NonZeroU16;
use std::process::ExitCode;

use sandquic_host::instances::Ended;
use sandquic_host::udp::{Counters, UdpOptions};
use sandquic_host::{
    Cache, DEFAULT_MAX_MEMORY, Error, Host, HostOptions, Instances, Network, Preopen, Profile, Program,
    RunOptions, Udp,
};

use crate::cli::{ProfileFormat, RunArgs};
use crate::{Failure, components};

pub(crate) fn run(arguments: RunArgs) -> Result<ExitCode, Failure> {
    let mut preopens = Vec::new();
    for (specifications, writable) in
        [(&arguments.directories, true), (&arguments.read_only_directories, false)]
    {
        preopens.extend(specifications.iter().map(|text| Preopen::parse(text, writable)));
    }
    let variables: Vec<_> =
        arguments.variables.iter().map(|text| variable(text)).collect::<Result<_, _>>()?;
    // clap leaves at least one word: the program. A `--` right after it only parts it from its arguments.
    let mut words = arguments.program.into_iter().peekable();
    let program = words.next().unwrap_or_default();
    if program.starts_with('-') {
        return Err(Failure::Usage(format!("no option {program}; `sandquic run --help` lists the options")));
    }
    let program = components::open(&program)?;
    words.next_if(|word| word == "--");
    let args: Vec<String> = words.collect();

    let counters = Counters::new();
    let options = || RunOptions {
        udp: UdpOptions { counters: counters.clone(), ..UdpOptions::default() },
        args: args.clone(),
        env: variables.clone(),
        preopens: preopens.clone(),
        network: if arguments.inherit_network { Network::All } else { Network::Denied },
        max_memory: arguments.max_memory.unwrap_or(DEFAULT_MAX_MEMORY),
        ..RunOptions::inherit()
    };
    let host = Host::new(HostOptions {
        cache: if arguments.no_cache { Cache::Off } else { Cache::Default },
        profile: match arguments.profile {
            None => Profile::None,
            Some(ProfileFormat::Perfmap) => Profile::PerfMap,
            Some(ProfileFormat::Jitdump) => Profile::JitDump,
        },
        udp: if arguments.stock_udp { Udp::Stock } else { Udp::Batched },
        ..HostOptions::default()
    })?;
    let status = match arguments.instances {
        None => host.run(&program, options()).map_err(failure),
        Some(count) => instances(&host, &program, count, options),
    };
    let dropped = counters.read().dropped;
    if dropped > 0 {
        eprintln!(
            "sandquic: {dropped} datagrams of the program were given up: for three seconds the network took none"
        );
    }
    let status = status?;
    // The system keeps eight bits. A status that they cannot hold must not turn into success.
    Ok(ExitCode::from(u8::try_from(status).unwrap_or(u8::MAX)))
}

/// Runs several instances, tells of each that was ended, and returns the worst status.
pub(crate) fn instances(
    host: &Host,
    program: &Program,
    count: NonZeroU16,
    options: impl Fn() -> RunOptions + Sync,
) -> Result<i32, Failure> {
    let report = |ended: Ended<'_>| {
        if let Err(error) = ended.outcome {
            let again = if ended.again { "; it is started again" } else { "" };
            eprintln!("sandquic: instance {} of {count}: {error}{again}", ended.index);
        }
    };
    let outcomes = host.run_instances(program, Instances::new(count), |_| options(), report)?;
    // Errors have been told, each when it came.
    Ok(outcomes.into_iter().map(|outcome| outcome.unwrap_or(1)).max().unwrap_or_default())
}

/// What the command says of an error of the host.
pub(crate) fn failure(error: Error) -> Failure {
    match error {
        Error::OutOfMemory { .. } => Failure::Failed(format!("{error}; grant more with --max-memory")),
        error => error.into(),
    }
}

/// Reads `NAME[=VALUE]`; without a value the variable is this process's own.
fn variable(text: &str) -> Result<(String, String), Failure> {
    match text.split_once('=') {
        Some(("", _)) => Err(Failure::Usage(format!("--env {text}: the name is empty; write NAME=VALUE"))),
        Some((name, value)) => Ok((name.into(), value.into())),
        None => match env::var(text) {
            Ok(value) => Ok((text.into(), value)),
            Err(_) => Err(Failure::Usage(format!(
                "--env {text}: this environment has no such variable; write {text}=VALUE"
            ))),
        },
    }
}
