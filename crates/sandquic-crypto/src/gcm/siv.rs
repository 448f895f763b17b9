//! AES-GCM-SIV (RFC 8452): two passes, but a repeated nonce reveals only whether messages are equal.

use core::fmt;

use aead::{
    AeadCore, AeadInOut, Error, KeyInit, KeySizeUser, TagPosition,
    consts::{U12, U16, U32},
    inout::InOutBuf,
};

use crate::{
    aes::{
        blocks::Encrypt,
        ctr::{Ctr, LittleEndian},
        key::Key,
    },
    ghash::HashKey,
};

/// The longest message and associated data of AES-GCM-SIV in bytes, 2^36: RFC 8452, section 6.
const MAX: u64 = 1 << 36;

/// The keys of one message.
struct Message {
    aes: Key,
    hash: HashKey,
}

impl Message {
    /// RFC 8452, section 4: blocks of counter and nonce, of which the first halves make up the keys. `N` is 4 or 6.
    fn new<const N: usize>(generator: &Key, nonce: &[u8; 12]) -> Self {
        let mut blocks = [[0; 16]; N];
        for (i, block) in blocks.iter_mut().enumerate() {
            block[0] = i as u8;
            block[4..].copy_from_slice(nonce);
        }
        Encrypt { key: generator, blocks: &mut blocks }.dispatch();
        let mut keys = [0; 48];
        for (half, block) in keys.as_chunks_mut::<8>().0.iter_mut().zip(&blocks) {
            half.copy_from_slice(&block[..8]);
        }
        let (hash, encryption) = keys.split_at(16);
        let mut h = [0; 16];
        h.copy_from_slice(hash);
        let message = Self { aes: Key::new(&encryption[..8 * N - 16]), hash: HashKey::new_polyval(&h) };
        #[cfg(feature = "zeroize")]
        {
            crate::wipe::wipe(blocks.as_flattened_mut());
            crate::wipe::wipe(&mut keys);
            crate::wipe::wipe(&mut h);
        }
        message
    }

    /// The tag over the plaintext.
    fn tag(&self, nonce: &[u8; 12], associated_data: &[u8], data: &[u8]) -> [u8; 16] {
        let mut y = [0; 16];
        for part in [associated_data, data] {
            let whole = part.len() / 16 * 16;
            self.hash.absorb(&mut y, &part[..whole], true);
            if whole < part.len() {
                let mut block = [0; 16];
                block[..part.len() - whole].copy_from_slice(&part[whole..]);
                self.hash.absorb(&mut y, &block, true);
            }
        }
        let lengths = (associated_data.len() as u128) << 3 | (data.len() as u128) << 67;
        self.hash.absorb(&mut y, &lengths.to_le_bytes(), true);
        y.reverse();
        for (byte, nonce) in y.iter_mut().zip(nonce) {
            *byte ^= nonce;
        }
        y[15] &= 0x7f;
        let mut blocks = [y];
        Encrypt { key: &self.aes, blocks: &mut blocks }.dispatch();
        blocks[0]
    }

    /// Encrypts or decrypts with the counters that follow from a tag.
    fn crypt(&self, tag: &[u8; 16], data: &mut [u8]) {
        let mut block = *tag;
        block[15] |= 0x80;
        Ctr { key: &self.aes, layout: LittleEndian, block, mask: None, data }.dispatch();
    }
}

/// Whether the lengths, in bytes, are allowed. Asked before anything is written, the copy to another buffer included.
fn check(associated_data: usize, message: usize) -> Result<(), Error> {
    if associated_data as u64 <= MAX && message as u64 <= MAX { Ok(()) } else { Err(Error) }
}

macro_rules! siv {
    ($name:ident, $size:ty, $blocks:literal, $doc:literal) => {
        #[doc = $doc]
        ///
        /// Every message has its own keys, so a message costs the expansion of a key and of the hash's tables, and it is
        /// read twice.
        #[derive(Clone)]
        pub struct $name {
            generator: Key,
        }

        impl KeySizeUser for $name {
            type KeySize = $size;
        }

        impl KeyInit for $name {
            fn new(key: &aead::Key<Self>) -> Self {
                Self { generator: Key::new(key) }
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
                nonce: &super::Nonce,
                associated_data: &[u8],
                buffer: InOutBuf<'_, '_, u8>,
            ) -> Result<super::Tag, Error> {
                check(associated_data.len(), buffer.len())?;
                let data = buffer.into_out_with_copied_in();
                let message = Message::new::<$blocks>(&self.generator, &nonce.0);
                let tag = message.tag(&nonce.0, associated_data, data);
                message.crypt(&tag, data);
                Ok(tag.into())
            }

            fn decrypt_inout_detached(
                &self,
                nonce: &super::Nonce,
                associated_data: &[u8],
                buffer: InOutBuf<'_, '_, u8>,
                tag: &super::Tag,
            ) -> Result<(), Error> {
                check(associated_data.len(), buffer.len())?;
                let data = buffer.into_out_with_copied_in();
                let message = Message::new::<$blocks>(&self.generator, &nonce.0);
                message.crypt(&tag.0, data);
                let expected = message.tag(&nonce.0, associated_data, data);
                crate::tag::verify(&expected, &tag.0, data)
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

siv!(Aes128GcmSiv, U16, 4, "AES-GCM-SIV with a key of 16 bytes.");
siv!(Aes256GcmSiv, U32, 6, "AES-GCM-SIV with a key of 32 bytes.");
