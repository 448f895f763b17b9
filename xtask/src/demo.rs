//! `cargo xtask demo`: from a fresh clone to the table.

use std::fs;
use std::path::{Path, PathBuf};

use crate::workspace::Workspace;
use crate::{Result, build, fail, no_arguments};

pub(crate) const HELP: &str = "\
From a fresh clone: sets up what is missing, builds everything, then sends a 256 MiB file by stock quinn into the
sandboxed client, over AES-128-GCM and ChaCha20-Poly1305, and prints goodput and CPU time per GiB of each build.

usage: cargo xtask demo
";

/// What is measured: one run each, so that it takes no longer than a minute and a half. `sandquic bench transfer` by
/// itself makes more.
const TRANSFER: &str = "bench transfer --runs 1 --cipher aes-128-gcm,chacha20-poly1305 \
    --build wasm-base,wasm-base64,wasm-autovec,wasm-autovec64,wasm-handvec,wasm-sandquic,wasm-sandquic-host,native-opt,native-quinn";

/// The size of the file, in bytes.
const SIZE: usize = 256 << 20;

pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<()> {
    no_arguments(args, HELP)?;
    build::run(workspace, &[])?;
    let file = file(workspace.root())?;
    let mut command = crate::cmd::Cmd::new(workspace.sandquic()).words(TRANSFER).dir(workspace.root());
    command = command.arg("--file").arg(&file);
    command.run()
}

/// The file that is sent, made on the first call: bytes without a pattern that anything could shorten.
fn file(root: &Path) -> Result<PathBuf> {
    let path = root.join("target/demo/256MiB.bin");
    if fs::metadata(&path).is_ok_and(|found| found.len() == SIZE as u64) {
        return Ok(path);
    }
    let mut content = Vec::with_capacity(SIZE);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    while content.len() < SIZE {
        // xorshift64: fast, and no two 8-byte words alike for longer than the file.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        content.extend_from_slice(&state.to_le_bytes());
    }
    let folder = path.parent().unwrap_or(root);
    if let Err(error) = fs::create_dir_all(folder).and_then(|()| fs::write(&path, &content)) {
        fail!("could not write the file to send, {}: {error}; free some disk and try again", path.display());
    }
    Ok(path)
}
