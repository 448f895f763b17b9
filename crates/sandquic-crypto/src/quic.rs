//! What QUIC's packet protection (RFC 9001, section 5) needs of the ciphers: nonces, header masks, and sealing and
//! opening in place with the tag appended.
//!
//! ```
//! use sandquic_crypto::{gcm::Aes128Gcm, quic};
//! use aead::KeyInit;
//!
//! let (cipher, iv) = (Aes128Gcm::new(&[1; 16].into()), [2; 12]);
//! let mut payload = *b"\x01 and sixteen bytes for the tag ................";
//! let length = payload.len() - quic::TAG_LEN;
//! quic::seal(&cipher, &iv, 7, b"header", &mut payload).unwrap();
//! let opened = quic::open(&cipher, &iv, 7, b"header", &mut payload).unwrap();
//! assert_eq!(opened.len(), length);
//! ```

use core::fmt;

use aead::{
    AeadInOut, Error,
    consts::{U12, U16},
};
use cipher::{BlockCipherEncrypt, KeyInit, KeySizeUser, consts::U32};

use crate::{
    aes::{Aes128, Aes256, blocks::Encrypt, key},
    backend,
    chacha::block::{State, Wide, block, state},
    simd::{Kernel, Vector},
    stream::to_words,
};

/// Length of a tag in bytes.
pub const TAG_LEN: usize = 16;
/// Length of a nonce and of an IV in bytes.
pub const NONCE_LEN: usize = 12;
/// Length of the sample of ciphertext that a mask is made from, in bytes.
pub const SAMPLE_LEN: usize = 16;
/// Length of a mask in bytes: one for the flags and four for the packet number.
pub const MASK_LEN: usize = 5;

/// The nonce of a packet: its number in 62 bits, left-padded and xored into the IV (RFC 9001, section 5.3).
#[must_use]
#[inline]
pub fn nonce(iv: &[u8; NONCE_LEN], packet_number: u64) -> [u8; NONCE_LEN] {
    let mut nonce = *iv;
    for (byte, number) in nonce[4..].iter_mut().zip(packet_number.to_be_bytes()) {
        *byte ^= number;
    }
    nonce
}

/// Encrypts a packet's payload in place. The last [`TAG_LEN`] bytes of `payload` are room for the tag.
///
/// # Errors
/// [`Error`] if `payload` has no room for the tag or is longer than the algorithm allows; nothing is changed then.
#[inline]
pub fn seal<A>(
    cipher: &A,
    iv: &[u8; NONCE_LEN],
    packet_number: u64,
    header: &[u8],
    payload: &mut [u8],
) -> Result<(), Error>
where
    A: AeadInOut<NonceSize = U12, TagSize = U16>,
{
    let (data, room) = payload.split_last_chunk_mut::<TAG_LEN>().ok_or(Error)?;
    let nonce = nonce(iv, packet_number).into();
    *room = cipher.encrypt_inout_detached(&nonce, header, data.into())?.into();
    Ok(())
}

/// Verifies and decrypts a packet's payload in place and returns it without its tag.
///
/// # Errors
/// [`Error`] if `payload` is shorter than a tag or its tag is wrong; the payload holds no plaintext then.
#[inline]
pub fn open<'a, A>(
    cipher: &A,
    iv: &[u8; NONCE_LEN],
    packet_number: u64,
    header: &[u8],
    payload: &'a mut [u8],
) -> Result<&'a mut [u8], Error>
where
    A: AeadInOut<NonceSize = U12, TagSize = U16>,
{
    let (data, tag) = payload.split_last_chunk_mut::<TAG_LEN>().ok_or(Error)?;
    let nonce = nonce(iv, packet_number).into();
    cipher.decrypt_inout_detached(&nonce, header, (&mut *data).into(), &(*tag).into())?;
    Ok(data)
}

#[inline(always)]
fn head(block: &[u8; 16]) -> [u8; MASK_LEN] {
    let [a, b, c, d, e, ..] = *block;
    [a, b, c, d, e]
}

/// Masks of AES keys, for samples in chunks of eight.
#[inline(always)]
fn aes_masks(key: &key::Key, samples: &[[u8; SAMPLE_LEN]], masks: &mut [[u8; MASK_LEN]]) {
    for (masks, samples) in masks.chunks_mut(8).zip(samples.chunks(8)) {
        let count = masks.len().min(samples.len());
        let mut blocks = [[0; 16]; 8];
        blocks[..count].copy_from_slice(&samples[..count]);
        Encrypt { key, blocks: &mut blocks[..count] }.dispatch();
        for (mask, block) in masks.iter_mut().zip(&blocks[..count]) {
            *mask = head(block);
        }
    }
}

macro_rules! aes_mask {
    ($name:ident, $aes:ty, $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone)]
        pub struct $name($aes);

        impl KeySizeUser for $name {
            type KeySize = <$aes as KeySizeUser>::KeySize;
        }

        impl KeyInit for $name {
            fn new(key: &cipher::Key<Self>) -> Self {
                Self(<$aes>::new(key))
            }
        }

        impl $name {
            /// The mask for one sample: the beginning of its encryption (RFC 9001, section 5.4.3).
            #[must_use]
            #[inline]
            pub fn mask(&self, sample: &[u8; SAMPLE_LEN]) -> [u8; MASK_LEN] {
                let mut block = (*sample).into();
                self.0.encrypt_block(&mut block);
                head(&block.0)
            }

            /// The masks for several samples, eight a pass; as many as the shorter of the two slices holds.
            pub fn masks(&self, samples: &[[u8; SAMPLE_LEN]], masks: &mut [[u8; MASK_LEN]]) {
                aes_masks(&self.0.key, samples, masks);
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

aes_mask!(
    Aes128Mask,
    Aes128,
    "The header protection key of the suite with AES-128-GCM, and of Initial packets."
);
aes_mask!(Aes256Mask, Aes256, "The header protection key of the suite with AES-256-GCM.");

/// The header protection key of the suite with ChaCha20-Poly1305.
#[derive(Clone)]
pub struct ChaCha20Mask {
    key: [u8; 32],
}

impl KeySizeUser for ChaCha20Mask {
    type KeySize = U32;
}

impl KeyInit for ChaCha20Mask {
    fn new(key: &cipher::Key<Self>) -> Self {
        Self { key: key.0 }
    }
}

impl ChaCha20Mask {
    /// The mask for one sample: the keystream of a block whose counter and nonce the sample is (RFC 9001, section
    /// 5.4.4). In scalar code: for one block no vector layout is faster.
    #[must_use]
    pub fn mask(&self, sample: &[u8; SAMPLE_LEN]) -> [u8; MASK_LEN] {
        mask_of(&block::<10>(&state(&self.key, to_words(sample))))
    }

    /// The masks for several samples, four or more a pass; as many as the shorter of the two slices holds.
    pub fn masks(&self, samples: &[[u8; SAMPLE_LEN]], masks: &mut [[u8; MASK_LEN]]) {
        if samples.len().min(masks.len()) < 3 {
            for (mask, sample) in masks.iter_mut().zip(samples) {
                *mask = self.mask(sample);
            }
        } else {
            backend::dispatch(ChaChaMasks { key: &self.key, samples, masks });
        }
    }
}

#[inline(always)]
fn mask_of(words: &State) -> [u8; MASK_LEN] {
    let [a, b, c, d] = words[0].to_le_bytes();
    [a, b, c, d, words[1] as u8]
}

struct ChaChaMasks<'a> {
    key: &'a [u8; 32],
    samples: &'a [[u8; SAMPLE_LEN]],
    masks: &'a mut [[u8; MASK_LEN]],
}

impl Kernel for ChaChaMasks<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let width = Wide::<V>::BLOCKS;
        for (masks, samples) in self.masks.chunks_mut(width).zip(self.samples.chunks(width)) {
            // Blocks without a sample repeat the first one.
            let states: [State; 8] =
                core::array::from_fn(|i| state(self.key, to_words(samples.get(i).unwrap_or(&samples[0]))));
            let wide = Wide::<V>::from_blocks(|block, word| states[block][word]);
            let mut keystream = [0; 512];
            let x = wide.rounds::<10>();
            wide.finish::<true>(|i| x[i], &mut keystream);
            for (mask, block) in masks.iter_mut().zip(keystream.as_chunks::<64>().0).take(samples.len()) {
                mask.copy_from_slice(&block[..MASK_LEN]);
            }
        }
    }

    #[inline(always)]
    fn soft(self) {
        for (mask, sample) in self.masks.iter_mut().zip(self.samples) {
            *mask = mask_of(&block::<10>(&state(self.key, to_words(sample))));
        }
    }
}

impl fmt::Debug for ChaCha20Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChaCha20Mask").finish_non_exhaustive()
    }
}

#[cfg(feature = "zeroize")]
impl Drop for ChaCha20Mask {
    fn drop(&mut self) {
        crate::wipe::wipe(&mut self.key);
    }
}

#[cfg(feature = "zeroize")]
impl zeroize::ZeroizeOnDrop for ChaCha20Mask {}
