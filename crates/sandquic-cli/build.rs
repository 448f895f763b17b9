//! Embeds the components that have been built, so that the command works outside the tree.
//!
//! Every `NAME.wasm` in `$SANDQUIC_GUESTS`, else in `target/guests` of the workspace, is taken. A component that is
//! absent is an error at run time, not here: the command also builds before its guests do.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=SANDQUIC_GUESTS");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR for build scripts"));
    let directory = guests_directory();
    println!("cargo::rerun-if-changed={}", directory.display());

    let mut found: Vec<PathBuf> = fs::read_dir(&directory)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    found.retain(|path| path.extension().is_some_and(|extension| extension == "wasm"));
    found.sort();

    let mut table = String::from("&[\n");
    for path in found {
        let Some(name) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
        // A copy of the script's own: the original may be replaced while the compiler reads it.
        let copy = out.join(format!("{name}.wasm"));
        if let Err(error) = fs::copy(&path, &copy) {
            println!("cargo::error=cannot copy {} to {}: {error}", path.display(), copy.display());
            return;
        }
        writeln!(table, "    ({name:?}, include_bytes!({copy:?})),").expect("a String takes every write");
    }
    table.push(']');
    fs::write(out.join("components.rs"), table).expect("OUT_DIR is writable");
    let target = env::var("TARGET").expect("cargo sets TARGET for build scripts");
    println!("cargo::rustc-env=SANDQUIC_TARGET={target}");
}

fn guests_directory() -> PathBuf {
    if let Some(directory) = env::var_os("SANDQUIC_GUESTS") {
        return PathBuf::from(directory);
    }
    let manifest =
        env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR for build scripts");
    Path::new(&manifest).join("../../target/guests")
}
