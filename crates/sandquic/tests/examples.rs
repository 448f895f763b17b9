//! The examples, as `cargo test` has built them beside this program: what they print.

#![cfg(not(target_family = "wasm"))]

use std::path::PathBuf;
use std::process::Command;

/// Runs an example; its output, line by line.
fn run(name: &str) -> Vec<String> {
    // This program is in `deps`, beside `examples`.
    let here = std::env::current_exe().unwrap();
    let mut path: PathBuf = here.parent().unwrap().with_file_name("examples").join(name);
    path.set_extension(std::env::consts::EXE_EXTENSION);
    let output = Command::new(&path).output().unwrap_or_else(|error| {
        panic!("{}: {error}; `cargo test` without a choice of targets builds it", path.display())
    });
    assert!(output.status.success(), "{}: {output:?}", path.display());
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn echo() {
    let expected =
        ["listening on a port of 127.0.0.1", "came back: one", "came back: two", "came back: three"];
    assert_eq!(run("echo"), expected);
}

#[test]
fn datagrams() {
    let lines = run("datagrams");
    assert_eq!(lines.len(), 2, "{lines:?}");
    let arrived = lines[1].strip_prefix("100 readings sent, ").and_then(|rest| rest.strip_suffix(" arrived"));
    // Any of them may be lost, even on loopback.
    assert!((1..=100).contains(&arrived.unwrap().parse::<u32>().unwrap()), "{lines:?}");
}

#[cfg(feature = "h3")]
#[test]
fn http3() {
    let lines = run("http3");
    assert_eq!(lines[0], r#"/hello: 200 OK, "hello from HTTP/3""#);
    assert_eq!(lines[1], r#"/nothing: 404 Not Found, "there is no such thing""#);
    assert!(lines[2].starts_with("closed: ") && lines.len() == 3, "{lines:?}");
}
