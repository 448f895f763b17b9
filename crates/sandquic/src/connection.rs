//! Connections, and the attempts to make one.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use quinn_proto as proto;
use quinn_proto::congestion::Controller;
use quinn_proto::{ConnectionError, ConnectionStats, Dir, Side, StreamId, VarInt};

use crate::crypto::ExportKeyingMaterialError;
use crate::recv_stream::RecvStream;
use crate::send_stream::SendStream;
use crate::state::{Conn, Locked, Shared};
use crate::waiters::{Ticket, Waiters};

/// A counted handle to a connection in the state of its endpoint.
pub(crate) struct ConnRef {
    pub(crate) shared: Arc<Shared>,
    pub(crate) key: usize,
}

impl ConnRef {
    /// Take over a handle that is counted already.
    pub(crate) fn adopt(shared: Arc<Shared>, key: usize) -> Self {
        Self { shared, key }
    }

    /// Lock the endpoint and have access to the connection.
    pub(crate) fn lock(&self) -> LockedConn<'_> {
        LockedConn { state: self.shared.lock(), key: self.key }
    }
}

impl Clone for ConnRef {
    fn clone(&self) -> Self {
        self.shared.lock().retain(self.key);
        Self { shared: self.shared.clone(), key: self.key }
    }
}

impl Drop for ConnRef {
    fn drop(&mut self) {
        let runtime = &self.shared.runtime;
        self.shared.lock().release(|| runtime.now(), self.key);
    }
}

impl fmt::Debug for ConnRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnRef").field("id", &self.lock().conn().id).finish_non_exhaustive()
    }
}

/// A connection while its endpoint is locked.
pub(crate) struct LockedConn<'a> {
    pub(crate) state: Locked<'a>,
    key: usize,
}

impl<'a> LockedConn<'a> {
    pub(crate) fn conn(&mut self) -> &mut Conn {
        self.state.conn(self.key)
    }

    /// The connection has something to send.
    pub(crate) fn mark(&mut self) {
        self.state.mark(self.key);
    }

    /// One more handle to the connection.
    pub(crate) fn handle(&mut self, shared: &Arc<Shared>) -> ConnRef {
        self.state.retain(self.key);
        ConnRef::adopt(shared.clone(), self.key)
    }
}

/// A connection whose handshake is not complete. Awaiting it waits for the handshake.
#[derive(Debug)]
#[must_use = "a connection attempt is given up when it is dropped"]
pub struct Connecting {
    /// `None` once it has yielded.
    conn: Option<ConnRef>,
    ticket: Ticket,
    data_ticket: Ticket,
}

impl Connecting {
    pub(crate) fn new(conn: ConnRef) -> Self {
        Self { conn: Some(conn), ticket: None, data_ticket: None }
    }

    /// Use the connection before its handshake is complete, with weaker protection.
    ///
    /// - A client can do so if it has a ticket of an earlier connection that allows 0-RTT. What it sends until then
    ///   can be replayed by anyone who recorded it, so it must not change anything; and the server may reject it:
    ///   then [`ZeroRttAccepted`] yields false and the streams opened so far report `ZeroRttRejected`.
    /// - A server always can: what it sends (0.5-RTT) is protected, but the client is not authenticated yet.
    ///
    /// # Errors
    ///
    /// A client without such a ticket gets the attempt back.
    pub fn into_0rtt(mut self) -> Result<(Connection, ZeroRttAccepted), Self> {
        let Some(conn) = self.conn.take() else { return Err(self) };
        let usable = {
            let mut locked = conn.lock();
            let inner = &locked.conn().inner;
            inner.has_0rtt() || inner.side().is_server()
        };
        if usable {
            let accepted = ZeroRttAccepted { conn: conn.clone(), ticket: None };
            Ok((Connection(conn), accepted))
        } else {
            self.conn = Some(conn);
            Err(self)
        }
    }

    /// Wait for what the handshake has negotiated so far: with the session of this crate a
    /// [`HandshakeData`](crate::crypto::rustls::HandshakeData), to be downcast.
    ///
    /// # Errors
    ///
    /// If the connection fails first.
    pub async fn handshake_data(&mut self) -> Result<Box<dyn Any>, ConnectionError> {
        let conn = self.conn.as_ref().expect("not used after it yielded");
        let ticket = &mut self.data_ticket;
        std::future::poll_fn(|cx| {
            let mut locked = conn.lock();
            let conn = locked.conn();
            if let Some(data) = conn.inner.crypto_session().handshake_data() {
                return Poll::Ready(Ok(data));
            }
            if let Some(error) = &conn.error {
                return Poll::Ready(Err(error.clone()));
            }
            conn.handshake_data.wait(ticket, cx);
            Poll::Pending
        })
        .await
    }

    /// The local address that the peer sent to, where the socket tells; `None` for clients.
    ///
    /// # Panics
    ///
    /// If called after the attempt has yielded its result.
    pub fn local_ip(&self) -> Option<IpAddr> {
        self.conn.as_ref().expect("not used after it yielded").lock().conn().inner.local_ip()
    }

    /// The peer's address.
    ///
    /// # Panics
    ///
    /// If called after the attempt has yielded its result.
    pub fn remote_address(&self) -> SocketAddr {
        self.conn.as_ref().expect("not used after it yielded").lock().conn().inner.remote_address()
    }
}

impl Future for Connecting {
    type Output = Result<Connection, ConnectionError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let conn = this.conn.take().expect("not polled after it yielded");
        let mut locked = conn.lock();
        let state = locked.conn();
        if let Some(error) = &state.error
            && !state.connected
        {
            let error = error.clone();
            drop(locked);
            return Poll::Ready(Err(error));
        }
        if state.connected {
            drop(locked);
            return Poll::Ready(Ok(Connection(conn)));
        }
        state.handshake.wait(&mut this.ticket, cx);
        drop(locked);
        this.conn = Some(conn);
        Poll::Pending
    }
}

impl Drop for Connecting {
    fn drop(&mut self) {
        if let Some(conn) = &self.conn {
            let mut locked = conn.lock();
            let conn = locked.conn();
            conn.handshake.leave(self.ticket);
            conn.handshake_data.leave(self.data_ticket);
        }
    }
}

/// Tells, when the handshake is complete, whether the server accepted the client's 0-RTT data. False if the
/// connection failed; true for servers.
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct ZeroRttAccepted {
    conn: ConnRef,
    ticket: Ticket,
}

impl Future for ZeroRttAccepted {
    type Output = bool;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<bool> {
        let this = &mut *self;
        let mut locked = this.conn.lock();
        let conn = locked.conn();
        if conn.connected {
            return Poll::Ready(conn.inner.side().is_server() || conn.inner.accepted_0rtt());
        }
        if conn.error.is_some() {
            return Poll::Ready(false);
        }
        conn.handshake.wait(&mut this.ticket, cx);
        Poll::Pending
    }
}

impl Drop for ZeroRttAccepted {
    fn drop(&mut self) {
        self.conn.lock().conn().handshake.leave(self.ticket);
    }
}

/// A QUIC connection.
///
/// A clone is another handle to the same connection. When all handles are gone, those of its streams included, the
/// connection is closed with code 0.
#[derive(Debug, Clone)]
pub struct Connection(ConnRef);

impl Connection {
    /// Open a stream to send on. Waits while the peer's limit on streams is reached.
    ///
    /// The peer learns of the stream from the first data on it.
    pub fn open_uni(&self) -> OpenUni<'_> {
        OpenUni(Wait::new(self))
    }

    /// Open a stream to send and receive on. Waits while the peer's limit on streams is reached.
    ///
    /// The peer learns of the stream from the first data on it.
    pub fn open_bi(&self) -> OpenBi<'_> {
        OpenBi(Wait::new(self))
    }

    /// Wait for the next stream that the peer opened to send on.
    pub fn accept_uni(&self) -> AcceptUni<'_> {
        AcceptUni(Wait::new(self))
    }

    /// Wait for the next stream that the peer opened to send and receive on.
    pub fn accept_bi(&self) -> AcceptBi<'_> {
        AcceptBi(Wait::new(self))
    }

    /// Wait for the next application datagram (RFC 9221).
    pub fn read_datagram(&self) -> ReadDatagram<'_> {
        ReadDatagram(Wait::new(self))
    }

    /// Wait until the connection has ended, for whatever reason.
    pub async fn closed(&self) -> ConnectionError {
        let mut wait = Wait::new(self);
        std::future::poll_fn(|cx| {
            wait.poll(cx, |conn| &mut conn.ended, |locked, _| locked.conn().error.clone().map(Err::<(), _>))
        })
        .await
        .expect_err("it ends with a reason")
    }

    /// Why the connection has ended, if it has.
    pub fn close_reason(&self) -> Option<ConnectionError> {
        self.0.lock().conn().error.clone()
    }

    /// End the connection at once, with a code and a reason for the peer, which is cut to what fits into a packet.
    ///
    /// Data not yet delivered is given up: to be sure that the peer has it, wait for the peer's answer first. To let
    /// the close itself reach the peer, see [`Endpoint::wait_idle`](crate::Endpoint::wait_idle).
    pub fn close(&self, error_code: VarInt, reason: &[u8]) {
        let now = self.0.shared.runtime.now();
        let mut state = self.0.shared.lock();
        state.close(now, self.0.key, error_code, Bytes::copy_from_slice(reason));
    }

    /// Send an application datagram (RFC 9221), which may get lost. If the send buffer is full then the oldest
    /// datagrams in it are dropped.
    ///
    /// # Errors
    ///
    /// See [`SendDatagramError`].
    pub fn send_datagram(&self, data: Bytes) -> Result<(), SendDatagramError> {
        let mut locked = self.0.lock();
        let conn = locked.conn();
        if let Some(error) = &conn.error {
            return Err(SendDatagramError::ConnectionLost(error.clone()));
        }
        match conn.inner.datagrams().send(data, true) {
            Ok(()) => {
                locked.mark();
                Ok(())
            }
            Err(e) => Err(e.into()),
        }
    }

    /// As [`send_datagram`](Self::send_datagram), but waits for room in the send buffer instead of dropping.
    pub fn send_datagram_wait(&self, data: Bytes) -> SendDatagram<'_> {
        SendDatagram { wait: Wait::new(self), data: Some(data) }
    }

    /// The largest application datagram that can be sent now, in bytes; `None` if the peer takes none. It may change with the path.
    pub fn max_datagram_size(&self) -> Option<usize> {
        self.0.lock().conn().inner.datagrams().max_size()
    }

    /// Room in the send buffer for application datagrams, in bytes.
    pub fn datagram_send_buffer_space(&self) -> usize {
        self.0.lock().conn().inner.datagrams().send_buffer_space()
    }

    /// Whether this end is the client or the server.
    pub fn side(&self) -> Side {
        self.0.lock().conn().inner.side()
    }

    /// The peer's address, which changes when a client migrates.
    pub fn remote_address(&self) -> SocketAddr {
        self.0.lock().conn().inner.remote_address()
    }

    /// The local address that the peer sent to, where the socket tells; `None` for clients.
    pub fn local_ip(&self) -> Option<IpAddr> {
        self.0.lock().conn().inner.local_ip()
    }

    /// The present estimate of the round-trip time.
    pub fn rtt(&self) -> Duration {
        self.0.lock().conn().inner.rtt()
    }

    /// The shortest round-trip time seen so far.
    pub fn min_rtt(&self) -> Duration {
        self.0.lock().conn().inner.min_rtt()
    }

    /// Counts of what the connection has sent and received.
    pub fn stats(&self) -> ConnectionStats {
        self.0.lock().conn().inner.stats()
    }

    /// A copy of the state of the congestion controller.
    pub fn congestion_state(&self) -> Box<dyn Controller> {
        self.0.lock().conn().inner.congestion_state().clone_box()
    }

    /// What the handshake negotiated: with the session of this crate a
    /// [`HandshakeData`](crate::crypto::rustls::HandshakeData), to be downcast.
    pub fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.0.lock().conn().inner.crypto_session().handshake_data()
    }

    /// Who the peer has proved to be: with the session of this crate a
    /// `Vec<rustls::pki_types::CertificateDer<'static>>`, to be downcast.
    pub fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.0.lock().conn().inner.crypto_session().peer_identity()
    }

    /// A number that no other connection of the endpoint has or will have.
    pub fn stable_id(&self) -> usize {
        self.0.lock().conn().id
    }

    /// Change the keys of the 1-RTT packets now (RFC 9001, 6). Connections do so by themselves in good time.
    pub fn force_key_update(&self) {
        let mut locked = self.0.lock();
        locked.conn().inner.force_key_update();
        locked.mark();
    }

    /// Fill `output` with keying material for the application (RFC 5705, RFC 8446, 7.5).
    ///
    /// # Errors
    ///
    /// If the handshake is not complete or `output` is longer than the hash can give.
    pub fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.0.lock().conn().inner.crypto_session().export_keying_material(output, label, context)
    }

    /// How many streams the peer may have open at once to send on. A lower number closes none.
    pub fn set_max_concurrent_uni_streams(&self, count: VarInt) {
        self.set_max_concurrent(Dir::Uni, count);
    }

    /// How many streams the peer may have open at once to send and receive on. A lower number closes none.
    pub fn set_max_concurrent_bi_streams(&self, count: VarInt) {
        self.set_max_concurrent(Dir::Bi, count);
    }

    /// How many bytes of the connection may be sent and not yet acknowledged.
    pub fn set_send_window(&self, send_window: u64) {
        let mut locked = self.0.lock();
        locked.conn().inner.set_send_window(send_window);
        locked.mark();
    }

    /// How many bytes of the connection the peer may send before the application has read them. Never lower than
    /// what the peer has been granted.
    pub fn set_receive_window(&self, receive_window: VarInt) {
        let mut locked = self.0.lock();
        locked.conn().inner.set_receive_window(receive_window);
        locked.mark();
    }

    fn set_max_concurrent(&self, dir: Dir, count: VarInt) {
        let mut locked = self.0.lock();
        locked.conn().inner.set_max_concurrent_streams(dir, count);
        locked.mark();
    }
}

/// The common part of the futures that wait for something of a connection.
#[derive(Debug)]
struct Wait<'a> {
    conn: &'a ConnRef,
    /// The event last waited for, and the place among those who wait.
    waiters: Option<fn(&mut Conn) -> &mut Waiters>,
    ticket: Ticket,
}

impl<'a> Wait<'a> {
    fn new(conn: &'a Connection) -> Self {
        Self { conn: &conn.0, waiters: None, ticket: None }
    }

    /// Try `attempt`; wait for `waiters` if it gives nothing.
    fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        waiters: fn(&mut Conn) -> &mut Waiters,
        attempt: impl FnOnce(&mut LockedConn<'a>, &'a Arc<Shared>) -> Option<Result<T, ConnectionError>>,
    ) -> Poll<Result<T, ConnectionError>> {
        let mut locked = self.conn.lock();
        if let Some(result) = attempt(&mut locked, &self.conn.shared) {
            return Poll::Ready(result);
        }
        if let Some(error) = &locked.conn().error {
            return Poll::Ready(Err(error.clone()));
        }
        self.waiters = Some(waiters);
        waiters(locked.conn()).wait(&mut self.ticket, cx);
        Poll::Pending
    }

    fn poll_open(&mut self, cx: &mut Context<'_>, dir: Dir) -> Poll<Result<Opened, ConnectionError>> {
        let waiters: fn(&mut Conn) -> &mut Waiters = match dir {
            Dir::Bi => |conn| &mut conn.available[Dir::Bi as usize],
            Dir::Uni => |conn| &mut conn.available[Dir::Uni as usize],
        };
        self.poll(cx, waiters, |locked, shared| {
            let conn = locked.conn();
            if let Some(error) = &conn.error {
                return Some(Err(error.clone()));
            }
            let early = conn.inner.side().is_client() && conn.inner.is_handshaking();
            let id = conn.inner.streams().open(dir)?;
            Some(Ok(Opened::new(locked, shared, id, early)))
        })
    }

    fn poll_accept(&mut self, cx: &mut Context<'_>, dir: Dir) -> Poll<Result<Opened, ConnectionError>> {
        let waiters: fn(&mut Conn) -> &mut Waiters = match dir {
            Dir::Bi => |conn| &mut conn.opened[Dir::Bi as usize],
            Dir::Uni => |conn| &mut conn.opened[Dir::Uni as usize],
        };
        self.poll(cx, waiters, |locked, shared| {
            let conn = locked.conn();
            // Streams that arrived before the connection ended can still be taken.
            let id = conn.inner.streams().accept(dir)?;
            let early = conn.inner.is_handshaking();
            // The peer may be granted another stream in this one's place.
            locked.mark();
            Some(Ok(Opened::new(locked, shared, id, early)))
        })
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        if let Some(waiters) = self.waiters {
            waiters(self.conn.lock().conn()).leave(self.ticket);
        }
    }
}

/// A stream just opened or accepted, with two counted handles for its two halves.
struct Opened {
    send: ConnRef,
    recv: ConnRef,
    id: StreamId,
    early: bool,
}

impl Opened {
    fn new(locked: &mut LockedConn<'_>, shared: &Arc<Shared>, id: StreamId, early: bool) -> Self {
        Self { send: locked.handle(shared), recv: locked.handle(shared), id, early }
    }

    fn send(self) -> SendStream {
        SendStream::new(self.send, self.id, self.early)
    }

    fn recv(self) -> RecvStream {
        RecvStream::new(self.recv, self.id, self.early)
    }

    fn both(self) -> (SendStream, RecvStream) {
        (SendStream::new(self.send, self.id, self.early), RecvStream::new(self.recv, self.id, self.early))
    }
}

macro_rules! stream_future {
    ($(#[$doc:meta])* $name:ident, $output:ty, $poll:ident, $dir:ident, $take:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        #[must_use = "futures do nothing unless awaited"]
        pub struct $name<'a>(Wait<'a>);

        impl Future for $name<'_> {
            type Output = Result<$output, ConnectionError>;

            fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
                self.0.$poll(cx, Dir::$dir).map_ok(Opened::$take)
            }
        }
    };
}

stream_future!(
    /// The future of [`Connection::open_uni`].
    OpenUni, SendStream, poll_open, Uni, send
);
stream_future!(
    /// The future of [`Connection::open_bi`].
    OpenBi, (SendStream, RecvStream), poll_open, Bi, both
);
stream_future!(
    /// The future of [`Connection::accept_uni`].
    AcceptUni, RecvStream, poll_accept, Uni, recv
);
stream_future!(
    /// The future of [`Connection::accept_bi`].
    AcceptBi, (SendStream, RecvStream), poll_accept, Bi, both
);

/// The future of [`Connection::read_datagram`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct ReadDatagram<'a>(Wait<'a>);

impl Future for ReadDatagram<'_> {
    type Output = Result<Bytes, ConnectionError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll(cx, |conn| &mut conn.datagram, |locked, _| locked.conn().inner.datagrams().recv().map(Ok))
    }
}

/// The future of [`Connection::send_datagram_wait`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct SendDatagram<'a> {
    wait: Wait<'a>,
    /// `None` once it has yielded.
    data: Option<Bytes>,
}

impl Future for SendDatagram<'_> {
    type Output = Result<(), SendDatagramError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let data = &mut this.data;
        let sent = this.wait.poll(
            cx,
            |conn| &mut conn.datagram_space,
            |locked, _| {
                let conn = locked.conn();
                if let Some(error) = &conn.error {
                    return Some(Err(error.clone()));
                }
                match conn.inner.datagrams().send(data.take().expect("not polled after it yielded"), false) {
                    Ok(()) => {
                        locked.mark();
                        Some(Ok(Ok(())))
                    }
                    Err(proto::SendDatagramError::Blocked(back)) => {
                        *data = Some(back);
                        None
                    }
                    Err(e) => Some(Ok(Err(e.into()))),
                }
            },
        );
        sent.map(|result| result?)
    }
}

/// Why an application datagram cannot be sent.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
pub enum SendDatagramError {
    /// The peer does not take datagrams.
    #[error("datagrams not supported by peer")]
    UnsupportedByPeer,
    /// They are switched off here: see `TransportConfig::datagram_receive_buffer_size`.
    #[error("datagram support disabled")]
    Disabled,
    /// It is larger than the path or the peer's limit allows: see [`Connection::max_datagram_size`].
    #[error("datagram too large")]
    TooLarge,
    /// The connection has ended.
    #[error("connection lost")]
    ConnectionLost(#[from] ConnectionError),
}

impl From<proto::SendDatagramError> for SendDatagramError {
    fn from(e: proto::SendDatagramError) -> Self {
        match e {
            proto::SendDatagramError::UnsupportedByPeer => Self::UnsupportedByPeer,
            proto::SendDatagramError::Disabled => Self::Disabled,
            // A datagram that could wait is never refused for lack of room: older ones are dropped for it.
            proto::SendDatagramError::TooLarge | proto::SendDatagramError::Blocked(_) => Self::TooLarge,
        }
    }
}
