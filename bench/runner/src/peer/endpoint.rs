//! Stock quinn's endpoints on sockets of ours, with packets of any size.

use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, Endpoint, EndpointConfig, Runtime, ServerConfig, TokioRuntime, UdpPoller};

/// The most that one send may carry: segments that are split by the system are one UDP datagram until then (over IPv4).
const SEND_BYTES: usize = 65_507;

/// Makes an endpoint; with `mtu`, it lets peers send packets of that many bytes of UDP payload.
pub(super) fn new(server: Option<ServerConfig>, socket: UdpSocket, mtu: Option<u16>) -> io::Result<Endpoint> {
    let runtime: Arc<dyn Runtime> = Arc::new(TokioRuntime);
    let mut config = EndpointConfig::default();
    let mut socket = runtime.wrap_udp_socket(socket)?;
    if let Some(mtu) = mtu {
        config
            .max_udp_payload_size(mtu)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        socket = Arc::new(Limited { socket, segments: SEND_BYTES / usize::from(mtu) });
    }
    Endpoint::new_with_abstract_socket(config, server, socket, runtime)
}

/// A socket that takes fewer segments at a time. quinn sends up to ten whatever their size, and what the system refuses
/// because it is too long is gone without a word.
struct Limited {
    socket: Arc<dyn AsyncUdpSocket>,
    segments: usize,
}

impl fmt::Debug for Limited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limited").field("socket", &self.socket).field("segments", &self.segments).finish()
    }
}

impl AsyncUdpSocket for Limited {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        self.socket.clone().create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.socket.try_send(transmit)
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        self.socket.poll_recv(cx, bufs, meta)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.socket.max_transmit_segments().min(self.segments).max(1)
    }

    fn max_receive_segments(&self) -> usize {
        self.socket.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.socket.may_fragment()
    }
}
