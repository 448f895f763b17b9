//! The client's side.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use sandquic::{
    Connection, ConnectionError, Endpoint, ReadError, ReadExactError, RecvStream, SendStream, WriteError,
};
use xxhash_rust::xxh64::Xxh64;

use crate::content::file_chunks;
use crate::progress::Progress;
use crate::say::{self, complain, say};
use crate::{
    ClientOptions, Direction, Error, GET, PUT, Pattern, Providers, Report, Source, code, error, handshakes,
    options, tls,
};

/// How many pieces of a stream are taken at a time.
const PIECES: usize = 64;

/// Bytes that are gathered before they are written to a file. A piece of a stream is as small as a packet.
const WRITE_SIZE: usize = 256 * 1024;

/// Runs a client: connects, transfers, prints one line a connection on standard output. Errors go to standard error.
/// Returns the exit status: 0, 1 (failed), 2 (usage).
pub async fn client(arguments: &[String], providers: &impl Providers) -> u8 {
    if options::asks_for_help(arguments) {
        say(options::CLIENT_USAGE);
        return 0;
    }
    match run(arguments, providers).await {
        Ok(()) => 0,
        Err(error) => {
            complain(format_args!("transfer-client: {error}"));
            error.status()
        }
    }
}

async fn run(arguments: &[String], providers: &impl Providers) -> Result<(), Error> {
    let options = ClientOptions::parse(arguments)?;
    let provider = providers.provider(options.ciphers.as_deref())?;
    let tls::Client { config, verifications, tickets } = tls::client_config(&options, provider)?;
    // A file that is not there should be found before a server is bothered.
    let out = match &options.direction {
        // What it holds is kept until there is something else.
        Direction::Get(Some(path)) => {
            let file = File::options().write(true).create(true).truncate(false).open(path);
            Some(file.map_err(|e| error::file("write", path, &e))?)
        }
        _ => None,
    };
    let local = match options.connect {
        SocketAddr::V4(_) => SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
        SocketAddr::V6(_) => SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0),
    };
    let socket =
        crate::socket_options(options.recv_buffer, options.send_buffer).offloads(!options.no_offloads);
    let mut endpoint = crate::endpoint(None, local, &socket, options.mtu)?;
    endpoint.set_default_client_config(config);
    if let Some(wanted) = options.handshakes {
        let report = handshakes::run(&endpoint, &options, wanted, &verifications, &tickets).await?;
        let said = say::report(if options.json { report.json() } else { report.to_string() });
        endpoint.wait_idle().await;
        return said;
    }

    let progress = Progress::new(options.progress);
    let mut out = out;
    let mut transfers: FuturesUnordered<_> =
        (0..options.connections).map(|_| transfer(&endpoint, &options, out.take(), &progress)).collect();
    let mut failure = None;
    while let Some(outcome) = transfers.next().await {
        let checked = outcome.and_then(|report| {
            say::report(if options.json { report.json() } else { report.to_string() })?;
            check(&report)
        });
        if let Err(error) = checked {
            failure.get_or_insert(error);
        }
    }
    drop(transfers);
    progress.finish();
    endpoint.wait_idle().await;
    failure.map_or(Ok(()), Err)
}

fn check(report: &Report) -> Result<(), Error> {
    same(report.checksum, report.expected, report.bytes)
}

/// Whether what arrived is what was sent, by its checksum.
fn same(checksum: u64, expected: u64, bytes: u64) -> Result<(), Error> {
    if checksum == expected {
        return Ok(());
    }
    Err(Error::Failed(format!(
        "what arrived is not what was sent: XXH64 {checksum:016x} instead of {expected:016x} over {bytes} bytes"
    )))
}

impl Moved {
    /// Whether what arrived is what was sent.
    pub(crate) fn check(&self) -> Result<(), Error> {
        same(self.checksum, self.expected, self.bytes)
    }
}

/// One connection with one request.
async fn transfer(
    endpoint: &Endpoint,
    options: &ClientOptions,
    out: Option<File>,
    progress: &Progress,
) -> Result<Report, Error> {
    let peer = Peer { address: options.connect, idle_timeout: options.idle_timeout };
    let started = Instant::now();
    let connection = endpoint
        .connect(options.connect, &options.server_name)
        .map_err(|e| Error::Usage(format!("cannot connect to {}: {e}", options.connect)))?
        .await
        .map_err(|e| error::connecting(options.connect, options.idle_timeout, &e))?;
    let handshake = started.elapsed();
    let outcome = match &options.direction {
        Direction::Get(path) => {
            let file = |file| BufWriter::with_capacity(WRITE_SIZE, file);
            let out = out.map(|out| Sink { file: file(out), path: path.clone().unwrap_or_default() });
            get(&connection, &peer, out, progress).await
        }
        Direction::Put(source) => put(&connection, &peer, source, progress).await,
    };
    let stats = connection.stats();
    let buffers = crate::granted_buffers(endpoint);
    match outcome {
        Ok(content) => {
            connection.close(code::DONE, b"done");
            Ok(Report {
                bytes: content.bytes,
                checksum: content.checksum,
                expected: content.expected,
                elapsed: content.elapsed,
                handshake,
                recv_buffer: buffers.0,
                send_buffer: buffers.1,
                packets_sent: stats.path.sent_packets,
                packets_lost: stats.path.lost_packets,
            })
        }
        Err(error) => {
            connection.close(code::BAD_REQUEST, b"the client gave up");
            Err(error)
        }
    }
}

/// What a request moved.
pub(crate) struct Moved {
    bytes: u64,
    checksum: u64,
    expected: u64,
    elapsed: Duration,
    /// When the first bytes of the answer had come.
    pub(crate) answered: Instant,
}

/// A file that content is written to.
pub(crate) struct Sink {
    file: BufWriter<File>,
    path: String,
}

impl Sink {
    fn write(&mut self, piece: &[u8]) -> Result<(), Error> {
        self.file.write_all(piece).map_err(|e| error::file("write", &self.path, &e))
    }
}

/// Gets the server's content, and makes sure that the server knows that it has come.
async fn get(
    connection: &Connection,
    peer: &Peer,
    out: Option<Sink>,
    progress: &Progress,
) -> Result<Moved, Error> {
    let started = Instant::now();
    let (mut send, recv) = ask(connection, peer).await?;
    let moved = take(recv, peer, started, out, progress).await?;
    let _ = send.finish();
    // The content is here: whatever becomes of the connection now does not matter.
    let _ = send.stopped().await;
    Ok(moved)
}

/// Gets the server's content without a word to it afterwards.
pub(crate) async fn get_only(
    connection: &Connection,
    peer: &Peer,
    progress: &Progress,
) -> Result<Moved, Error> {
    let started = Instant::now();
    let (mut send, recv) = ask(connection, peer).await?;
    // The server cannot have reset its side yet, so this only fails with the connection, which the read reports.
    let _ = send.finish();
    take(recv, peer, started, None, progress).await
}

async fn ask(connection: &Connection, peer: &Peer) -> Result<(SendStream, RecvStream), Error> {
    let (mut send, recv) = connection.open_bi().await.map_err(|e| peer.lost(&e))?;
    send.write_all(&[GET]).await.map_err(|e| peer.write(&e))?;
    Ok((send, recv))
}

/// Takes what the server sends.
async fn take(
    mut recv: RecvStream,
    peer: &Peer,
    started: Instant,
    mut out: Option<Sink>,
    progress: &Progress,
) -> Result<Moved, Error> {
    let (length, expected) = answer(&mut recv, peer).await?;
    let answered = Instant::now();
    if let Some(out) = &out {
        let file = out.file.get_ref();
        // A device or a pipe has no length.
        if file.metadata().is_ok_and(|file| file.is_file()) {
            file.set_len(0).map_err(|e| error::file("write", &out.path, &e))?;
        }
    }
    let mut hash = Xxh64::new(0);
    let mut bytes = 0;
    let mut pieces: [Bytes; PIECES] = std::array::from_fn(|_| Bytes::new());
    while let Some(count) = recv.read_chunks(&mut pieces).await.map_err(|e| peer.read(&e))? {
        for piece in &mut pieces[..count] {
            let piece = std::mem::take(piece);
            bytes += piece.len() as u64;
            hash.update(&piece);
            progress.add(piece.len());
            if let Some(out) = &mut out {
                out.write(&piece)?;
            }
        }
        // A server that never ends must not fill the disk.
        if bytes > length {
            break;
        }
    }
    let elapsed = started.elapsed();
    if bytes != length {
        return Err(Error::Failed(format!(
            "{} announced {length} bytes and sent {}",
            peer.address,
            if bytes > length { "more".to_owned() } else { bytes.to_string() }
        )));
    }
    if let Some(out) = &mut out {
        out.file.flush().map_err(|e| error::file("write", &out.path, &e))?;
    }
    Ok(Moved { bytes, checksum: hash.digest(), expected, elapsed, answered })
}

async fn put(
    connection: &Connection,
    peer: &Peer,
    source: &Source,
    progress: &Progress,
) -> Result<Moved, Error> {
    match source {
        Source::Pattern(length) => {
            let pieces = Pattern::new(*length).chunks().map(Ok);
            put_pieces(connection, peer, *length, pieces, progress).await
        }
        Source::File(path) => {
            let unreadable = |e| error::file("read", path, &e);
            let file = File::open(path).map_err(unreadable)?;
            let length = file.metadata().map_err(unreadable)?.len();
            let pieces = file_chunks(file).map(|piece| piece.map_err(unreadable));
            put_pieces(connection, peer, length, pieces, progress).await
        }
    }
}

async fn put_pieces(
    connection: &Connection,
    peer: &Peer,
    length: u64,
    pieces: impl Iterator<Item = Result<Bytes, Error>>,
    progress: &Progress,
) -> Result<Moved, Error> {
    let started = Instant::now();
    let (mut send, mut recv) = connection.open_bi().await.map_err(|e| peer.lost(&e))?;
    let mut header = [PUT; 9];
    header[1..].copy_from_slice(&length.to_be_bytes());
    send.write_all(&header).await.map_err(|e| peer.write(&e))?;
    let mut hash = Xxh64::new(0);
    let mut bytes = 0;
    for piece in pieces {
        let piece = piece?;
        bytes += piece.len() as u64;
        hash.update(&piece);
        progress.add(piece.len());
        send.write_chunk(piece).await.map_err(|e| peer.write(&e))?;
    }
    if bytes != length {
        return Err(Error::Failed(format!(
            "the file changed while it was read: {bytes} bytes instead of {length}"
        )));
    }
    let _ = send.finish();
    let (received, expected) = answer(&mut recv, peer).await?;
    let answered = Instant::now();
    let elapsed = answered.duration_since(started);
    if received != length {
        return Err(Error::Failed(format!("{} received {received} of {length} bytes", peer.address)));
    }
    Ok(Moved { bytes, checksum: hash.digest(), expected, elapsed, answered })
}

/// The length and checksum that the server's answer starts with.
async fn answer(recv: &mut RecvStream, peer: &Peer) -> Result<(u64, u64), Error> {
    let mut lengths = [[0; 8]; 2];
    for field in &mut lengths {
        recv.read_exact(field).await.map_err(|error| match error {
            ReadExactError::FinishedEarly(_) => {
                Error::Failed(format!("the answer of {} ends before its header does", peer.address))
            }
            ReadExactError::ReadError(error) => peer.read(&error),
        })?;
    }
    Ok((u64::from_be_bytes(lengths[0]), u64::from_be_bytes(lengths[1])))
}

/// The other side, as errors speak of it.
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    pub(crate) idle_timeout: Duration,
}

impl Peer {
    fn lost(&self, error: &ConnectionError) -> Error {
        error::lost(self.address, self.idle_timeout, error)
    }

    fn read(&self, error: &ReadError) -> Error {
        match error {
            ReadError::ConnectionLost(error) => self.lost(error),
            ReadError::Reset(code) => self.stopped(*code),
            other => Error::Failed(format!("cannot read from {}: {other}", self.address)),
        }
    }

    fn write(&self, error: &WriteError) -> Error {
        match error {
            WriteError::ConnectionLost(error) => self.lost(error),
            WriteError::Stopped(code) => self.stopped(*code),
            other => Error::Failed(format!("cannot write to {}: {other}", self.address)),
        }
    }

    fn stopped(&self, code: sandquic::VarInt) -> Error {
        let what = match code {
            code::NO_CONTENT => "cannot read its file",
            code::BAD_REQUEST => "does not know the request; is it a transfer server of this version?",
            code::BAD_LENGTH => "found another number of bytes than announced",
            _ => "gave up on the request",
        };
        Error::Failed(format!("{} {what} (code {code})", self.address))
    }
}

#[cfg(all(test, not(target_family = "wasm")))]
mod tests {
    use super::*;
    use crate::{SandquicProvider, ServerOptions};

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_server_that_sends_more_than_it_announced_is_left() {
        let fixture = |name: &str| {
            format!("{}/../../crates/sandquic-rustls/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
        };
        let (cert, key, ca) = (fixture("p256.pem"), fixture("p256.key.pem"), fixture("ca.pem"));
        let flags = ["--listen", "127.0.0.1:0", "--size", "0", "--cert", &cert, "--key", &key];
        let options = ServerOptions::parse(&words(&flags)).unwrap();
        let config = tls::server_config(&options, sandquic_rustls::provider()).unwrap();
        let outcome = sandquic::block_on(async {
            let endpoint = Endpoint::server(config, options.listen).unwrap();
            let address = endpoint.local_addr().unwrap().to_string();
            let server = async {
                let connection = endpoint.accept().await.unwrap().await.unwrap();
                let (mut send, _recv) = connection.accept_bi().await.unwrap();
                let mut header = [0; 16];
                header[..8].copy_from_slice(&1_u64.to_be_bytes());
                send.write_all(&header).await.unwrap();
                // It would never end by itself.
                while send.write_all(&[0; 4_096]).await.is_ok() {}
            };
            let flags = words(&["--connect", &address, "--server-name", "localhost", "--ca", &ca]);
            futures_util::future::join(run(&flags, &SandquicProvider), server).await.0
        });
        let error = outcome.unwrap_err().to_string();
        assert!(error.ends_with(" announced 1 bytes and sent more"), "{error}");
    }
}
