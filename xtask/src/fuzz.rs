//! The fuzz targets of `fuzz/`, each run for a short time: a crash within seconds fails the suite.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::cmd::Cmd;
use crate::report::Tally;
use crate::workspace::Workspace;
use crate::{Error, Result, fail, tools};

/// Seconds of fuzzing, for all targets together.
const SECONDS: usize = 60;

/// How libFuzzer runs: inputs of any length from the start, since it has no time to grow them.
const OPTIONS: &str =
    "-max_len=4096 -len_control=0 -timeout=60 -rss_limit_mb=2048 -verbosity=0 -print_final_stats=1";

/// The line of libFuzzer's statistics that says how often the target was called.
const EXECUTIONS: &str = "stat::number_of_executed_units:";

/// Builds every target, then runs one after another.
pub(crate) fn smoke(workspace: &Workspace) -> Result<Tally> {
    let program = tools::cargo_fuzz(workspace)?;
    tools::cxx()?;
    let list = fuzz(workspace, &program, "list").read()?;
    let targets: Vec<&str> = list.split_whitespace().collect();
    if targets.is_empty() {
        fail!("`cargo fuzz list` names no target: is fuzz/Cargo.toml whole?");
    }
    // Building them at once shares the dependencies, and keeps compilers out of the time for fuzzing.
    fuzz(workspace, &program, "build --target-dir")
        .arg(workspace.target("fuzz"))
        .limit(Duration::from_secs(40 * 60))
        .run()?;
    let seconds = SECONDS.div_ceil(targets.len());
    let mut tally = Tally::default();
    for target in targets {
        match run(workspace, &program, target, seconds) {
            Ok(count) => tally.check(&format!("fuzz {target}: {count} executions"), Ok(())),
            Err(error) => tally.check(&format!("fuzz {target}"), Err(error.message().to_owned())),
        }
    }
    Ok(tally)
}

/// Runs one target and says how many executions it made.
fn run(workspace: &Workspace, program: &Path, target: &str, seconds: usize) -> Result<u64> {
    // What earlier runs found interesting is where the next one begins.
    let corpus = workspace.target("fuzz-corpus").join(target);
    fs::create_dir_all(&corpus)
        .map_err(|error| Error::Failed(format!("cannot make {}: {error}", corpus.display())))?;
    let cmd = fuzz(workspace, program, "run --target-dir").arg(workspace.target("fuzz")).arg(target);
    let cmd = cmd.arg(&corpus).arg("--").words(OPTIONS).arg(format!("-max_total_time={seconds}"));
    let mut count = None;
    let success = cmd.limit(Duration::from_secs(15 * 60)).tee(|line| {
        count = count.or_else(|| line.strip_prefix(EXECUTIONS)?.trim().parse().ok());
    })?;
    if !success {
        fail!(
            "it crashed; the input is under fuzz/artifacts/{target}/, and the output above says how to run it \
             again (with RUSTC_BOOTSTRAP=1 where the toolchain is not a nightly)"
        );
    }
    match count {
        Some(count) if count > 0 => Ok(count),
        _ => fail!("it ended without an execution"),
    }
}

/// cargo-fuzz with a command. Its flags for the compiler are unstable ones, which a stable compiler takes so.
fn fuzz(workspace: &Workspace, program: &Path, command: &str) -> Cmd {
    Cmd::new(program)
        .dir(workspace.root())
        .arg("fuzz")
        .words(command)
        .env("RUSTC_BOOTSTRAP", "1")
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
}
