//! A network in between, in user space: carries datagrams between clients and one server, loses some and delays all.
//!
//! Every client gets a socket of its own towards the server, so that the server tells them apart. Datagrams are received
//! and sent in batches, with the system's offloads, so that without losses and delay the ends are slower than this.
//! A delay is held up by at most the two milliseconds or so to which the timers are rounded up.
//!
//! What else a network does to datagrams (it damages them, goes dark, gives a client another address) is up to a
//! [`Network`], for which the relay runs inside another program ([`Running`]).

mod line;
mod network;

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use serde::{Deserialize, Serialize};
use tokio::io::Interest;
use tokio::net::UdpSocket;
use tokio::task::{JoinHandle, JoinSet};

pub use line::Counts;
use line::{Group, Line, Room, Tally};
pub use network::{Network, Origin, Plain, Way};

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

/// Where a relay stands, and what it does to every datagram alike.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Server's address and port.
    pub to: SocketAddr,
    /// Address and port at which clients find the relay; port 0 picks a free one.
    pub listen: SocketAddr,
    /// Share of the datagrams that is lost, each way, from 0 to 1.
    pub loss: f64,
    /// How long every datagram takes, each way.
    pub delay: Duration,
    /// Where the random numbers start that decide what is lost.
    pub seed: u64,
}

/// A relay inside this program, on the runtime that it was started on; it ends when this is dropped.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    totals: Totals,
    task: JoinHandle<io::Result<()>>,
}

impl Running {
    /// Starts a relay whose datagrams pass through `network`. On a tokio runtime.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub fn start(settings: Settings, network: impl Network) -> io::Result<Self> {
        let relay = Relay::new(settings, Box::new(network))?;
        let (address, totals) = (relay.socket.io.local_addr()?, relay.totals.clone());
        Ok(Self { address, totals, task: tokio::spawn(relay.run()) })
    }

    /// Where clients find it.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it has carried so far.
    pub fn report(&self) -> Report {
        self.totals.report()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(super) async fn run(args: Args) -> Result<(), Error> {
    let unusable = |error: io::Error| Error::failed(format!("cannot listen on {}: {error}", args.listen));
    let settings = Settings {
        to: args.to,
        listen: args.listen,
        loss: args.loss_percent / 100.0,
        delay: Duration::from_secs_f64(args.delay_ms / 1e3),
        seed: args.seed,
    };
    let relay = Relay::new(settings, Box::new(Plain)).map_err(unusable)?;
    let address = relay.socket.io.local_addr().map_err(unusable)?;
    if args.until_stdin_closes {
        let totals = relay.totals.clone();
        once_stdin_closes(move || {
            // Who closed standard input may have closed the other end too.
            let _ = print_json(&totals.report());
            std::process::exit(0);
        });
    }
    print_line(&format!("listening {address}"))?;
    relay.run().await.map_err(|error| Error::failed(format!("the relay's socket failed: {error}")))
}

/// What is counted while the relay runs.
#[derive(Debug, Clone, Default)]
struct Totals {
    up: Arc<Tally>,
    down: Arc<Tally>,
    clients: Arc<AtomicU64>,
    refused: Arc<AtomicU64>,
}

impl Totals {
    fn report(&self) -> Report {
        Report {
            clients: self.clients.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
            up: self.up.counts(),
            down: self.down.counts(),
        }
    }
}

/// Shared by the ways of all clients.
type SharedNetwork = Arc<Mutex<Box<dyn Network>>>;

struct Relay {
    settings: Settings,
    /// Towards the clients.
    socket: Arc<Socket>,
    room: Arc<Room>,
    totals: Totals,
    clients: HashMap<SocketAddr, Client>,
    network: SharedNetwork,
    /// The ways back to the clients; they end with the relay.
    ways: JoinSet<io::Result<()>>,
}

/// A client's socket towards the server.
struct Client {
    socket: Arc<Socket>,
    origin: Origin,
    /// How many it had before: what comes to those goes nowhere.
    current: Arc<AtomicU64>,
}

impl Relay {
    fn new(settings: Settings, network: Box<dyn Network>) -> io::Result<Self> {
        Ok(Self {
            settings,
            socket: Arc::new(Socket::bind(settings.listen)?),
            room: Room::new(MAX_HELD),
            totals: Totals::default(),
            clients: HashMap::new(),
            network: Arc::new(Mutex::new(network)),
            ways: JoinSet::new(),
        })
    }

    fn line(&self, seed: u64, tally: &Arc<Tally>) -> Line<Target> {
        Line::new(seed, self.settings.loss, self.settings.delay, self.room.clone(), tally.clone())
    }

    async fn run(mut self) -> io::Result<()> {
        let from = self.socket.clone();
        let line = self.line(self.settings.seed, &self.totals.up);
        let (network, to) = (self.network.clone(), self.settings.to);
        pump(&from, line, &network, Way::Up, |client| {
            let found = self.client(client);
            if found.is_none() {
                self.totals.refused.fetch_add(1, Ordering::Relaxed);
            }
            Some(Target { socket: found?, to, client })
        })
        .await
    }

    /// The socket of a client, made when its first datagram comes, and anew when the network gives it another origin.
    fn client(&mut self, client: SocketAddr) -> Option<Arc<Socket>> {
        let origin = lock(&self.network).origin(client);
        let current = match self.clients.get(&client) {
            Some(known) if known.origin == origin => return Some(known.socket.clone()),
            Some(known) => known.current.clone(),
            None if self.clients.len() >= MAX_CLIENTS => return None,
            None => Arc::default(),
        };
        let to = self.settings.to;
        let ip = origin.address.unwrap_or(match to {
            to if to.ip().is_loopback() => to.ip(),
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        });
        let socket = Arc::new(Socket::bind(SocketAddr::new(ip, 0)).ok()?);
        let number = current.fetch_add(1, Ordering::Relaxed) + 1;
        let seen = match number {
            1 => self.totals.clients.fetch_add(1, Ordering::Relaxed),
            _ => self.totals.clients.load(Ordering::Relaxed),
        };
        self.clients.insert(client, Client { socket: socket.clone(), origin, current: current.clone() });
        // Numbers of its own for each way: neighbouring seeds share none that anyone could see.
        let line = self.line(self.settings.seed.wrapping_add(1 + seen), &self.totals.down);
        let back = Target { socket: self.socket.clone(), to: client, client };
        let (from, network) = (socket.clone(), self.network.clone());
        self.ways.spawn(async move {
            pump(&from, line, &network, Way::Down, |sender| {
                // What strangers send to this port goes nowhere, nor what comes to a port that the client had once.
                (sender == to && current.load(Ordering::Relaxed) == number).then(|| back.clone())
            })
            .await
        });
        Some(socket)
    }
}

fn lock(network: &SharedNetwork) -> std::sync::MutexGuard<'_, Box<dyn Network>> {
    network.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where a datagram goes on.
#[derive(Clone)]
struct Target {
    socket: Arc<Socket>,
    to: SocketAddr,
    /// Whose datagram it is.
    client: SocketAddr,
}

/// Carries what arrives at a socket through the network and over a line to where `route` says, until the socket fails.
async fn pump(
    from: &Socket,
    mut line: Line<Target>,
    network: &SharedNetwork,
    way: Way,
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
                let client = target.client;
                let mut network = lock(network);
                let mut fate = |datagram: &mut [u8]| network.carry(way, client, datagram);
                line.push(now, &contents[..meta.len], meta.stride, meta.ecn, target, &mut fate);
            }
        }
    }
}

/// Sends a group on, in as few calls as the system takes.
async fn send(group: &Group<Target>, tally: &Tally) {
    let Target { socket, to, .. } = &group.route;
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
