//! One transfer: a sender and a receiver, each a process of its own, with a relay between them where one is asked for.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::builds::{Build, Cipher};
use super::certificate::{CA, CERTIFICATE, Directory, KEY, SERVER_NAME};
use super::record::Sample;
use crate::peer::{HandshakesReport, Mode, Report};
use crate::system::{Buffers, CpuList, CpuTime, DropWatch, Event, Process};
use crate::{Context, Error, profile};

/// How long the other end may take to end once the measured process has.
const OTHER_END_GRACE: Duration = Duration::from_secs(2);
/// Lines of a child's standard error that are kept for a message.
const KEPT_LINES: usize = 4;
/// How often the sockets of both ends are asked for their drops.
const WATCH_INTERVAL: Duration = Duration::from_millis(50);

/// What all transfers of a measurement share.
pub(crate) struct Session<'a> {
    pub(crate) context: &'a Context,
    pub(crate) directory: Directory,
    pub(crate) buffers: Buffers,
    /// Most bytes on the way unacknowledged.
    pub(crate) window: u64,
    /// Processors of the other end (and the relay), and of the measured process.
    pub(crate) cpus: Option<&'a (CpuList, CpuList)>,
}

/// What is sent, and its length in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Content<'a> {
    Pattern(u64),
    File(&'a Path, u64),
}

impl Content<'_> {
    pub(crate) fn bytes(self) -> u64 {
        let (Self::Pattern(bytes) | Self::File(_, bytes)) = self;
        bytes
    }
}

/// What the measured process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Workload {
    /// It fetches the content.
    Receive,
    /// It uploads a pattern of that length.
    Send,
    /// It makes so many connections, one after the other, and fetches the content over each.
    Connect { connections: u32, mode: Mode },
}

/// One run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job<'a> {
    pub(crate) workload: Workload,
    pub(crate) build: Build,
    pub(crate) cipher: Cipher,
    pub(crate) content: Content<'a>,
    /// Bytes of each UDP payload, fixed at both ends.
    pub(crate) mtu: Option<&'a str>,
    /// A relay between the ends.
    pub(crate) relay: Option<Relay<'a>>,
    /// Compile the component in the run instead of loading it compiled.
    pub(crate) just_in_time: bool,
    /// Sample the measured process and leave the samples here.
    pub(crate) profile: Option<&'a Path>,
    /// Longest time for it.
    pub(crate) timeout: Duration,
}

/// What a relay does to the datagrams of both directions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Relay<'a> {
    pub(crate) loss_percent: &'a str,
    pub(crate) delay_ms: &'a str,
    /// Which datagrams are lost.
    pub(crate) seed: u64,
}

impl<'a> Job<'a> {
    /// Content fetched under ordinary circumstances.
    pub(crate) fn receive(build: Build, cipher: Cipher, content: Content<'a>, timeout: Duration) -> Self {
        Self {
            workload: Workload::Receive,
            build,
            cipher,
            content,
            mtu: None,
            relay: None,
            just_in_time: false,
            profile: None,
            timeout,
        }
    }
}

/// What a run brought.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) told: Told,
    /// Of the measured process, from its start to its end.
    pub(crate) cpu: CpuTime,
    /// Of the other end, hashing included; absent if it had to be killed.
    pub(crate) other_cpu: Option<CpuTime>,
    /// Datagrams that found a full receive buffer; absent where the system does not tell.
    pub(crate) drops: Option<u64>,
    /// From the start of the other end to the end of both.
    pub(crate) elapsed: Duration,
    /// What the measured process counted besides, by the names of a record.
    pub(crate) counted: BTreeMap<String, f64>,
}

/// What the measured process told.
#[derive(Debug)]
pub(crate) enum Told {
    Transfer(Report),
    Connections(HandshakesReport),
}

impl Told {
    /// From the first request to the last byte.
    pub(crate) fn seconds(&self) -> f64 {
        match self {
            Self::Transfer(report) => report.seconds,
            Self::Connections(told) => told.seconds,
        }
    }
}

impl Measured {
    /// Goodput in Mb/s and what else was measured, by the names of a record.
    pub(crate) fn metrics(&self, bytes: u64) -> BTreeMap<String, f64> {
        let mut metrics = vec![
            ("cpu_user_s", self.cpu.user.as_secs_f64()),
            ("cpu_system_s", self.cpu.system.as_secs_f64()),
        ];
        metrics.extend(self.other_cpu.map(|cpu| ("sender_cpu_s", cpu.total().as_secs_f64())));
        metrics.extend(self.drops.map(|drops| ("drops", drops as f64)));
        match &self.told {
            Told::Transfer(report) => metrics.extend([
                ("seconds", report.seconds),
                ("goodput_mbps", goodput_mbps(bytes, report.seconds)),
                ("handshake_s", report.handshake_seconds),
                ("recv_buffer_bytes", report.recv_buffer as f64),
                ("send_buffer_bytes", report.send_buffer as f64),
                ("packets_sent", report.packets.sent as f64),
                ("packets_lost", report.packets.lost as f64),
            ]),
            Told::Connections(told) => metrics.extend([
                ("seconds", told.seconds),
                ("connections", told.connections as f64),
                ("handshakes_per_s", told.connections as f64 / told.seconds),
                ("handshake_median_s", told.handshake_median_s),
                ("first_byte_median_s", told.first_byte_median_s),
                ("resumed", told.resumed as f64),
                ("early_data_accepted", told.early_data_accepted as f64),
                ("recv_buffer_bytes", told.recv_buffer as f64),
                ("send_buffer_bytes", told.send_buffer as f64),
            ]),
        }
        let mut all = self.counted.clone();
        all.extend(metrics.into_iter().map(|(name, value)| (name.to_owned(), value)));
        all
    }

    /// A transfer as a row of `bench transfer` has it; `None` for a series of connections.
    pub(crate) fn sample(self, bytes: u64) -> Option<Sample> {
        let Told::Transfer(report) = self.told else { return None };
        Some(Sample {
            seconds: report.seconds,
            goodput_mbps: goodput_mbps(bytes, report.seconds),
            cpu_user_s: self.cpu.user.as_secs_f64(),
            cpu_system_s: self.cpu.system.as_secs_f64(),
            sender_cpu_s: self.other_cpu.map(|cpu| cpu.total().as_secs_f64()),
            handshake_seconds: report.handshake_seconds,
            drops: self.drops,
            recv_buffer: report.recv_buffer,
            send_buffer: report.send_buffer,
        })
    }
}

fn goodput_mbps(bytes: u64, seconds: f64) -> f64 {
    8.0 * bytes as f64 / (1e6 * seconds)
}

/// Why a transfer does not count.
#[derive(Debug)]
pub(crate) enum Failure {
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
    /// Runs a job; `progress` is told how many bytes have arrived.
    pub(crate) fn run(&self, job: &Job<'_>, progress: &mut dyn FnMut(u64)) -> Result<Measured, Failure> {
        let started = Instant::now();
        let deadline = started + job.timeout;
        let mut drops = DropWatch::new();
        let (mut other, mut address) = self.start_server(job, deadline)?;
        drops.add(other.id());
        // Ends, by being dropped, after both ends.
        let _relay = match job.relay {
            Some(relay) => {
                let (process, listens) = self.start_relay(relay, &address, deadline)?;
                drops.add(process.id());
                address = listens;
                Some(process)
            }
            None => None,
        };
        let mut client = self.start_client(job, &address)?;
        drops.add(client.id());
        let Outcome { lines, said, counted, status, cpu } =
            attend(&mut client, job, deadline, &mut drops, progress)?;
        drops.look();
        // Also lets an end stop that waits for a client which never came.
        let ended = other.wait_until(Instant::now() + OTHER_END_GRACE)?;
        let drops = drops.count();

        let name = format!("the client of {}", job.build);
        let told = match job.workload {
            Workload::Receive | Workload::Send => find(&lines).map(Told::Transfer),
            Workload::Connect { .. } => find(&lines).map(Told::Connections),
        };
        let Some(told) = told else {
            return Err(Error::failed(ended_badly(&name, status, &said)).into());
        };
        check(&told, job)?;
        if !status.success() {
            return Err(Error::failed(ended_badly(&name, status, &said)).into());
        }
        Ok(Measured {
            told,
            cpu,
            other_cpu: ended.map(|(_, cpu)| cpu),
            drops,
            elapsed: started.elapsed(),
            counted,
        })
    }

    fn start_server(&self, job: &Job<'_>, deadline: Instant) -> Result<(Process, String), Error> {
        let mut command = job.build.sender(self.context);
        command.args(["--listen", "127.0.0.1:0", "--until-stdin-closes"]);
        match job.workload {
            Workload::Receive | Workload::Send => command.arg("--once"),
            Workload::Connect { connections, mode } => {
                // One comes first that is not counted, where there must be something to resume.
                let first = u32::from(mode != Mode::Full);
                command.arg("--connections").arg(connections.saturating_add(first).to_string())
            }
        };
        command.arg("--cert").arg(self.directory.private().join(CERTIFICATE));
        command.arg("--key").arg(self.directory.private().join(KEY));
        command.arg("--recv-buffer").arg(self.buffers.receive.to_string());
        command.arg("--send-buffer").arg(self.buffers.send.to_string());
        command.arg("--window").arg(self.window.to_string());
        match (job.workload, job.content) {
            (Workload::Send, _) => command.args(["--size", "0"]),
            (_, Content::File(path, _)) => command.arg("--file").arg(path),
            (_, Content::Pattern(bytes)) => command.arg("--size").arg(bytes.to_string()),
        };
        if let Some(mtu) = job.mtu {
            command.args(["--mtu", mtu]);
        }
        self.start_listening("the other end", &mut command, deadline)
    }

    fn start_relay(&self, relay: Relay<'_>, to: &str, deadline: Instant) -> Result<(Process, String), Error> {
        let mut command = Command::new(&self.context.peer);
        command.args(["bench-peer", "relay", "--to", to, "--listen", "127.0.0.1:0", "--until-stdin-closes"]);
        command.args(["--loss-percent", relay.loss_percent, "--delay-ms", relay.delay_ms]);
        command.arg("--seed").arg(relay.seed.to_string());
        self.start_listening("the relay", &mut command, deadline)
    }

    /// Starts what prints `listening ADDRESS` once it does.
    fn start_listening(
        &self,
        name: &str,
        command: &mut Command,
        deadline: Instant,
    ) -> Result<(Process, String), Error> {
        let mut process = Process::spawn(name, command, self.cpus.map(|(other, _)| other))?;
        let mut said = Tail::default();
        loop {
            match process.next_event(deadline.saturating_duration_since(Instant::now())) {
                Event::Out(line) => {
                    if let Some(address) = line.strip_prefix("listening ") {
                        return Ok((process, address.to_owned()));
                    }
                }
                Event::Err(line) => said.push(line),
                Event::Quiet => {
                    return Err(Error::failed(format!("{name} does not listen in time")));
                }
                Event::Closed => {
                    return Err(match process.wait_until(deadline)? {
                        Some((status, _)) => Error::failed(ended_badly(name, status, &said)),
                        None => Error::failed(format!("{name} closed its outputs without listening")),
                    });
                }
            }
        }
    }

    fn start_client(&self, job: &Job<'_>, address: &str) -> Result<Process, Error> {
        let mut host = Vec::new();
        if job.just_in_time {
            host.push("--no-cache");
        }
        let (mut command, directory) = job.build.receiver(self.context, self.directory.public(), &host);
        command.args(["--connect", address, "--server-name", SERVER_NAME]);
        command.arg("--ca").arg(format!("{directory}/{CA}"));
        command.args(["--cipher", &job.cipher.to_string()]);
        command.arg("--recv-buffer").arg(self.buffers.receive.to_string());
        command.arg("--send-buffer").arg(self.buffers.send.to_string());
        match job.workload {
            Workload::Receive => {}
            Workload::Send => {
                command.arg("--put-size").arg(job.content.bytes().to_string());
            }
            Workload::Connect { connections, mode } => {
                command.arg("--handshakes").arg(connections.to_string()).arg("--mode").arg(mode.to_string());
            }
        }
        if let Some(mtu) = job.mtu {
            command.args(["--mtu", mtu]);
        }
        command.args(["--json", "--progress"]);
        if let Some(data) = job.profile {
            command = profile::wrap(command, data);
        }
        Process::spawn("the client", &mut command, self.cpus.map(|(_, measured)| measured))
    }
}

/// Reads what a client writes until it ends.
fn attend(
    client: &mut Process,
    job: &Job<'_>,
    deadline: Instant,
    drops: &mut DropWatch,
    progress: &mut dyn FnMut(u64),
) -> Result<Outcome, Error> {
    let late = |name: &str| {
        Error::failed(format!("{name} did not end within {} s; see --timeout", job.timeout.as_secs()))
    };
    let mut lines = Vec::new();
    let mut said = Tail::default();
    let mut counted = BTreeMap::new();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match client.next_event(left.min(WATCH_INTERVAL)) {
            Event::Out(line) => {
                // The report comes when all has arrived, and the socket is still there.
                drops.look();
                if lines.len() < KEPT_LINES {
                    lines.push(line);
                }
            }
            Event::Err(line) => match Said::parse(line) {
                Said::Progress(count) => progress(count),
                Said::Counted(more) => counted.extend(more),
                Said::Words(line) => said.push(line),
            },
            Event::Quiet => {}
            Event::Closed => break,
        }
        drops.look_if_due(WATCH_INTERVAL);
        if Instant::now() >= deadline {
            return Err(late(client.name()));
        }
    }
    match client.wait_until(deadline)? {
        Some((status, cpu)) => Ok(Outcome { lines, said, counted, status, cpu }),
        None => Err(late(client.name())),
    }
}

/// The first line that is what is looked for.
fn find<T: serde::de::DeserializeOwned>(lines: &[String]) -> Option<T> {
    lines.iter().find_map(|line| serde_json::from_str(line).ok())
}

/// Whether what was told is what was asked for.
fn check(told: &Told, job: &Job<'_>) -> Result<(), Failure> {
    match told {
        Told::Transfer(report) => {
            let bytes = job.content.bytes();
            if !report.matches() || report.bytes != bytes {
                return Err(Failure::Mismatch(format!(
                    "what arrived is not what was sent: {} bytes of {bytes}, XXH64 {} instead of {}",
                    report.bytes, report.xxh64, report.expected
                )));
            }
        }
        Told::Connections(told) => {
            let Workload::Connect { connections, mode } = job.workload else { return Ok(()) };
            let wanted = u64::from(connections);
            let wrong = told.connections != wanted
                || (mode == Mode::Full && told.resumed > 0)
                || (mode != Mode::Full && told.resumed < wanted)
                || (mode == Mode::EarlyData && told.early_data_accepted < wanted);
            if wrong {
                return Err(Error::failed(format!(
                    "of {wanted} connections in mode {mode} {} were made, {} resumed, {} with early data accepted",
                    told.connections, told.resumed, told.early_data_accepted
                ))
                .into());
            }
        }
    }
    Ok(())
}

/// What is left of a client.
struct Outcome {
    lines: Vec<String>,
    said: Tail,
    counted: BTreeMap<String, f64>,
    status: ExitStatus,
    cpu: CpuTime,
}

/// A line that a client wrote on its standard error.
enum Said {
    /// So many bytes have arrived.
    Progress(u64),
    /// What it counted, told at its end.
    Counted(BTreeMap<String, f64>),
    /// Anything else.
    Words(String),
}

impl Said {
    fn parse(line: String) -> Self {
        #[derive(Deserialize)]
        struct Counted {
            metrics: BTreeMap<String, f64>,
        }
        if let Some(count) = line.strip_prefix("progress ").and_then(|count| count.parse().ok()) {
            return Self::Progress(count);
        }
        match serde_json::from_str(&line) {
            Ok(Counted { metrics }) => Self::Counted(metrics),
            Err(_) => Self::Words(line),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_says_is_told_apart() {
        assert!(matches!(Said::parse("progress 17".into()), Said::Progress(17)));
        assert!(matches!(Said::parse("progress is slow".into()), Said::Words(_)));
        assert!(matches!(Said::parse("{\"metrics\":7}".into()), Said::Words(_)));
        let Said::Counted(counted) = Said::parse("{\"metrics\":{\"host_calls\":5}}".into()) else {
            panic!("not counted")
        };
        assert_eq!(counted["host_calls"], 5.0);
    }
}
