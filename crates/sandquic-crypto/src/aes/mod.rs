//! AES with keys of 128, 192 and 256 bits (FIPS 197): blocks, and the counter mode of SP 800-38A.
//!
//! [`Aes128`], [`Aes192`] and [`Aes256`] implement [`cipher::BlockCipherEncrypt`] and [`cipher::BlockCipherDecrypt`];
//! [`Aes128Ctr`], [`Aes192Ctr`] and [`Aes256Ctr`] implement [`cipher::StreamCipher`] and
//! [`cipher::StreamCipherSeek`]. [`cipher::InnerIvInit`] makes one of those of an expanded key.
//!
//! ```
//! use sandquic_crypto::aes::Aes128Ctr;
//! use sandquic_crypto::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
//!
//! let mut cipher = Aes128Ctr::new(&[7; 16].into(), &[9; 16].into());
//! let mut data = *b"some text";
//! cipher.apply_keystream(&mut data);
//! cipher.seek(5u32);
//! cipher.apply_keystream(&mut data[5..]);
//! assert_eq!(&data[5..], b"text");
//! ```
//!
#![doc = include_str!("../../docs/aes.md")]

pub(crate) mod bitslice;
pub(crate) mod blocks;
mod circuit;
pub(crate) mod ctr;
pub(crate) mod key;
mod layout;
mod nibble;
mod stream;
#[cfg(test)]
mod tests;

use core::fmt;

pub use cipher;
use cipher::{
    AlgorithmName, Block, BlockCipherDecBackend, BlockCipherDecClosure, BlockCipherDecrypt,
    BlockCipherEncBackend, BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser, InOut, Key as CipherKey,
    KeyInit, KeySizeUser, ParBlocks, ParBlocksSizeUser,
    consts::{U8, U16, U24, U32},
};

use blocks::{Decrypt, Encrypt};
use key::Key;

pub use stream::{Aes128Ctr, Aes192Ctr, Aes256Ctr};

/// [`layout::arrange`] for 0 to 3 omitted ShiftRows.
static ARRANGE: [[u8; 16]; 4] =
    [layout::arrange(0), layout::arrange(1), layout::arrange(2), layout::arrange(3)];
/// [`layout::restore`] for 0 to 3 omitted ShiftRows.
static RESTORE: [[u8; 16]; 4] =
    [layout::restore(0), layout::restore(1), layout::restore(2), layout::restore(3)];
/// [`layout::next_row`] for 0 to 3 omitted ShiftRows.
static NEXT_ROW: [[u8; 16]; 4] =
    [layout::next_row(0), layout::next_row(1), layout::next_row(2), layout::next_row(3)];

macro_rules! aes {
    ($name:ident, $size:ty, $doc:literal, $algorithm:literal) => {
        #[doc = $doc]
        ///
        /// Encrypts and decrypts blocks of 16 bytes, eight at a time where there are that many. The expanded key is
        /// kept, and is wiped when the value is dropped (feature `zeroize`).
        #[derive(Clone)]
        pub struct $name {
            pub(crate) key: Key,
        }

        impl KeySizeUser for $name {
            type KeySize = $size;
        }

        impl KeyInit for $name {
            fn new(key: &CipherKey<Self>) -> Self {
                Self { key: Key::new(key) }
            }
        }

        impl BlockSizeUser for $name {
            type BlockSize = U16;
        }

        impl ParBlocksSizeUser for $name {
            type ParBlocksSize = U8;
        }

        impl BlockCipherEncrypt for $name {
            fn encrypt_with_backend(&self, f: impl BlockCipherEncClosure<BlockSize = U16>) {
                f.call(self);
            }
        }

        impl BlockCipherEncBackend for $name {
            fn encrypt_block(&self, mut block: InOut<'_, '_, Block<Self>>) {
                let mut bytes = [block.get_in().0];
                Encrypt { key: &self.key, blocks: &mut bytes }.dispatch();
                block.get_out().0 = bytes[0];
            }

            fn encrypt_par_blocks(&self, mut blocks: InOut<'_, '_, ParBlocks<Self>>) {
                let mut bytes = blocks.get_in().0.map(|block| block.0);
                Encrypt { key: &self.key, blocks: &mut bytes }.dispatch();
                blocks.get_out().0 = bytes.map(Into::into);
            }
        }

        impl BlockCipherDecrypt for $name {
            fn decrypt_with_backend(&self, f: impl BlockCipherDecClosure<BlockSize = U16>) {
                f.call(self);
            }
        }

        impl BlockCipherDecBackend for $name {
            fn decrypt_block(&self, mut block: InOut<'_, '_, Block<Self>>) {
                let mut bytes = [block.get_in().0];
                Decrypt { key: &self.key, blocks: &mut bytes }.dispatch();
                block.get_out().0 = bytes[0];
            }

            fn decrypt_par_blocks(&self, mut blocks: InOut<'_, '_, ParBlocks<Self>>) {
                let mut bytes = blocks.get_in().0.map(|block| block.0);
                Decrypt { key: &self.key, blocks: &mut bytes }.dispatch();
                blocks.get_out().0 = bytes.map(Into::into);
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }

        impl AlgorithmName for $name {
            fn write_alg_name(f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($algorithm)
            }
        }

        #[cfg(feature = "zeroize")]
        impl zeroize::ZeroizeOnDrop for $name {}
    };
}

aes!(Aes128, U16, "AES with a key of 16 bytes.", "Aes128");
aes!(Aes192, U24, "AES with a key of 24 bytes.", "Aes192");
aes!(Aes256, U32, "AES with a key of 32 bytes.", "Aes256");
