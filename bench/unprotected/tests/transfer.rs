//! A transfer without protection on its packets, between processes over loopback.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn program(role: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sandquic-unprotected"));
    command.arg(role);
    command
}

fn pki(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/sandquic-rustls/tests/fixtures").join(name)
}

fn client(address: &str, more: &[&str]) -> Output {
    let mut command = program("client");
    command.args(["--connect", address, "--server-name", "localhost", "--json", "--ca"]).arg(pki("ca.pem"));
    command.args(more).output().unwrap()
}

#[test]
fn content_arrives_whole_both_ways_with_every_suite() {
    let mut command = program("server");
    command.args(["--listen", "127.0.0.1:0", "--size", "3000017", "--ciphers", "unprotected"]);
    command
        .args(["--until-stdin-closes", "--cert"])
        .arg(pki("p256.pem"))
        .arg("--key")
        .arg(pki("p256.key.pem"));
    let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(server.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening ").unwrap();
    for cipher in ["aes-128-gcm", "aes-256-gcm", "chacha20-poly1305"] {
        for more in [&[][..], &["--put-size", "3000017"]] {
            let args = [&["--ciphers", "unprotected", "--cipher", cipher], more].concat();
            let output = client(address, &args);
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.status.success() && text.contains("\"bytes\":3000017"), "{output:?}");
        }
    }
    // Who does not ask for it by name does not get it.
    let output = client(address, &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--ciphers unprotected"), "{output:?}");
    drop(server.stdin.take());
    assert!(server.wait().unwrap().success());
}
