//! A network in between, in user space: carries datagrams between clients and one server, loses some and delays all.
//!
//! Every client gets a socket of its own towards the server, so that the server tells them apart. Datagrams are received
//! and sent in batches, with the system's offloads, so that without losses and delay the ends are slower than this.
//! A delay is held up by at most the two milliseconds or so to which the timers are rounded up.

mod line;

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use serde::{Deserialize, Serialize};
use tokio::io::Interest;
use tokio::net::UdpSocket;

pub use line::Counts;
use line::{Group, Line, Room, Tally};

use super::client::{print_json, print_line};
use super::server::once_stdin_closes;
use crate::Error;
use crate::system::{Buffers, bind};

/// Clients that are known at once. More are refused, so that no number of senders can fill the memory.
const MAX_CLIENTS: usize = 64;
/// Bytes that may be held in all: 50 ms at 20 Gb/s each way.
const MAX_HELD: usize = 256 << 20;
/// Bytes to ask for as buffers of every socket.
const BUFFERS: Buffers = Buffers { receive: 8 << 20, send: 8 << 20 };
/// The largest UDP payload, and the most that one receive offload gives, in bytes.
const MAX_PAYLOAD: usize = 65_535;

/// Command line of the relay.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Server's address and port.
    #[arg(long, value_name = "ADDR:PORT")]
    pub to: SocketAddr,
    /// Address and port at which clients find the relay; port 0 picks a free one.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    /// Share of the datagrams that is lost, each way.
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, default_value = "0")]
    pub loss_percent: f64,
    /// How long every datagram takes, each way.
    #[arg(long, value_name = "MS", value_parser = parse_millis, default_value = "0")]
    pub delay_ms: f64,
    /// Where the random numbers start that decide what is lost.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// End when standard input is closed, and say then on standard output what was carried.
    #[arg(long)]
    pub until_stdin_closes: bool,
}

fn parse_percent(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|percent| (0.0..=100.0).contains(percent))
        .ok_or_else(|| "not a share in per cent from 0 to 100".into())
}

fn parse_millis(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|millis| (0.0..=60_000.0).contains(millis))
        .ok_or_else(|| "not a number of milliseconds from 0 to 60000".into())
}

/// What a relay carried, as one line of JSON at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Clients that it knew.
    pub clients: u64,
    /// Datagrams of senders that were too many to be known.
    pub refused: u64,
    /// From clients to the server.
    pub up: Counts,
    /// From the server to clients.
    pub down: Counts,
}

pub(super) async fn run(args: Args) -> Result<(), Error> {
    let unusable = |error: io::Error| Error::failed(format!("cannot listen on {}: {error}", args.listen));
    let socket = Socket::bind(args.listen).map_err(unusable)?;
    let address = socket.io.local_addr().map_err(unusable)?;
    let relay = Relay {
        to: args.to,
        loss: args.loss_percent / 100.0,
        delay: Duration::from_secs_f64(args.delay_ms / 1e3),
        seed: args.seed,
        socket: Arc::new(socket),
        room: Room::new(MAX_HELD),
        up: Arc::default(),
        down: Arc::default(),
        clients: HashMap::new(),
        clients_seen: Arc::default(),
        refused: Arc::default(),
    };
    if args.until_stdin_closes {
        let (up, down) = (relay.up.clone(), relay.down.clone());
        let (clients, refused) = (relay.clients_seen.clone(), relay.refused.clone());
        once_stdin_closes(move || {
            let report = Report {
                clients: clients.load(Ordering::Relaxed),
                refused: refused.load(Ordering::Relaxed),
                up: up.counts(),
                down: down.counts(),
            };
            // Who closed standard input may have closed the other end too.
            let _ = print_json(&report);
            std::process::exit(0);
        });
    }
    print_line(&format!("listening {address}"))?;
    relay.run().await.map_err(|error| Error::failed(format!("the relay's socket failed: {error}")))
}

struct Relay {
    to: SocketAddr,
    loss: f64,
    delay: Duration,
    seed: u64,
    /// Towards the clients.
    socket: Arc<Socket>,
    room: Arc<Room>,
    up: Arc<Tally>,
    down: Arc<Tally>,
    /// Each client's socket towards the server.
    clients: HashMap<SocketAddr, Arc<Socket>>,
    clients_seen: Arc<AtomicU64>,
    refused: Arc<AtomicU64>,
}

impl Relay {
    async fn run(mut self) -> io::Result<()> {
        let from = self.socket.clone();
        let line = Line::new(self.seed, self.loss, self.delay, self.room.clone(), self.up.clone());
        pump(&from, line, |client| {
            let found = self.client(client);
            if found.is_none() {
                self.refused.fetch_add(1, Ordering::Relaxed);
            }
            Some(Target { socket: found?, to: self.to })
        })
        .await
    }

    /// The socket of a client, made when its first datagram comes.
    fn client(&mut self, client: SocketAddr) -> Option<Arc<Socket>> {
        if let Some(socket) = self.clients.get(&client) {
            return Some(socket.clone());
        }
        if self.clients.len() >= MAX_CLIENTS {
            return None;
        }
        let local = match self.to {
            to if to.ip().is_loopback() => SocketAddr::new(to.ip(), 0),
            SocketAddr::V4(_) => SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
            SocketAddr::V6(_) => SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0),
        };
        let socket = Arc::new(Socket::bind(local).ok()?);
        self.clients.insert(client, socket.clone());
        let seen = self.clients_seen.fetch_add(1, Ordering::Relaxed);
        // Numbers of its own for each way: neighbouring seeds share none that anyone could see.
        let seed = self.seed.wrapping_add(1 + seen);
        let line = Line::new(seed, self.loss, self.delay, self.room.clone(), self.down.clone());
        let back = Target { socket: self.socket.clone(), to: client };
        let (from, server) = (socket.clone(), self.to);
        tokio::spawn(async move {
            // What strangers send to this port goes nowhere.
            pump(&from, line, |sender| (sender == server).then(|| back.clone())).await
        });
        Some(socket)
    }
}

/// Where a datagram goes on.
#[derive(Clone)]
struct Target {
    socket: Arc<Socket>,
    to: SocketAddr,
}

/// Carries what arrives at a socket over a line to where `route` says, until the socket fails.
async fn pump(
    from: &Socket,
    mut line: Line<Target>,
    mut route: impl FnMut(SocketAddr) -> Option<Target>,
) -> io::Result<()> {
    let mut buffer = vec![0; BATCH_SIZE * MAX_PAYLOAD];
    let mut metas = [RecvMeta::default(); BATCH_SIZE];
    let mut timer = Box::pin(tokio::time::sleep(Duration::ZERO));
    loop {
        while let Some(group) = line.pop(Instant::now()) {
            send(&group, &line.tally).await;
        }
        let due = line.due();
        if let Some(due) = due {
            timer.as_mut().reset(due.into());
        }
        poll_fn(|cx| match from.io.poll_recv_ready(cx) {
            Poll::Pending if due.is_some() => timer.as_mut().poll(cx).map(Ok),
            readable => readable,
        })
        .await?;
        let count = match from.receive(&mut buffer, &mut metas) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            // It tells of a datagram sent earlier: nobody listened there.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => continue,
            Err(error) => return Err(error),
        };
        let now = Instant::now();
        for (meta, contents) in metas.iter().zip(buffer.chunks(MAX_PAYLOAD)).take(count) {
            if let Some(target) = route(meta.addr) {
                line.push(now, &contents[..meta.len], meta.stride, meta.ecn, target);
            }
        }
    }
}

/// Sends a group on, in as few calls as the system takes.
async fn send(group: &Group<Target>, tally: &Tally) {
    let Target { socket, to } = &group.route;
    let mut rest = &group.contents[..];
    while !rest.is_empty() {
        let most = group.stride.saturating_mul(socket.offloads.max_gso_segments().max(1));
        let (contents, later) = rest.split_at(most.min(rest.len()));
        rest = later;
        let transmit = Transmit {
            destination: *to,
            ecn: group.ecn,
            contents,
            segment_size: Some(group.stride),
            src_ip: None,
        };
        let datagrams = contents.len().div_ceil(group.stride) as u64;
        match socket.send(&transmit).await {
            Ok(()) => tally.sent(datagrams),
            Err(_) => tally.failed(datagrams),
        }
    }
}

/// A socket with the system's offloads.
struct Socket {
    io: UdpSocket,
    offloads: UdpSocketState,
}

impl Socket {
    fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = bind(address, BUFFERS)?;
        let offloads = UdpSocketState::new(UdpSockRef::from(&socket))?;
        Ok(Self { io: UdpSocket::from_std(socket)?, offloads })
    }

    fn receive(&self, buffer: &mut [u8], metas: &mut [RecvMeta; BATCH_SIZE]) -> io::Result<usize> {
        let mut pieces = buffer.chunks_mut(MAX_PAYLOAD);
        let mut slices: [IoSliceMut<'_>; BATCH_SIZE] =
            std::array::from_fn(|_| IoSliceMut::new(pieces.next().unwrap_or_default()));
        self.io
            .try_io(Interest::READABLE, || self.offloads.recv(UdpSockRef::from(&self.io), &mut slices, metas))
    }

    async fn send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        loop {
            let sent = self
                .io
                .try_io(Interest::WRITABLE, || self.offloads.try_send(UdpSockRef::from(&self.io), transmit));
            match sent {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.io.writable().await?,
                sent => return sent,
            }
        }
    }
}
