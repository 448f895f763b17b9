//! `sandquic bench` and `sandquic bench-peer`: the runner does the work, with this program as each end's process.

pub(crate) mod instances;

use std::env;
use std::process::ExitCode;

use sandquic_bench::Context;

use crate::Failure;
use crate::cli::BenchCommand;
use crate::components::EMBEDDED;

pub(crate) fn bench(command: BenchCommand) -> Result<ExitCode, Failure> {
    match command {
        BenchCommand::Kernels(arguments) => sandquic_bench::kernels::run(arguments, &context()?, EMBEDDED)?,
        BenchCommand::Transfer(arguments) => sandquic_bench::transfer::run(arguments, &context()?)?,
        BenchCommand::Instances(arguments) => instances::run(&arguments)?,
        BenchCommand::Udp(arguments) => sandquic_bench::udp::run(arguments, &context()?)?,
        BenchCommand::Connections(arguments) => sandquic_bench::connections::run(&arguments, &context()?)?,
        BenchCommand::Soak(arguments) => sandquic_bench::soak::run(&arguments, &context()?)?,
        BenchCommand::Evaluate(arguments) => sandquic_bench::evaluate::run(arguments, &context()?)?,
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn peer(arguments: sandquic_bench::peer::Args) -> Result<ExitCode, Failure> {
    sandquic_bench::peer::run(arguments)?;
    Ok(ExitCode::SUCCESS)
}

fn context() -> Result<Context, Failure> {
    let program = env::current_exe()
        .map_err(|error| Failure::Failed(format!("cannot find this program's own file: {error}")))?;
    Ok(Context { sandquic: program.clone(), peer: program, engine: sandquic_host::ENGINE.into() })
}

impl From<sandquic_bench::Error> for Failure {
    fn from(error: sandquic_bench::Error) -> Self {
        match error.exit_code() {
            2 => Self::Usage(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}
