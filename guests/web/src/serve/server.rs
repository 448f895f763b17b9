//! The endpoint: admits connections, and stops in good order.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{Either, select};
use sandquic::crypto::rustls::HandshakeData;
use sandquic::{Connecting, Endpoint, Incoming, ServerConfig, VarInt, sleep, spawn};
use tokio::sync::watch;

use super::answer::Site;
use super::args::{Args, Retry};
use super::client::{Client, Connections, Slot};
use super::log::Log;
use super::root::Root;
use super::setup::{Certificate, Setup};
use super::upload::Uploads;
use super::{Failure, plain, session};
use crate::hq;
use crate::tls::H3_ALPN;

/// How long a handshake may take.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(30);
/// Handshakes that are not complete, from which on clients must prove their address.
const UNDER_LOAD: usize = 64;
/// How long closed connections are waited for at the end, to tell their clients.
const FAREWELL: Duration = Duration::from_secs(2);
/// H3_NO_ERROR (RFC 9114, 8.1).
const NO_ERROR: VarInt = VarInt::from_u32(0x100);

/// What all connections share.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) site: Site,
    pub(super) uploads: Option<Uploads>,
    pub(super) log: Log,
    /// Becomes true once, when the server stops.
    pub(super) stop: watch::Sender<bool>,
    /// How long requests have to finish then.
    pub(super) drain: Duration,
    /// In bytes, of each connection.
    pub(super) client_memory: usize,
    setup: Setup,
    config: Mutex<ServerConfig>,
    connections: Arc<Connections>,
    /// Connections that have not ended, whether they have a slot or are being told of the end.
    sessions: watch::Sender<usize>,
}

/// What the server waits for.
#[allow(clippy::large_enum_variant, reason = "there is one at a time, on the stack")]
enum Event {
    Incoming(Option<Incoming>),
    Stop,
    Renew,
}

/// Serves until `stop` is done.
pub(super) async fn serve(args: Args, stop: impl Future<Output = ()>) -> Result<(), Failure> {
    let root = Root::open_directory(&args.directory)
        .map_err(|error| Failure(format!("the directory {} cannot be served: {error}", args.directory)))?;
    let uploads = match &args.upload {
        None => None,
        Some(path) => {
            let root = Root::open_directory(path)
                .map_err(|error| Failure(format!("--upload {path} cannot be used: {error}")))?;
            Some(Uploads { root, most: args.max_upload })
        }
    };
    let mut certificate = Certificate::open(&args)?;
    let setup = Setup::new(&args)?;
    let config = setup.server_config(certificate.identity())?;
    let endpoint = Endpoint::server(config.clone(), args.listen)
        .map_err(|error| Failure(format!("--listen {} cannot be used: {error}", args.listen)))?;
    let address = endpoint.local_addr()?;
    println!("listening on {address}");
    println!("{}", certificate.describe());
    println!("serving {} at https://localhost:{}/ (h3, hq-interop)", args.directory, address.port());

    let server = Arc::new(Server {
        site: Site::new(root, &args.hosts, uploads.is_some()),
        uploads,
        log: Log(args.log),
        stop: watch::Sender::new(false),
        drain: Duration::from_secs(args.drain.into()),
        client_memory: usize::try_from(args.client_memory).unwrap_or(usize::MAX),
        setup,
        config: Mutex::new(config),
        connections: Arc::new(Connections::default()),
        sessions: watch::Sender::new(0),
    });
    let mut stop = pin!(stop);
    let mut renewal = pin!(renewal(&certificate));
    loop {
        let event = {
            let accept = pin!(endpoint.accept());
            match select(accept, select(stop.as_mut(), renewal.as_mut())).await {
                Either::Left((incoming, _)) => Event::Incoming(incoming),
                Either::Right((Either::Left(_), _)) => Event::Stop,
                Either::Right((Either::Right(_), _)) => Event::Renew,
            }
        };
        match event {
            Event::Incoming(Some(incoming)) => server.admit(&args, incoming),
            Event::Incoming(None) => return Err(Failure(format!("the socket on {address} has failed"))),
            Event::Stop => break,
            Event::Renew => {
                certificate.renew()?;
                let config = server.setup.server_config(certificate.identity())?;
                endpoint.set_server_config(Some(config.clone()));
                *server.config.lock().unwrap_or_else(PoisonError::into_inner) = config;
                println!("{}", certificate.describe());
                renewal.set(self::renewal(&certificate));
            }
        }
    }
    server.log.connection(format_args!("stopping: {} connections are open", server.connections.all()));
    endpoint.set_server_config(None);
    server.stop.send_replace(true);
    // Each ends within the time it has to drain, and a little for the last words.
    let mut sessions = server.sessions.subscribe();
    let ended = pin!(sessions.wait_for(|sessions| *sessions == 0));
    select(ended, sleep(server.drain + FAREWELL)).await;
    endpoint.close(NO_ERROR, b"the server stops");
    select(pin!(endpoint.wait_idle()), sleep(FAREWELL)).await;
    server.log.connection(format_args!("stopped"));
    Ok(())
}

/// Waits until a certificate is to be made anew.
fn renewal(certificate: &Certificate) -> impl Future<Output = ()> + use<> {
    let wait = certificate.renewal_in();
    async move {
        match wait {
            Some(wait) => sleep(wait).await,
            None => std::future::pending().await,
        }
    }
}

impl Server {
    /// Decides on a connection attempt.
    fn admit(self: &Arc<Self>, args: &Args, incoming: Incoming) {
        let address = incoming.remote_address();
        let retry = match args.retry {
            Retry::Always => true,
            Retry::Auto => self.connections.handshaking() >= UNDER_LOAD,
            Retry::Never => false,
        };
        if retry && !incoming.remote_address_validated() {
            // One whose address is not proved can always be asked to prove it.
            let _ = incoming.retry();
            return;
        }
        match self.connections.admit(address, args.max_connections, args.max_connections_per_client) {
            Err(reason) => {
                incoming.refuse();
                self.log.connection(format_args!("{address} refused: {reason}"));
            }
            Ok(slot) => {
                let server = self.clone();
                server.sessions.send_modify(|sessions| *sessions += 1);
                spawn(async move {
                    server.session(incoming, slot).await;
                    server.sessions.send_modify(|sessions| *sessions -= 1);
                });
            }
        }
    }

    /// Accepts a connection and serves it to its end.
    async fn session(self: &Arc<Self>, incoming: Incoming, mut slot: Slot) {
        let address = incoming.remote_address();
        let accepted = match self.config_of(&incoming) {
            Some(config) => incoming.accept_with(config),
            None => incoming.accept(),
        };
        let negotiated = async {
            let mut connecting = accepted?;
            let protocol = protocol(&mut connecting).await?;
            Ok::<_, sandquic::ConnectionError>((connecting, protocol))
        };
        let (connecting, protocol) = match select(pin!(negotiated), sleep(HANDSHAKE_TIMEOUT)).await {
            Either::Left((Ok(negotiated), _)) => negotiated,
            Either::Left((Err(error), _)) => {
                self.log.connection(format_args!("{address} not connected: {error}"));
                return;
            }
            Either::Right(_) => {
                self.log.connection(format_args!("{address} not connected: no handshake in time"));
                return;
            }
        };
        // A server can always speak before the handshake is complete (RFC 9001, 4.1.1).
        let Ok((connection, complete)) = connecting.into_0rtt() else { return };
        let client = Client::new(self.clone(), address);
        self.log.connection(format_args!("{address} connected, {}", String::from_utf8_lossy(&protocol)));
        let handshake = {
            let (client, connection) = (client.clone(), connection.clone());
            async move {
                match select(pin!(complete), sleep(HANDSHAKE_TIMEOUT)).await {
                    Either::Left((complete, _)) => client.set_handshake(complete),
                    Either::Right(_) => {
                        connection.close(VarInt::from_u32(0), b"no handshake in time");
                        client.set_handshake(false);
                    }
                }
                slot.established();
                // The place is kept until the connection has ended.
                connection.closed().await;
                drop(slot);
            }
        };
        spawn(handshake);
        let end = if protocol == H3_ALPN {
            session::serve(client.clone(), connection.clone()).await
        } else {
            debug_assert_eq!(protocol, hq::ALPN);
            plain::serve(client.clone(), connection.clone()).await
        };
        connection.close(NO_ERROR, b"");
        let (requests, bytes) = client.counts();
        self.log.connection(format_args!("{address} ended: {end}; {requests} requests, {bytes} bytes"));
    }

    /// The configuration for a connection that is to have a log of its own.
    fn config_of(&self, incoming: &Incoming) -> Option<Arc<ServerConfig>> {
        let config = self.config.lock().unwrap_or_else(PoisonError::into_inner);
        match self.setup.with_qlog(&config, &incoming.orig_dst_cid().to_string())? {
            Ok(config) => Some(config),
            Err(Failure(error)) => {
                self.log.connection(format_args!("{}: no qlog: {error}", incoming.remote_address()));
                None
            }
        }
    }
}

/// The protocol that the handshake chose.
async fn protocol(connecting: &mut Connecting) -> Result<Vec<u8>, sandquic::ConnectionError> {
    let data = connecting.handshake_data().await?;
    let protocol = data.downcast::<HandshakeData>().ok().and_then(|data| data.protocol);
    Ok(protocol.unwrap_or_default())
}
