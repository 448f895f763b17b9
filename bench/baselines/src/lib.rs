//! The ciphers that sandquic is compared with, behind [`sandquic_rustls::Ciphers`].
//!
//! [`sandquic_rustls::provider_with`] makes a provider of each, so a comparison changes the kernels and nothing
//! else. What differs between the two generations of RustCrypto's crates is the shape of their interfaces; the
//! macros of this crate bridge that, and the rest is written once.
//!
//! | | AES | AES-GCM | ChaCha20-Poly1305 | header masks |
//! | --- | --- | --- | --- | --- |
//! | [`RustCryptoOld`] | `aes` 0.8.4 | `aes-gcm` 0.10.3 | `chacha20poly1305` 0.10.1 | `aes` 0.8.4, `chacha20` 0.9.1 |
//! | [`RustCrypto`] | `aes` 0.9 | `aes-gcm` 0.11 | `chacha20poly1305` 0.11 | `aes` 0.9, `chacha20` 0.10 |

#![forbid(unsafe_code)]

#[macro_use]
mod generation;
mod current;
mod old;

pub use current::RustCrypto;
pub use old::RustCryptoOld;
