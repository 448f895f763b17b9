//! Certificates and the configurations of TLS.

/// The name of HTTP/3 in ALPN (RFC 9114, 3.1).
pub const H3_ALPN: &[u8] = b"h3";
