//! `udp-socket.receive` and `udp-socket.send`.

use std::cell::UnsafeCell;
use std::fmt;
use std::net::SocketAddr;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use wasip3::sockets::types::{ErrorCode, UdpSocket};

use super::own;
use super::pool::Pool;
use super::realloc::offering;
use super::subtask::{GivenUp, NoTask, Waiting, status};
use crate::address::{self, ADDRESS, bytes};

#[link(wasm_import_module = "wasi:sockets/types@0.3.2")]
unsafe extern "C" {
    #[link_name = "[async-lower][method]udp-socket.receive"]
    fn udp_receive(socket: u32, result: *mut u8) -> u32;
    #[link_name = "[async-lower][method]udp-socket.send"]
    fn udp_send(parameters: *const u8, result: *mut u8) -> u32;
}

/// Memory that the host writes a result to: `result<tuple<list<u8>, ip-socket-address>, error-code>`, the longer of the
/// two, or `result<_, error-code>`.
#[repr(C, align(4))]
struct Outcome([u8; OUTCOME]);

/// Bytes of an [`Outcome`].
const OUTCOME: usize = 12 + ADDRESS;

impl Outcome {
    /// The address and length of the list or text whose pointer is at `at`.
    fn list(&self, at: usize) -> (*mut u8, usize) {
        let pointer = u32::from_le_bytes(bytes(&self.0, at)) as usize;
        (std::ptr::with_exposed_provenance_mut(pointer), u32::from_le_bytes(bytes(&self.0, at + 4)) as usize)
    }

    /// The error, if it is one.
    ///
    /// # Safety
    ///
    /// The host wrote it, and this is called once. `pooled` says whether its list is in the pool.
    unsafe fn error(&self, pooled: bool) -> Option<ErrorCode> {
        if self.0[0] == 0 {
            return None;
        }
        let text = || {
            let (at, len) = self.list(12);
            if self.0[8] == 0 {
                return None;
            }
            // SAFETY: the host wrote it, and gave it away; one in the pool stays the pool's.
            let text =
                unsafe { if pooled { std::slice::from_raw_parts(at, len).to_vec() } else { own(at, len) } };
            Some(String::from_utf8_lossy(&text).into_owned())
        };
        Some(address::error(self.0[4], text))
    }
}

/// What `send` takes: `(borrow<udp-socket>, list<u8>, option<ip-socket-address>)`.
#[repr(C)]
struct Parameters {
    socket: u32,
    data: *const u8,
    len: u32,
    /// Whether there is an address.
    some: u32,
    address: [u8; ADDRESS],
}

/// A socket for a loop that moves many datagrams.
///
/// At most one `receive` and one `send` are under way, and stay so until the host returns from them; they are given up
/// when this is dropped.
pub struct Udp {
    // Before the socket, which must not be dropped during a call.
    receiver: Receiver,
    sender: Sender,
    socket: UdpSocket,
}

struct Receiver {
    waiting: Waiting,
    outcome: Box<UnsafeCell<Outcome>>,
    pool: Pool,
}

struct Sender {
    waiting: Waiting,
    outcome: Box<UnsafeCell<Outcome>>,
    /// What a host that has not begun with a call will read from.
    kept: Box<(UnsafeCell<Option<Parameters>>, Vec<u8>)>,
}

// SAFETY: a component of wasm32 has one thread.
unsafe impl Send for Udp {}

fn outcome() -> Box<UnsafeCell<Outcome>> {
    Box::new(UnsafeCell::new(Outcome([0; OUTCOME])))
}

impl Udp {
    /// The socket, which is bound.
    pub fn new(socket: UdpSocket) -> Self {
        Self {
            receiver: Receiver { waiting: Waiting::default(), outcome: outcome(), pool: Pool::new() },
            sender: Sender {
                waiting: Waiting::default(),
                outcome: outcome(),
                kept: Box::new((UnsafeCell::new(None), Vec::new())),
            },
            socket,
        }
    }

    /// The socket, for everything else.
    pub fn socket(&self) -> &UdpSocket {
        &self.socket
    }

    /// Receive a datagram.
    ///
    /// # Errors
    ///
    /// What the host says. [`ErrorCode::InvalidState`] if it has to wait outside any task of the component model.
    pub fn poll_receive(&mut self, cx: &Context<'_>) -> Poll<Result<(BytesMut, SocketAddr), ErrorCode>> {
        let Receiver { waiting, outcome, pool } = &mut self.receiver;
        if waiting.is_busy() {
            ready!(waiting.poll(cx)).map_err(no_task)?;
            return Poll::Ready(self.receiver.received(false));
        }
        let handle = self.socket.handle();
        let result = outcome.get().cast();
        // SAFETY: the socket is ours, and the host may write its result until the call has ended: see `Drop`.
        let (packed, used) = offering(pool.room(), || unsafe { udp_receive(handle, result) });
        if packed & 0xf == status::RETURNED {
            return Poll::Ready(self.receiver.received(used > 0));
        }
        waiting.start(packed);
        ready!(waiting.poll(cx)).map_err(no_task)?;
        Poll::Ready(self.receiver.received(false))
    }

    /// Send a datagram. When this returns its bytes are the host's. The host may still wait with them, for which
    /// [`poll_sent`](Self::poll_sent) waits: until then it takes no other.
    ///
    /// # Errors
    ///
    /// What the host says, if it says so at once. [`ErrorCode::InvalidState`] while it waits with an earlier datagram.
    pub fn send(&mut self, datagram: &[u8], to: SocketAddr) -> Result<(), ErrorCode> {
        if self.sender.waiting.is_busy() {
            return Err(ErrorCode::InvalidState);
        }
        let Sender { waiting, outcome, kept } = &mut self.sender;
        let parameters = |data: &[u8]| Parameters {
            socket: self.socket.handle(),
            data: data.as_ptr(),
            len: data.len() as u32,
            some: 1,
            address: address::write(to),
        };
        let now = parameters(datagram);
        let result = outcome.get().cast();
        // SAFETY: the parameters are laid out as the host reads them, which it does during the call or, as it tells, not
        // yet. It may write its result until the call has ended: see `Drop`.
        let mut packed = unsafe { udp_send((&raw const now).cast(), result) };
        if packed & 0xf == status::STARTING {
            // A host that makes calls wait before it reads: it gets what it can read later.
            waiting.start(packed);
            if waiting.give_up() == Some(GivenUp::NotStarted) {
                kept.1.clear();
                kept.1.extend_from_slice(datagram);
                *kept.0.get_mut() = Some(parameters(&kept.1));
                // SAFETY: as above, and these parameters stay until the call has ended.
                packed = unsafe { udp_send(kept.0.get().cast_const().cast(), result) };
            } else {
                packed = status::RETURNED;
            }
        }
        if packed & 0xf == status::RETURNED {
            return self.sender.sent();
        }
        waiting.start(packed);
        Ok(())
    }

    /// Ready when the host waits with nothing to send.
    ///
    /// # Errors
    ///
    /// What the host says of what it waited with. [`ErrorCode::InvalidState`] as for
    /// [`poll_receive`](Self::poll_receive).
    pub fn poll_sent(&mut self, cx: &Context<'_>) -> Poll<Result<(), ErrorCode>> {
        if !self.sender.waiting.is_busy() {
            return Poll::Ready(Ok(()));
        }
        ready!(self.sender.waiting.poll(cx)).map_err(no_task)?;
        Poll::Ready(self.sender.sent())
    }
}

impl Receiver {
    /// What a call returned that has ended.
    fn received(&mut self, pooled: bool) -> Result<(BytesMut, SocketAddr), ErrorCode> {
        let outcome = self.outcome.get_mut();
        // SAFETY: the host wrote it, and it is read once.
        if let Some(error) = unsafe { outcome.error(pooled) } {
            return Err(error);
        }
        let (at, len) = outcome.list(4);
        let from = address::read(&bytes(&outcome.0, 12));
        let datagram = if pooled {
            // SAFETY: the host wrote the list where the pool has room, and asked whether it fits.
            unsafe { self.pool.take(len) }
        } else {
            // SAFETY: the host made the list, and gave it away. It becomes the buffer without a copy.
            BytesMut::from(Bytes::from(unsafe { own(at, len) }))
        };
        Ok((datagram, from))
    }
}

impl Sender {
    fn sent(&mut self) -> Result<(), ErrorCode> {
        // SAFETY: the host wrote it, and it is read once.
        unsafe { self.outcome.get_mut().error(false) }.map_or(Ok(()), Err)
    }
}

impl Drop for Udp {
    fn drop(&mut self) {
        // The host may write to `outcome` until then.
        if self.receiver.waiting.give_up() == Some(GivenUp::Returned) {
            // Its list is ours to free.
            let _ = self.receiver.received(false);
        }
        if self.sender.waiting.give_up() == Some(GivenUp::Returned) {
            let _ = self.sender.sent();
        }
    }
}

impl fmt::Debug for Udp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Udp").field("pool", &self.receiver.pool).finish_non_exhaustive()
    }
}

fn no_task(_: NoTask) -> ErrorCode {
    ErrorCode::InvalidState
}

// The host reads and writes these by their offsets.
const _: () = assert!(size_of::<Parameters>() == 16 + ADDRESS && align_of::<Outcome>() == 4);
