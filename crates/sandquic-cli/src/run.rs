//! `sandquic run`.

use std::env;
use std::process::ExitCode;

use sandquic_host::{Cache, Error, Host, HostOptions, Network, Preopen, Profile, RunOptions, Udp};

use crate::cli::{ProfileFormat, RunArgs};
use crate::{Failure, components};

pub(crate) fn run(arguments: RunArgs) -> Result<ExitCode, Failure> {
    let mut options = RunOptions::inherit();
    for (specifications, writable) in
        [(&arguments.directories, true), (&arguments.read_only_directories, false)]
    {
        options.preopens.extend(specifications.iter().map(|text| Preopen::parse(text, writable)));
    }
    for text in &arguments.variables {
        options.env.push(variable(text)?);
    }
    if arguments.inherit_network {
        options.network = Network::All;
    }
    if let Some(bytes) = arguments.max_memory {
        options.max_memory = bytes;
    }
    // clap leaves at least one word: the program. A `--` right after it only parts it from its arguments.
    let mut words = arguments.program.into_iter().peekable();
    let program = words.next().unwrap_or_default();
    if program.starts_with('-') {
        return Err(Failure::Usage(format!("no option {program}; `sandquic run --help` lists the options")));
    }
    let program = components::open(&program)?;
    words.next_if(|word| word == "--");
    options.args = words.collect();

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
    let status = host.run(&program, options).map_err(|error| match error {
        Error::OutOfMemory { .. } => Failure::Failed(format!("{error}; grant more with --max-memory")),
        error => error.into(),
    })?;
    // The system keeps eight bits. A status that they cannot hold must not turn into success.
    Ok(ExitCode::from(u8::try_from(status).unwrap_or(u8::MAX)))
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
