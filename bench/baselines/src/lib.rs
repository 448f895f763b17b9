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
//! | [`HandVec`] | eight blocks in 128-bit vectors | with `ghash` 0.6 | four blocks in 128-bit vectors, `poly1305` 0.9 | as [`RustCrypto`] |

//!
//! The others are the product with one part replaced: [`NoChaCha20`], [`NoPoly1305`], [`NoAes`], [`NoGhash`],
//! [`NoOnePass`] and [`NoMask`].

#![forbid(unsafe_code)]

#[macro_use]
mod generation;
mod ablations;
mod compose;
mod current;
mod handvec;
mod old;

use rustls::crypto::CryptoProvider;
use sandquic_rustls::{Ciphers, provider_with};

pub use ablations::{NoAes, NoChaCha20, NoGhash, NoMask, NoOnePass, NoPoly1305};
pub use current::RustCrypto;
pub use handvec::HandVec;
pub use old::RustCryptoOld;

macro_rules! by_name {
    ($($ciphers:ty),* $(,)?) => {
        /// The names that [`provider`] knows.
        pub const NAMES: &[&str] = &[$(<$ciphers>::NAME),*];

        /// The provider whose ciphers have this name.
        pub fn provider(name: &str) -> Option<CryptoProvider> {
            $(if name == <$ciphers>::NAME {
                return Some(provider_with::<$ciphers>());
            })*
            None
        }
    };
}

by_name! {
    RustCryptoOld, RustCrypto, HandVec, NoChaCha20, NoPoly1305, NoAes, NoGhash, NoOnePass, NoMask,
}
