//! Connections to servers, one for each, shared by all transfers.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::Shared;
use futures_util::lock::Mutex;
use h3::client::SendRequest;
use h3::error::Code;
use sandquic::crypto::rustls::QuicClientConfig;
use sandquic::h3::OpenStreams;
use sandquic::{ClientConfig, Connection, ConnectionError, JoinError, Task, TransportConfig, VarInt};

use super::connect::{self, Attempt, Connected, Family, Sockets, within};
use super::failure::{Failure, status};
use super::options::Addresses;
use super::session::{Resumable, Sessions};
use super::target::Origin;
use super::tls::{Trust, Verifier};

/// The largest header of an answer that is taken, in bytes (RFC 9114, 4.2.2).
const MAX_HEADER: u64 = 256 << 10;
/// How long a server has to send a ticket once everything else is done.
const TICKET_PATIENCE: Duration = Duration::from_millis(500);

/// What is spoken over a connection.
#[derive(Clone)]
pub(crate) enum Wire {
    /// HTTP/3.
    H3(SendRequest<OpenStreams, Bytes>),
    /// HTTP/0.9.
    Hq,
}

/// A connection.
pub(crate) struct Link {
    pub(crate) origin: Origin,
    pub(crate) connection: Connection,
    pub(crate) wire: Wire,
    pub(crate) resolved: Instant,
    pub(crate) connected: Cell<Instant>,
    /// Whether the server took up an earlier session, once that is known.
    pub(crate) resumed: Cell<Option<bool>>,
    /// The end of the handshake, if the connection is used before that.
    early: Option<Early>,
    /// How often the server had proved itself with a certificate before.
    verified: usize,
    verifier: Arc<Verifier>,
    /// Transfers that it has carried.
    pub(crate) uses: Cell<u32>,
    /// Whether it takes no more requests.
    retired: Cell<bool>,
    pub(crate) updated: Cell<bool>,
}

/// Whether the server took the early data, and when the handshake was over.
type Early = Shared<Task<(bool, Instant)>>;

impl Link {
    /// Waits for the end of the handshake. Says whether early data was taken, if any was sent.
    pub(crate) async fn settled(&self) -> Option<bool> {
        let taken = match &self.early {
            None => None,
            Some(early) => {
                let outcome: Result<_, JoinError> = early.clone().await;
                let (taken, at) = outcome.unwrap_or((false, Instant::now()));
                self.connected.set(at);
                Some(taken)
            }
        };
        self.resumed.set(Some(self.verifier.count() == self.verified));
        taken
    }

    /// Whether the connection is used before its handshake is over, or was.
    pub(crate) fn is_early(&self) -> bool {
        self.early.is_some()
    }

    /// Hands the connection no more requests.
    pub(crate) fn retire(&self) {
        self.retired.set(true);
    }

    fn usable(&self) -> bool {
        !self.retired.get() && self.connection.close_reason().is_none()
    }

    /// Why the connection has ended, if it has.
    pub(crate) fn explain(&self) -> Option<Failure> {
        let error = self.connection.close_reason()?;
        Some(match error {
            ConnectionError::TimedOut => {
                let message = format!("{} has vanished: nothing came from it for 30 seconds", self.origin);
                Failure::transient(status::TIMEOUT, message)
            }
            ConnectionError::Reset => {
                Failure::transient(status::RECEIVE, format!("{} has forgotten the connection", self.origin))
            }
            ConnectionError::ApplicationClosed(close) => {
                let code = close.error_code.into_inner();
                let name = match code {
                    0x100..=0x110 | 0x200..=0x202 => format!("{}", Code::from(code)),
                    code => format!("{code:#x}"),
                };
                let reason = String::from_utf8_lossy(&close.reason).into_owned();
                let message = format!("{} closed the connection: {name} {reason}", self.origin);
                // H3_NO_ERROR and an internal error are nothing that this side did.
                match code {
                    0x100 | 0x102 => Failure::transient(status::RECEIVE, message.trim_end().to_owned()),
                    _ => Failure::new(status::HTTP3, message.trim_end().to_owned()),
                }
            }
            ConnectionError::LocallyClosed => {
                Failure::new(status::HTTP3, format!("{} broke the rules of HTTP/3", self.origin))
            }
            error => connect::explain(&self.origin, self.connection.remote_address(), &self.verifier, error),
        })
    }
}

/// All connections.
pub(crate) struct Links<'a> {
    pub(crate) trust: Trust,
    pub(crate) sessions: Option<Arc<Sessions>>,
    pub(crate) early_data: bool,
    pub(crate) alpn: &'static [u8],
    pub(crate) family: Family,
    pub(crate) limit: Option<Duration>,
    pub(crate) addresses: &'a Addresses,
    pub(crate) transport: Arc<TransportConfig>,
    pub(crate) sockets: Sockets,
    pub(crate) tell: &'a dyn Fn(&str),
    pub(crate) servers: RefCell<HashMap<Origin, Rc<Mutex<Server>>>>,
}

/// What is known of a server.
#[derive(Default)]
pub(crate) struct Server {
    link: Option<Rc<Link>>,
    config: Option<Config>,
    /// Whether it refused early data.
    no_early_data: bool,
}

struct Config {
    client: ClientConfig,
    verifier: Arc<Verifier>,
    session: Option<Arc<Resumable>>,
    /// Where it was last time.
    address: Option<std::net::SocketAddr>,
}

impl Links<'_> {
    /// The connection to a server, made now if there is none. `early` says whether the request may be sent twice.
    pub(crate) async fn get(&self, origin: &Origin, early: bool) -> Result<Rc<Link>, Failure> {
        let server = self.servers.borrow_mut().entry(origin.clone()).or_default().clone();
        let mut server = server.lock().await;
        if let Some(link) = server.link.as_ref().filter(|link| link.usable()) {
            return Ok(link.clone());
        }
        server.link = None;
        let place = self.addresses.place(origin);
        let server = &mut *server;
        let config = match &mut server.config {
            Some(config) => config,
            none => none.insert(self.config(origin, &place)?),
        };
        let attempt = Attempt {
            sockets: &self.sockets,
            config: config.client.clone(),
            verifier: &config.verifier,
            server_name: &origin.host,
            place: &place,
            fixed: self.addresses.fixed(&place),
            family: self.family,
            limit: self.limit,
        };
        let verified = config.verifier.count();
        let has_ticket = config.session.as_ref().is_some_and(|session| session.has_ticket());
        let address =
            config.address.take().filter(|_| early && self.early_data && has_ticket && !server.no_early_data);
        let connected = match address.and_then(|address| attempt.connect_early(address)) {
            Some(connected) => connected,
            None => attempt.connect().await?,
        };
        let link = Rc::new(self.link(origin, connected, verified, config.verifier.clone()).await?);
        (self.tell)(&format!(
            "connected to {} ({}){}",
            origin,
            link.connection.remote_address(),
            if link.is_early() { ", sending early data" } else { "" }
        ));
        server.link = Some(link.clone());
        Ok(link)
    }

    /// Sends no more early data to a server.
    pub(crate) async fn without_early_data(&self, origin: &Origin) {
        let server = self.servers.borrow().get(origin).cloned();
        if let Some(server) = server {
            server.lock().await.no_early_data = true;
        }
    }

    fn config(&self, origin: &Origin, place: &Origin) -> Result<Config, Failure> {
        let (tls, verifier) = self.trust.client(self.alpn)?;
        let failed = |error: sandquic::crypto::rustls::NoInitialCipherSuite| {
            Failure::new(status::TLS, error.to_string())
        };
        let (crypto, session, address): (Arc<dyn sandquic::crypto::ClientConfig>, _, _) = match &self.sessions
        {
            None => {
                let quic =
                    QuicClientConfig::with_initial(Arc::new(tls), self.trust.initial).map_err(failed)?;
                (Arc::new(quic), None, None)
            }
            Some(sessions) => {
                let alpn = String::from_utf8_lossy(self.alpn);
                let key = format!("{alpn} {origin} {place}");
                let initial = self.trust.initial;
                let (session, address) =
                    Resumable::new(sessions.clone(), key, &origin.host, tls, self.early_data, initial)?;
                (session.clone(), Some(session), address)
            }
        };
        let mut client = ClientConfig::new(crypto);
        client.transport_config(self.transport.clone());
        Ok(Config { client, verifier, session, address })
    }

    async fn link(
        &self,
        origin: &Origin,
        connected: Connected,
        verified: usize,
        verifier: Arc<Verifier>,
    ) -> Result<Link, Failure> {
        let Connected { connection, early, resolved, connected } = connected;
        let early = early.map(|early| {
            sandquic::spawn(async move {
                let taken = early.await;
                (taken, Instant::now())
            })
            .shared()
        });
        let wire = if self.alpn == crate::hq::ALPN {
            Wire::Hq
        } else {
            let transport = sandquic::h3::Connection::new(connection.clone());
            let built = h3::client::builder()
                .max_field_section_size(MAX_HEADER)
                .build::<_, _, Bytes>(transport)
                .await;
            let (mut driver, sender) = built.map_err(|error| {
                let message = format!("HTTP/3 with {origin} did not start: {error}");
                Failure::new(status::HTTP3, message)
            })?;
            // It reads the server's settings and GOAWAY, until the connection ends.
            drop(sandquic::spawn(async move {
                driver.wait_idle().await;
            }));
            Wire::H3(sender)
        };
        Ok(Link {
            origin: origin.clone(),
            connection,
            wire,
            resolved,
            connected: Cell::new(connected),
            resumed: Cell::new(None),
            early,
            verified,
            verifier,
            uses: Cell::new(0),
            retired: Cell::new(false),
            updated: Cell::new(false),
        })
    }

    /// Stores sessions and closes all connections.
    pub(crate) async fn close(&self) -> Result<(), Failure> {
        let servers: Vec<_> = self.servers.borrow().values().cloned().collect();
        for server in servers {
            let server = server.lock().await;
            let Some(link) = &server.link else { continue };
            if let Some(session) = server.config.as_ref().and_then(|config| config.session.as_ref()) {
                let ticket = async {
                    while !session.has_ticket() && link.connection.close_reason().is_none() {
                        sandquic::sleep(Duration::from_millis(5)).await;
                    }
                };
                within(Some(TICKET_PATIENCE), ticket).await;
                if !session.store(link.connection.remote_address()) {
                    (self.tell)(&format!("{} gave no session to keep", link.origin));
                }
            }
            link.connection.close(VarInt::from_u32(Code::H3_NO_ERROR.value() as u32), b"");
        }
        self.sockets.farewell().await;
        match &self.sessions {
            Some(sessions) => sessions.save(),
            None => Ok(()),
        }
    }
}
