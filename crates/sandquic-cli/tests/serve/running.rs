//! A server that runs.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::Place;
use crate::support::sockets;

/// The directory of the test certificates: `ca.pem` issued `p256.pem` (for localhost, with `p256.key.pem`).
pub(crate) fn pki() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../sandquic-rustls/tests/fixtures")
}

/// What is served, and what is beside it.
pub(crate) struct Site(TempDir);

impl Site {
    pub(crate) fn new() -> Self {
        let site = Self(TempDir::new().unwrap());
        for directory in [site.root(), site.outside()] {
            std::fs::create_dir(directory).unwrap();
        }
        site
    }

    /// What is served.
    pub(crate) fn root(&self) -> PathBuf {
        self.0.path().join("root")
    }

    /// What is not.
    pub(crate) fn outside(&self) -> PathBuf {
        self.0.path().join("outside")
    }

    /// The command that serves it, without a certificate.
    pub(crate) fn command(&self, place: Place, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sandquic"));
        command.args(["serve", "--listen=127.0.0.1:0"]).args(words).arg(self.root());
        match place {
            Place::Native => command.arg("--native"),
            Place::Sandbox => command.args(sockets()),
        };
        command.env("XDG_STATE_HOME", self.0.path().join("states"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Serves it with the test certificate.
    pub(crate) fn serve(&self, place: Place, words: &[&str]) -> Running {
        let mut command = self.command(place, words);
        command.arg("--cert").arg(pki().join("p256.pem")).arg("--key").arg(pki().join("p256.key.pem"));
        Running::start(command)
    }

    /// Runs a command that fails, and returns its status and what it said.
    pub(crate) fn fails(&self, place: Place, words: &[&str]) -> (Option<i32>, String) {
        let output = self.command(place, words).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// A server that has said where it listens.
pub(crate) struct Running {
    child: Child,
    _stdout: BufReader<ChildStdout>,
    pub(crate) address: SocketAddr,
    /// What it said at its start.
    pub(crate) said: String,
    log: Arc<Mutex<String>>,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let mut stderr = child.stderr.take().unwrap();
        let sink = log.clone();
        thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(read @ 1..) = stderr.read(&mut piece) {
                sink.lock().unwrap().push_str(&String::from_utf8_lossy(&piece[..read]));
            }
        });
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut said = String::new();
        while !said.contains("serving ") {
            if stdout.read_line(&mut said).unwrap() == 0 {
                let status = child.wait();
                panic!("the server ended with {status:?}: {}", log.lock().unwrap());
            }
        }
        let address = said.lines().find_map(|line| line.strip_prefix("listening on ")).expect("an address");
        let address = address.parse().unwrap();
        Self { child, _stdout: stdout, address, said, log }
    }

    /// What the log holds so far.
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Waits until the log holds a text.
    pub(crate) async fn logged(&self, text: &str) {
        let started = Instant::now();
        while !self.log().contains(text) {
            assert!(started.elapsed() < Duration::from_secs(30), "no {text:?} in the log:\n{}", self.log());
            sandquic::sleep(Duration::from_millis(10)).await;
        }
    }

    /// A value that it said at its start.
    pub(crate) fn value(&self, name: &str) -> String {
        let line = self.said.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("no {name} in {}", self.said)).trim().to_owned()
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status();
        assert!(status.unwrap().success());
    }

    /// Waits for its end.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(started.elapsed() < Duration::from_secs(30), "it did not end:\n{}", self.log());
            sandquic::sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
