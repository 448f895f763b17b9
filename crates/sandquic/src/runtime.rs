//! The seam between an endpoint and the system: tasks, time and sockets.

use std::fmt::Debug;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use crate::driver::SocketBuffers;
use crate::udp::{Received, Transmit};

/// `Send` natively; every type under WASI, where a component has one thread.
#[cfg(not(target_os = "wasi"))]
pub trait MaybeSend: Send {}
#[cfg(not(target_os = "wasi"))]
impl<T: Send + ?Sized> MaybeSend for T {}

/// `Send` natively; every type under WASI, where a component has one thread.
#[cfg(target_os = "wasi")]
pub trait MaybeSend {}
#[cfg(target_os = "wasi")]
impl<T: ?Sized> MaybeSend for T {}

/// Tasks and time for an endpoint.
///
/// All time that an endpoint sees comes from [`now`](Self::now) and [`new_timer`](Self::new_timer), so an
/// implementation can simulate it.
pub trait Runtime: Send + Sync + Debug + 'static {
    /// Make a timer that expires at `i`.
    fn new_timer(&self, i: Instant) -> Pin<Box<dyn AsyncTimer>>;

    /// Run `future` to its end in the background.
    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>);

    /// The current time. Called once a turn of the driver, and by the calls of the application that need it.
    fn now(&self) -> Instant {
        Instant::now()
    }
}

/// A timer of a [`Runtime`].
pub trait AsyncTimer: Send + Debug + 'static {
    /// Let the timer expire at `i` instead.
    fn reset(self: Pin<&mut Self>, i: Instant);

    /// `Ready` once the time has come; until then the task of `cx` is woken when it does.
    ///
    /// An endpoint tolerates being woken early: it looks at [`Runtime::now`].
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()>;
}

/// A UDP socket that one driver task uses.
///
/// Datagrams that arrive are handed over by ownership, so a host that delivers buffers needs no copy; sending is one
/// call that polls, so no separate object for write readiness is needed.
pub trait AsyncUdpSocket: Send + Sync + Debug + 'static {
    /// Send `transmit`, whole or not at all.
    ///
    /// `Pending` if the socket takes nothing now: the task of `cx` is woken when it may. An implementation that
    /// keeps accepted datagrams for a while must send them on without further calls, waking the task of `cx` if it
    /// needs to be polled again through [`poll_recv`](Self::poll_recv).
    ///
    /// # Errors
    ///
    /// The endpoint counts the datagrams as lost and goes on, since the network may lose any datagram.
    fn poll_send(&self, cx: &mut Context<'_>, transmit: &Transmit<'_>) -> Poll<io::Result<()>>;

    /// Append datagrams that have arrived to `out`, at most about `max` of them, or register the task of `cx` to be
    /// woken when some arrive. `Ready(Ok(()))` if there may be more to take at once.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::ConnectionReset`] and its like, which any sender on the network can provoke, are ignored;
    /// any other error ends the endpoint.
    fn poll_recv(&self, cx: &mut Context<'_>, max: usize, out: &mut Vec<Received>) -> Poll<io::Result<()>>;

    /// The address and port that the socket is bound to.
    ///
    /// # Errors
    ///
    /// What the system reports.
    fn local_addr(&self) -> io::Result<SocketAddr>;

    /// How many datagrams one [`Transmit`] may hold.
    fn max_transmit_segments(&self) -> usize {
        1
    }

    /// Whether datagrams may get fragmented on their way. If not, larger path MTUs are probed for.
    fn may_fragment(&self) -> bool {
        true
    }

    /// Whether a socket with an IPv6 address reaches IPv4 hosts by mapped addresses (RFC 4291, 2.5.5.2).
    fn maps_ipv4(&self) -> bool {
        true
    }

    /// The sizes of the socket's buffers that the system granted.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::Unsupported`] if the socket has none.
    fn buffers(&self) -> io::Result<SocketBuffers> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this socket has no buffer sizes to report"))
    }
}

/// The runtime of the platform: `NativeRuntime`, `WasiRuntime`, or `None` where this crate has no driver.
pub fn default_runtime() -> Option<Arc<dyn Runtime>> {
    #[cfg(not(target_family = "wasm"))]
    return Some(Arc::new(crate::driver::NativeRuntime));
    #[cfg(target_os = "wasi")]
    return Some(Arc::new(crate::driver::WasiRuntime));
    #[cfg(all(target_family = "wasm", not(target_os = "wasi")))]
    return None;
}
