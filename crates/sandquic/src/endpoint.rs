//! The handle to an endpoint.

use std::future::Future;
use std::io;
use std::net::{SocketAddr, SocketAddrV6};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use quinn_proto as proto;
use quinn_proto::{ConnectError, ConnectionError, VarInt};

use crate::config::{ClientConfig, EndpointConfig, ServerConfig};
use crate::connection::{ConnRef, Connecting};
use crate::driver::{IntoSocket, SocketBuffers, SocketOptions, UdpSocket};
use crate::incoming::{Incoming, RetryError};
use crate::instance;
use crate::runtime::{AsyncUdpSocket, Runtime, default_runtime};
use crate::state::{Driver, Shared};
use crate::waiters::Ticket;

/// A QUIC endpoint: one UDP socket and any number of connections over it, as a client, a server or both.
///
/// A clone is another handle to the same endpoint. When all handles are gone, new connections are refused, and the
/// endpoint ends once its last connection has.
#[derive(Debug)]
pub struct Endpoint {
    shared: Arc<Shared>,
    default_client_config: Option<ClientConfig>,
}

impl Endpoint {
    /// An endpoint for outgoing connections, bound to the *local* address `addr`, usually `0.0.0.0:0` or `[::]:0`.
    ///
    /// With an IPv6 address the socket also reaches IPv4 where the system allows it (not under WASI).
    ///
    /// # Errors
    ///
    /// What the system says about the socket.
    pub fn client(addr: SocketAddr) -> io::Result<Self> {
        Self::client_with(addr, &SocketOptions::default())
    }

    /// As [`client`](Self::client), with options for the socket.
    ///
    /// # Errors
    ///
    /// What the system says about the socket.
    pub fn client_with(addr: SocketAddr, options: &SocketOptions) -> io::Result<Self> {
        Self::new(EndpointConfig::default(), None, UdpSocket::bind_with(addr, options)?, runtime()?)
    }

    /// An endpoint for incoming and outgoing connections, bound to the local address `addr`.
    ///
    /// # Errors
    ///
    /// What the system says about the socket.
    pub fn server(config: ServerConfig, addr: SocketAddr) -> io::Result<Self> {
        Self::server_with(config, addr, &SocketOptions::default())
    }

    /// As [`server`](Self::server), with options for the socket.
    ///
    /// # Errors
    ///
    /// What the system says about the socket.
    pub fn server_with(config: ServerConfig, addr: SocketAddr, options: &SocketOptions) -> io::Result<Self> {
        Self::new(EndpointConfig::default(), Some(config), UdpSocket::bind_with(addr, options)?, runtime()?)
    }

    /// An endpoint on a socket that is bound already: a [`UdpSocket`] or, natively, a [`std::net::UdpSocket`].
    ///
    /// # Errors
    ///
    /// What the system says about the socket.
    pub fn new<S>(
        config: EndpointConfig,
        server_config: Option<ServerConfig>,
        socket: S,
        runtime: Arc<dyn Runtime>,
    ) -> io::Result<Self>
    where
        S: IntoSocket,
    {
        let socket = socket.into_socket()?;
        Self::new_with_abstract_socket(config, server_config, socket.into_abstract(), runtime)
    }

    /// An endpoint on any socket and any runtime.
    ///
    /// # Errors
    ///
    /// If the socket has no local address, or the program is one of several [instances](crate::instance) and its
    /// environment does not say which.
    pub fn new_with_abstract_socket(
        config: EndpointConfig,
        server_config: Option<ServerConfig>,
        socket: Arc<dyn AsyncUdpSocket>,
        runtime: Arc<dyn Runtime>,
    ) -> io::Result<Self> {
        let local = socket.local_addr()?;
        instance::from_env().map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e))?;
        let endpoint = proto::Endpoint::new(
            Arc::new(config.0),
            server_config.map(|config| Arc::new(config.0)),
            !socket.may_fragment(),
            None,
        );
        let shared = Shared::new(endpoint, socket, local, runtime.clone());
        shared.lock().handles = 1;
        runtime.spawn(Box::pin(Driver::new(shared.clone())));
        Ok(Self { shared, default_client_config: None })
    }

    /// Wait for the next connection attempt of a client.
    ///
    /// Yields `None` once the endpoint is [closed](Self::close) or has failed. An [`Incoming`] can be awaited for the
    /// [`Connection`](crate::Connection), or first looked at, refused, or told to prove its address.
    pub fn accept(&self) -> Accept<'_> {
        Accept { endpoint: self, ticket: None }
    }

    /// Set what [`connect`](Self::connect) uses.
    pub fn set_default_client_config(&mut self, config: ClientConfig) {
        self.default_client_config = Some(config);
    }

    /// Connect to the server at `addr`, which must have a certificate for `server_name`.
    ///
    /// # Errors
    ///
    /// If the arguments or the configuration are wrong; what happens on the network is reported by the [`Connecting`].
    pub fn connect(&self, addr: SocketAddr, server_name: &str) -> Result<Connecting, ConnectError> {
        let config = self.default_client_config.clone().ok_or(ConnectError::NoDefaultClientConfig)?;
        self.connect_with(config, addr, server_name)
    }

    /// As [`connect`](Self::connect), with the given configuration.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub fn connect_with(
        &self,
        config: ClientConfig,
        addr: SocketAddr,
        server_name: &str,
    ) -> Result<Connecting, ConnectError> {
        let now = self.shared.runtime.now();
        let mut state = self.shared.lock();
        if state.lost.is_some() || state.closed.is_some() {
            return Err(ConnectError::EndpointStopping);
        }
        let addr = match addr {
            SocketAddr::V6(_) if !state.ipv6 => return Err(ConnectError::InvalidRemoteAddress(addr)),
            // An IPv6 socket reaches IPv4 hosts by mapped addresses (RFC 4291, 2.5.5.2).
            SocketAddr::V4(_) if state.ipv6 && !state.socket.maps_ipv4() => {
                return Err(ConnectError::InvalidRemoteAddress(addr));
            }
            SocketAddr::V4(v4) if state.ipv6 => {
                SocketAddrV6::new(v4.ip().to_ipv6_mapped(), v4.port(), 0, 0).into()
            }
            _ => addr,
        };
        let (handle, conn) = state.endpoint.connect(now, config.0, addr, server_name)?;
        state.stats.outgoing_handshakes += 1;
        let key = state.insert(handle, conn);
        drop(state);
        Ok(Connecting::new(ConnRef::adopt(self.shared.clone(), key)))
    }

    /// Go over to another socket, with all connections. Clients' connections migrate to the new address
    /// (RFC 9000, 9); those of a server are lost unless the clients can reach it.
    ///
    /// # Errors
    ///
    /// If the socket cannot be used; the old one is kept then.
    pub fn rebind<S>(&self, socket: S) -> io::Result<()>
    where
        S: IntoSocket,
    {
        self.rebind_abstract(socket.into_socket()?.into_abstract())
    }

    /// As [`rebind`](Self::rebind), with any socket.
    ///
    /// # Errors
    ///
    /// If the socket has no local address; the old one is kept then.
    pub fn rebind_abstract(&self, socket: Arc<dyn AsyncUdpSocket>) -> io::Result<()> {
        let local = socket.local_addr()?;
        let mut state = self.shared.lock();
        state.old_socket = Some(std::mem::replace(&mut state.socket, socket));
        state.ipv6 = local.is_ipv6();
        let keys: Vec<usize> = state.conns.iter().map(|(key, _)| key).collect();
        for key in keys {
            state.conn(key).inner.local_address_changed();
            state.mark(key);
        }
        state.wake_driver();
        Ok(())
    }

    /// Replace the configuration for incoming connections from now on; `None` refuses them.
    pub fn set_server_config(&self, server_config: Option<ServerConfig>) {
        self.shared.lock().endpoint.set_server_config(server_config.map(|config| Arc::new(config.0)));
    }

    /// The local address of the socket.
    ///
    /// # Errors
    ///
    /// What the system reports.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.shared.lock().socket.local_addr()
    }

    /// The sizes of the socket's buffers that the system granted.
    ///
    /// # Errors
    ///
    /// What the system reports; [`io::ErrorKind::Unsupported`] for a socket without such buffers.
    pub fn socket_buffers(&self) -> io::Result<SocketBuffers> {
        self.shared.lock().socket.buffers()
    }

    /// How many connections are open, including those that are being closed.
    pub fn open_connections(&self) -> usize {
        self.shared.lock().endpoint.open_connections()
    }

    /// What the endpoint has done so far.
    pub fn stats(&self) -> EndpointStats {
        self.shared.lock().stats
    }

    /// Close all connections at once, with the given code and reason, and accept no more.
    ///
    /// See [`Connection::close`](crate::Connection::close). Use [`wait_idle`](Self::wait_idle) to let the peers learn.
    pub fn close(&self, error_code: VarInt, reason: &[u8]) {
        let reason = Bytes::copy_from_slice(reason);
        let now = self.shared.runtime.now();
        let state = &mut *self.shared.lock();
        if state.closed.is_some() {
            return;
        }
        state.closed = Some((error_code, reason.clone()));
        let open = state.conns.iter().filter(|(_, conn)| !conn.inner.is_closed() && !conn.drained);
        let open: Vec<usize> = open.map(|(key, _)| key).collect();
        for key in open {
            state.close(now, key, error_code, reason.clone());
        }
        state.accepting.notify(&mut state.wakes);
        // It refuses the attempts that nobody has taken.
        state.wake_driver();
    }

    /// Wait until no connection is left, which takes about three round trips after the last is closed.
    ///
    /// A program that exits without waiting may leave its peers to find out by their idle timeout. This closes
    /// nothing by itself.
    pub async fn wait_idle(&self) {
        let mut wait = Idle { shared: &self.shared, ticket: None };
        std::future::poll_fn(|cx| Pin::new(&mut wait).poll(cx)).await;
    }
}

impl Clone for Endpoint {
    fn clone(&self) -> Self {
        self.shared.lock().handles += 1;
        Self { shared: self.shared.clone(), default_client_config: self.default_client_config.clone() }
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.handles -= 1;
        if state.handles == 0 {
            state.wake_driver();
        }
    }
}

/// Counts of what an endpoint has done.
#[non_exhaustive]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct EndpointStats {
    /// Connection attempts of clients that were accepted.
    pub accepted_handshakes: u64,
    /// Connection attempts that this endpoint made.
    pub outgoing_handshakes: u64,
    /// Connection attempts of clients that were refused.
    pub refused_handshakes: u64,
    /// Connection attempts of clients that were ignored.
    pub ignored_handshakes: u64,
}

/// The future of [`Endpoint::accept`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct Accept<'a> {
    endpoint: &'a Endpoint,
    ticket: Ticket,
}

impl Future for Accept<'_> {
    type Output = Option<Incoming>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let mut state = this.endpoint.shared.lock();
        if let Some(incoming) = state.incoming.pop_front() {
            drop(state);
            return Poll::Ready(Some(Incoming::new(incoming, this.endpoint.clone())));
        }
        if state.closed.is_some() || state.lost.is_some() {
            return Poll::Ready(None);
        }
        state.accepting.wait(&mut this.ticket, cx);
        Poll::Pending
    }
}

impl Drop for Accept<'_> {
    fn drop(&mut self) {
        if self.ticket.is_some() {
            self.endpoint.shared.lock().accepting.leave(self.ticket);
        }
    }
}

struct Idle<'a> {
    shared: &'a Shared,
    ticket: Ticket,
}

impl Future for Idle<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let mut state = this.shared.lock();
        if state.live() == 0 {
            return Poll::Ready(());
        }
        state.idle.wait(&mut this.ticket, cx);
        Poll::Pending
    }
}

impl Drop for Idle<'_> {
    fn drop(&mut self) {
        if self.ticket.is_some() {
            self.shared.lock().idle.leave(self.ticket);
        }
    }
}

/// What [`Incoming`] asks of its endpoint.
impl Endpoint {
    pub(crate) fn accept_incoming(
        &self,
        incoming: proto::Incoming,
        config: Option<Arc<proto::ServerConfig>>,
    ) -> Result<Connecting, ConnectionError> {
        let now = self.shared.runtime.now();
        let mut response = Vec::new();
        let mut state = self.shared.lock();
        if let Some(error) = state.lost.clone() {
            state.endpoint.ignore(incoming);
            return Err(error);
        }
        match state.endpoint.accept(incoming, now, &mut response, config) {
            Ok((handle, conn)) => {
                state.stats.accepted_handshakes += 1;
                let key = state.insert(handle, conn);
                if let Some((code, reason)) = state.closed.clone() {
                    state.close(now, key, code, reason);
                }
                drop(state);
                Ok(Connecting::new(ConnRef::adopt(self.shared.clone(), key)))
            }
            Err(e) => {
                if let Some(transmit) = e.response {
                    state.respond_now(&transmit, &response);
                }
                Err(e.cause)
            }
        }
    }

    pub(crate) fn refuse_incoming(&self, incoming: proto::Incoming) {
        let mut response = Vec::new();
        let mut state = self.shared.lock();
        state.stats.refused_handshakes += 1;
        let transmit = state.endpoint.refuse(incoming, &mut response);
        state.respond_now(&transmit, &response);
    }

    pub(crate) fn retry_incoming(&self, incoming: proto::Incoming) -> Result<(), RetryError> {
        let mut response = Vec::new();
        let mut state = self.shared.lock();
        match state.endpoint.retry(incoming, &mut response) {
            Ok(transmit) => {
                state.respond_now(&transmit, &response);
                Ok(())
            }
            Err(e) => {
                drop(state);
                Err(RetryError::new(Incoming::new(e.into_incoming(), self.clone())))
            }
        }
    }

    pub(crate) fn ignore_incoming(&self, incoming: proto::Incoming) {
        let mut state = self.shared.lock();
        state.stats.ignored_handshakes += 1;
        state.endpoint.ignore(incoming);
    }
}

fn runtime() -> io::Result<Arc<dyn Runtime>> {
    default_runtime().ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::Unsupported,
            "this platform has no socket driver: give a runtime and a socket to Endpoint::new_with_abstract_socket",
        )
    })
}
