//! The halves of the product's AEADs.

use sandquic_crypto::gcm::variants;

use super::{Ctr, Hash, Mac, Stream};

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
pub(crate) type ChaCha20 = Stream<sandquic_crypto::chacha::ChaCha20>;

/// Poly1305.
pub(crate) type Poly1305Tag = Mac<sandquic_crypto::poly1305::Poly1305>;
