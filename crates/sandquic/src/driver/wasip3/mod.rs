//! The driver for WASI 0.3: `wasi:sockets` and `wasi:clocks` through the `wasip3` bindings.
//!
//! A host call that is ready at once is cheap, one that has to wait costs several calls, and giving up one that
//! waits costs another, synchronous one. So a receive that waits and a timer that runs are kept until they are done.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use ::wasip3::clocks::monotonic_clock;

use super::task::{self, BoxFuture};
use crate::runtime::{AsyncTimer, Runtime};

pub(super) mod command;
mod socket;
pub(super) mod stdin;

pub use socket::UdpSocket;

/// The runtime of WASI 0.3: tasks within [`block_on`](crate::block_on), time from `wasi:clocks`.
#[derive(Debug, Clone, Copy, Default)]
pub struct WasiRuntime;

impl Runtime for WasiRuntime {
    fn new_timer(&self, i: Instant) -> Pin<Box<dyn AsyncTimer>> {
        let mut timer = Timer { running: Vec::new() };
        timer.start(i);
        Box::pin(timer)
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        task::spawn_boxed(future);
    }
}

/// The most timers of the host that one [`Timer`] keeps running.
const MAX_RUNNING: usize = 8;

/// A timer that can be set to come earlier. The host's timers cannot, so one that has been overtaken is left
/// running: when it expires, its owner is woken for nothing.
struct Timer {
    /// The host's timers that have not expired, the earliest last.
    running: Vec<(Instant, Sleep)>,
}

impl Timer {
    fn start(&mut self, i: Instant) {
        if self.running.len() == MAX_RUNNING {
            drop(self.running.remove(0));
        }
        self.running.push((i, Sleep::new(i.saturating_duration_since(Instant::now()))));
    }
}

impl AsyncTimer for Timer {
    fn reset(self: Pin<&mut Self>, i: Instant) {
        let this = self.get_mut();
        if this.running.last().is_none_or(|(earliest, _)| i < *earliest) {
            this.start(i);
        }
    }

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let mut expired = false;
        // Those that are due are at the end, and only the last one need wake anybody.
        while let Some((_, sleep)) = this.running.last_mut() {
            if Pin::new(sleep).poll(cx).is_pending() {
                break;
            }
            expired = true;
            this.running.pop();
        }
        if expired { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.running.iter().map(|(i, _)| i)).finish()
    }
}

/// The future of [`sleep`](crate::sleep).
#[must_use = "futures do nothing unless awaited"]
pub struct Sleep(Pin<Box<dyn Future<Output = ()> + Send>>);

impl Sleep {
    pub(super) fn new(duration: Duration) -> Self {
        // Counted from now, not from when it is first polled.
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Self(Box::pin(monotonic_clock::wait_until(monotonic_clock::now().saturating_add(nanoseconds))))
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep").finish_non_exhaustive()
    }
}

pub(super) fn block_on<T>(future: impl Future<Output = T>) -> T {
    ::wasip3::wit_bindgen::block_on(future)
}

/// There is no other place for a task than within `block_on`.
pub(super) fn spawn_elsewhere(future: BoxFuture) {
    tracing::error!("a task was spawned outside sandquic::block_on, where nothing runs it");
    drop(future);
}
