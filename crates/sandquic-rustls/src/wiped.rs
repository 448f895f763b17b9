//! Compiles only while every type that this crate keeps a secret in is wiped when it is dropped.

use zeroize::{ZeroizeOnDrop, Zeroizing};

use crate::ciphers::{Ciphers, DefaultCiphers};
use crate::hash::{Algorithm, WithSha256, WithSha384};

fn wiped<T: ZeroizeOnDrop>() {}

#[test]
fn ciphers() {
    wiped::<<DefaultCiphers as Ciphers>::Aes128Gcm>();
    wiped::<<DefaultCiphers as Ciphers>::Aes256Gcm>();
    wiped::<<DefaultCiphers as Ciphers>::ChaCha20Poly1305>();
    wiped::<<DefaultCiphers as Ciphers>::Aes128Mask>();
    wiped::<<DefaultCiphers as Ciphers>::Aes256Mask>();
    wiped::<<DefaultCiphers as Ciphers>::ChaCha20Mask>();
    wiped::<Zeroizing<[u8; 32]>>();
}

#[test]
fn hashes_and_macs() {
    wiped::<<WithSha256 as Algorithm>::Digest>();
    wiped::<<WithSha384 as Algorithm>::Digest>();
    // A keyed HMAC holds states of its hash's core and nothing else of the key.
    #[cfg(not(target_family = "wasm"))]
    {
        wiped::<sha2::block_api::Sha256VarCore>();
        wiped::<sha2::block_api::Sha512VarCore>();
    }
    #[cfg(target_family = "wasm")]
    {
        wiped::<sandquic_crypto::sha2::Sha256Core>();
        wiped::<sandquic_crypto::sha2::Sha384Core>();
    }
}

#[test]
fn key_exchange() {
    wiped::<x25519_dalek::StaticSecret>();
    wiped::<x25519_dalek::SharedSecret>();
    wiped::<p256::SecretKey>();
    wiped::<p256::ecdh::SharedSecret>();
    wiped::<p384::SecretKey>();
    wiped::<p384::ecdh::SharedSecret>();
    wiped::<ml_kem::ml_kem_768::DecapsulationKey>();
}

#[test]
fn signing() {
    wiped::<p256::ecdsa::SigningKey>();
    wiped::<p384::ecdsa::SigningKey>();
    wiped::<ed25519_dalek::SigningKey>();
    wiped::<rsa::PrivateKey>();
}
