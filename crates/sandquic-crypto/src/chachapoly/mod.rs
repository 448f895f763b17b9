//! ChaCha20-Poly1305 (RFC 8439, section 2.8) and XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03).
//!
//! ```
//! use sandquic_crypto::chachapoly::{ChaCha20Poly1305, aead::{AeadInOut, KeyInit}};
//!
//! let cipher = ChaCha20Poly1305::new(&[0x42; 32].into());
//! let (nonce, mut message) = ([0; 12].into(), *b"in place");
//! let tag = cipher.encrypt_inout_detached(&nonce, b"header", message.as_mut_slice().into()).unwrap();
//! cipher.decrypt_inout_detached(&nonce, b"header", message.as_mut_slice().into(), &tag).unwrap();
//! assert_eq!(&message, b"in place");
//! ```
//!
#![doc = include_str!("../../docs/aead.md")]

mod kernel;
#[cfg(test)]
mod tests;

use core::fmt;

pub use aead;
use aead::{
    AeadCore, AeadInOut, Error, KeyInit, KeySizeUser, TagPosition,
    consts::{U12, U16, U24, U32},
    inout::InOutBuf,
};

use crate::{chacha::block, stream};
use kernel::{Crypt, Direction, Open, Seal};

/// A key, 32 bytes.
pub type Key = aead::Key<ChaCha20Poly1305>;
/// A nonce of ChaCha20-Poly1305, 12 bytes.
pub type Nonce = aead::Nonce<ChaCha20Poly1305>;
/// A nonce of XChaCha20-Poly1305, 24 bytes: long enough to be drawn at random.
pub type XNonce = aead::Nonce<XChaCha20Poly1305>;
/// A tag, 16 bytes.
pub type Tag = aead::Tag<ChaCha20Poly1305>;

/// The longest message in bytes: what is left of the 32-bit block counter after the one-time key.
pub const MAX_MESSAGE: u64 = 64 * (u32::MAX as u64);

/// ChaCha20-Poly1305 with nonces of 12 bytes.
#[derive(Clone)]
pub struct ChaCha20Poly1305 {
    key: [u8; 32],
}

/// XChaCha20-Poly1305 with nonces of 24 bytes.
#[derive(Clone)]
pub struct XChaCha20Poly1305 {
    key: [u8; 32],
}

/// Encrypts or decrypts in place, and returns the tag of the ciphertext.
fn crypt<D: Direction>(
    key: &[u8; 32],
    nonce: &[u8; 12],
    associated_data: &[u8],
    data: &mut [u8],
) -> Result<[u8; 16], Error> {
    if data.len() as u64 > MAX_MESSAGE {
        return Err(Error);
    }
    let [a, b, c]: [u32; 3] = stream::to_words(nonce);
    let state = block::state(key, [0, a, b, c]);
    Ok(crate::backend::dispatch(Crypt::<D>::new(&state, associated_data, data)))
}

/// Decrypts in place. On failure the data are zeros: decryption has gone along with authentication, and what it wrote
/// must not be seen.
fn open(
    key: &[u8; 32],
    nonce: &[u8; 12],
    associated_data: &[u8],
    data: &mut [u8],
    tag: &[u8; 16],
) -> Result<(), Error> {
    let expected = crypt::<Open>(key, nonce, associated_data, data)?;
    crate::tag::verify(&expected, tag, data)
}

/// The key and the nonce of the ChaCha20-Poly1305 that a 24-byte nonce stands for.
fn extended(key: &[u8; 32], nonce: &[u8; 24]) -> ([u8; 32], [u8; 12]) {
    let [a, b, c, d, e, f]: [u32; 6] = stream::to_words(nonce);
    let x = block::permute::<10>(&block::state(key, [a, b, c, d]));
    let mut subkey = [0; 32];
    for (bytes, word) in subkey.as_chunks_mut().0.iter_mut().zip(x[..4].iter().chain(&x[12..])) {
        *bytes = word.to_le_bytes();
    }
    let mut short = [0; 12];
    short[4..8].copy_from_slice(&e.to_le_bytes());
    short[8..].copy_from_slice(&f.to_le_bytes());
    (subkey, short)
}

impl AeadCore for ChaCha20Poly1305 {
    type NonceSize = U12;
    type TagSize = U16;
    const TAG_POSITION: TagPosition = TagPosition::Postfix;
}

impl AeadInOut for ChaCha20Poly1305 {
    fn encrypt_inout_detached(
        &self,
        nonce: &Nonce,
        associated_data: &[u8],
        buffer: InOutBuf<'_, '_, u8>,
    ) -> Result<Tag, Error> {
        let data = buffer.into_out_with_copied_in();
        crypt::<Seal>(&self.key, &nonce.0, associated_data, data).map(Into::into)
    }

    fn decrypt_inout_detached(
        &self,
        nonce: &Nonce,
        associated_data: &[u8],
        buffer: InOutBuf<'_, '_, u8>,
        tag: &Tag,
    ) -> Result<(), Error> {
        open(&self.key, &nonce.0, associated_data, buffer.into_out_with_copied_in(), &tag.0)
    }
}

impl AeadCore for XChaCha20Poly1305 {
    type NonceSize = U24;
    type TagSize = U16;
    const TAG_POSITION: TagPosition = TagPosition::Postfix;
}

impl AeadInOut for XChaCha20Poly1305 {
    fn encrypt_inout_detached(
        &self,
        nonce: &XNonce,
        associated_data: &[u8],
        buffer: InOutBuf<'_, '_, u8>,
    ) -> Result<Tag, Error> {
        let data = buffer.into_out_with_copied_in();
        let (key, nonce) = extended(&self.key, &nonce.0);
        crypt::<Seal>(&key, &nonce, associated_data, data).map(Into::into)
    }

    fn decrypt_inout_detached(
        &self,
        nonce: &XNonce,
        associated_data: &[u8],
        buffer: InOutBuf<'_, '_, u8>,
        tag: &Tag,
    ) -> Result<(), Error> {
        let (key, nonce) = extended(&self.key, &nonce.0);
        open(&key, &nonce, associated_data, buffer.into_out_with_copied_in(), &tag.0)
    }
}

macro_rules! common {
    ($name:ident) => {
        impl KeySizeUser for $name {
            type KeySize = U32;
        }

        impl KeyInit for $name {
            fn new(key: &Key) -> Self {
                Self { key: key.0 }
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }

        #[cfg(feature = "zeroize")]
        impl Drop for $name {
            fn drop(&mut self) {
                crate::wipe::wipe(&mut self.key);
            }
        }

        #[cfg(feature = "zeroize")]
        impl zeroize::ZeroizeOnDrop for $name {}
    };
}

common!(ChaCha20Poly1305);
common!(XChaCha20Poly1305);
