//! `incoming-datagram-stream.receive` of WASI 0.2.

use std::fmt;
use std::mem::MaybeUninit;
use std::net::SocketAddr;

use bytes::{Bytes, BytesMut};
use wasip2::sockets::network::ErrorCode;
use wasip2::sockets::udp::IncomingDatagramStream;

use super::pool::Pool;
use super::realloc::offering;
use crate::address::{self, ADDRESS};

#[link(wasm_import_module = "wasi:sockets/udp@0.2.12")]
unsafe extern "C" {
    #[link_name = "[method]incoming-datagram-stream.receive"]
    fn receive(stream: u32, max_results: u64, result: *mut Outcome);
}

/// `result<list<incoming-datagram>, error-code>`, as the host writes it.
#[repr(C)]
struct Outcome {
    is_error: u8,
    /// Where the list is, or the number of the error in the lowest byte.
    value: u32,
    len: u32,
}

/// `incoming-datagram`, as the host writes it.
#[repr(C, align(4))]
#[derive(Clone, Copy)]
struct Datagram {
    data: *mut u8,
    len: usize,
    from: [u8; ADDRESS],
}

/// Bytes of a datagram with which calls reckon how many the pool has room for.
const USUAL: usize = 1_472;

/// The datagrams that a socket receives, in lists.
pub struct Incoming {
    pool: Pool,
    stream: IncomingDatagramStream,
}

// SAFETY: a component of wasm32 has one thread.
unsafe impl Send for Incoming {}

impl Incoming {
    /// The datagrams of this stream.
    pub fn new(stream: IncomingDatagramStream) -> Self {
        Self { pool: Pool::new(), stream }
    }

    /// Receive what is there, at most `max` datagrams, and give each to `take`. Returns how many were asked for and how
    /// many there were: fewer than the host has ever given at once means that there are no more, at present.
    ///
    /// # Errors
    ///
    /// What the host says.
    pub fn receive(
        &mut self,
        max: usize,
        mut take: impl FnMut(BytesMut, SocketAddr),
    ) -> Result<(usize, usize), ErrorCode> {
        let room = self.pool.room();
        // More would get memory of their own.
        let asked = room.map_or(max, |(_, bytes)| (bytes / USUAL).clamp(1, max));
        let mut outcome = MaybeUninit::<Outcome>::uninit();
        let (handle, result) = (self.stream.handle(), outcome.as_mut_ptr());
        // SAFETY: the stream is ours, and there is room for a result, which is written when the call returns.
        let ((), used) = offering(room, || unsafe { receive(handle, asked as u64, result) });
        // SAFETY: the host has written it.
        let outcome = unsafe { outcome.assume_init() };
        if outcome.is_error != 0 {
            let number = usize::from(outcome.value.to_le_bytes()[0]);
            return Err(ERRORS.get(number).copied().unwrap_or(ErrorCode::Unknown));
        }
        let len = outcome.len as usize;
        if len == 0 {
            return Ok((asked, 0));
        }
        let list: *mut Datagram = std::ptr::with_exposed_provenance_mut(outcome.value as usize);
        // SAFETY: the host made a list of so many in memory of ours, and gave it away; it is freed when this is dropped.
        let list = unsafe { Vec::from_raw_parts(list, len, len) };
        let start = room.map_or(0, |(at, _)| at.as_ptr().addr());
        for datagram in list {
            let at = datagram.data.addr();
            let contents = if datagram.len > 0 && (start..start + used).contains(&at) {
                // SAFETY: the host wrote so many bytes there.
                unsafe { self.pool.take_at(datagram.data, datagram.len) }
            } else {
                // SAFETY: the host asked for these bytes alone, and gave them away.
                BytesMut::from(Bytes::from(unsafe { super::own(datagram.data, datagram.len) }))
            };
            take(contents, address::read(&datagram.from));
        }
        Ok((asked, len))
    }
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incoming").field("pool", &self.pool).finish_non_exhaustive()
    }
}

/// Errors in the order of `wasi:sockets/network.error-code`.
const ERRORS: [ErrorCode; 21] = [
    ErrorCode::Unknown,
    ErrorCode::AccessDenied,
    ErrorCode::NotSupported,
    ErrorCode::InvalidArgument,
    ErrorCode::OutOfMemory,
    ErrorCode::Timeout,
    ErrorCode::ConcurrencyConflict,
    ErrorCode::NotInProgress,
    ErrorCode::WouldBlock,
    ErrorCode::InvalidState,
    ErrorCode::NewSocketLimit,
    ErrorCode::AddressNotBindable,
    ErrorCode::AddressInUse,
    ErrorCode::RemoteUnreachable,
    ErrorCode::ConnectionRefused,
    ErrorCode::ConnectionReset,
    ErrorCode::ConnectionAborted,
    ErrorCode::DatagramTooLarge,
    ErrorCode::NameUnresolvable,
    ErrorCode::TemporaryResolverFailure,
    ErrorCode::PermanentResolverFailure,
];

// The host reads and writes these by their offsets.
const _: () = assert!(size_of::<Datagram>() == 8 + ADDRESS && size_of::<Outcome>() == 12);
const _: () = assert!(ErrorCode::PermanentResolverFailure as usize == ERRORS.len() - 1);
