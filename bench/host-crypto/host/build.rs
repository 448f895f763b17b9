//! Embeds the component, if it has been built: its absence is an error at run time, not here.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=SANDQUIC_GUESTS");
    let set = |name: &str| PathBuf::from(env::var_os(name).expect("cargo sets it for build scripts"));
    let guests = match env::var_os("SANDQUIC_GUESTS") {
        Some(directory) => PathBuf::from(directory),
        None => set("CARGO_MANIFEST_DIR").join("../../../target/guests"),
    };
    let component = guests.join("host-crypto/client.wasm");
    // The directory too: cargo sees with it that the file comes to be.
    for path in [guests.as_path(), component.parent().unwrap_or(Path::new("")), &component] {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    // A copy of the script's own: the original may be replaced while the compiler reads it. Empty if there is none.
    fs::write(set("OUT_DIR").join("client.wasm"), fs::read(&component).unwrap_or_default())
        .expect("OUT_DIR is writable");
}
