//! The cipher suites over the ciphers of the product, [`DefaultCiphers`].

use rustls::SupportedCipherSuite;

use crate::ciphers::{Ciphers, DefaultCiphers};
use crate::tls13;

macro_rules! suites {
    ($($(#[$doc:meta])* $name:ident = $suite:path;)*) => {
        $($(#[$doc])* pub static $name: SupportedCipherSuite = $suite;)*
    };
}

type Tls13 = tls13::Suites<DefaultCiphers>;

suites! {
    /// TLS 1.3 and QUIC with AES-128-GCM. QUIC's Initial packets are protected with it.
    TLS13_AES_128_GCM_SHA256 = Tls13::AES_128_GCM_SHA256;
    /// TLS 1.3 and QUIC with AES-256-GCM.
    TLS13_AES_256_GCM_SHA384 = Tls13::AES_256_GCM_SHA384;
    /// TLS 1.3 and QUIC with ChaCha20-Poly1305.
    TLS13_CHACHA20_POLY1305_SHA256 = Tls13::CHACHA20_POLY1305_SHA256;
}

#[cfg(feature = "tls12")]
pub use tls12_suites::*;

#[cfg(feature = "tls12")]
mod tls12_suites {
    use super::{DefaultCiphers, SupportedCipherSuite};
    use crate::tls12;

    type Tls12 = tls12::Suites<DefaultCiphers>;

    suites! {
        /// TLS 1.2 with an ECDSA or Ed25519 certificate and AES-128-GCM.
        TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 = Tls12::ECDSA_AES_128_GCM_SHA256;
        /// TLS 1.2 with an ECDSA or Ed25519 certificate and AES-256-GCM.
        TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 = Tls12::ECDSA_AES_256_GCM_SHA384;
        /// TLS 1.2 with an ECDSA or Ed25519 certificate and ChaCha20-Poly1305.
        TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 = Tls12::ECDSA_CHACHA20_POLY1305_SHA256;
        /// TLS 1.2 with an RSA certificate and AES-128-GCM.
        TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 = Tls12::RSA_AES_128_GCM_SHA256;
        /// TLS 1.2 with an RSA certificate and AES-256-GCM.
        TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 = Tls12::RSA_AES_256_GCM_SHA384;
        /// TLS 1.2 with an RSA certificate and ChaCha20-Poly1305.
        TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 = Tls12::RSA_CHACHA20_POLY1305_SHA256;
    }
}

/// Every suite, in the order in which the provider offers them: ChaCha20-Poly1305 first for WebAssembly, which
/// has no AES instructions, and AES-128-GCM first elsewhere.
pub static ALL_CIPHER_SUITES: &[SupportedCipherSuite] = all::<DefaultCiphers>();

/// [`ALL_CIPHER_SUITES`] over the ciphers `C`.
pub(crate) const fn all<C: Ciphers>() -> &'static [SupportedCipherSuite] {
    if cfg!(target_family = "wasm") { Orders::<C>::CHACHA_FIRST } else { Orders::<C>::AES_FIRST }
}

struct Orders<C>(core::marker::PhantomData<C>);

impl<C: Ciphers> Orders<C> {
    const CHACHA_FIRST: &'static [SupportedCipherSuite] = &[
        tls13::Suites::<C>::CHACHA20_POLY1305_SHA256,
        tls13::Suites::<C>::AES_128_GCM_SHA256,
        tls13::Suites::<C>::AES_256_GCM_SHA384,
        #[cfg(feature = "tls12")]
        crate::tls12::Suites::<C>::ECDSA_CHACHA20_POLY1305_SHA256,
        #[cfg(feature = "tls12")]
        crate::tls12::Suites::<C>::ECDSA_AES_128_GCM_SHA256,
        #[cfg(feature = "tls12")]
        crate::tls12::Suites::<C>::ECDSA_AES_256_GCM_SHA384,
        #[cfg(feature = "tls12")]
        crate::tls12::Suites::<C>::RSA_CHACHA20_POLY1305_SHA256,
        #[cfg(feature = "tls12")]
        crate::tls12::Suites::<C>::RSA_AES_128_GCM_SHA256,
        #[cfg(feature = "tls12")]
        crate::tls12::Suites::<C>::RSA_AES_256_GCM_SHA384,
    ];
    const AES_FIRST: &'static [SupportedCipherSuite] = &[
        tls13::Suites::<C>::AES_128_GCM_SHA256,
        tls13::Suites::<C>::AES_256_GCM_SHA384,
        tls13::Suites::<C>::CHACHA20_POLY1305_SHA256,
        #[cfg(feature = "tls12")]
        crate::tls12::Suites::<C>::ECDSA_AES_128_GCM_SHA256,
        #[cfg(feature = "tls12")]
        crate::tls12::Suites::<C>::ECDSA_AES_256_GCM_SHA384,
        #[cfg(feature = "tls12")]
        crate::tls12::Suites::<C>::ECDSA_CHACHA20_POLY1305_SHA256,
        #[cfg(feature = "tls12")]
        crate::tls12::Suites::<C>::RSA_AES_128_GCM_SHA256,
        #[cfg(feature = "tls12")]
        crate::tls12::Suites::<C>::RSA_AES_256_GCM_SHA384,
        #[cfg(feature = "tls12")]
        crate::tls12::Suites::<C>::RSA_CHACHA20_POLY1305_SHA256,
    ];
}
