//! Signals that ask a server to stop.

use std::thread;

use crate::Failure;

/// Calls `stop` at the first SIGINT or SIGTERM (elsewhere than on Unix: at Ctrl-C), and ends the process at the second,
/// with 128 and the signal's number as its status.
pub(crate) fn on_stop(stop: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    let cannot = |error: std::io::Error| Failure::Failed(format!("signals cannot be caught: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().map_err(cannot)?;
    let mut signals = {
        // They are caught from here on, and not only when the thread has begun.
        let _within = runtime.enter();
        Signals::new().map_err(cannot)?
    };
    let wait = move || {
        runtime.block_on(async {
            signals.next().await;
            stop();
            let number = signals.next().await;
            std::process::exit(128 + number);
        });
    };
    thread::Builder::new().name("signals".into()).spawn(wait).map_err(cannot)?;
    Ok(())
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// The number of the next one.
    async fn next(&mut self) -> i32 {
        use std::future::poll_fn;
        use std::task::Poll;

        use tokio::signal::unix::SignalKind;
        poll_fn(|cx| {
            if self.interrupt.poll_recv(cx).is_ready() {
                return Poll::Ready(SignalKind::interrupt().as_raw_value());
            }
            self.terminate.poll_recv(cx).map(|_| SignalKind::terminate().as_raw_value())
        })
        .await
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    /// The number that Unix gives it.
    async fn next(&mut self) -> i32 {
        // Without it there is nothing to wait for.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        2
    }
}
