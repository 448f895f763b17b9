//! What the tests of the runner's program share.
#![allow(dead_code)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

/// The runner's own program.
pub(crate) fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_sandquic-bench"))
}

/// Runs the program to its end.
pub(crate) fn run(args: &[&str]) -> Output {
    program().args(args).stdin(Stdio::null()).output().unwrap()
}

/// Standard error as text.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Writes an issuer's certificate, and a certificate for `localhost` with its key: `ca.pem`, `cert.pem`, `key.pem`.
pub(crate) fn certificates(directory: &Path) {
    let mut ca = CertificateParams::default();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca_key = KeyPair::generate().unwrap();
    let ca_certificate = ca.self_signed(&ca_key).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["localhost".to_owned()])
        .unwrap()
        .signed_by(&key, &Issuer::from_params(&ca, &ca_key))
        .unwrap();
    std::fs::write(directory.join("ca.pem"), ca_certificate.pem()).unwrap();
    std::fs::write(directory.join("cert.pem"), certificate.pem()).unwrap();
    std::fs::write(directory.join("key.pem"), key.serialize_pem()).unwrap();
}

/// Runs `bench-peer client` or `sandquic-client` against an address with the issuer of this directory.
pub(crate) fn client(role: &str, address: &str, directory: &Path, args: &[&str]) -> Output {
    let mut command = program();
    command.args(["bench-peer", role, "--connect", address, "--ca"]).arg(directory.join("ca.pem"));
    if role == "sandquic-client" {
        // Stock quinn's has it as its default.
        command.args(["--server-name", "localhost"]);
    }
    command.args(args).stdin(Stdio::null()).output().unwrap()
}

/// A running server, killed when dropped.
pub(crate) struct Server {
    child: Child,
    /// Where it listens.
    pub(crate) address: String,
}

impl Server {
    /// Starts `bench-peer server` on a free port with the certificates of this directory.
    pub(crate) fn start(directory: &Path, args: &[&str]) -> Self {
        let mut child = program()
            .args(["bench-peer", "server", "--listen", "127.0.0.1:0", "--cert"])
            .arg(directory.join("cert.pem"))
            .arg("--key")
            .arg(directory.join("key.pem"))
            .args(args)
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

    /// Runs `bench-peer client` against it with the issuer of this directory.
    pub(crate) fn client(&self, directory: &Path, args: &[&str]) -> Output {
        client("client", &self.address, directory, args)
    }

    /// Waits for its end and returns its exit status.
    pub(crate) fn wait(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Closes its standard input.
    pub(crate) fn close_stdin(&mut self) {
        drop(self.child.stdin.take());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
