//! The ciphers that sandquic is compared with, behind sandquic-rustls's Ciphers trait.
