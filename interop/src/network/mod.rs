//! The network of a case: what it does to datagrams, and what it has seen of them.

mod pcap;
pub(crate) mod wire;

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sandquic_bench::peer::relay::{Network, Origin, Way};

use pcap::Pcap;
use wire::Kind;

/// What the network does beside a delay and a share of losses.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Weather {
    /// Share of the datagrams of which a byte is changed, each way, from 0 to 1.
    pub(crate) corruption: f64,
    /// Numbers of a client's datagrams, counted from 1, that are lost: from, to (both included).
    pub(crate) lost_up: Option<(u64, u64)>,
    /// When nothing passes for a while.
    pub(crate) blackhole: Option<Blackhole>,
    /// When the client gets another port or address.
    pub(crate) rebinding: Option<Rebinding>,
}

/// Nothing passes for a while.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Blackhole {
    /// It begins when the server has sent so many bytes.
    pub(crate) after: u64,
    /// How long it lasts.
    pub(crate) lasts: Duration,
}

/// The client gets another port, or port and address.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rebinding {
    /// Each time the server has sent so many bytes more.
    pub(crate) every: u64,
    /// How often.
    pub(crate) times: u32,
    /// Whether its address changes too (between 127.0.0.1 and 127.0.0.2).
    pub(crate) address: bool,
}

/// What the network saw and did.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    /// Packets that clients sent, by kind.
    pub(crate) up: BTreeMap<Kind, u64>,
    /// Packets that the server sent, by kind.
    pub(crate) down: BTreeMap<Kind, u64>,
    /// Bytes that clients sent.
    pub(crate) bytes_up: u64,
    /// Bytes that the server sent.
    pub(crate) bytes_down: u64,
    /// Datagrams that were changed.
    pub(crate) corrupted: u64,
    /// Datagrams that were lost on purpose by [`Weather`].
    pub(crate) dropped: u64,
    /// How often a client got another port or address.
    pub(crate) rebindings: u32,
    /// Datagrams that left from clients since the last of these.
    pub(crate) since_rebinding: u64,
    /// The most that the server sent to a client of unproven address, as a multiple of what it had from it.
    pub(crate) amplification: f64,
    /// The most bytes that it sent beyond three times what it had from such a client (RFC 9000 section 8).
    pub(crate) excess: u64,
    /// Datagrams that the first client sent before anything came back: its hello, and how often it repeated that.
    pub(crate) first_flight: u64,
}

impl Seen {
    /// How many packets of this kind clients sent.
    pub(crate) fn by_clients(&self, kind: Kind) -> u64 {
        self.up.get(&kind).copied().unwrap_or(0)
    }

    /// How many packets of this kind the server sent.
    pub(crate) fn by_server(&self, kind: Kind) -> u64 {
        self.down.get(&kind).copied().unwrap_or(0)
    }
}

/// What is known of a client.
#[derive(Debug, Default)]
struct Client {
    datagrams: u64,
    bytes_up: u64,
    bytes_down: u64,
    /// It has proven that it is where it says, or came there with a connection that it has: only the frames would tell then.
    validated: bool,
}

/// A [`Network`] with a [`Weather`].
pub(crate) struct Link {
    weather: Weather,
    dice: u64,
    server: SocketAddr,
    clients: HashMap<SocketAddr, Client>,
    dark_until: Option<Instant>,
    was_dark: bool,
    /// How long a datagram takes, each way.
    delay: Duration,
    /// When the first answer of the server reaches its client.
    answered: Option<Instant>,
    observer: Observer,
}

/// What a [`Link`] sees, for others to look at meanwhile.
#[derive(Clone)]
pub(crate) struct Observer {
    seen: Arc<Mutex<Seen>>,
    pcap: Arc<Mutex<Option<Pcap>>>,
}

impl Observer {
    /// What was seen until now; the capture holds as much.
    pub(crate) fn look(&self) -> Seen {
        if let Some(pcap) = &mut *lock(&self.pcap) {
            // As with a packet that cannot be added.
            let _ = pcap.flush();
        }
        lock(&self.seen).clone()
    }
}

impl Link {
    /// A network towards `server` (as the capture shall name it), with a capture into a file.
    pub(crate) fn new(
        weather: Weather,
        delay: Duration,
        seed: u64,
        server: SocketAddr,
        capture: &Path,
    ) -> std::io::Result<Self> {
        Ok(Self {
            weather,
            dice: seed,
            server,
            clients: HashMap::new(),
            dark_until: None,
            was_dark: false,
            delay,
            answered: None,
            observer: Observer {
                seen: Arc::default(),
                pcap: Arc::new(Mutex::new(Some(Pcap::create(capture)?))),
            },
        })
    }

    /// What it sees.
    pub(crate) fn observer(&self) -> Observer {
        self.observer.clone()
    }

    /// xorshift64.
    fn roll(&mut self) -> u64 {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        self.dice
    }

    /// Whether an event of this share (0 to 1) happens now.
    fn happens(&mut self, share: f64) -> bool {
        share > 0.0 && ((self.roll() >> 11) as f64) / ((1_u64 << 53) as f64) < share
    }

    /// Whether nothing passes now.
    fn is_dark(&mut self, bytes_down: u64) -> bool {
        let Some(hole) = self.weather.blackhole else { return false };
        if !self.was_dark && bytes_down >= hole.after {
            self.was_dark = true;
            self.dark_until = Some(Instant::now() + hole.lasts);
        }
        self.dark_until.is_some_and(|until| Instant::now() < until)
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Network for Link {
    fn carry(&mut self, way: Way, from: SocketAddr, datagram: &mut [u8]) -> bool {
        let kinds = wire::packets(datagram);
        let length = datagram.len() as u64;
        let observer = self.observer.clone();
        let mut seen = lock(&observer.seen);
        let dark = self.is_dark(seen.bytes_down);
        let client = self.clients.entry(from).or_default();
        let lost = match way {
            Way::Up => {
                client.datagrams += 1;
                client.validated |= client.datagrams == 1 && !kinds.iter().any(|kind| kind.is_first());
                if self.answered.is_none_or(|at| Instant::now() < at) {
                    seen.first_flight += 1;
                }
                seen.bytes_up += length;
                seen.since_rebinding += 1;
                self.weather.lost_up.is_some_and(|(first, last)| (first..=last).contains(&client.datagrams))
            }
            Way::Down => {
                self.answered.get_or_insert(Instant::now() + self.delay);
                seen.bytes_down += length;
                client.bytes_down += length;
                if !client.validated && client.bytes_up > 0 {
                    let ratio = client.bytes_down as f64 / client.bytes_up as f64;
                    seen.amplification = seen.amplification.max(ratio);
                    seen.excess = seen.excess.max(client.bytes_down.saturating_sub(3 * client.bytes_up));
                }
                false
            }
        };
        let side = if way == Way::Up { &mut seen.up } else { &mut seen.down };
        for kind in &kinds {
            *side.entry(*kind).or_default() += 1;
        }
        if dark || lost {
            seen.dropped += 1;
            return false;
        }
        if way == Way::Up {
            // Only what arrives counts as received.
            client.bytes_up += length;
            client.validated |= kinds.iter().any(|k| matches!(k, Kind::Handshake | Kind::InitialWithToken));
        }
        if self.happens(self.weather.corruption) && !datagram.is_empty() {
            let at = self.roll() as usize % datagram.len();
            datagram[at] ^= 1 + (self.roll() % 255) as u8;
            seen.corrupted += 1;
        }
        let mut capture = lock(&observer.pcap);
        if let Some(pcap) = &mut *capture {
            let (source, destination) =
                if way == Way::Up { (from, self.server) } else { (self.server, from) };
            // A full disk ends the capture, not the case: its checks then say that the capture lacks what they look for.
            if pcap.add(source, destination, datagram).is_err() {
                *capture = None;
            }
        }
        true
    }

    fn origin(&mut self, _: SocketAddr) -> Origin {
        let Some(rebinding) = self.weather.rebinding else { return Origin::default() };
        let mut seen = lock(&self.observer.seen);
        let due = u32::try_from(seen.bytes_down / rebinding.every).unwrap_or(u32::MAX).min(rebinding.times);
        if due > seen.rebindings {
            seen.rebindings = due;
            seen.since_rebinding = 0;
        }
        let other = rebinding.address && due % 2 == 1;
        Origin { generation: due, address: other.then_some(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2))) }
    }
}
