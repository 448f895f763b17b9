//! Certificates, and what TLS is set up with.

mod hashes;
mod identity;
mod keylog;

pub use hashes::{certificate_hash, spki_hash};
pub use identity::{Identity, IdentityError, SelfSigned};
pub use keylog::KeyLogFile;

/// The name of HTTP/3 in ALPN (RFC 9114, 3.1).
pub const H3_ALPN: &[u8] = b"h3";
