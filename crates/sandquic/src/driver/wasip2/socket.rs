//! UDP sockets of WASI 0.2: datagrams pass in lists.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use ::wasip2::sockets::instance_network::instance_network;
use ::wasip2::sockets::network::{ErrorCode, IpAddressFamily, IpSocketAddress};
use ::wasip2::sockets::udp::{OutgoingDatagram, OutgoingDatagramStream, UdpSocket as HostSocket};
use ::wasip2::sockets::udp_create_socket::create_udp_socket;
use sandquic_wasi::Incoming;

use super::reactor::{self, Flush, Source};
use crate::driver::options::{SocketBuffers, SocketOptions};
use crate::driver::wasi::{error, from_host, lock, to_host};
use crate::runtime::AsyncUdpSocket;
use crate::udp::{Received, Transmit};

/// Datagrams in a full list: Wasmtime's limit, both ways. A shorter one from the host means that there are no more, at
/// present.
const LIST: usize = 16;
/// Datagrams that wait for the host to take them, beyond which sending waits.
const MAX_UNSENT: usize = 4 * LIST;
/// Segments of one transmit.
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
        let io = Io::bind(addr, options).map_err(error)?;
        let local = from_host(io.socket.local_address().map_err(error)?);
        Ok(Self(Arc::new_cyclic(|this| WasiSocket { local, io: Mutex::new(io), this: this.clone() })))
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
    this: Weak<Self>,
}

impl fmt::Debug for WasiSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WasiSocket").field("local", &self.local).finish_non_exhaustive()
    }
}

/// The host's resources, each after those that are made from it: it may not be dropped before them.
struct Io {
    readable: Source,
    writable: Source,
    incoming: Incoming,
    outgoing: OutgoingDatagramStream,
    socket: HostSocket,
    unsent: Unsent,
    /// The last list was not full: there is no need to ask for another in the same turn.
    drained: bool,
    /// Whom to wake if the reactor, which is to flush it, cannot.
    flushing: Option<Waker>,
}

impl Io {
    fn bind(addr: SocketAddr, options: &SocketOptions) -> Result<Self, ErrorCode> {
        let family = if addr.is_ipv6() { IpAddressFamily::Ipv6 } else { IpAddressFamily::Ipv4 };
        let socket = create_udp_socket(family)?;
        if let Some(bytes) = options.recv_buffer {
            socket.set_receive_buffer_size(bytes as u64)?;
        }
        if let Some(bytes) = options.send_buffer {
            socket.set_send_buffer_size(bytes as u64)?;
        }
        socket.start_bind(&instance_network(), to_host(addr))?;
        while let Err(code) = socket.finish_bind() {
            if code != ErrorCode::WouldBlock {
                return Err(code);
            }
            socket.subscribe().block();
        }
        let (incoming, outgoing) = socket.stream(None)?;
        Ok(Self {
            readable: Source::new(incoming.subscribe()),
            writable: Source::new(outgoing.subscribe()),
            incoming: Incoming::new(incoming),
            outgoing,
            socket,
            unsent: Unsent::default(),
            drained: false,
            flushing: None,
        })
    }

    /// Send what waits, in lists as long as the host allows. False if it takes no more now.
    fn flush(&mut self) -> bool {
        while !self.unsent.is_empty() {
            let sent = self.outgoing.check_send().and_then(|permitted| match permitted {
                0 => Err(ErrorCode::WouldBlock),
                _ => self.outgoing.send(self.unsent.first(permitted)),
            });
            match sent {
                Ok(0) | Err(ErrorCode::WouldBlock) => return false,
                Ok(sent) => self.unsent.advance(sent),
                // Of the first, or of one that was taken before: either way one is lost, as it may be on its way.
                Err(code) => {
                    tracing::debug!("a datagram could not be sent: {}", error(code));
                    self.unsent.advance(1);
                }
            }
        }
        true
    }
}

impl Drop for WasiSocket {
    fn drop(&mut self) {
        // The last words of a connection. What the host does not take now is lost, as it may be on its way.
        self.io.get_mut().unwrap_or_else(PoisonError::into_inner).flush();
    }
}

/// Datagrams in order, and the memory of those before them: no datagram needs a block of its own.
#[derive(Default)]
struct Unsent {
    datagrams: Vec<OutgoingDatagram>,
    /// Those that wait; what is outside is only kept for its memory.
    start: usize,
    end: usize,
}

impl Unsent {
    fn len(&self) -> usize {
        self.end - self.start
    }

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn push(&mut self, contents: &[u8], destination: IpSocketAddress) {
        if self.end == self.datagrams.len() && self.start > 0 {
            self.datagrams.rotate_left(self.start);
            self.end -= self.start;
            self.start = 0;
        }
        match self.datagrams.get_mut(self.end) {
            Some(unused) => {
                unused.data.clear();
                unused.data.extend_from_slice(contents);
                unused.remote_address = Some(destination);
            }
            None => self
                .datagrams
                .push(OutgoingDatagram { data: contents.to_vec(), remote_address: Some(destination) }),
        }
        self.end += 1;
    }

    /// At most `count` of them, the oldest first.
    fn first(&self, count: u64) -> &[OutgoingDatagram] {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        &self.datagrams[self.start..self.end][..count.min(self.len())]
    }

    /// They are done with.
    fn advance(&mut self, count: u64) {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        self.start += count.min(self.len());
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }
}

impl Flush for WasiSocket {
    fn flush(&self) {
        let mut io = lock(&self.io);
        let waker = io.flushing.take();
        if !io.flush()
            && let Some(waker) = waker
        {
            io.writable.wait(&waker);
        }
    }
}

impl AsyncUdpSocket for WasiSocket {
    fn poll_send(&self, cx: &mut Context<'_>, transmit: &Transmit<'_>) -> Poll<io::Result<()>> {
        let mut io = lock(&self.io);
        if io.unsent.len() >= MAX_UNSENT && !io.flush() {
            io.writable.wait(cx.waker());
            return Poll::Pending;
        }
        let destination = to_host(transmit.destination);
        for segment in transmit.segments() {
            io.unsent.push(segment, destination);
        }
        if io.unsent.len() >= LIST {
            io.flush();
        }
        if !io.unsent.is_empty() && io.flushing.replace(cx.waker().clone()).is_none() {
            reactor::flush_later(self.this.clone());
        }
        Poll::Ready(Ok(()))
    }

    fn poll_recv(&self, cx: &mut Context<'_>, max: usize, out: &mut Vec<Received>) -> Poll<io::Result<()>> {
        let mut io = lock(&self.io);
        if !io.flush() {
            io.writable.wait(cx.waker());
        }
        if std::mem::take(&mut io.drained) {
            io.readable.wait(cx.waker());
            return Poll::Pending;
        }
        let take = |contents, from| out.push(Received::datagram(contents, from));
        match io.incoming.receive(max, take) {
            Ok((asked, count)) if count > 0 => {
                io.drained = count < asked.min(LIST);
                Poll::Ready(Ok(()))
            }
            Ok(_) | Err(ErrorCode::WouldBlock) => {
                io.readable.wait(cx.waker());
                Poll::Pending
            }
            Err(code) => Poll::Ready(Err(error(code))),
        }
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
            recv: io.socket.receive_buffer_size().map_err(error)? as usize,
            send: io.socket.send_buffer_size().map_err(error)? as usize,
        })
    }
}
