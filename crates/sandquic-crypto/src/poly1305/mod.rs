//! Poly1305 (RFC 8439).
