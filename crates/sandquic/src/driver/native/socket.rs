//! Sockets of the operating system.

use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use async_io::Async;
use bytes::BytesMut;
use quinn_proto::EcnCodepoint;
use quinn_udp::{BATCH_SIZE, RecvMeta, UdpSockRef, UdpSocketState};
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::driver::options::{SocketBuffers, SocketOptions};
use crate::runtime::AsyncUdpSocket;
use crate::udp::{Received, Transmit};

/// The largest UDP payload, and the most that one receive offload gives, in bytes.
const MAX_PAYLOAD: usize = 65_535;

/// A bound UDP socket.
#[derive(Debug, Clone)]
pub struct UdpSocket(Arc<NativeSocket>);

impl UdpSocket {
    /// Bind a socket to a local address.
    ///
    /// # Errors
    ///
    /// What the system says, such as that the port is in use.
    pub fn bind(addr: SocketAddr) -> io::Result<Self> {
        Self::bind_with(addr, &SocketOptions::default())
    }

    /// Bind a socket to a local address, with options.
    ///
    /// # Errors
    ///
    /// What the system says, such as that the port is in use.
    pub fn bind_with(addr: SocketAddr, options: &SocketOptions) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(addr), Type::DGRAM, Some(Protocol::UDP))?;
        if addr.is_ipv6()
            && let Err(e) = socket.set_only_v6(false)
        {
            tracing::debug!("the socket cannot reach IPv4: {e}");
        }
        socket.bind(&addr.into())?;
        Self::from_std(socket.into(), options)
    }

    pub(super) fn from_std(socket: std::net::UdpSocket, options: &SocketOptions) -> io::Result<Self> {
        if let Some(bytes) = options.recv_buffer {
            raise(&socket, Buffer::Recv, bytes)?;
        }
        if let Some(bytes) = options.send_buffer {
            raise(&socket, Buffer::Send, bytes)?;
        }
        let offloads =
            options.offloads.then(|| UdpSocketState::new(UdpSockRef::from(&socket))).transpose()?;
        let io = Async::new(socket)?;
        Ok(Self(Arc::new(NativeSocket { io, offloads, buffer: Mutex::new(Vec::new()) })))
    }

    /// The address that the socket is bound to.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// The sizes of the socket's buffers.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn buffers(&self) -> io::Result<SocketBuffers> {
        self.0.buffers()
    }

    /// The socket in the form that [`Endpoint::new_with_abstract_socket`](crate::Endpoint::new_with_abstract_socket)
    /// takes.
    pub fn into_abstract(self) -> Arc<dyn AsyncUdpSocket> {
        self.0
    }
}

enum Buffer {
    Recv,
    Send,
}

/// Set the size of a buffer, beyond the system's limit if the process may.
fn raise(socket: &std::net::UdpSocket, buffer: Buffer, bytes: usize) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::net::sockopt;
        let forced = match buffer {
            Buffer::Recv => sockopt::set_socket_recv_buffer_size_force(socket, bytes),
            Buffer::Send => sockopt::set_socket_send_buffer_size_force(socket, bytes),
        };
        if forced.is_ok() {
            return Ok(());
        }
    }
    match buffer {
        Buffer::Recv => SockRef::from(socket).set_recv_buffer_size(bytes),
        Buffer::Send => SockRef::from(socket).set_send_buffer_size(bytes),
    }
}

struct NativeSocket {
    io: Async<std::net::UdpSocket>,
    /// `None` if single datagrams were asked for.
    offloads: Option<UdpSocketState>,
    /// Where the system puts what arrives: a piece of [`MAX_PAYLOAD`] bytes for each message of a call. Made when
    /// first needed, and kept.
    buffer: Mutex<Vec<u8>>,
}

impl NativeSocket {
    fn receive_offloaded(
        &self,
        state: &UdpSocketState,
        buffer: &mut [u8],
        out: &mut Vec<Received>,
    ) -> io::Result<()> {
        let mut metas = [RecvMeta::default(); BATCH_SIZE];
        let mut pieces = buffer.chunks_mut(MAX_PAYLOAD);
        let mut slices: [IoSliceMut<'_>; BATCH_SIZE] =
            std::array::from_fn(|_| IoSliceMut::new(pieces.next().unwrap_or_default()));
        let count = state.recv(UdpSockRef::from(&self.io), &mut slices, &mut metas)?;
        out.extend(metas.iter().zip(&slices).take(count).map(|(meta, slice)| Received {
            contents: BytesMut::from(&slice[..meta.len]),
            stride: meta.stride,
            addr: meta.addr,
            ecn: meta.ecn.and_then(|ecn| EcnCodepoint::from_bits(ecn as u8)),
            dst_ip: meta.dst_ip,
        }));
        Ok(())
    }

    fn receive_plain(&self, buffer: &mut [u8], max: usize, out: &mut Vec<Received>) -> io::Result<()> {
        for done in 0..max {
            match self.io.get_ref().recv_from(buffer) {
                Ok((len, addr)) => out.push(Received::datagram(BytesMut::from(&buffer[..len]), addr)),
                // The next call finds out again that there is no more, and waits.
                Err(e) if done > 0 && e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    fn send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let Some(state) = &self.offloads else {
            // One segment at a time, as `max_transmit_segments` says.
            return self.io.get_ref().send_to(transmit.contents, transmit.destination).map(drop);
        };
        state.try_send(
            UdpSockRef::from(&self.io),
            &quinn_udp::Transmit {
                destination: transmit.destination,
                ecn: transmit.ecn.and_then(|ecn| quinn_udp::EcnCodepoint::from_bits(ecn as u8)),
                contents: transmit.contents,
                segment_size: transmit.segment_size,
                src_ip: transmit.src_ip,
            },
        )
    }
}

impl AsyncUdpSocket for NativeSocket {
    fn poll_send(&self, cx: &mut Context<'_>, transmit: &Transmit<'_>) -> Poll<io::Result<()>> {
        loop {
            match self.send(transmit) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => ready!(self.io.poll_writable(cx))?,
                result => return Poll::Ready(result),
            }
        }
    }

    fn poll_recv(&self, cx: &mut Context<'_>, max: usize, out: &mut Vec<Received>) -> Poll<io::Result<()>> {
        let mut buffer = self.buffer.lock().unwrap_or_else(PoisonError::into_inner);
        if buffer.is_empty() {
            let pieces = if self.offloads.is_some() { BATCH_SIZE } else { 1 };
            *buffer = vec![0; pieces * MAX_PAYLOAD];
        }
        loop {
            let received = match &self.offloads {
                Some(state) => self.receive_offloaded(state, &mut buffer, out),
                None => self.receive_plain(&mut buffer, max, out),
            };
            match received {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => ready!(self.io.poll_readable(cx))?,
                result => return Poll::Ready(result),
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.offloads.as_ref().map_or(1, UdpSocketState::max_gso_segments)
    }

    fn may_fragment(&self) -> bool {
        self.offloads.as_ref().is_none_or(UdpSocketState::may_fragment)
    }

    fn buffers(&self) -> io::Result<SocketBuffers> {
        let socket = SockRef::from(self.io.get_ref());
        Ok(SocketBuffers { recv: socket.recv_buffer_size()?, send: socket.send_buffer_size()? })
    }
}

impl fmt::Debug for NativeSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NativeSocket")
            .field("io", &self.io)
            .field("offloads", &self.offloads.is_some())
            .finish_non_exhaustive()
    }
}
