//! Compiles only while every type that this crate keeps a secret in is wiped when it is dropped.

use zeroize::{ZeroizeOnDrop, Zeroizing};

use crate::hash::{Algorithm, WithSha256, WithSha384};

fn wiped<T: ZeroizeOnDrop>() {}

#[test]
fn ciphers() {
    wiped::<aes_gcm::Aes128Gcm>();
    wiped::<aes_gcm::Aes256Gcm>();
    wiped::<chacha20poly1305::ChaCha20Poly1305>();
    wiped::<aes::Aes128>();
    wiped::<aes::Aes256>();
    wiped::<Zeroizing<[u8; 32]>>();
    wiped::<chacha20::ChaChaCore<chacha20::R20, chacha20::variants::Ietf>>();
}

#[test]
fn hashes_and_macs() {
    wiped::<<WithSha256 as Algorithm>::Digest>();
    wiped::<<WithSha384 as Algorithm>::Digest>();
    // A keyed HMAC holds states of its hash's core and nothing else of the key.
    wiped::<sha2::block_api::Sha256VarCore>();
    wiped::<sha2::block_api::Sha512VarCore>();
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
