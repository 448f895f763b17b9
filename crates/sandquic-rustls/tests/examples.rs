//! The example, as `cargo test` has built it beside this program: what it prints.

#![cfg(not(target_family = "wasm"))]

use std::process::Command;

#[test]
fn tls_over_tcp() {
    // This program is in `deps`, beside `examples`.
    let here = std::env::current_exe().unwrap();
    let mut path = here.parent().unwrap().with_file_name("examples").join("tls_tcp");
    path.set_extension(std::env::consts::EXE_EXTENSION);
    let output = Command::new(&path).output().unwrap_or_else(|error| {
        panic!("{}: {error}; `cargo test` without a choice of targets builds it", path.display())
    });
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.starts_with("TLS13_") && printed.ends_with(": \"HELLO OVER TCP\"\n"), "{printed}");
}
