//! The halves of RustCrypto's current crates.

use ctr::cipher::{BlockCipherEncrypt, InnerIvInit};
use ghash::GHash;
use ghash::universal_hash::UniversalHash;
use poly1305::universal_hash::KeyInit;

use super::{Ctr, Hash, Mac, Stream};

/// AES.
pub struct Aes<A>(A);

macro_rules! aes {
    ($aes:ty, $key:literal) => {
        impl Ctr<$key> for Aes<$aes> {
            fn new(key: &[u8; $key]) -> Self {
                Self(<$aes as KeyInit>::new(key.into()))
            }

            fn encrypt_block(&self, block: &[u8; 16]) -> [u8; 16] {
                let mut block = (*block).into();
                self.0.encrypt_block(&mut block);
                block.into()
            }

            fn apply(&self, nonce: &[u8; 12], counter: u32, data: &mut [u8]) {
                let mut block = [0; 16];
                block[..12].copy_from_slice(nonce);
                block[12..].copy_from_slice(&counter.to_be_bytes());
                // Partial blocks need no buffer: nothing comes after.
                let core = ctr::CtrCore::<_, ctr::flavors::Ctr32BE>::inner_iv_init(&self.0, (&block).into());
                ctr::cipher::StreamCipherCore::apply_keystream_partial(core, data.into());
            }
        }
    };
}

aes!(::aes::Aes128, 16);
aes!(::aes::Aes256, 32);

/// GHASH.
pub struct Ghash(GHash);

impl Hash for Ghash {
    fn new(h: &[u8; 16]) -> Self {
        Self(GHash::new(h.into()))
    }

    fn hash(&self, aad: &[u8], data: &[u8]) -> [u8; 16] {
        let mut ghash = self.0.clone();
        ghash.update_padded(aad);
        ghash.update_padded(data);
        let lengths = ((8 * aad.len() as u128) << 64) | (8 * data.len() as u128);
        ghash.update(&[lengths.to_be_bytes().into()]);
        ghash.finalize().into()
    }
}

/// ChaCha20.
pub(crate) type ChaCha20 = Stream<chacha20::ChaCha20>;

/// Poly1305.
pub(crate) type Poly1305Tag = Mac<poly1305::Poly1305>;
