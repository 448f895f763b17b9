//! The halves of RustCrypto's current crates.

use chacha20::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use ctr::cipher::{BlockCipherEncrypt, InnerIvInit};
use ghash::GHash;
use ghash::universal_hash::UniversalHash;
use poly1305::Poly1305;
use poly1305::universal_hash::KeyInit;
use zeroize::Zeroizing;

use super::{ChaCha, Ctr, Hash, Poly};

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
pub struct ChaCha20(Zeroizing<[u8; 32]>);

impl ChaCha for ChaCha20 {
    fn new(key: &[u8; 32]) -> Self {
        Self(Zeroizing::new(*key))
    }

    fn first_block(&self, nonce: &[u8; 12]) -> Zeroizing<[u8; 64]> {
        let mut block = Zeroizing::new([0; 64]);
        chacha20::ChaCha20::new((&*self.0).into(), nonce.into()).apply_keystream(&mut *block);
        block
    }

    fn apply(&self, nonce: &[u8; 12], data: &mut [u8]) {
        let mut cipher = chacha20::ChaCha20::new((&*self.0).into(), nonce.into());
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
