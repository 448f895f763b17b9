#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod ahead;
pub mod cipher_suite;
pub mod ciphers;
mod hash;
mod hkdf;
mod hmac;
pub mod kx_group;
// Natively `crrl` is faster; there it is for the tests, and for the fuzz targets.
#[cfg(any(test, fuzzing, target_family = "wasm"))]
mod p256_vartime;
mod quic;
mod random;
mod sign;
mod ticketer;
#[cfg(feature = "tls12")]
mod tls12;
mod tls13;
pub mod token;
mod verify;
#[cfg(test)]
mod wiped;

use std::sync::Arc;

use rustls::crypto::CryptoProvider;

pub use cipher_suite::ALL_CIPHER_SUITES;
pub use ciphers::{Ciphers, DefaultCiphers};
pub use kx_group::ALL_KX_GROUPS;
pub use ticketer::{ticket_key, ticketer};
pub use verify::SUPPORTED_ALGORITHMS;

/// The provider: every suite, group, signature scheme and key format of this crate.
///
/// To offer less, take entries out of `cipher_suites` and `kx_groups`; a QUIC endpoint needs
/// [`cipher_suite::TLS13_AES_128_GCM_SHA256`] for its Initial packets.
pub fn provider() -> CryptoProvider {
    provider_with::<DefaultCiphers>()
}

/// Makes [`provider`] the one that rustls uses where no other is named.
///
/// # Errors
/// The default of the process was set before; it is returned and stays.
pub fn install_default() -> Result<(), Arc<CryptoProvider>> {
    provider().install_default()
}

/// [`provider`] with other implementations of the ciphers, to compare them.
pub fn provider_with<C: Ciphers>() -> CryptoProvider {
    CryptoProvider {
        cipher_suites: cipher_suite::all::<C>().to_vec(),
        kx_groups: ALL_KX_GROUPS.to_vec(),
        signature_verification_algorithms: SUPPORTED_ALGORITHMS,
        secure_random: &random::System,
        key_provider: &sign::Keys,
    }
}
