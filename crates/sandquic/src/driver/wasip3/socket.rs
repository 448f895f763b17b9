//! UDP sockets of WASI 0.3: one datagram a call, each in a list of its own.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use ::wasip3::sockets::types::{ErrorCode, IpAddressFamily, UdpSocket as HostSocket};
use sandquic_wasi::Udp;

use crate::driver::options::{SocketBuffers, SocketOptions};
use crate::driver::wasi::{error, from_host, lock, to_host};
use crate::runtime::AsyncUdpSocket;
use crate::udp::{Received, Transmit};

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
        Ok(Self(Arc::new(WasiSocket {
            local,
            io: Mutex::new(Io { udp: Udp::new(socket), unsent: VecDeque::new(), failed: None }),
        })))
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

struct Io {
    udp: Udp,
    /// Copies of the datagrams of one transmit that the host could not take at once.
    unsent: VecDeque<(Vec<u8>, SocketAddr)>,
    /// An error that came after datagrams: for the next call.
    failed: Option<ErrorCode>,
}

impl Io {
    /// Give the host what it did not take before. Ready when it can take more.
    fn flush(&mut self, cx: &Context<'_>) -> Poll<()> {
        loop {
            note(ready!(self.udp.poll_sent(cx)));
            let Some((datagram, addr)) = self.unsent.pop_front() else { return Poll::Ready(()) };
            note(self.udp.send(&datagram, addr));
        }
    }
}

/// A datagram that was not sent is as good as lost on the way.
fn note(sent: Result<(), ErrorCode>) {
    if let Err(code) = sent {
        tracing::debug!("a datagram could not be sent: {}", error(code));
    }
}

impl AsyncUdpSocket for WasiSocket {
    fn poll_send(&self, cx: &mut Context<'_>, transmit: &Transmit<'_>) -> Poll<io::Result<()>> {
        let mut io = lock(&self.io);
        ready!(io.flush(cx));
        for segment in transmit.segments() {
            if io.unsent.is_empty()
                && let Poll::Ready(sent) = io.udp.poll_sent(cx)
            {
                note(sent);
                note(io.udp.send(segment, transmit.destination));
            } else {
                // Its socket's buffer is full. What is copied is no more than the rest of this transmit.
                io.unsent.push_back((segment.to_vec(), transmit.destination));
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_recv(&self, cx: &mut Context<'_>, max: usize, out: &mut Vec<Received>) -> Poll<io::Result<()>> {
        let mut io = lock(&self.io);
        // It may wait for the host with more to send, and nobody may have anything to add.
        let _ = io.flush(cx);
        if let Some(code) = io.failed.take() {
            return Poll::Ready(Err(error(code)));
        }
        for received in 0..max {
            match io.udp.poll_receive(cx) {
                Poll::Ready(Ok((contents, addr))) => out.push(Received::datagram(contents, addr)),
                Poll::Ready(Err(code)) if received == 0 => return Poll::Ready(Err(error(code))),
                Poll::Ready(Err(code)) => {
                    io.failed = Some(code);
                    break;
                }
                Poll::Pending if received == 0 => return Poll::Pending,
                Poll::Pending => break,
            }
        }
        Poll::Ready(Ok(()))
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
            recv: io.udp.socket().get_receive_buffer_size().map_err(error)? as usize,
            send: io.udp.socket().get_send_buffer_size().map_err(error)? as usize,
        })
    }
}
