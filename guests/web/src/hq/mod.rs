//! HTTP/0.9 over QUIC streams, which interoperability tests ask for by the ALPN name `hq-interop`.
//!
//! A client opens a bidirectional stream, sends `GET /path` and the end of a line, and finishes it; the server answers
//! with the content alone, and with nothing for what it does not have.

/// Its name in ALPN (RFC 7301).
pub const ALPN: &[u8] = b"hq-interop";
