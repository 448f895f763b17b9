//! UDP sockets of WASI 0.3: one datagram a call, each in a list of its own.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use ::wasip3::sockets::types::{
    ErrorCode, IpAddressFamily, IpSocketAddress, Ipv4SocketAddress, Ipv6SocketAddress,
    UdpSocket as HostSocket,
};
use bytes::{Bytes, BytesMut};

use crate::driver::options::{SocketBuffers, SocketOptions};
use crate::runtime::AsyncUdpSocket;
use crate::udp::{Received, Transmit};

/// Datagrams that wait for the host to take them, beyond which sending waits. The host takes them at once except
/// when its socket's buffer is full.
const MAX_UNSENT: usize = 64;
/// Segments of one transmit: they are sent one by one, but building them together costs the protocol less.
const SEGMENTS: usize = 10;

/// A bound UDP socket.
#[derive(Debug, Clone)]
pub struct UdpSocket(Arc<WasiSocket>);

impl UdpSocket {
    /// Bind a socket to a local address.
    ///
    /// # Errors
    ///
    /// What the host says; [`io::ErrorKind::PermissionDenied`] if it allows no network.
    pub fn bind(addr: SocketAddr) -> io::Result<Self> {
        Self::bind_with(addr, &SocketOptions::default())
    }

    /// Bind a socket to a local address, with options.
    ///
    /// # Errors
    ///
    /// What the host says; [`io::ErrorKind::PermissionDenied`] if it allows no network.
    pub fn bind_with(addr: SocketAddr, options: &SocketOptions) -> io::Result<Self> {
        let family = if addr.is_ipv6() { IpAddressFamily::Ipv6 } else { IpAddressFamily::Ipv4 };
        let socket = HostSocket::create(family).map_err(error)?;
        if let Some(bytes) = options.recv_buffer {
            socket.set_receive_buffer_size(bytes as u64).map_err(error)?;
        }
        if let Some(bytes) = options.send_buffer {
            socket.set_send_buffer_size(bytes as u64).map_err(error)?;
        }
        socket.bind(to_host(addr)).map_err(error)?;
        let local = from_host(socket.get_local_address().map_err(error)?);
        Ok(Self(Arc::new(WasiSocket { local, io: Mutex::new(Io::new(socket)) })))
    }

    /// The address that the socket is bound to.
    ///
    /// # Errors
    ///
    /// None at present.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.0.local)
    }

    /// The sizes of the socket's buffers.
    ///
    /// # Errors
    ///
    /// What the host says.
    pub fn buffers(&self) -> io::Result<SocketBuffers> {
        self.0.buffers()
    }

    /// The socket in the form that [`Endpoint::new_with_abstract_socket`](crate::Endpoint::new_with_abstract_socket)
    /// takes.
    pub fn into_abstract(self) -> Arc<dyn AsyncUdpSocket> {
        self.0
    }
}

struct WasiSocket {
    local: SocketAddr,
    io: Mutex<Io>,
}

impl fmt::Debug for WasiSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WasiSocket").field("local", &self.local).finish_non_exhaustive()
    }
}

/// The input and output of one socket: two futures that never end, made once, so that no call of the host costs a
/// future of its own.
struct Io {
    socket: Arc<HostSocket>,
    receiver: Pin<Box<dyn Future<Output = ()> + Send>>,
    inbox: Arc<Mutex<Inbox>>,
    sender: Pin<Box<dyn Future<Output = ()> + Send>>,
    unsent: Arc<Mutex<VecDeque<Outgoing>>>,
}

/// A datagram on its way to the host.
type Outgoing = (Vec<u8>, IpSocketAddress);

/// What the receiver has received, and how much it may.
#[derive(Default)]
struct Inbox {
    datagrams: Vec<Received>,
    room: usize,
    error: Option<io::Error>,
}

impl Io {
    fn new(socket: HostSocket) -> Self {
        let socket = Arc::new(socket);
        let inbox = Arc::new(Mutex::new(Inbox::default()));
        let unsent = Arc::new(Mutex::new(VecDeque::new()));
        Self {
            receiver: Box::pin(receive(socket.clone(), inbox.clone())),
            sender: Box::pin(send(socket.clone(), unsent.clone())),
            socket,
            inbox,
            unsent,
        }
    }
}

/// Receive for ever. Waits for the host's socket, or for its caller to make room.
async fn receive(socket: Arc<HostSocket>, inbox: Arc<Mutex<Inbox>>) {
    loop {
        Pause::unless(|| lock(&inbox).room > 0).await;
        let result = socket.receive().await;
        let mut inbox = lock(&inbox);
        inbox.room = inbox.room.saturating_sub(1);
        match result {
            Ok((datagram, addr)) => {
                // The list that the host made becomes the buffer of the packet.
                let contents = BytesMut::from(Bytes::from(datagram));
                inbox.datagrams.push(Received::datagram(contents, from_host(addr)));
            }
            Err(code) => {
                inbox.error = Some(error(code));
                inbox.room = 0;
            }
        }
    }
}

/// Send for ever. Waits for the host's socket, or for something to send.
async fn send(socket: Arc<HostSocket>, unsent: Arc<Mutex<VecDeque<Outgoing>>>) {
    loop {
        Pause::unless(|| !lock(&unsent).is_empty()).await;
        let next = lock(&unsent).pop_front();
        if let Some((datagram, addr)) = next
            && let Err(code) = socket.send(datagram, Some(addr)).await
        {
            tracing::debug!("a datagram could not be sent: {}", error(code));
        }
    }
}

/// Waits, without waking anybody, until a condition holds when it is polled.
struct Pause<F>(F);

impl<F: Fn() -> bool + Unpin> Pause<F> {
    fn unless(condition: F) -> Self {
        Self(condition)
    }
}

impl<F: Fn() -> bool + Unpin> Future for Pause<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if (self.0)() { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl AsyncUdpSocket for WasiSocket {
    fn poll_send(&self, cx: &mut Context<'_>, transmit: &Transmit<'_>) -> Poll<io::Result<()>> {
        let mut io = lock(&self.io);
        if lock(&io.unsent).len() >= MAX_UNSENT {
            let _ = io.sender.as_mut().poll(cx);
            if lock(&io.unsent).len() >= MAX_UNSENT {
                return Poll::Pending;
            }
        }
        let destination = to_host(transmit.destination);
        lock(&io.unsent).extend(transmit.segments().map(|segment| (segment.to_vec(), destination)));
        let _ = io.sender.as_mut().poll(cx);
        Poll::Ready(Ok(()))
    }

    fn poll_recv(&self, cx: &mut Context<'_>, max: usize, out: &mut Vec<Received>) -> Poll<io::Result<()>> {
        let mut io = lock(&self.io);
        // It may wait for the host with more to send, and nobody may have anything to add.
        let _ = io.sender.as_mut().poll(cx);
        lock(&io.inbox).room = max;
        let _ = io.receiver.as_mut().poll(cx);
        let mut inbox = lock(&io.inbox);
        if !inbox.datagrams.is_empty() {
            // An error that came after them is reported by the next call.
            out.append(&mut inbox.datagrams);
            return Poll::Ready(Ok(()));
        }
        inbox.error.take().map_or(Poll::Pending, |e| Poll::Ready(Err(e)))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.local)
    }

    fn max_transmit_segments(&self) -> usize {
        SEGMENTS
    }

    // WASI sets IPV6_V6ONLY for good.
    fn maps_ipv4(&self) -> bool {
        false
    }

    fn buffers(&self) -> io::Result<SocketBuffers> {
        let io = lock(&self.io);
        Ok(SocketBuffers {
            recv: io.socket.get_receive_buffer_size().map_err(error)? as usize,
            send: io.socket.get_send_buffer_size().map_err(error)? as usize,
        })
    }
}

/// A component has one thread, so this never waits.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn to_host(addr: SocketAddr) -> IpSocketAddress {
    match addr {
        SocketAddr::V4(addr) => {
            let [a, b, c, d] = addr.ip().octets();
            IpSocketAddress::Ipv4(Ipv4SocketAddress { port: addr.port(), address: (a, b, c, d) })
        }
        SocketAddr::V6(addr) => {
            let [a, b, c, d, e, f, g, h] = addr.ip().segments();
            IpSocketAddress::Ipv6(Ipv6SocketAddress {
                port: addr.port(),
                flow_info: addr.flowinfo(),
                address: (a, b, c, d, e, f, g, h),
                scope_id: addr.scope_id(),
            })
        }
    }
}

fn from_host(addr: IpSocketAddress) -> SocketAddr {
    match addr {
        IpSocketAddress::Ipv4(Ipv4SocketAddress { port, address: (a, b, c, d) }) => {
            SocketAddrV4::new(Ipv4Addr::new(a, b, c, d), port).into()
        }
        IpSocketAddress::Ipv6(Ipv6SocketAddress { port, flow_info, address, scope_id }) => {
            let (a, b, c, d, e, f, g, h) = address;
            SocketAddrV6::new(Ipv6Addr::new(a, b, c, d, e, f, g, h), port, flow_info, scope_id).into()
        }
    }
}

/// The host's error as one of std's.
fn error(code: ErrorCode) -> io::Error {
    use io::ErrorKind;
    let (kind, what) = match code {
        ErrorCode::AccessDenied => (
            ErrorKind::PermissionDenied,
            "the host does not allow the component to use the network; allow it when starting the component",
        ),
        ErrorCode::NotSupported => (ErrorKind::Unsupported, "not supported by the host"),
        ErrorCode::InvalidArgument => (ErrorKind::InvalidInput, "invalid argument"),
        ErrorCode::OutOfMemory => (ErrorKind::OutOfMemory, "the host is out of memory"),
        ErrorCode::Timeout => (ErrorKind::TimedOut, "timed out"),
        ErrorCode::AddressNotBindable => {
            (ErrorKind::AddrNotAvailable, "the address is none of this machine's")
        }
        ErrorCode::AddressInUse => (ErrorKind::AddrInUse, "the address is in use by another program"),
        ErrorCode::RemoteUnreachable => (ErrorKind::HostUnreachable, "no route to the peer"),
        ErrorCode::ConnectionRefused => {
            (ErrorKind::ConnectionRefused, "nobody listens at the peer's address")
        }
        ErrorCode::ConnectionReset => (ErrorKind::ConnectionReset, "connection reset"),
        ErrorCode::ConnectionBroken => (ErrorKind::ConnectionAborted, "connection broken"),
        ErrorCode::ConnectionAborted => (ErrorKind::ConnectionAborted, "connection aborted"),
        other => return io::Error::other(format!("{other:?}")),
    };
    io::Error::new(kind, what)
}
