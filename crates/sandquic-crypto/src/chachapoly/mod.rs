//! ChaCha20-Poly1305 and XChaCha20-Poly1305 (RFC 8439).
