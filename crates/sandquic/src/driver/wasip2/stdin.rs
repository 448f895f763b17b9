//! The end of standard input.

use std::future::poll_fn;
use std::task::Poll;

use ::wasip2::cli::stdin::get_stdin;

use super::reactor::Source;

/// How much is read, and thrown away, at once.
const ROOM: u64 = 256;

/// Reads standard input to its end.
pub(in crate::driver) async fn closed() {
    let stream = get_stdin();
    // Dropped before the stream that it is of.
    let source = Source::new(stream.subscribe());
    poll_fn(|cx| {
        loop {
            match stream.read(ROOM) {
                Ok(bytes) if bytes.is_empty() => {
                    source.wait(cx.waker());
                    return Poll::Pending;
                }
                Ok(_) => {}
                // At its end, or of no more use.
                Err(_) => return Poll::Ready(()),
            }
        }
    })
    .await;
}
