//! The driver for WASI 0.2: `wasi:sockets`, `wasi:clocks` and `wasi:io` through the `wasip2` bindings.
//!
//! The host has no futures here: it has pollables, and one call that waits for any of several. The
//! [reactor](reactor) makes that call, once whenever no task has anything left to do.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::task::{self, BoxFuture};
use crate::runtime::{AsyncTimer, Runtime};

pub(super) mod command;
mod reactor;
mod socket;
pub(super) mod stdin;

use reactor::Alarm;
pub(super) use reactor::block_on;
pub use socket::UdpSocket;

/// The runtime of WASI 0.2: tasks within [`block_on`](crate::block_on), time from `wasi:clocks`.
#[derive(Debug, Clone, Copy, Default)]
pub struct WasiRuntime;

impl Runtime for WasiRuntime {
    fn new_timer(&self, i: Instant) -> Pin<Box<dyn AsyncTimer>> {
        Box::pin(Timer(Alarm::new(reactor::nanoseconds(i))))
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        task::spawn_boxed(future);
    }

    fn now(&self) -> Instant {
        reactor::now()
    }
}

#[derive(Debug)]
struct Timer(Alarm);

impl AsyncTimer for Timer {
    fn reset(self: Pin<&mut Self>, i: Instant) {
        self.get_mut().0.set(reactor::nanoseconds(i));
    }

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.get_mut().0.poll(cx)
    }
}

/// The future of [`sleep`](crate::sleep).
#[must_use = "futures do nothing unless awaited"]
pub struct Sleep(Alarm);

impl Sleep {
    pub(super) fn new(duration: Duration) -> Self {
        // Counted from now, not from when it is first polled.
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Self(Alarm::new(reactor::clock().saturating_add(nanoseconds)))
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.poll(cx)
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep").finish_non_exhaustive()
    }
}

/// There is no other place for a task than within `block_on`.
pub(super) fn spawn_elsewhere(future: BoxFuture) {
    tracing::error!("a task was spawned outside sandquic::block_on, where nothing runs it");
    drop(future);
}
