//! The native driver: async-io's reactor, and sockets with offloads.

use std::future::Future;
use std::io;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Once;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use async_executor::Executor;
use async_io::Timer;

use super::options::SocketOptions;
use super::task::{self, BoxFuture};
use crate::driver::IntoSocket;
use crate::runtime::{AsyncTimer, Runtime};

pub(super) mod command;
mod socket;
pub(super) mod stdin;

pub use socket::UdpSocket;

/// The runtime of native platforms: tasks in the thread of [`block_on`](crate::block_on) where an endpoint is made
/// within it, otherwise in one background thread; time and readiness from async-io.
#[derive(Debug, Clone, Copy, Default)]
pub struct NativeRuntime;

impl Runtime for NativeRuntime {
    fn new_timer(&self, i: Instant) -> Pin<Box<dyn AsyncTimer>> {
        Box::pin(Timer::at(i))
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        task::spawn_boxed(future);
    }
}

impl AsyncTimer for Timer {
    fn reset(self: Pin<&mut Self>, i: Instant) {
        self.get_mut().set_at(i);
    }

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Future::poll(self, cx).map(|_| ())
    }
}

impl IntoSocket for std::net::UdpSocket {
    fn into_socket(self) -> io::Result<UdpSocket> {
        UdpSocket::from_std(self, &SocketOptions::default())
    }
}

/// The future of [`sleep`](crate::sleep).
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct Sleep(Timer);

impl Sleep {
    pub(super) fn new(duration: Duration) -> Self {
        Self(Timer::after(duration))
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Future::poll(Pin::new(&mut self.0), cx).map(|_| ())
    }
}

pub(super) fn block_on<T>(future: impl Future<Output = T>) -> T {
    async_io::block_on(future)
}

/// Tasks spawned outside [`block_on`].
static BACKGROUND: Executor<'static> = Executor::new();
static STARTED: Once = Once::new();

/// Run `future` in the background thread, which is started when first needed.
pub(super) fn spawn_elsewhere(future: BoxFuture) {
    STARTED.call_once(|| {
        let thread = std::thread::Builder::new().name("sandquic".into());
        if let Err(e) = thread.spawn(run_background) {
            tracing::error!("the background thread could not be started: {e}");
        }
    });
    BACKGROUND.spawn(future).detach();
}

fn run_background() {
    loop {
        // A task that panics is gone, but must not take the others with it.
        let run = || async_io::block_on(BACKGROUND.run(std::future::pending::<()>()));
        let _ = std::panic::catch_unwind(AssertUnwindSafe(run));
    }
}
