//! `cargo xtask bench`: builds, then measures.

use crate::workspace::Workspace;
use crate::{Result, build};

pub(crate) const HELP: &str = "\
Builds everything, then runs `target/release/sandquic bench` with the arguments given: it adds nothing of its own.

usage: cargo xtask bench kernels [OPTIONS]
       cargo xtask bench transfer [OPTIONS]

`target/release/sandquic bench --help` lists the options.
";

pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<()> {
    if args.is_empty() {
        return Err(crate::Error::Usage(format!("xtask: bench needs to know what to measure\n\n{HELP}")));
    }
    build::run(workspace, &[])?;
    crate::cmd::Cmd::new(workspace.sandquic()).arg("bench").args(args).dir(workspace.root()).run()
}
