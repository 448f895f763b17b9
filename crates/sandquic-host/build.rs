//! Tells the crate which Wasmtime it is built on: the version that the workspace's lock file holds.

use std::path::Path;
use std::{env, fs};

fn main() {
    let manifest =
        env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR for build scripts");
    let lock = Path::new(&manifest).join("../../Cargo.lock");
    // Outside the workspace there is no lock file to read; the requirement in Cargo.toml still names the line.
    let version =
        fs::read_to_string(&lock).ok().and_then(|text| locked(&text, "wasmtime")).unwrap_or("48".into());
    println!("cargo::rustc-env=SANDQUIC_WASMTIME_VERSION={version}");
    println!("cargo::rerun-if-changed=build.rs");
    if lock.exists() {
        println!("cargo::rerun-if-changed={}", lock.display());
    }
}

/// The version of the package `name` in the text of a lock file.
fn locked(text: &str, name: &str) -> Option<String> {
    let after = text.split_once(&format!("name = \"{name}\"\nversion = \""))?.1;
    Some(after.split_once('"')?.0.to_string())
}
