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
    array::Array,
    consts::{U12, U16, U24, U32},
    inout::InOutBuf,
};

use crate::{
    chacha::{R20, block, hchacha},
    stream,
    wipe::wipe,
};
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
) -> [u8; 16] {
    let [a, b, c]: [u32; 3] = stream::to_words(nonce);
    let mut state = block::state(key, [0, a, b, c]);
    let tag = crate::backend::dispatch(Crypt::<D>::new(&state, associated_data, data));
    wipe(&mut state);
    tag
}

/// Whether a message has an allowed length, in bytes. Asked before anything is written, the copy to another buffer included.
fn check(message: usize) -> Result<(), Error> {
    if message as u64 <= MAX_MESSAGE { Ok(()) } else { Err(Error) }
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
    let expected = crypt::<Open>(key, nonce, associated_data, data);
    crate::tag::verify(&expected, tag, data)
}

/// The key and the nonce of the ChaCha20-Poly1305 that a 24-byte nonce stands for.
fn extended(key: &[u8; 32], nonce: &[u8; 24]) -> ([u8; 32], [u8; 12]) {
    let (input, rest) = nonce.split_at(16);
    let mut subkey_input = Array::default();
    subkey_input.copy_from_slice(input);
    let mut short = [0; 12];
    short[4..].copy_from_slice(rest);
    (hchacha::<R20>(key.into(), &subkey_input).0, short)
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
        check(buffer.len())?;
        let data = buffer.into_out_with_copied_in();
        Ok(crypt::<Seal>(&self.key, &nonce.0, associated_data, data).into())
    }

    fn decrypt_inout_detached(
        &self,
        nonce: &Nonce,
        associated_data: &[u8],
        buffer: InOutBuf<'_, '_, u8>,
        tag: &Tag,
    ) -> Result<(), Error> {
        check(buffer.len())?;
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
        check(buffer.len())?;
        let data = buffer.into_out_with_copied_in();
        let (mut key, nonce) = extended(&self.key, &nonce.0);
        let tag = crypt::<Seal>(&key, &nonce, associated_data, data);
        wipe(&mut key);
        Ok(tag.into())
    }

    fn decrypt_inout_detached(
        &self,
        nonce: &XNonce,
        associated_data: &[u8],
        buffer: InOutBuf<'_, '_, u8>,
        tag: &Tag,
    ) -> Result<(), Error> {
        check(buffer.len())?;
        let (mut key, nonce) = extended(&self.key, &nonce.0);
        let opened = open(&key, &nonce, associated_data, buffer.into_out_with_copied_in(), &tag.0);
        wipe(&mut key);
        opened
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
                wipe(&mut self.key);
            }
        }

        #[cfg(feature = "zeroize")]
        impl zeroize::ZeroizeOnDrop for $name {}
    };
}

common!(ChaCha20Poly1305);
common!(XChaCha20Poly1305);
