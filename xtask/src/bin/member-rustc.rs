//! `RUSTC_WORKSPACE_WRAPPER` of native builds that differ in one `cfg` of `sandquic-crypto`, the one that its own file
//! name ends with: `member-rustc.NAME.VALUE`.
//!
//! Cargo tells what one wrapper's path made from what another's did, for the members of the workspace alone. So several
//! builds have all their dependencies in common, which flags for every crate (`RUSTFLAGS`) would build once each.

#![forbid(unsafe_code)]
#![allow(clippy::print_stderr)]

use std::env;
use std::path::Path;
use std::process::{Command, ExitCode};

const CRATE: &str = "sandquic_crypto";

fn main() -> ExitCode {
    let mut words = env::args_os();
    let own = words.next().unwrap_or_default();
    let name = Path::new(&own).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let mut parts = name.strip_suffix(env::consts::EXE_SUFFIX).unwrap_or(name).split('.').skip(1);
    let (Some(cfg), Some(value), Some(rustc)) = (parts.next(), parts.next(), words.next()) else {
        eprintln!(
            "member-rustc: cargo calls a copy named member-rustc.NAME.VALUE with rustc and its arguments"
        );
        return ExitCode::from(2);
    };
    let words: Vec<_> = words.collect();
    let mut command = Command::new(&rustc);
    command.args(&words);
    if words.windows(2).any(|pair| pair[0] == "--crate-name" && pair[1] == CRATE) {
        command.args(["--cfg", &format!("{cfg}=\"{value}\"")]);
    }
    match command.status() {
        Ok(status) => ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)),
        Err(error) => {
            eprintln!("member-rustc: cannot run {}: {error}", rustc.display());
            ExitCode::FAILURE
        }
    }
}
