//! [`Ciphers`] over the kernels of `sandquic-crypto`.

use sandquic_crypto::chachapoly::ChaCha20Poly1305;
use sandquic_crypto::gcm::aead::{AeadInOut, KeyInit};
use sandquic_crypto::gcm::{Aes128Gcm, Aes256Gcm};
use sandquic_crypto::quic::{Aes128Mask, Aes256Mask, ChaCha20Mask};

use super::{Aead, AeadError, Ciphers, HeaderMask, MASK_LEN, NONCE_LEN, SAMPLE_LEN, TAG_LEN};

/// The ciphers of the product: 128-bit SIMD in a component built with it, the processor's own instructions for AES
/// and wider vectors natively, and scalar code elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct DefaultCiphers;

impl Ciphers for DefaultCiphers {
    const NAME: &'static str = "sandquic";

    type Aes128Gcm = Aes128Gcm;
    type Aes256Gcm = Aes256Gcm;
    type ChaCha20Poly1305 = ChaCha20Poly1305;
    type Aes128Mask = Aes128Mask;
    type Aes256Mask = Aes256Mask;
    type ChaCha20Mask = ChaCha20Mask;
}

macro_rules! aead {
    ($aead:ty, $key:literal) => {
        impl Aead<$key> for $aead {
            fn new(key: &[u8; $key]) -> Self {
                KeyInit::new(key.into())
            }

            #[inline]
            fn seal(
                &self,
                nonce: &[u8; NONCE_LEN],
                aad: &[u8],
                data: &mut [u8],
            ) -> Result<[u8; TAG_LEN], AeadError> {
                let tag = self.encrypt_inout_detached(nonce.into(), aad, data.into());
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
                let opened = self.decrypt_inout_detached(nonce.into(), aad, data.into(), tag.into());
                opened.map_err(|_| AeadError)
            }
        }
    };
}

aead!(Aes128Gcm, 16);
aead!(Aes256Gcm, 32);
aead!(ChaCha20Poly1305, 32);

macro_rules! mask {
    ($mask:ty, $key:literal) => {
        impl HeaderMask<$key> for $mask {
            fn new(key: &[u8; $key]) -> Self {
                KeyInit::new(key.into())
            }

            #[inline]
            fn mask(&self, sample: &[u8; SAMPLE_LEN]) -> [u8; MASK_LEN] {
                self.mask(sample)
            }

            fn masks(&self, samples: &[[u8; SAMPLE_LEN]], masks: &mut [[u8; MASK_LEN]]) {
                self.masks(samples, masks);
            }
        }
    };
}

mask!(Aes128Mask, 16);
mask!(Aes256Mask, 32);
mask!(ChaCha20Mask, 32);
