//! Processes that transfer over loopback: the `sandquic` command with sandboxed and with native ends.

#![allow(dead_code, reason = "each test program uses a part")]

pub(crate) mod quic;

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Longer than any of these processes may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);

/// The `sandquic` command.
pub(crate) fn sandquic() -> Command {
    Command::new(env!("CARGO_BIN_EXE_sandquic"))
}

/// What gives a sandbox Wasmtime's own UDP sockets, if the environment asks for them: `cargo xtask test` runs these tests once
/// more so.
pub(crate) fn sockets() -> Option<&'static str> {
    std::env::var_os("SANDQUIC_TEST_STOCK_UDP").map(|_| "--stock-udp")
}

/// A component that `cargo xtask build` made.
pub(crate) fn guest(name: &str) -> PathBuf {
    let directory = match std::env::var_os("SANDQUIC_GUESTS") {
        Some(directory) => PathBuf::from(directory),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/guests"),
    };
    let path = directory.join(name).with_extension("wasm");
    assert!(path.is_file(), "{} is missing: run `cargo xtask build` first", path.display());
    path
}

/// The directory of the test certificates: `ca.pem` issued `p256.pem` (for localhost, with `p256.key.pem`);
/// `stranger.pem` is another authority's.
pub(crate) fn pki() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../sandquic-rustls/tests/fixtures")
}

/// Where one end of a transfer runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The component on this project's host.
    Sandbox,
    /// The same for WASI 0.2.
    SandboxP2,
    /// Stock quinn on tokio and ring.
    Stock,
    /// The component on the stock `wasmtime` command that `WASMTIME_BIN` names.
    Wasmtime,
    /// The same for WASI 0.2.
    WasmtimeP2,
}

impl End {
    /// The command for a role, `client` or `server`, that sees the directory `work`.
    fn command(self, role: &str, work: &Path) -> Command {
        let mut command;
        match self {
            Self::Stock => {
                command = sandquic();
                command.args(["bench-peer", role]);
            }
            Self::Sandbox | Self::SandboxP2 => {
                command = sandquic();
                command.args(["run", "--inherit-network"]).args(sockets());
                command.arg("--dir-ro").arg(mapping(&pki(), "/pki"));
                command.arg("--dir").arg(mapping(work, "/files"));
                command.arg(self.component(role)).arg("--");
            }
            Self::Wasmtime | Self::WasmtimeP2 => {
                let program = std::env::var_os("WASMTIME_BIN").expect("the caller has seen that it is set");
                command = Command::new(program);
                command.args(["run", "-S", "inherit-network"]);
                command.arg("--dir").arg(mapping(&pki(), "/pki"));
                command.arg("--dir").arg(mapping(work, "/files"));
                command.arg(self.component(role));
            }
        }
        command
    }

    /// The component for a role.
    fn component(self, role: &str) -> PathBuf {
        let release = if matches!(self, Self::SandboxP2 | Self::WasmtimeP2) { "-wasip2" } else { "" };
        guest(&format!("transfer-{role}{release}"))
    }

    /// The path under which this end sees a file of `work`.
    fn path(self, work: &Path, name: &str) -> String {
        match self {
            Self::Stock => work.join(name).to_string_lossy().into_owned(),
            _ => format!("/files/{name}"),
        }
    }

    /// The path under which this end sees a certificate or key.
    fn pki_path(self, name: &str) -> String {
        match self {
            Self::Stock => pki().join(name).to_string_lossy().into_owned(),
            _ => format!("/pki/{name}"),
        }
    }
}

pub(crate) fn mapping(host: &Path, guest: &str) -> OsString {
    let mut mapping = host.as_os_str().to_owned();
    mapping.push("::");
    mapping.push(guest);
    mapping
}

/// What a server serves.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Serve<'a> {
    /// That many bytes of a pattern.
    Size(u64),
    /// A file of the working directory.
    File(&'a str),
}

/// Starts a server on a free port of loopback and waits until it listens.
pub(crate) fn server(end: End, work: &Path, serve: Serve<'_>, more: &[&str]) -> Server {
    let mut command = end.command("server", work);
    command.args(["--listen", "127.0.0.1:0"]);
    command.args(["--cert", &end.pki_path("p256.pem"), "--key", &end.pki_path("p256.key.pem")]);
    match serve {
        Serve::Size(size) => command.args(["--size", &size.to_string()]),
        Serve::File(name) => command.args(["--file", &end.path(work, name)]),
    };
    command.args(more);
    let mut process = Process::start(command);
    let line = process.line(|line| line.starts_with("listening "));
    let address = line.trim_start_matches("listening ").trim().to_string();
    Server { process, address }
}

/// A server that listens.
pub(crate) struct Server {
    pub(crate) process: Process,
    pub(crate) address: String,
}

/// The command of a client that trusts the test authority, connects to `address` and prints JSON.
pub(crate) fn client(end: End, work: &Path, address: &str, more: &[&str]) -> Command {
    let mut command = end.command("client", work);
    command.args(["--connect", address, "--server-name", "localhost", "--json"]);
    command.args(["--ca", &end.pki_path("ca.pem")]);
    command.args(more);
    command
}

/// As [`client`], with a file of the working directory after `flag` (`--put` or `--out`).
pub(crate) fn client_with_file(
    end: End,
    work: &Path,
    address: &str,
    flag: &str,
    name: &str,
    more: &[&str],
) -> Command {
    let mut command = client(end, work, address, more);
    command.args([flag, &end.path(work, name)]);
    command
}

/// Runs a command to its end.
pub(crate) fn finish(command: Command) -> Output {
    Process::start(command).finish()
}

/// What a process said and how it ended.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Output {
    /// The one JSON object on each line of standard output, after a check that the process succeeded.
    pub(crate) fn reports(&self) -> Vec<serde_json::Value> {
        assert_eq!(self.status, Some(0), "{self:?}");
        self.stdout.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    }

    /// Checks that every one of `count` transfers brought `bytes` bytes whole.
    pub(crate) fn check_reports(&self, count: usize, bytes: u64) {
        let reports = self.reports();
        assert_eq!(reports.len(), count, "{self:?}");
        for report in reports {
            assert_eq!(report["bytes"], bytes, "{report}");
            assert_eq!(report["xxh64"], report["expected"], "{report}");
            assert_eq!(report["xxh64"].as_str().map(str::len), Some(16), "{report}");
        }
    }

    /// Checks the status, and that standard error is one line that starts with `start` and has each of `parts`.
    pub(crate) fn check_failure(&self, status: i32, start: &str, parts: &[&str]) {
        assert_eq!(self.status, Some(status), "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{self:?}");
        assert!(self.stderr.starts_with(start), "{self:?}");
        for part in parts {
            assert!(self.stderr.contains(part), "{part:?} is not in {self:?}");
        }
    }
}

/// A running process whose output is read as it comes. It is killed when it is dropped.
pub(crate) struct Process {
    child: Child,
    lines: mpsc::Receiver<(Stream, String)>,
    readers: Vec<JoinHandle<()>>,
    stdout: String,
    stderr: String,
}

#[derive(Clone, Copy)]
enum Stream {
    Out,
    Err,
}

impl Process {
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let (sender, lines) = mpsc::channel();
        let out = child.stdout.take().expect("standard output is piped");
        let err = child.stderr.take().expect("standard error is piped");
        let readers = vec![reader(out, Stream::Out, sender.clone()), reader(err, Stream::Err, sender)];
        Self { child, lines, readers, stdout: String::new(), stderr: String::new() }
    }

    /// Waits for a line, on either stream, of which `wanted` is true.
    pub(crate) fn line(&mut self, wanted: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok((stream, line)) => {
                    let found = wanted(&line);
                    self.keep(stream, &line);
                    if found {
                        return line;
                    }
                }
                Err(_) => panic!("no such line came; out: {:?}, err: {:?}", self.stdout, self.stderr),
            }
        }
    }

    /// Ends the process at once, as a crash or a power failure would.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("the process is this test's own");
        self.child.wait().expect("a killed process ends");
    }

    /// Waits for the process to end by itself.
    pub(crate) fn finish(mut self) -> Output {
        let status = self.wait();
        for reader in self.readers.drain(..) {
            reader.join().expect("a reader does not panic");
        }
        while let Ok((stream, line)) = self.lines.try_recv() {
            self.keep(stream, &line);
        }
        Output {
            status: status.code(),
            stdout: std::mem::take(&mut self.stdout),
            stderr: std::mem::take(&mut self.stderr),
        }
    }

    fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("the process is this test's own") {
                return status;
            }
            assert!(Instant::now() < deadline, "it does not end; out: {}, err: {}", self.stdout, self.stderr);
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn keep(&mut self, stream: Stream, line: &str) {
        let kept = match stream {
            Stream::Out => &mut self.stdout,
            Stream::Err => &mut self.stderr,
        };
        kept.push_str(line);
        kept.push('\n');
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn reader(
    stream: impl Read + Send + 'static,
    which: Stream,
    sender: mpsc::Sender<(Stream, String)>,
) -> JoinHandle<()> {
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            // The test may have heard enough; the process must be able to go on writing.
            let _ = sender.send((which, line));
        }
    })
}

/// Writes a file of pseudo-random bytes.
pub(crate) fn random_file(path: &Path, size: usize) -> Vec<u8> {
    let mut state = 0x1234_5678_9abc_def1_u64;
    let content: Vec<u8> = std::iter::repeat_with(|| {
        // xorshift64
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    })
    .take(size)
    .collect();
    fs::write(path, &content).expect("the test's own directory is writable");
    content
}
