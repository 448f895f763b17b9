//! [`Ciphers`] over RustCrypto's crates.

use aes::cipher::{BlockCipherEncrypt, KeyInit, KeyIvInit, StreamCipherCore};
use aes_gcm::aead::AeadInOut;
use chacha20::{ChaChaCore, R20, variants::Ietf};
use zeroize::Zeroizing;

use super::{Aead, AeadError, Ciphers, HeaderMask, MASK_LEN, NONCE_LEN, SAMPLE_LEN, TAG_LEN};

/// The ciphers of the product.
#[derive(Clone, Copy, Debug)]
pub struct DefaultCiphers;

impl Ciphers for DefaultCiphers {
    const NAME: &'static str = "rustcrypto";

    type Aes128Gcm = Gcm128;
    type Aes256Gcm = Gcm256;
    type ChaCha20Poly1305 = ChaChaPoly;
    type Aes128Mask = AesMask<aes::Aes128>;
    type Aes256Mask = AesMask<aes::Aes256>;
    type ChaCha20Mask = ChaChaMask;
}

macro_rules! aead {
    ($(#[$doc:meta])* $name:ident, $inner:ty, $key:literal) => {
        $(#[$doc])*
        pub struct $name($inner);

        impl Aead<$key> for $name {
            fn new(key: &[u8; $key]) -> Self {
                Self(<$inner>::new(key.into()))
            }

            #[inline]
            fn seal(
                &self,
                nonce: &[u8; NONCE_LEN],
                aad: &[u8],
                data: &mut [u8],
            ) -> Result<[u8; TAG_LEN], AeadError> {
                let tag = self.0.encrypt_inout_detached(nonce.into(), aad, data.into());
                tag.map(Into::into).map_err(|_| AeadError)
            }

            #[inline]
            fn open(
                &self,
                nonce: &[u8; NONCE_LEN],
                aad: &[u8],
                data: &mut [u8],
                tag: &[u8; TAG_LEN],
            ) -> Result<(), AeadError> {
                let opened = self.0.decrypt_inout_detached(nonce.into(), aad, data.into(), tag.into());
                opened.map_err(|_| AeadError)
            }
        }
    };
}

aead!(
    /// AES-128-GCM.
    Gcm128,
    aes_gcm::Aes128Gcm,
    16
);
aead!(
    /// AES-256-GCM.
    Gcm256,
    aes_gcm::Aes256Gcm,
    32
);
aead!(
    /// ChaCha20-Poly1305.
    ChaChaPoly,
    chacha20poly1305::ChaCha20Poly1305,
    32
);

/// Header masks by one AES block (RFC 9001, 5.4.3).
pub struct AesMask<B>(B);

macro_rules! aes_mask {
    ($block:ty, $key:literal) => {
        impl HeaderMask<$key> for AesMask<$block> {
            fn new(key: &[u8; $key]) -> Self {
                Self(<$block>::new(key.into()))
            }

            #[inline]
            fn mask(&self, sample: &[u8; SAMPLE_LEN]) -> [u8; MASK_LEN] {
                let mut block = (*sample).into();
                self.0.encrypt_block(&mut block);
                head(&block)
            }

            fn masks(&self, samples: &[[u8; SAMPLE_LEN]], masks: &mut [[u8; MASK_LEN]]) {
                for (masks, samples) in masks.chunks_mut(8).zip(samples.chunks(8)) {
                    let mut blocks = [aes::Block::default(); 8];
                    for (block, sample) in blocks.iter_mut().zip(samples) {
                        *block = (*sample).into();
                    }
                    let used = masks.len().min(samples.len());
                    self.0.encrypt_blocks(&mut blocks[..used]);
                    for (mask, block) in masks.iter_mut().zip(&blocks[..used]) {
                        *mask = head(block);
                    }
                }
            }
        }
    };
}

aes_mask!(aes::Aes128, 16);
aes_mask!(aes::Aes256, 32);

/// Header masks by one ChaCha20 block (RFC 9001, 5.4.4).
pub struct ChaChaMask(Zeroizing<[u8; 32]>);

impl HeaderMask<32> for ChaChaMask {
    fn new(key: &[u8; 32]) -> Self {
        Self(Zeroizing::new(*key))
    }

    #[inline]
    fn mask(&self, sample: &[u8; SAMPLE_LEN]) -> [u8; MASK_LEN] {
        let [c0, c1, c2, c3, nonce @ ..] = sample;
        // The block function itself: the stream cipher around it refuses the last value of the counter, which a
        // sample may hold.
        let mut core = ChaChaCore::<R20, Ietf>::new((&*self.0).into(), nonce.into());
        core.set_block_pos(u32::from_le_bytes([*c0, *c1, *c2, *c3]));
        let mut block = Default::default();
        core.write_keystream_block(&mut block);
        head(&block)
    }
}

/// The first [`MASK_LEN`] bytes of a block.
#[inline]
fn head(block: &[u8]) -> [u8; MASK_LEN] {
    let mut mask = [0; MASK_LEN];
    mask.copy_from_slice(&block[..MASK_LEN]);
    mask
}
