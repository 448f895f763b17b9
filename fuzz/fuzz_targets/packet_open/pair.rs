//! A client and a server on quinn-proto's state machine with sandquic's sessions, in simulated time.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event,
    Incoming, ServerConfig, StreamEvent, StreamId, Transmit,
};
use sandquic::crypto::rustls::{QuicClientConfig, QuicServerConfig};

use crate::common;

pub const SERVER: ([u8; 4], u16) = ([192, 0, 2, 1], 443);
pub const CLIENT: ([u8; 4], u16) = ([198, 51, 100, 7], 50_000);

/// Bytes that the client sends on its stream, and the server back.
const SENT: usize = 5000;
/// Datagrams that a side may have in flight; more are lost.
const MOST: usize = 64;

/// The provider with one key exchange, the fastest: what is looked for is not in the others.
fn provider() -> rustls::crypto::CryptoProvider {
    rustls::crypto::CryptoProvider {
        kx_groups: vec![sandquic_rustls::kx_group::X25519],
        ..sandquic_rustls::provider()
    }
}

static CLIENT_CONFIG: LazyLock<ClientConfig> = LazyLock::new(|| {
    let mut tls = common::client_tls(provider());
    // One case must not learn from another.
    tls.resumption = rustls::client::Resumption::disabled();
    ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).expect("QUIC's suite is there")))
});

static SERVER_CONFIG: LazyLock<Arc<ServerConfig>> = LazyLock::new(|| {
    let tls = common::server_tls(provider());
    let tls = Arc::new(QuicServerConfig::try_from(tls).expect("QUIC's suite is there"));
    let sandquic = sandquic::ServerConfig::with_crypto(tls);
    Arc::new((*sandquic).clone())
});

static ENDPOINT_CONFIG: LazyLock<Arc<EndpointConfig>> = LazyLock::new(|| {
    let mut config = (*sandquic::EndpointConfig::default()).clone();
    config.rng_seed(Some([7; 32]));
    Arc::new(config)
});

static PATTERN: LazyLock<Vec<u8>> = LazyLock::new(|| common::pattern(SENT));

/// What a server does with an attempt.
#[derive(Clone, Copy, Debug)]
pub enum Answer {
    Accept,
    Retry,
    Refuse,
    Ignore,
}

/// One endpoint and its connections.
pub struct Peer {
    endpoint: Endpoint,
    connections: HashMap<ConnectionHandle, Connection>,
    answer: Answer,
    /// What it has sent and nobody has taken yet.
    pub sent: VecDeque<Vec<u8>>,
    /// Where on each stream the next byte belongs.
    read: HashMap<(ConnectionHandle, StreamId), u64>,
}

impl Peer {
    pub fn server(answer: Answer) -> Self {
        Self::new(Some(SERVER_CONFIG.clone()), answer)
    }

    pub fn client() -> Self {
        Self::new(None, Answer::Ignore)
    }

    fn new(server: Option<Arc<ServerConfig>>, answer: Answer) -> Self {
        Self {
            endpoint: Endpoint::new(ENDPOINT_CONFIG.clone(), server, false, None),
            connections: HashMap::new(),
            answer,
            sent: VecDeque::new(),
            read: HashMap::new(),
        }
    }

    pub fn connect(&mut self, now: Instant) {
        let config = CLIENT_CONFIG.clone();
        let (handle, connection) =
            self.endpoint.connect(now, config, SERVER.into(), common::NAME).expect("a good address and name");
        self.connections.insert(handle, connection);
        self.turn(now);
    }

    pub fn receive(&mut self, now: Instant, from: SocketAddr, datagram: &[u8]) {
        let mut buffer = Vec::new();
        match self.endpoint.handle(now, from, None, None, BytesMut::from(datagram), &mut buffer) {
            Some(DatagramEvent::NewConnection(incoming)) => self.answer(now, incoming, &mut buffer),
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some(connection) = self.connections.get_mut(&handle) {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::Response(transmit)) => self.send(&transmit, &buffer),
            None => {}
        }
        self.turn(now);
    }

    fn answer(&mut self, now: Instant, incoming: Incoming, buffer: &mut Vec<u8>) {
        let transmit = match self.answer {
            Answer::Accept => match self.endpoint.accept(incoming, now, buffer, None) {
                Ok((handle, connection)) => {
                    self.connections.insert(handle, connection);
                    None
                }
                Err(error) => error.response,
            },
            Answer::Retry if !incoming.remote_address_validated() => {
                self.endpoint.retry(incoming, buffer).ok()
            }
            Answer::Retry => {
                self.answer = Answer::Accept;
                self.answer(now, incoming, buffer);
                self.answer = Answer::Retry;
                return;
            }
            Answer::Refuse => Some(self.endpoint.refuse(incoming, buffer)),
            Answer::Ignore => {
                self.endpoint.ignore(incoming);
                None
            }
        };
        if let Some(transmit) = transmit {
            self.send(&transmit, buffer);
        }
    }

    fn send(&mut self, transmit: &Transmit, buffer: &[u8]) {
        if self.sent.len() < MOST {
            self.sent.push_back(buffer[..transmit.size].to_vec());
        }
    }

    /// Runs the timers that are due.
    pub fn timers(&mut self, now: Instant) {
        for connection in self.connections.values_mut() {
            if connection.poll_timeout().is_some_and(|at| at <= now) {
                connection.handle_timeout(now);
            }
        }
        self.turn(now);
    }

    /// The time until the next timer.
    pub fn wait(&mut self, now: Instant) -> Option<Duration> {
        let times = self.connections.values_mut().filter_map(Connection::poll_timeout);
        times.min().map(|at| at.saturating_duration_since(now))
    }

    /// Lets every connection do what it has to do.
    fn turn(&mut self, now: Instant) {
        let handles: Vec<ConnectionHandle> = self.connections.keys().copied().collect();
        for handle in handles {
            let mut connection = self.connections.remove(&handle).expect("one of the keys");
            while let Some(event) = connection.poll_endpoint_events() {
                if let Some(event) = self.endpoint.handle_event(handle, event) {
                    connection.handle_event(event);
                }
            }
            while let Some(event) = connection.poll() {
                self.react(handle, &mut connection, event);
            }
            let mut buffer = Vec::new();
            while let Some(transmit) = connection.poll_transmit(now, 1, &mut buffer) {
                self.send(&transmit, &buffer);
                buffer.clear();
            }
            if !connection.is_drained() {
                self.connections.insert(handle, connection);
            }
        }
    }

    /// The client sends on a stream, the server answers; both read.
    fn react(&mut self, handle: ConnectionHandle, connection: &mut Connection, event: Event) {
        match event {
            Event::Connected if connection.side().is_client() => {
                if let Some(id) = connection.streams().open(Dir::Bi) {
                    write(connection, id);
                }
            }
            Event::Stream(StreamEvent::Opened { dir: Dir::Bi }) => {
                while let Some(id) = connection.streams().accept(Dir::Bi) {
                    write(connection, id);
                    self.read(handle, connection, id);
                }
            }
            Event::Stream(StreamEvent::Readable { id }) => self.read(handle, connection, id),
            _ => {}
        }
    }

    /// Whatever has been sent in between, only what the peer wrote is read.
    fn read(&mut self, handle: ConnectionHandle, connection: &mut Connection, id: StreamId) {
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        let offset = self.read.entry((handle, id)).or_default();
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            assert_eq!(chunk.offset, *offset, "bytes of a stream out of order");
            let start = usize::try_from(*offset).expect("a short stream");
            let wanted = PATTERN.get(start..start + chunk.bytes.len());
            assert_eq!(Some(&chunk.bytes[..]), wanted, "the stream holds what its peer did not write");
            *offset += chunk.bytes.len() as u64;
        }
        let _ = chunks.finalize();
    }
}

fn write(connection: &mut Connection, id: StreamId) {
    let mut stream = connection.send_stream(id);
    let _ = stream.write(&PATTERN);
    let _ = stream.finish();
}
