//! Transfers from stock quinn to the client whose packets the host protects.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

const CIPHERS: [&str; 3] = ["aes-128-gcm", "aes-256-gcm", "chacha20-poly1305"];

/// `sandquic-bench-host`.
fn client() -> Command {
    Command::new(env!("CARGO_BIN_EXE_sandquic-bench-host"))
}

/// The `sandquic` command, which is built into the same folder.
fn sandquic() -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_sandquic-bench-host"))
        .with_file_name(format!("sandquic{}", std::env::consts::EXE_SUFFIX));
    assert!(path.is_file(), "{} is missing: run `cargo xtask build` first", path.display());
    path
}

/// The directory of the test certificates.
fn pki() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../crates/sandquic-rustls/tests/fixtures")
}

/// A server that serves one connection, and ends at the latest with this test.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(bytes: usize) -> Self {
        let mut child = Command::new(sandquic())
            .args([
                "bench-peer",
                "server",
                "--listen",
                "127.0.0.1:0",
                "--once",
                "--until-stdin-closes",
                "--cert",
            ])
            .arg(pki().join("p256.pem"))
            .arg("--key")
            .arg(pki().join("p256.key.pem"))
            .args(["--size", &bytes.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening ").expect("an address").to_owned();
        Self { child, address }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn receive(server: &Server, cipher: &str, ca: &str) -> Output {
    let mut mapping = pki().into_os_string();
    mapping.push("::/pki");
    client()
        .arg("--dir-ro")
        .arg(mapping)
        .args(["--", "--connect", &server.address, "--server-name", "localhost", "--json"])
        .args(["--cipher", cipher, "--ca", &format!("/pki/{ca}")])
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// The object in the line of standard error that holds the metrics.
fn metrics(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stderr);
    let found = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).collect::<Vec<_>>();
    assert_eq!(found.len(), 1, "{text}");
    found[0]["metrics"].clone()
}

#[test]
fn every_cipher_transfers_with_a_call_for_each_packet() {
    const BYTES: usize = 3_000_000;
    for cipher in CIPHERS {
        let server = Server::start(BYTES);
        let output = receive(&server, cipher, "ca.pem");
        assert!(output.status.success(), "{cipher}: {output:?}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["bytes"], BYTES, "{cipher}");
        assert_eq!(report["xxh64"], report["expected"], "{cipher}");
        let metrics = metrics(&output);
        let calls = metrics["host_calls"].as_u64().unwrap();
        let copied = metrics["host_bytes_copied"].as_u64().unwrap();
        // No packet is larger than 1,500 bytes; each is opened with one call, and those sent are sealed with one.
        let sent = report["packets"]["sent"].as_u64().unwrap();
        let packets = BYTES as u64 / 1500 + sent;
        assert!(calls > packets, "{cipher}: {calls} calls for at least {packets} packets");
        assert!(calls < 4 * packets, "{cipher}: {calls} calls for {packets} packets or a few more");
        // In as ciphertext and out as text; with headers, tags and what was sent a little more.
        let (content, slack) = (2 * BYTES as u64, BYTES as u64 / 2);
        assert!((content..content + slack).contains(&copied), "{cipher}: {copied} bytes copied");
    }
}

#[test]
fn a_failed_transfer_is_one_with_its_metrics() {
    let server = Server::start(1000);
    let output = receive(&server, "aes-128-gcm", "stranger.pem");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    // Initial and Handshake packets were protected by the host before the certificate was refused.
    assert!(metrics(&output)["host_calls"].as_u64().unwrap() > 4, "{output:?}");
}

#[test]
fn the_product_cannot_run_the_component() {
    let component =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/guests/host-crypto/client.wasm");
    assert!(component.is_file(), "{} is missing: run `cargo xtask build` first", component.display());
    let output = Command::new(sandquic()).args(["run", "--no-cache"]).arg(component).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        told.contains("imports what this host does not provide") && told.contains("sandquic:bench/aead"),
        "{told}"
    );
    let info = Command::new(sandquic()).args(["info", "--json"]).output().unwrap();
    assert!(!String::from_utf8_lossy(&info.stdout).contains("host-crypto"), "it is not inside either");
}

#[test]
fn other_ciphers_are_refused() {
    let line =
        ["--", "--connect", "127.0.0.1:1", "--server-name", "localhost", "--ca", "x", "--ciphers", "handvec"];
    let output = client().args(line).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("only its host's ciphers"), "{output:?}");
}
