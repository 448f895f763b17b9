//! `cargo xtask demo`: from a fresh clone to the table.

use crate::workspace::Workspace;
use crate::{Result, build, no_arguments};

pub(crate) const HELP: &str = "\
From a fresh clone: sets up what is missing, builds everything, then sends a 256 MiB file by stock quinn into the
sandboxed client, over AES-128-GCM and ChaCha20-Poly1305, and prints goodput and CPU time per GiB of each build.

usage: cargo xtask demo
";

/// What is measured.
const TRANSFER: &str = "bench transfer --size 256MiB --cipher aes-128-gcm,chacha20-poly1305";

pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<()> {
    no_arguments(args, HELP)?;
    build::run(workspace, &[])?;
    crate::cmd::Cmd::new(workspace.sandquic()).words(TRANSFER).dir(workspace.root()).run()
}
