//! Addresses and errors in the form that the canonical ABI has in memory: little-endian, with C's alignment.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use wasip3::sockets::types::ErrorCode;

/// Bytes of an `ip-socket-address`: which of the two, then the larger one.
pub(crate) const ADDRESS: usize = 32;

/// `N` bytes at `at`.
pub(crate) fn bytes<const N: usize>(memory: &[u8], at: usize) -> [u8; N] {
    std::array::from_fn(|i| memory[at + i])
}

/// The address at the start of `memory`.
pub(crate) fn read(memory: &[u8; ADDRESS]) -> SocketAddr {
    let port = u16::from_le_bytes(bytes(memory, 4));
    if memory[0] == 0 {
        return SocketAddrV4::new(Ipv4Addr::from(bytes::<4>(memory, 6)), port).into();
    }
    let flow = u32::from_le_bytes(bytes(memory, 8));
    let segments: [u16; 8] = std::array::from_fn(|i| u16::from_le_bytes(bytes(memory, 12 + 2 * i)));
    let scope = u32::from_le_bytes(bytes(memory, 28));
    SocketAddrV6::new(Ipv6Addr::from(segments), port, flow, scope).into()
}

/// `address` as the host reads it.
pub(crate) fn write(address: SocketAddr) -> [u8; ADDRESS] {
    let mut memory = [0; ADDRESS];
    memory[4..6].copy_from_slice(&address.port().to_le_bytes());
    match address {
        SocketAddr::V4(address) => memory[6..10].copy_from_slice(&address.ip().octets()),
        SocketAddr::V6(address) => {
            memory[0] = 1;
            memory[8..12].copy_from_slice(&address.flowinfo().to_le_bytes());
            for (i, segment) in address.ip().segments().into_iter().enumerate() {
                memory[12 + 2 * i..][..2].copy_from_slice(&segment.to_le_bytes());
            }
            memory[28..32].copy_from_slice(&address.scope_id().to_le_bytes());
        }
    }
    memory
}

/// The error with this number in the order of `wasi:sockets/types.error-code`, but for `other`, the last, which has a
/// text.
pub(crate) fn error(number: u8, text: impl FnOnce() -> Option<String>) -> ErrorCode {
    match number {
        0 => ErrorCode::AccessDenied,
        1 => ErrorCode::NotSupported,
        2 => ErrorCode::InvalidArgument,
        3 => ErrorCode::OutOfMemory,
        4 => ErrorCode::Timeout,
        5 => ErrorCode::InvalidState,
        6 => ErrorCode::AddressNotBindable,
        7 => ErrorCode::AddressInUse,
        8 => ErrorCode::RemoteUnreachable,
        9 => ErrorCode::ConnectionRefused,
        10 => ErrorCode::ConnectionBroken,
        11 => ErrorCode::ConnectionReset,
        12 => ErrorCode::ConnectionAborted,
        13 => ErrorCode::DatagramTooLarge,
        _ => ErrorCode::Other(text()),
    }
}
