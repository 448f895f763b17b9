//! Connections.

use std::any::Any;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use quinn_proto as proto;
use quinn_proto::congestion::Controller;
use quinn_proto::{ConnectionError, ConnectionStats, Dir, Side, VarInt};

use crate::crypto::ExportKeyingMaterialError;

mod connecting;
mod handle;
mod wait;

pub use connecting::{Connecting, ZeroRttAccepted};
pub(crate) use handle::{ConnRef, LockedConn};
#[cfg(feature = "h3")]
pub(crate) use wait::Streams;
use wait::Wait;
pub use wait::{AcceptBi, AcceptUni, OpenBi, OpenUni, ReadDatagram, SendDatagram};

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
        SendDatagram::new(self, data)
    }

    /// The largest application datagram that can be sent now, in bytes; `None` if the peer takes none. It may change
    /// with the path.
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

    /// How many streams have data that the peer has not acknowledged, or may have: those that are not finished count.
    /// A connection that is closed when there are none, but those that are never finished, loses nothing.
    pub fn unacknowledged_streams(&self) -> usize {
        self.0.lock().conn().inner.streams().send_streams()
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
