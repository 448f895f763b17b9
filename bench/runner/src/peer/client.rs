//! The receiving (or with `--put` sending) client.

use std::fs::File;
use std::io::{self, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bytes::Bytes;
use quinn::{ClientConfig, Endpoint, RecvStream, SendStream, VarInt};
use tokio::task::JoinSet;
use xxhash_rust::xxh64::Xxh64;

use super::content::Content;
use super::report::{Packets, Report};
use super::{ClientArgs, GET, PUT, config, endpoint, handshakes};
use crate::Error;
use crate::system::{Buffers, bind, granted};
use crate::units::show_size;

/// Chunks taken from a stream at once.
const CHUNKS: usize = 32;

pub(super) async fn run(args: ClientArgs) -> Result<(), Error> {
    if args.out.is_some() && args.connections > 1 {
        return Err(Error::Usage("--out takes what one connection brings; leave out --connections".into()));
    }
    let content = match (&args.put, args.put_size) {
        (Some(path), _) => Some(Content::file(path)?),
        (None, size) => size.map(Content::Pattern),
    };
    let (client, verifications, tickets) = config::client(&args)?;
    let local: SocketAddr = match args.connect {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let unusable = |error: io::Error| Error::failed(format!("cannot open a UDP socket: {error}"));
    let socket =
        bind(local, Buffers { receive: args.recv_buffer, send: args.send_buffer }).map_err(unusable)?;
    let buffers = granted(&socket).map_err(unusable)?;
    let endpoint = endpoint::new(None, socket, args.mtu).map_err(unusable)?;
    if let Some(count) = args.handshakes {
        let seen = (&*verifications, &*tickets);
        let report = handshakes::run(&endpoint, client, &args, count, seen, buffers).await?;
        print_json(&report)?;
        endpoint.wait_idle().await;
        return Ok(());
    }

    let mut transfers = JoinSet::new();
    for _ in 0..args.connections {
        let transfer = Transfer {
            endpoint: endpoint.clone(),
            client: client.clone(),
            content: content.clone(),
            to: args.connect,
            server_name: args.server_name.clone(),
            out: args.out.clone(),
            progress: args.progress && args.connections == 1,
            buffers,
        };
        transfers.spawn(transfer.run());
    }
    let mut outcome = Ok(());
    while let Some(result) = transfers.join_next().await {
        let result = result.map_err(|error| Error::failed(format!("a transfer's task failed: {error}")));
        match result.and_then(|report| report) {
            Ok(report) => {
                print(&report, args.json)?;
                if !report.matches() {
                    outcome = Err(Error::failed(format!(
                        "what arrived is not what was sent: XXH64 {} instead of {}",
                        report.xxh64, report.expected
                    )));
                }
            }
            Err(error) => outcome = Err(error),
        }
    }
    endpoint.wait_idle().await;
    outcome
}

fn print(report: &Report, json: bool) -> Result<(), Error> {
    if json {
        return print_json(report);
    }
    let mbps = report.bytes as f64 * 8.0 / 1e6 / report.seconds.max(1e-9);
    print_line(&format!(
        "{} in {:.3} s, {mbps:.0} Mb/s, XXH64 {}{}",
        show_size(report.bytes),
        report.seconds,
        report.xxh64,
        if report.matches() { ", as sent" } else { ", NOT as sent" }
    ))
}

/// Prints one JSON object on one line.
pub(super) fn print_json(report: &impl serde::Serialize) -> Result<(), Error> {
    let line = serde_json::to_string(report)
        .map_err(|error| Error::failed(format!("cannot write JSON: {error}")))?;
    print_line(&line)
}

/// Prints a line on standard output.
pub(super) fn print_line(line: &str) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .map_err(|error| Error::failed(format!("cannot print: {error}")))
}

struct Transfer {
    endpoint: Endpoint,
    client: ClientConfig,
    content: Option<Content>,
    to: SocketAddr,
    server_name: String,
    out: Option<PathBuf>,
    progress: bool,
    buffers: Buffers,
}

/// What went over the stream.
pub(super) struct Moved {
    bytes: u64,
    arrived: u64,
    expected: u64,
    /// When the head of the answer had come.
    pub(super) answered: Instant,
}

impl Moved {
    /// Whether what arrived is what was sent.
    pub(super) fn matches(&self) -> bool {
        self.arrived == self.expected
    }
}

impl Transfer {
    async fn run(self) -> Result<Report, Error> {
        let started = Instant::now();
        let to = self.to;
        let connecting = self
            .endpoint
            .connect_with(self.client.clone(), to, &self.server_name)
            .map_err(|error| Error::failed(format!("cannot connect to {to}: {error}")))?;
        let connection =
            connecting.await.map_err(|error| Error::failed(format!("cannot connect to {to}: {error}")))?;
        let handshake_seconds = started.elapsed().as_secs_f64();

        let started = Instant::now();
        let (mut send, mut recv) = connection.open_bi().await.map_err(broken)?;
        let moved = self.exchange(&mut send, &mut recv).await?;
        let seconds = started.elapsed().as_secs_f64();
        // The end of this side says that all has come. It has: whether the connection still lasts does not matter.
        let _ = send.finish();
        let _ = send.stopped().await;
        let path = connection.stats().path;
        connection.close(VarInt::from_u32(0), b"done");
        Ok(Report {
            bytes: moved.bytes,
            xxh64: format!("{:016x}", moved.arrived),
            expected: format!("{:016x}", moved.expected),
            seconds,
            handshake_seconds,
            recv_buffer: self.buffers.receive,
            send_buffer: self.buffers.send,
            packets: Packets { sent: path.sent_packets, lost: path.lost_packets },
        })
    }

    async fn exchange(&self, send: &mut SendStream, recv: &mut RecvStream) -> Result<Moved, Error> {
        match &self.content {
            Some(content) => put(content, send, recv).await,
            None => {
                let out = self
                    .out
                    .as_ref()
                    .map(|path| {
                        let file = File::create(path);
                        file.map_err(|error| {
                            Error::failed(format!("cannot write {}: {error}", path.display()))
                        })
                    })
                    .transpose()?;
                ask(send).await?;
                take(recv, out, self.progress).await
            }
        }
    }
}

/// Asks for the server's content.
pub(super) async fn ask(send: &mut SendStream) -> Result<(), Error> {
    send.write_all(&[GET]).await.map_err(broken)
}

/// Takes it.
pub(super) async fn take(
    recv: &mut RecvStream,
    mut out: Option<File>,
    progress: bool,
) -> Result<Moved, Error> {
    let (length, expected) = header(recv).await?;
    let answered = Instant::now();
    let mut hasher = Xxh64::new(0);
    let mut bytes = 0;
    let mut chunks: [Bytes; CHUNKS] = std::array::from_fn(|_| Bytes::new());
    let mut ticker = progress.then(Ticker::new);
    while let Some(count) = recv.read_chunks(&mut chunks).await.map_err(broken)? {
        for chunk in &chunks[..count] {
            hasher.update(chunk);
            bytes += chunk.len() as u64;
            if let Some(out) = &mut out {
                out.write_all(chunk)
                    .map_err(|error| Error::failed(format!("cannot write what arrived: {error}")))?;
            }
        }
        if bytes > length {
            return Err(Error::failed(format!(
                "the server sends more than the {length} bytes that it announced"
            )));
        }
        if let Some(ticker) = &mut ticker {
            ticker.tell(bytes);
        }
    }
    if bytes < length {
        return Err(Error::failed(format!("the server ended after {bytes} of {length} bytes")));
    }
    Ok(Moved { bytes, arrived: hasher.digest(), expected, answered })
}

async fn put(content: &Content, send: &mut SendStream, recv: &mut RecvStream) -> Result<Moved, Error> {
    let mut head = [0; 9];
    head[0] = PUT;
    head[1..].copy_from_slice(&content.len().to_be_bytes());
    send.write_all(&head).await.map_err(broken)?;
    let mut hasher = Xxh64::new(0);
    let mut chunks = content.chunks()?;
    while let Some(chunk) = chunks.next()? {
        hasher.update(&chunk);
        send.write_chunk(chunk).await.map_err(broken)?;
    }
    send.finish().map_err(broken)?;
    let (bytes, arrived) = header(recv).await?;
    let answered = Instant::now();
    if bytes != content.len() {
        return Err(Error::failed(format!("the server received {bytes} of {} bytes", content.len())));
    }
    Ok(Moved { bytes, arrived, expected: hasher.digest(), answered })
}

/// A length and an XXH64.
async fn header(recv: &mut RecvStream) -> Result<(u64, u64), Error> {
    let mut head = [0; 16];
    recv.read_exact(&mut head).await.map_err(broken)?;
    let (length, hash) = head.split_at(8);
    let number = |half: &[u8]| half.iter().fold(0, |value, &byte| value << 8 | u64::from(byte));
    Ok((number(length), number(hash)))
}

pub(super) fn broken(error: impl std::fmt::Display) -> Error {
    Error::failed(format!("the transfer broke off: {error}"))
}

/// Tells the progress on standard error.
struct Ticker {
    last: Instant,
}

impl Ticker {
    fn new() -> Self {
        Self { last: Instant::now() }
    }

    fn tell(&mut self, bytes: u64) {
        if self.last.elapsed() >= Duration::from_millis(100) {
            self.last = Instant::now();
            // Nobody listening is no reason to end.
            let _ = writeln!(io::stderr(), "progress {bytes}");
        }
    }
}
