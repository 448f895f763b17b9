//! One transfer: a sender and a receiver, each a process of its own.

use std::fmt;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use super::builds::{Build, Cipher};
use super::certificate::{CA, CERTIFICATE, Directory, KEY, SERVER_NAME};
use super::record::Sample;
use crate::peer::Report;
use crate::system::{Buffers, CpuList, CpuTime, Event, Process, datagrams_dropped};
use crate::{Context, Error};

/// How long the sender may take to end once the receiver has.
const SENDER_GRACE: Duration = Duration::from_secs(2);
/// Lines of a child's standard error that are kept for a message.
const KEPT_LINES: usize = 4;

/// What all transfers of a measurement share.
pub(super) struct Session<'a> {
    pub(super) context: &'a Context,
    pub(super) directory: Directory,
    pub(super) buffers: Buffers,
    pub(super) window: u64,
    /// Longest time for one transfer.
    pub(super) timeout: Duration,
    /// Processors of the sender and of the receiver.
    pub(super) cpus: Option<&'a (CpuList, CpuList)>,
}

/// What is sent, and its length in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Content<'a> {
    Pattern(u64),
    File(&'a Path, u64),
}

/// Why a transfer does not count.
#[derive(Debug)]
pub(super) enum Failure {
    /// What arrived is not what was sent.
    Mismatch(String),
    /// There is no result.
    Broken(Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mismatch(message) => f.write_str(message),
            Self::Broken(error) => error.fmt(f),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Broken(error)
    }
}

impl Session<'_> {
    /// Transfers content to a receiver of this build.
    pub(super) fn transfer(
        &self,
        build: Build,
        cipher: Cipher,
        content: Content<'_>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Sample, Failure> {
        let (Content::Pattern(bytes) | Content::File(_, bytes)) = content;
        let deadline = Instant::now() + self.timeout;
        let dropped_before = datagrams_dropped();
        let (mut sender, address) = self.start_sender(content, deadline)?;
        let mut receiver = self.start_receiver(build, cipher, &address)?;
        let Outcome { lines, said, status, cpu } = self.attend(&mut receiver, deadline, progress)?;
        // Also lets a sender end that waits for a client which never came.
        let ended = sender.wait_until(Instant::now() + SENDER_GRACE)?;
        let dropped_after = datagrams_dropped();

        let report = lines.iter().find_map(|line| serde_json::from_str::<Report>(line).ok());
        let Some(report) = report else {
            return Err(Error::failed(ended_badly(&format!("the receiver of {build}"), status, &said)).into());
        };
        if !report.matches() || report.bytes != bytes {
            return Err(Failure::Mismatch(format!(
                "what arrived is not what was sent: {} bytes of {bytes}, XXH64 {} instead of {}",
                report.bytes, report.xxh64, report.expected
            )));
        }
        if !status.success() {
            return Err(Error::failed(ended_badly(&format!("the receiver of {build}"), status, &said)).into());
        }
        Ok(Sample {
            seconds: report.seconds,
            goodput_mbps: 8.0 * bytes as f64 / (1e6 * report.seconds),
            cpu_user_s: cpu.user.as_secs_f64(),
            cpu_system_s: cpu.system.as_secs_f64(),
            sender_cpu_s: ended.map(|(_, cpu)| (cpu.user + cpu.system).as_secs_f64()),
            handshake_seconds: report.handshake_seconds,
            drops: dropped_before.zip(dropped_after).map(|(before, after)| after.saturating_sub(before)),
            recv_buffer: report.recv_buffer,
            send_buffer: report.send_buffer,
        })
    }

    fn start_sender(&self, content: Content<'_>, deadline: Instant) -> Result<(Process, String), Error> {
        let mut command = Command::new(&self.context.peer);
        command.args(["bench-peer", "server", "--listen", "127.0.0.1:0", "--once", "--until-stdin-closes"]);
        command.arg("--cert").arg(self.directory.private().join(CERTIFICATE));
        command.arg("--key").arg(self.directory.private().join(KEY));
        command.arg("--recv-buffer").arg(self.buffers.receive.to_string());
        command.arg("--send-buffer").arg(self.buffers.send.to_string());
        command.arg("--window").arg(self.window.to_string());
        match content {
            Content::File(path, _) => command.arg("--file").arg(path),
            Content::Pattern(bytes) => command.arg("--size").arg(bytes.to_string()),
        };
        let mut sender = Process::spawn("the sender", &mut command, self.cpus.map(|(sender, _)| sender))?;
        let mut said = Tail::default();
        loop {
            match sender.next_event(deadline.saturating_duration_since(Instant::now())) {
                Event::Out(line) => {
                    if let Some(address) = line.strip_prefix("listening ") {
                        return Ok((sender, address.to_owned()));
                    }
                }
                Event::Err(line) => said.push(line),
                Event::Quiet => {
                    return Err(Error::failed("the sender does not listen in time; see --timeout"));
                }
                Event::Closed => {
                    return Err(match sender.wait_until(deadline)? {
                        Some((status, _)) => Error::failed(ended_badly("the sender", status, &said)),
                        None => Error::failed("the sender closed its outputs without listening"),
                    });
                }
            }
        }
    }

    fn start_receiver(&self, build: Build, cipher: Cipher, address: &str) -> Result<Process, Error> {
        let (mut command, directory) = build.receiver(self.context, self.directory.public());
        command.args(["--connect", address, "--server-name", SERVER_NAME]);
        command.arg("--ca").arg(format!("{directory}/{CA}"));
        command.args(["--cipher", &cipher.to_string()]);
        command.arg("--recv-buffer").arg(self.buffers.receive.to_string());
        command.arg("--send-buffer").arg(self.buffers.send.to_string());
        command.args(["--json", "--progress"]);
        Process::spawn("the receiver", &mut command, self.cpus.map(|(_, receiver)| receiver))
    }

    /// Reads what a receiver writes until it ends.
    fn attend(
        &self,
        receiver: &mut Process,
        deadline: Instant,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Outcome, Error> {
        let late = |name: &str| {
            Error::failed(format!("{name} did not end within {} s; see --timeout", self.timeout.as_secs()))
        };
        let mut lines = Vec::new();
        let mut said = Tail::default();
        loop {
            match receiver.next_event(deadline.saturating_duration_since(Instant::now())) {
                Event::Out(line) if lines.len() < KEPT_LINES => lines.push(line),
                Event::Out(_) => {}
                Event::Err(line) => match line.strip_prefix("progress ").and_then(|count| count.parse().ok())
                {
                    Some(count) => progress(count),
                    None => said.push(line),
                },
                Event::Quiet => return Err(late(receiver.name())),
                Event::Closed => break,
            }
            if Instant::now() >= deadline {
                return Err(late(receiver.name()));
            }
        }
        match receiver.wait_until(deadline)? {
            Some((status, cpu)) => Ok(Outcome { lines, said, status, cpu }),
            None => Err(late(receiver.name())),
        }
    }
}

/// What is left of a receiver.
struct Outcome {
    lines: Vec<String>,
    said: Tail,
    status: ExitStatus,
    cpu: CpuTime,
}

/// The last lines that a child wrote on its standard error.
#[derive(Debug, Default)]
struct Tail(Vec<String>);

impl Tail {
    fn push(&mut self, line: String) {
        if line.is_empty() {
            return;
        }
        if self.0.len() == KEPT_LINES {
            self.0.remove(0);
        }
        self.0.push(line);
    }
}

fn ended_badly(name: &str, status: ExitStatus, said: &Tail) -> String {
    let said = if said.0.is_empty() { "without a word".to_owned() } else { said.0.join("; ") };
    match status.code() {
        Some(0) => format!("{name} ended without a report: {said}"),
        Some(code) => format!("{name} ended with status {code}: {said}"),
        None => format!("{name} was killed ({status}): {said}"),
    }
}
