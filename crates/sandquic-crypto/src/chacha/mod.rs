//! ChaCha8, 12 and 20, XChaCha, HChaCha (RFC 8439) and the ChaCha random number generators.
