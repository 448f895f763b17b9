//! The end of standard input.

use ::wasip3::cli::stdin;
use ::wasip3::wit_bindgen::StreamResult;

/// Room for what is read and thrown away.
const ROOM: usize = 256;

/// Reads standard input to its end.
pub(in crate::driver) async fn closed() {
    let (mut stream, _outcome) = stdin::read_via_stream();
    loop {
        let (status, _) = stream.read(Vec::with_capacity(ROOM)).await;
        if !matches!(status, StreamResult::Complete(_)) {
            return;
        }
    }
}
