//! `sandquic compile`.

use std::process::ExitCode;
use std::time::Instant;

use sandquic_host::{CACHE_DIR_VARIABLE, Host, HostOptions};

use crate::cli::CompileArgs;
use crate::components::{self, EMBEDDED};
use crate::{Failure, json};

pub(crate) fn compile(arguments: &CompileArgs) -> Result<ExitCode, Failure> {
    let host = Host::new(HostOptions::default())?;
    if host.cache_dir().is_none() {
        return Err(Failure::Failed(format!(
            "there is no place to keep compiled code; name a directory in {CACHE_DIR_VARIABLE}"
        )));
    }
    let mut names = arguments.programs.clone();
    if arguments.all {
        names.extend(EMBEDDED.iter().map(|(name, _)| format!("@{name}")));
    }
    for name in names {
        let program = components::open(&name)?;
        let (found, _) = host.cache_uses();
        let started = Instant::now();
        host.compile(&program)?;
        let outcome = match host.cache_uses().0 > found {
            true => "was there already".to_owned(),
            false => format!("compiled in {:.1} s", started.elapsed().as_secs_f64()),
        };
        json::print(&format!("{name}: {outcome}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}
