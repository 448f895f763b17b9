//! What the drivers of both releases of WASI share. Their addresses and errors are types of different crates, with the same
//! names.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[cfg(feature = "wasip2")]
use ::wasip2::sockets::network::{ErrorCode, IpSocketAddress, Ipv4SocketAddress, Ipv6SocketAddress};
#[cfg(not(feature = "wasip2"))]
use ::wasip3::sockets::types::{ErrorCode, IpSocketAddress, Ipv4SocketAddress, Ipv6SocketAddress};

/// A component has one thread, so this never waits.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An address as the host takes it.
pub(super) fn to_host(addr: SocketAddr) -> IpSocketAddress {
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

/// An address of the host's.
pub(super) fn from_host(addr: IpSocketAddress) -> SocketAddr {
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
pub(super) fn error(code: ErrorCode) -> io::Error {
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
        #[cfg(feature = "wasip2")]
        ErrorCode::WouldBlock => (ErrorKind::WouldBlock, "not ready"),
        #[cfg(feature = "wasip2")]
        ErrorCode::NewSocketLimit => (ErrorKind::Other, "the host allows no more sockets"),
        ErrorCode::AddressNotBindable => {
            (ErrorKind::AddrNotAvailable, "the address is none of this machine's")
        }
        ErrorCode::AddressInUse => (ErrorKind::AddrInUse, "the address is in use by another program"),
        ErrorCode::RemoteUnreachable => (ErrorKind::HostUnreachable, "no route to the peer"),
        ErrorCode::ConnectionRefused => {
            (ErrorKind::ConnectionRefused, "nobody listens at the peer's address")
        }
        ErrorCode::ConnectionReset => (ErrorKind::ConnectionReset, "connection reset"),
        #[cfg(not(feature = "wasip2"))]
        ErrorCode::ConnectionBroken => (ErrorKind::ConnectionAborted, "connection broken"),
        ErrorCode::ConnectionAborted => (ErrorKind::ConnectionAborted, "connection aborted"),
        other => return io::Error::other(format!("{other:?}")),
    };
    io::Error::new(kind, what)
}
