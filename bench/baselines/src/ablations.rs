//! The product with one part replaced, so that the difference is what that part is worth.
//!
//! To replace the cipher or the MAC of an AEAD takes its passes apart too: what that alone costs is [`NoOnePass`].

use sandquic_rustls::Ciphers;
use sandquic_rustls::ciphers::DefaultCiphers;

use crate::RustCrypto;
use crate::compose::{ChaChaPoly, Gcm, ours, rustcrypto};

macro_rules! ablations {
    ($(
        $(#[$doc:meta])* $name:ident = $text:literal {
            $aes_128:ty, $aes_256:ty, $chacha:ty, masks of $masks:ty
        }
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl Ciphers for $name {
            const NAME: &'static str = $text;

            type Aes128Gcm = $aes_128;
            type Aes256Gcm = $aes_256;
            type ChaCha20Poly1305 = $chacha;
            type Aes128Mask = <$masks as Ciphers>::Aes128Mask;
            type Aes256Mask = <$masks as Ciphers>::Aes256Mask;
            type ChaCha20Mask = <$masks as Ciphers>::ChaCha20Mask;
        }
    )*};
}

type Aes128 = <DefaultCiphers as Ciphers>::Aes128Gcm;
type Aes256 = <DefaultCiphers as Ciphers>::Aes256Gcm;
type ChaCha = <DefaultCiphers as Ciphers>::ChaCha20Poly1305;

ablations! {
    /// RustCrypto's ChaCha20 with our Poly1305.
    NoChaCha20 = "no-chacha20" {
        Aes128, Aes256, ChaChaPoly<rustcrypto::ChaCha20, ours::Poly1305Tag>, masks of DefaultCiphers
    }
    /// Our ChaCha20 with RustCrypto's Poly1305.
    NoPoly1305 = "no-poly1305" {
        Aes128, Aes256, ChaChaPoly<ours::ChaCha20, rustcrypto::Poly1305Tag>, masks of DefaultCiphers
    }
    /// RustCrypto's AES with our GHASH.
    NoAes = "no-aes" {
        Gcm<rustcrypto::Aes<aes::Aes128>, ours::Ghash>, Gcm<rustcrypto::Aes<aes::Aes256>, ours::Ghash>, ChaCha,
        masks of DefaultCiphers
    }
    /// Our AES with RustCrypto's GHASH.
    NoGhash = "no-ghash" {
        Gcm<ours::Aes, rustcrypto::Ghash>, Gcm<ours::Aes, rustcrypto::Ghash>, ChaCha, masks of DefaultCiphers
    }
    /// Our ciphers and our MACs, one after the other over the whole packet.
    NoOnePass = "no-one-pass" {
        Gcm<ours::Aes, ours::Ghash>, Gcm<ours::Aes, ours::Ghash>, ChaChaPoly<ours::ChaCha20, ours::Poly1305Tag>,
        masks of DefaultCiphers
    }
    /// RustCrypto's header masks.
    NoMask = "no-mask" { Aes128, Aes256, ChaCha, masks of RustCrypto }
}
