//! `sandquic bench connections`: many connections at once to a server in the sandbox, most of them idle.
//!
//! The server is the transfer component, in one instance or several on one port. Stock quinn, in this process, opens the
//! connections over several sockets, fetches a byte over each, lets all of them lie idle, and fetches once more over
//! every one of them: one that the server lost, or took for another, fails. The server's memory and CPU time are the system's
//! figures for its process.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::{self, FuturesUnordered};
use quinn::{ClientConfig, Connection, Endpoint, VarInt};
use serde::Serialize;

use crate::output::Output;
use crate::peer::{self, ClientArgs};
use crate::provenance::{self, Provenance};
use crate::system::{Buffers, Event, Process, Usage, bind};
use crate::transfer::certificate::{self, CA, CERTIFICATE, KEY, SERVER_NAME};
use crate::{Context, Error};

/// Version of the record's form. A reader refuses a higher one.
const SCHEMA_VERSION: u32 = 1;

/// Handshakes at once: what a server with one thread gets through before the first of them is late.
const AT_ONCE: usize = 32;

/// How long a server may take to start, with compiling it.
const START: Duration = Duration::from_secs(180);

/// How long one connection may take to open, and one request to be answered.
const ANSWER: Duration = Duration::from_secs(30);

/// Longer than any measurement.
const IDLE_TIMEOUT: u32 = 86_400;

/// Command line of `sandquic bench connections`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// How many connections to hold.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub connections: u32,
    /// The server: the transfer-server component, by its path or as built in.
    #[arg(long, value_name = "COMPONENT", default_value = "@transfer-server")]
    pub component: String,
    /// Instances of the server, separated by commas: a row for each.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "2",
          value_parser = clap::value_parser!(u16).range(1..=256))]
    pub instances: Vec<u16>,
    /// Sockets to open them from; the system spreads sockets, not connections, over instances.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub sockets: u32,
    /// How long they lie idle.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(..=3_600))]
    pub idle: u64,
    /// Write the record as JSON to this file; - is standard output (the table then goes to standard error).
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

#[derive(Debug, Serialize)]
struct Record {
    schema_version: u32,
    kind: &'static str,
    provenance: Provenance,
    setup: Setup,
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Setup {
    sockets: u32,
    idle_seconds: u64,
}

/// One server.
#[derive(Debug, Serialize)]
struct Row {
    instances: u16,
    connections: u32,
    /// Connections over which the second request was answered, after they had been idle.
    answered: u32,
    /// The same by the instance that answered.
    answered_by: Vec<u32>,
    /// From the first handshake to the last.
    open_seconds: f64,
    /// Of the server, from its first connections to its last.
    open_cpu_seconds: f64,
    /// Of the server, while all were idle.
    idle_cpu_seconds: f64,
    /// Resident memory of the server when it had one connection from each socket.
    rss_before: u64,
    /// And when it had all.
    rss_after: u64,
    /// Of each connection in between.
    bytes_per_connection: f64,
}

/// Measures, prints the table and writes the record.
///
/// # Errors
/// [`Error::Failed`] if the server cannot be started or ends, if a connection fails, or the record cannot be written.
pub fn run(args: &Args, context: &Context) -> Result<(), Error> {
    let output = Output::open(args.json.as_deref())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::failed(format!("cannot start tokio: {error}")))?;
    let mut rows = Vec::new();
    for &instances in &args.instances {
        rows.push(runtime.block_on(measure(args, context, instances))?);
    }
    let record = Record {
        schema_version: SCHEMA_VERSION,
        kind: "connections",
        provenance: provenance::collect(&context.engine),
        setup: Setup { sockets: args.sockets, idle_seconds: args.idle },
        rows,
    };
    output.write(&table(&record.rows), &record)
}

fn table(rows: &[Row]) -> String {
    let mut table =
        String::from("instances  connections  answered  opened in  CPU, opening  CPU, idle  memory each\n");
    for row in rows {
        table += &format!(
            "{:>9}  {:>11}  {:>8}  {:>7.1} s  {:>10.1} s  {:>7.2} s  {:>7.1} KiB   by instance: {:?}\n",
            row.instances,
            row.connections,
            row.answered,
            row.open_seconds,
            row.open_cpu_seconds,
            row.idle_cpu_seconds,
            row.bytes_per_connection / 1024.0,
            row.answered_by,
        );
    }
    table
}

async fn measure(args: &Args, context: &Context, instances: u16) -> Result<Row, Error> {
    let files = certificate::issue()?;
    let (mut server, address) = start(args, context, &files, instances)?;
    let client = ClientArgs {
        connect: address,
        server_name: SERVER_NAME.into(),
        ca: files.public().join(CA),
        cipher: None,
        put: None,
        put_size: None,
        out: None,
        recv_buffer: 8 << 20,
        send_buffer: 8 << 20,
        mtu: None,
        handshakes: None,
        mode: peer::Mode::Full,
        connections: 1,
        idle_timeout: IDLE_TIMEOUT,
        progress: false,
        json: false,
        window: 1 << 20,
    };
    let config = peer::client_config(&client)?;
    let mut endpoints = Vec::new();
    for _ in 0..args.sockets.min(args.connections - 1) {
        endpoints
            .push(endpoint().map_err(|error| Error::failed(format!("cannot open a UDP socket: {error}")))?);
    }

    // One from each socket first: what the server needs once, it has then.
    let (first, rest) = (endpoints.len(), args.connections as usize - endpoints.len());
    let mut connections = open(&endpoints, &config, address, first).await?;
    settle().await;
    let before = Usage::of(server.id())?;
    let started = Instant::now();
    connections.extend(open(&endpoints, &config, address, rest).await?);
    let open_seconds = started.elapsed().as_secs_f64();
    settle().await;
    let opened = Usage::of(server.id())?;
    tokio::time::sleep(Duration::from_secs(args.idle)).await;
    let idle = Usage::of(server.id())?;
    drain(&mut server)?;

    let answered = fetch_all(&connections).await?;
    settle().await;
    let mut answered_by = vec![0; instances.into()];
    for line in drain(&mut server)? {
        // sent 1 bytes to ADDR:PORT (instance INDEX/COUNT)
        let index =
            line.split_once("(instance ").and_then(|(_, position)| position.split('/').next()?.parse().ok());
        if let Some(count) = answered_by.get_mut(index.unwrap_or(0_usize)) {
            *count += 1;
        }
    }
    for connection in &connections {
        connection.close(VarInt::from_u32(0), b"done");
    }
    Ok(Row {
        instances,
        connections: args.connections,
        answered,
        answered_by,
        open_seconds,
        open_cpu_seconds: opened.cpu.saturating_sub(before.cpu).as_secs_f64(),
        idle_cpu_seconds: idle.cpu.saturating_sub(opened.cpu).as_secs_f64(),
        rss_before: before.rss,
        rss_after: opened.rss,
        bytes_per_connection: opened.rss.saturating_sub(before.rss) as f64 / rest as f64,
    })
}

/// Starts the server and waits until all its instances listen.
fn start(
    args: &Args,
    context: &Context,
    files: &certificate::Directory,
    instances: u16,
) -> Result<(Process, SocketAddr), Error> {
    // A port that was free just now: instances share one that they are told.
    let port = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|socket| socket.local_addr());
    let address = port.map_err(|error| Error::failed(format!("cannot find a free UDP port: {error}")))?;
    let mut command = Command::new(&context.sandquic);
    command.args(["run", "--inherit-network", "--max-memory", "4GiB"]);
    command.arg("--dir-ro").arg(format!("{}::/keys", files.private().display()));
    command.args(["--instances", &instances.to_string(), &args.component, "--"]);
    command.args(["--listen", &address.to_string(), "--size", "1"]);
    command.args(["--cert", &format!("/keys/{CERTIFICATE}"), "--key", &format!("/keys/{KEY}")]);
    command.args(["--max-connections", &args.connections.to_string()]);
    command.args(["--idle-timeout", &IDLE_TIMEOUT.to_string()]);
    let mut server = Process::spawn("the server", &mut command, None)?;
    let deadline = Instant::now() + START;
    for _ in 0..instances {
        server.listening(deadline)?;
    }
    Ok((server, address))
}

/// What the server has printed since the last time; an error if it has complained.
fn drain(server: &mut Process) -> Result<Vec<String>, Error> {
    let mut lines = Vec::new();
    loop {
        match server.next_event(Duration::from_millis(20)) {
            Event::Out(line) => lines.push(line),
            Event::Err(line) => return Err(Error::failed(format!("the server says: {line}"))),
            Event::Closed => return Err(Error::failed("the server has ended")),
            Event::Quiet => return Ok(lines),
        }
    }
}

fn endpoint() -> std::io::Result<Endpoint> {
    let socket = bind((Ipv4Addr::UNSPECIFIED, 0).into(), Buffers { receive: 1 << 20, send: 1 << 20 })?;
    let runtime: Arc<dyn quinn::Runtime> = Arc::new(quinn::TokioRuntime);
    Endpoint::new(quinn::EndpointConfig::default(), None, socket, runtime)
}

/// Opens connections from the endpoints in turn, and fetches over each.
async fn open(
    endpoints: &[Endpoint],
    config: &ClientConfig,
    address: SocketAddr,
    count: usize,
) -> Result<Vec<Connection>, Error> {
    let opening = endpoints.iter().cycle().take(count).map(|endpoint| async {
        let failed = |error: &dyn std::fmt::Display| Error::failed(format!("a connection failed: {error}"));
        let open = async {
            let connecting = endpoint
                .connect_with(config.clone(), address, SERVER_NAME)
                .map_err(|error| failed(&error))?;
            let connection = connecting.await.map_err(|error| failed(&error))?;
            fetch(&connection).await?;
            Ok(connection)
        };
        tokio::time::timeout(ANSWER, open).await.unwrap_or_else(|_| Err(failed(&"no answer in time")))
    });
    let mut opened = stream::iter(opening).buffer_unordered(AT_ONCE);
    let mut connections = Vec::with_capacity(count);
    while let Some(connection) = opened.next().await {
        connections.push(connection?);
    }
    Ok(connections)
}

/// Fetches the server's one byte.
async fn fetch(connection: &Connection) -> Result<(), Error> {
    let failed = |error: &dyn std::fmt::Display| Error::failed(format!("a request failed: {error}"));
    let (mut send, mut receive) = connection.open_bi().await.map_err(|error| failed(&error))?;
    send.write_all(&[peer::GET]).await.map_err(|error| failed(&error))?;
    send.finish().map_err(|error| failed(&error))?;
    // Length, checksum, content.
    let answer = receive.read_to_end(64).await.map_err(|error| failed(&error))?;
    if answer.len() != 8 + 8 + 1 {
        return Err(failed(&format!("the answer has {} bytes", answer.len())));
    }
    Ok(())
}

/// Fetches once more over all connections, a few at once.
async fn fetch_all(connections: &[Connection]) -> Result<u32, Error> {
    let mut fetching = FuturesUnordered::new();
    let mut left = connections.iter();
    let mut answered = 0;
    loop {
        while fetching.len() < AT_ONCE {
            let Some(connection) = left.next() else { break };
            fetching.push(tokio::time::timeout(ANSWER, fetch(connection)));
        }
        match fetching.next().await {
            None => return Ok(answered),
            Some(answer) => {
                answer.unwrap_or_else(|_| Err(Error::failed("a request is not answered in time")))?
            }
        }
        answered += 1;
    }
}

/// Lets acknowledgements and tickets come to rest.
async fn settle() {
    tokio::time::sleep(Duration::from_secs(1)).await;
}
