//! HTTP/0.9 over QUIC streams, which interoperability tests ask for by the ALPN name `hq-interop`.
//!
//! A client opens a bidirectional stream, sends `GET /path` and the end of a line, and finishes it; the server answers
//! with the content alone, and resets the stream if it has none.

use sandquic::{ReadError, RecvStream};

/// Its name in ALPN (RFC 7301).
pub const ALPN: &[u8] = b"hq-interop";

/// The longest request that is taken, in bytes.
const MAX_REQUEST: usize = 8 * 1024;

/// Reads a request and returns its path.
///
/// # Errors
/// A sentence that says what is wrong with it.
pub async fn read_request(stream: &mut RecvStream) -> Result<String, String> {
    let mut request = Vec::new();
    let mut piece = [0; 512];
    while !request.contains(&b'\n') {
        match stream.read(&mut piece).await {
            Ok(Some(read)) => request.extend_from_slice(&piece[..read]),
            Ok(None) => break,
            Err(ReadError::Reset(code)) => return Err(format!("the client gave it up with code {code}")),
            Err(error) => return Err(error.to_string()),
        }
        if request.len() > MAX_REQUEST {
            return Err(format!("it is longer than {MAX_REQUEST} bytes"));
        }
    }
    let line = request.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = std::str::from_utf8(line).map_err(|_| "it is not UTF-8".to_owned())?.trim_end();
    let path = line.strip_prefix("GET ").ok_or("it is not GET")?;
    // A version may follow, which HTTP/0.9 does not have.
    Ok(path.split(' ').next().unwrap_or_default().to_owned())
}
