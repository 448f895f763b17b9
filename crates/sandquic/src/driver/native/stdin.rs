//! The end of standard input.

use std::future::poll_fn;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};

/// What the thread that reads has to say.
#[derive(Default)]
struct Shared {
    ended: bool,
    waker: Option<Waker>,
}

/// Reads standard input to its end, in a thread of its own: it cannot be waited for together with sockets everywhere.
pub(in crate::driver) async fn closed() {
    let shared = Arc::new(Mutex::new(Shared::default()));
    let reader = shared.clone();
    let thread = std::thread::Builder::new().name("standard input".into()).spawn(move || {
        // One that cannot be read has nothing more to say either.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let mut shared = reader.lock().unwrap_or_else(PoisonError::into_inner);
        shared.ended = true;
        shared.waker.take().into_iter().for_each(Waker::wake);
    });
    if thread.is_err() {
        std::future::pending::<()>().await;
    }
    poll_fn(|cx| {
        let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.ended {
            return Poll::Ready(());
        }
        shared.waker = Some(cx.waker().clone());
        Poll::Pending
    })
    .await;
}
