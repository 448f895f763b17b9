//! TLS sessions that outlive the process, for resumption and 0-RTT (RFC 8446, 2.2 and 2.3).
//!
//! rustls's session values cannot be written to a file: only a handshake makes them. So a stored session is the
//! handshake that made it, namely all that it took from outside: what the server sent, and a [tape](tape) of random bytes,
//! key shares, secrets and the time. Loading it plays the handshake again, without a server and without a
//! key exchange's arithmetic, into the same configuration, and leaves rustls with the ticket. The server's certificate is
//! verified again by the way: a session does not outlive the trust in it.
//!
//! A session that was resumed itself needs the ones before it: a file has the [chain](Stored::handshakes), up to
//! [`MOST_HANDSHAKES`], after which a connection makes a full handshake.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quinn_proto::crypto::{self, ExportKeyingMaterialError, KeyPair, Keys};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError};
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::quic::{ClientConnection, Version};
use sandquic::crypto::rustls::QuicClientConfig;
use serde::{Deserialize, Serialize};

use crate::get::failure::{Failure, status};

mod hex;
pub(crate) mod tape;
mod tickets;

use tape::{Event, Tape};
use tickets::Tickets;

/// The longest chain.
const MOST_HANDSHAKES: usize = 8;
/// The most that a server may send during a handshake that is to be stored, in bytes.
const MOST_RECEIVED: usize = 64 << 10;
/// The largest file of sessions that is read, in bytes.
const MOST_STORED: u64 = 16 << 20;
/// The most servers in a file.
const MOST_SERVERS: usize = 64;

/// A handshake, as it can be played again.
#[derive(Serialize, Deserialize)]
struct Handshake {
    /// The client's QUIC transport parameters.
    #[serde(with = "hex")]
    parameters: Vec<u8>,
    tape: Vec<Event>,
    /// What the server sent, in the pieces that it came in.
    #[serde(with = "hex::list")]
    received: Vec<Vec<u8>>,
}

/// The session with one server.
#[derive(Default, Serialize, Deserialize)]
struct Stored {
    /// Where the server was, for a connection that does not wait for its name.
    address: Option<SocketAddr>,
    /// Each after the first was resumed from those before it.
    handshakes: Vec<Handshake>,
}

/// A file of sessions.
pub(crate) struct Sessions {
    path: String,
    stored: Mutex<BTreeMap<String, Stored>>,
}

impl Sessions {
    /// Reads a file, which need not be there yet. One that is damaged holds no sessions; that is said in the second part.
    pub(crate) fn open(path: &str) -> Result<(Self, Option<String>), Failure> {
        let mut text = Vec::new();
        match fs::File::open(path).and_then(|file| file.take(MOST_STORED).read_to_end(&mut text)) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Failure::read(path, &error)),
        }
        let (stored, note) = match serde_json::from_slice(&text) {
            Ok(stored) => (stored, None),
            Err(_) if text.is_empty() => (BTreeMap::new(), None),
            // What is not a file of sessions is not overwritten.
            Err(_) if text.first() != Some(&b'{') => {
                let message = format!("--session {path}: that is not a file of sessions; name another");
                return Err(Failure::new(status::USAGE, message));
            }
            Err(error) => {
                (BTreeMap::new(), Some(format!("the sessions in {path} are damaged and not used: {error}")))
            }
        };
        Ok((Self { path: path.to_owned(), stored: Mutex::new(stored) }, note))
    }

    /// Writes the file.
    pub(crate) fn save(&self) -> Result<(), Failure> {
        let mut stored = self.stored();
        while stored.len() > MOST_SERVERS {
            stored.pop_first();
        }
        let text = serde_json::to_vec(&*stored)
            .map_err(|error| Failure::new(status::WRITE, format!("cannot write {}: {error}", self.path)))?;
        // In place: the file keeps its permissions, which are its owner's alone.
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = options.open(&self.path).and_then(|mut file| file.write_all(&text));
        written.map_err(|error| Failure::write(&self.path, &error))
    }

    fn stored(&self) -> MutexGuard<'_, BTreeMap<String, Stored>> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The configuration for connections to one server, whose sessions are kept.
pub(crate) struct Resumable {
    sessions: Arc<Sessions>,
    /// What the sessions of this server are stored under.
    key: String,
    server_name: String,
    /// The configuration without a place for tickets.
    template: rustls::ClientConfig,
    quic: Arc<QuicClientConfig>,
    tickets: Arc<Tickets>,
    chain: Mutex<Chain>,
}

/// The handshakes that led to the tickets that there are.
#[derive(Default)]
struct Chain {
    /// Those of earlier processes.
    earlier: Vec<Handshake>,
    /// This process's.
    own: Vec<Arc<Mutex<Recording>>>,
}

/// A handshake of this process.
struct Recording {
    parameters: Vec<u8>,
    tape: Option<Tape>,
    received: Vec<Vec<u8>>,
    length: usize,
}

impl Resumable {
    /// Takes up the sessions with a server. The provider of `template` must be a [taped](tape::provider) one. Returns
    /// the server's address with the session, if there is one.
    pub(crate) fn new(
        sessions: Arc<Sessions>,
        key: String,
        server_name: &str,
        mut template: rustls::ClientConfig,
        early_data: bool,
        initial: rustls::quic::Suite,
    ) -> Result<(Arc<Self>, Option<SocketAddr>), Failure> {
        template.enable_early_data = early_data;
        template.time_provider = Arc::new(tape::Clock);
        let stored = sessions.stored().remove(&key).unwrap_or_default();
        let mut earlier = stored.handshakes;
        let (mut tls, mut tickets) = place(&template);
        if !play(&tls, server_name, &earlier) || tickets.is_empty() {
            // The software, the authorities or the pins may have changed; or no ticket is left.
            (tls, tickets) = place(&template);
            earlier.clear();
        }
        let address = stored.address.filter(|_| !earlier.is_empty());
        let quic = QuicClientConfig::with_initial(tls, initial)
            .map_err(|error| Failure::new(status::TLS, error.to_string()))?;
        let resumable = Self {
            sessions,
            key,
            server_name: server_name.to_owned(),
            template,
            quic: Arc::new(quic),
            tickets,
            chain: Mutex::new(Chain { earlier, own: Vec::new() }),
        };
        Ok((Arc::new(resumable), address))
    }

    /// Whether the server has given a ticket that was not used yet.
    pub(crate) fn has_ticket(&self) -> bool {
        !self.tickets.is_empty()
    }

    /// Stores the session, with the server's address; says whether there was one to store.
    ///
    /// It is tried first: one that does not play is not stored. Nothing is recorded any more afterwards.
    pub(crate) fn store(&self, address: SocketAddr) -> bool {
        let chain = std::mem::take(&mut *self.chain.lock().unwrap_or_else(PoisonError::into_inner));
        let mut handshakes = chain.earlier;
        for recording in chain.own {
            let mut recording = recording.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(Tape::Recording(events)) = recording.tape.take() else { return false };
            if recording.length > MOST_RECEIVED {
                return false;
            }
            handshakes.push(Handshake {
                parameters: std::mem::take(&mut recording.parameters),
                tape: events,
                received: std::mem::take(&mut recording.received),
            });
        }
        if handshakes.len() > MOST_HANDSHAKES {
            return false;
        }
        let (tls, tickets) = place(&self.template);
        if !play(&tls, &self.server_name, &handshakes) || tickets.is_empty() {
            return false;
        }
        self.sessions.stored().insert(self.key.clone(), Stored { address: Some(address), handshakes });
        true
    }
}

/// The configuration with a place for tickets.
fn place(template: &rustls::ClientConfig) -> (Arc<rustls::ClientConfig>, Arc<Tickets>) {
    let tickets = Arc::new(Tickets::default());
    let mut tls = template.clone();
    tls.resumption = Resumption::store(tickets.clone());
    (Arc::new(tls), tickets)
}

/// Plays handshakes into a configuration, which has the tickets then that they got. The last one must succeed; others
/// may have been given up, but may have used a ticket.
fn play(tls: &Arc<rustls::ClientConfig>, server_name: &str, handshakes: &[Handshake]) -> bool {
    let mut complete = false;
    for handshake in handshakes {
        complete = play_one(tls, server_name, handshake).is_some();
    }
    complete
}

fn play_one(tls: &Arc<rustls::ClientConfig>, server_name: &str, handshake: &Handshake) -> Option<()> {
    let name = ServerName::try_from(server_name).ok()?.to_owned();
    let mut tape = Some(Tape::Playing(handshake.tape.clone().into_iter()));
    tape::with(&mut tape, || {
        let parameters = handshake.parameters.clone();
        let mut connection = ClientConnection::new(tls.clone(), Version::V1, name, parameters).ok()?;
        let mut sent = Vec::new();
        while connection.write_hs(&mut sent).is_some() {}
        for piece in &handshake.received {
            connection.read_hs(piece).ok()?;
            while connection.write_hs(&mut sent).is_some() {}
        }
        (!connection.is_handshaking()).then_some(())
    })
}

impl crypto::ClientConfig for Resumable {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn crypto::Session>, ConnectError> {
        let mut parameters = Vec::new();
        params.write(&mut parameters);
        let mut tape = Some(Tape::Recording(Vec::new()));
        let inner = tape::with(&mut tape, || self.quic.clone().start_session(version, server_name, params))?;
        let recording = Recording { parameters, tape, received: Vec::new(), length: 0 };
        let recording = Arc::new(Mutex::new(recording));
        self.chain.lock().unwrap_or_else(PoisonError::into_inner).own.push(recording.clone());
        Ok(Box::new(Recorded { inner, recording }))
    }
}

/// A session whose handshake is recorded.
struct Recorded {
    inner: Box<dyn crypto::Session>,
    recording: Arc<Mutex<Recording>>,
}

impl crypto::Session for Recorded {
    fn initial_keys(&self, dst_cid: &ConnectionId, side: Side) -> Keys {
        self.inner.initial_keys(dst_cid, side)
    }

    fn handshake_data(&self) -> Option<Box<dyn std::any::Any>> {
        self.inner.handshake_data()
    }

    fn peer_identity(&self) -> Option<Box<dyn std::any::Any>> {
        self.inner.peer_identity()
    }

    fn early_crypto(&self) -> Option<(Box<dyn crypto::HeaderKey>, Box<dyn crypto::PacketKey>)> {
        self.inner.early_crypto()
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.inner.early_data_accepted()
    }

    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        let recording = &mut *self.recording.lock().unwrap_or_else(PoisonError::into_inner);
        if recording.tape.is_none() {
            return self.inner.read_handshake(buf);
        }
        recording.length = recording.length.saturating_add(buf.len());
        if recording.length <= MOST_RECEIVED {
            recording.received.push(buf.to_vec());
        }
        tape::with(&mut recording.tape, || self.inner.read_handshake(buf))
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.inner.transport_parameters()
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let recording = &mut *self.recording.lock().unwrap_or_else(PoisonError::into_inner);
        tape::with(&mut recording.tape, || self.inner.write_handshake(buf))
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn crypto::PacketKey>>> {
        self.inner.next_1rtt_keys()
    }

    fn is_valid_retry(&self, orig_dst_cid: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.inner.is_valid_retry(orig_dst_cid, header, payload)
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.inner.export_keying_material(output, label, context)
    }
}
