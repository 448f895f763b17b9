//! Sockets of the operating system, as `wasi:sockets` wants them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use quinn_udp::{UdpSockRef, UdpSocketState};
use rustix::fd::AsFd;
use rustix::io::Errno;
use rustix::net::sockopt;

use super::run::errno;

/// The family of addresses that a socket has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    V4,
    V6,
}

impl Family {
    /// The address of a socket that has none.
    pub(super) fn unspecified(self) -> SocketAddr {
        match self {
            Self::V4 => (Ipv4Addr::UNSPECIFIED, 0).into(),
            Self::V6 => (Ipv6Addr::UNSPECIFIED, 0).into(),
        }
    }

    /// Whether an address is one of this family. IPv6 has some that stand for IPv4's; WASI has none of these.
    pub(super) fn has(self, ip: IpAddr) -> bool {
        match (self, ip) {
            (Self::V4, IpAddr::V4(_)) => true,
            (Self::V6, IpAddr::V6(ip)) => {
                let compatible = matches!(ip.segments(), [0, 0, 0, 0, 0, 0, _, _])
                    && !ip.is_unspecified()
                    && !ip.is_loopback();
                !compatible && ip.to_ipv4_mapped().is_none()
            }
            _ => false,
        }
    }

    /// Whether datagrams can be sent to an address.
    pub(super) fn reaches(self, to: SocketAddr) -> bool {
        self.has(to.ip()) && !to.ip().is_unspecified() && to.port() != 0
    }
}

/// A socket that does not block, and what the system can do for it.
pub(super) fn create(family: Family) -> Result<(std::net::UdpSocket, UdpSocketState), Errno> {
    let socket = plain(family)?;
    // What there is of offloads is asked of another socket: asking sets options that a program did not ask for (it
    // forbids fragments, and has the system add to every datagram what nobody reads here).
    let state = UdpSocketState::new(UdpSockRef::from(&plain(family)?)).map_err(|error| errno(&error))?;
    #[cfg(any(target_os = "linux", target_os = "android"))]
    // Without it every message is one datagram.
    let _ = nix::sys::socket::setsockopt(&socket, nix::sys::socket::sockopt::UdpGroSegment, &true);
    Ok((socket, state))
}

fn plain(family: Family) -> Result<std::net::UdpSocket, Errno> {
    // The standard library sets up what the system needs before the first socket, only where there is such a thing.
    #[cfg(windows)]
    drop(std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)));
    #[cfg(not(any(windows, target_vendor = "apple")))]
    let flags = rustix::net::SocketFlags::CLOEXEC | rustix::net::SocketFlags::NONBLOCK;
    #[cfg(any(windows, target_vendor = "apple"))]
    let flags = rustix::net::SocketFlags::empty();
    let domain = match family {
        Family::V4 => rustix::net::AddressFamily::INET,
        Family::V6 => rustix::net::AddressFamily::INET6,
    };
    let socket = rustix::net::socket_with(domain, rustix::net::SocketType::DGRAM, flags, None)?;
    #[cfg(target_vendor = "apple")]
    rustix::io::ioctl_fioclex(&socket)?;
    if family == Family::V6 {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    let socket = std::net::UdpSocket::from(socket);
    socket.set_nonblocking(true).map_err(|error| errno(&error))?;
    Ok(socket)
}

/// Whether no socket has an address, one that would share it included.
pub(super) fn is_free(family: Family, addr: SocketAddr) -> Result<(), Errno> {
    bind(&plain(family)?, addr)
}

/// Lets other sockets share the port, also those of another process of the same user.
pub(super) fn share_port(socket: impl AsFd) -> Result<(), Errno> {
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd", target_vendor = "apple"))]
    return sockopt::set_socket_reuseport(socket, true);
    #[cfg(not(any(
        target_os = "linux",
        target_os = "android",
        target_os = "freebsd",
        target_vendor = "apple"
    )))]
    {
        let _ = socket;
        Err(Errno::OPNOTSUPP)
    }
}

pub(super) fn bind(socket: impl AsFd, addr: SocketAddr) -> Result<(), Errno> {
    rustix::net::bind(socket, &addr).map_err(|error| match error {
        #[cfg(windows)]
        Errno::NOBUFS => Errno::ADDRINUSE,
        Errno::AFNOSUPPORT => Errno::INVAL,
        error => error,
    })
}

pub(super) fn connect(socket: impl AsFd, addr: SocketAddr) -> Result<(), Errno> {
    match rustix::net::connect(socket.as_fd(), &addr) {
        // Linux does not choose another interface for a socket that has one.
        Err(Errno::INVAL) if cfg!(target_os = "linux") => {
            let _ = disconnect(socket.as_fd());
            rustix::net::connect(socket.as_fd(), &addr)
        }
        Err(Errno::AFNOSUPPORT) => Err(Errno::INVAL),
        result => result,
    }
}

pub(super) fn disconnect(socket: impl AsFd) -> Result<(), Errno> {
    match rustix::net::connect_unspec(socket) {
        // Apple's systems say so although they did.
        Err(Errno::INVAL | Errno::AFNOSUPPORT) if cfg!(target_vendor = "apple") => Ok(()),
        result => result,
    }
}

pub(super) fn hop_limit(socket: impl AsFd, family: Family) -> Result<u8, Errno> {
    match family {
        Family::V4 => sockopt::ip_ttl(socket).and_then(|ttl| u8::try_from(ttl).map_err(|_| Errno::OPNOTSUPP)),
        Family::V6 => sockopt::ipv6_unicast_hops(socket),
    }
}

pub(super) fn set_hop_limit(socket: impl AsFd, family: Family, value: u8) -> Result<(), Errno> {
    match (value, family) {
        (0, _) => Err(Errno::INVAL),
        (_, Family::V4) => sockopt::set_ip_ttl(socket, value.into()),
        (_, Family::V6) => sockopt::set_ipv6_unicast_hops(socket, Some(value)),
    }
}

/// One of a socket's two buffers.
#[derive(Clone, Copy)]
pub(super) enum Buffer {
    Receive,
    Send,
}

/// Its size in bytes, as it was asked for: Linux doubles that, for its own needs.
pub(super) fn buffer_size(socket: impl AsFd, buffer: Buffer) -> Result<u64, Errno> {
    let size = match buffer {
        Buffer::Receive => sockopt::socket_recv_buffer_size(socket)?,
        Buffer::Send => sockopt::socket_send_buffer_size(socket)?,
    };
    Ok(if cfg!(target_os = "linux") { size / 2 } else { size } as u64)
}

/// Asks for a size; the system may choose a smaller one.
pub(super) fn set_buffer_size(socket: impl AsFd, buffer: Buffer, value: u64) -> Result<(), Errno> {
    if value == 0 {
        return Err(Errno::INVAL);
    }
    let value = usize::try_from(value).unwrap_or(usize::MAX).min(i32::MAX as usize);
    let set = match buffer {
        Buffer::Receive => sockopt::set_socket_recv_buffer_size(socket, value),
        Buffer::Send => sockopt::set_socket_send_buffer_size(socket, value),
    };
    match set {
        // BSD refuses what is too large.
        Err(Errno::NOBUFS) => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_of_one_family() {
        let has = |family: Family, ip: &str| family.has(ip.parse().unwrap());
        assert!(has(Family::V4, "192.0.2.1") && !has(Family::V6, "192.0.2.1"));
        assert!(has(Family::V6, "2001:db8::1") && has(Family::V6, "::1") && has(Family::V6, "::"));
        assert!(!has(Family::V4, "::1"));
        assert!(!has(Family::V6, "::ffff:192.0.2.1"), "mapped");
        assert!(!has(Family::V6, "::192.0.2.1"), "compatible");
        assert!(!Family::V4.reaches("0.0.0.0:9".parse().unwrap()));
        assert!(!Family::V4.reaches("192.0.2.1:0".parse().unwrap()));
    }
}
