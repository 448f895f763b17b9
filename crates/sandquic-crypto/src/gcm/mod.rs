//! AES-GCM (NIST SP 800-38D) with nonces and tags of 12 and 16 bytes, and AES-GCM-SIV (RFC 8452).
//!
//! ```
//! use sandquic_crypto::gcm::{Aes128Gcm, aead::{AeadInOut, KeyInit}};
//!
//! let cipher = Aes128Gcm::new(&[0x42; 16].into());
//! let (nonce, mut message) = ([0; 12].into(), *b"in place");
//! let tag = cipher.encrypt_inout_detached(&nonce, b"header", message.as_mut_slice().into()).unwrap();
//! cipher.decrypt_inout_detached(&nonce, b"header", message.as_mut_slice().into(), &tag).unwrap();
//! assert_eq!(&message, b"in place");
//! ```
//!
#![doc = include_str!("../../docs/aead.md")]

mod beside;
mod crypt;
mod siv;
#[cfg(feature = "bench-variants")]
#[doc(hidden)]
pub mod variants;

use core::fmt;

pub use aead;
use aead::{
    AeadCore, AeadInOut, Error, KeyInit, KeySizeUser, TagPosition,
    consts::{U12, U16, U24, U32},
    inout::InOutBuf,
};

use crate::{
    aes::{blocks::Encrypt, key::Key},
    ghash::HashKey,
};

pub use siv::{Aes128GcmSiv, Aes256GcmSiv};

/// A nonce, 12 bytes.
pub type Nonce = aead::Nonce<Aes128Gcm>;
/// A tag, 16 bytes.
pub type Tag = aead::Tag<Aes128Gcm>;

/// The longest message of AES-GCM in bytes, 2^36 - 32: the blocks of a 32-bit counter less two.
pub const MAX_MESSAGE: u64 = (1 << 36) - 32;
/// The longest associated data of AES-GCM in bytes, 2^61 - 1.
pub const MAX_ASSOCIATED_DATA: u64 = (1 << 61) - 1;

/// What a key of AES-GCM expands to.
#[derive(Clone)]
struct Gcm {
    aes: Key,
    hash: HashKey,
}

impl Gcm {
    fn new(key: &[u8]) -> Self {
        let aes = Key::new(key);
        let mut h = [[0; 16]];
        Encrypt { key: &aes, blocks: &mut h }.dispatch();
        let hash = HashKey::new(&h[0]);
        #[cfg(feature = "zeroize")]
        crate::wipe::wipe(&mut h[0]);
        Self { aes, hash }
    }

    fn seal(
        &self,
        nonce: &[u8; 12],
        associated_data: &[u8],
        buffer: InOutBuf<'_, '_, u8>,
    ) -> Result<[u8; 16], Error> {
        check(associated_data.len() as u64, buffer.len() as u64)?;
        let data = buffer.into_out_with_copied_in();
        Ok(crypt::crypt::<false>(&self.aes, &self.hash, nonce, associated_data, data))
    }

    fn open(
        &self,
        nonce: &[u8; 12],
        associated_data: &[u8],
        buffer: InOutBuf<'_, '_, u8>,
        tag: &[u8; 16],
    ) -> Result<(), Error> {
        check(associated_data.len() as u64, buffer.len() as u64)?;
        let data = buffer.into_out_with_copied_in();
        let expected = crypt::crypt::<true>(&self.aes, &self.hash, nonce, associated_data, data);
        crate::tag::verify(&expected, tag, data)
    }
}

/// Whether the lengths, in bytes, are allowed. Asked before anything is written, the copy to another buffer included.
fn check(associated_data: u64, message: u64) -> Result<(), Error> {
    if message <= MAX_MESSAGE && associated_data <= MAX_ASSOCIATED_DATA { Ok(()) } else { Err(Error) }
}

macro_rules! gcm {
    ($name:ident, $size:ty, $doc:literal) => {
        #[doc = $doc]
        ///
        /// The expanded key and the tables of GHASH are kept, and wiped when the value is dropped (feature `zeroize`).
        #[derive(Clone)]
        pub struct $name {
            gcm: Gcm,
        }

        impl KeySizeUser for $name {
            type KeySize = $size;
        }

        impl KeyInit for $name {
            fn new(key: &aead::Key<Self>) -> Self {
                Self { gcm: Gcm::new(key) }
            }
        }

        impl AeadCore for $name {
            type NonceSize = U12;
            type TagSize = U16;
            const TAG_POSITION: TagPosition = TagPosition::Postfix;
        }

        impl AeadInOut for $name {
            fn encrypt_inout_detached(
                &self,
                nonce: &Nonce,
                associated_data: &[u8],
                buffer: InOutBuf<'_, '_, u8>,
            ) -> Result<Tag, Error> {
                self.gcm.seal(&nonce.0, associated_data, buffer).map(Into::into)
            }

            fn decrypt_inout_detached(
                &self,
                nonce: &Nonce,
                associated_data: &[u8],
                buffer: InOutBuf<'_, '_, u8>,
                tag: &Tag,
            ) -> Result<(), Error> {
                self.gcm.open(&nonce.0, associated_data, buffer, &tag.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }

        #[cfg(feature = "zeroize")]
        impl zeroize::ZeroizeOnDrop for $name {}
    };
}

gcm!(Aes128Gcm, U16, "AES-GCM with a key of 16 bytes.");
gcm!(Aes192Gcm, U24, "AES-GCM with a key of 24 bytes.");
gcm!(Aes256Gcm, U32, "AES-GCM with a key of 32 bytes.");

#[cfg(test)]
mod tests {
    use super::*;

    /// SP 800-38D, section 5.2.1.1: 2^39 - 256 and 2^64 - 1 bits.
    #[test]
    fn lengths_end_where_the_standard_says() {
        assert_eq!(8 * MAX_MESSAGE, (1 << 39) - 256);
        assert_eq!(8 * u128::from(MAX_ASSOCIATED_DATA), (1 << 64) - 8);
        assert!(check(MAX_ASSOCIATED_DATA, MAX_MESSAGE).is_ok());
        for (associated_data, message) in
            [(0, MAX_MESSAGE + 1), (MAX_ASSOCIATED_DATA + 1, 0), (u64::MAX, u64::MAX)]
        {
            assert!(check(associated_data, message).is_err(), "{associated_data}, {message}");
        }
        // The counter of the longest message's last block is the last before it would be that of the tag's mask.
        assert_eq!(2 + (MAX_MESSAGE / 16 - 1), u64::from(u32::MAX));
    }
}
