//! The halves of the product's AEADs.

use sandquic_crypto::chacha;
use sandquic_crypto::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use sandquic_crypto::gcm::variants;
use sandquic_crypto::poly1305::Poly1305;
use sandquic_crypto::poly1305::universal_hash::{KeyInit, UniversalHash};
use zeroize::Zeroizing;

use super::{ChaCha, Ctr, Hash, Poly};

/// AES.
pub struct Aes(variants::AesCtr);

macro_rules! aes {
    ($($key:literal)*) => {$(
        impl Ctr<$key> for Aes {
            fn new(key: &[u8; $key]) -> Self {
                Self(variants::AesCtr::new(key))
            }

            fn encrypt_block(&self, block: &[u8; 16]) -> [u8; 16] {
                self.0.encrypt_block(block)
            }

            fn apply(&self, nonce: &[u8; 12], counter: u32, data: &mut [u8]) {
                self.0.apply(nonce, counter, data);
            }
        }
    )*};
}

aes!(16 32);

/// GHASH.
pub struct Ghash(variants::Ghash);

impl Hash for Ghash {
    fn new(h: &[u8; 16]) -> Self {
        Self(variants::Ghash::new(h))
    }

    fn hash(&self, aad: &[u8], data: &[u8]) -> [u8; 16] {
        self.0.hash(aad, data)
    }
}

/// ChaCha20.
pub struct ChaCha20(Zeroizing<[u8; 32]>);

impl ChaCha for ChaCha20 {
    fn new(key: &[u8; 32]) -> Self {
        Self(Zeroizing::new(*key))
    }

    fn first_block(&self, nonce: &[u8; 12]) -> Zeroizing<[u8; 64]> {
        let mut block = Zeroizing::new([0; 64]);
        chacha::ChaCha20::new((&*self.0).into(), nonce.into()).apply_keystream(&mut *block);
        block
    }

    fn apply(&self, nonce: &[u8; 12], data: &mut [u8]) {
        let mut cipher = chacha::ChaCha20::new((&*self.0).into(), nonce.into());
        cipher.seek(64_u32);
        cipher.apply_keystream(data);
    }
}

/// Poly1305.
pub struct Poly1305Tag;

impl Poly for Poly1305Tag {
    fn tag(key: &[u8; 32], aad: &[u8], data: &[u8]) -> [u8; 16] {
        let mut poly1305 = Poly1305::new(key.into());
        poly1305.update_padded(aad);
        poly1305.update_padded(data);
        let lengths = ((data.len() as u128) << 64) | aad.len() as u128;
        poly1305.update(&[lengths.to_le_bytes().into()]);
        poly1305.finalize().into()
    }
}
