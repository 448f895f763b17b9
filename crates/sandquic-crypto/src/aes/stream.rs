//! Counter mode as a stream cipher: SP 800-38A, section 6.5, with the standard incrementing function on all 128 bits.

use core::fmt;

use cipher::{AlgorithmName, InnerIvInit, Iv, common::InnerUser, consts::U16};

use super::{
    Aes128, Aes192, Aes256,
    ctr::{BigEndian, Ctr},
    key::Key,
};
use crate::stream::{BLOCK, Keystream, Stream, impl_stream_cipher, xor};
use crate::wipe::wipe;

/// A key and the first counter block. A block of the keystream is four of AES.
#[derive(Clone)]
struct Core<A> {
    aes: A,
    first: u128,
}

impl<A> Core<A> {
    /// Xors the keystream from counter block `counter` on into `data`.
    #[inline]
    fn run(key: &Key, counter: u128, data: &mut [u8]) {
        // The kernel counts in the last 32 bits: blocks until these wrap, where the others take the carry.
        let until_wrap = (1u64 << 32) - u64::from(counter as u32);
        let bytes = usize::try_from(16 * until_wrap).unwrap_or(usize::MAX).min(data.len());
        let (data, rest) = data.split_at_mut(bytes);
        Ctr { key, layout: BigEndian, block: counter.to_be_bytes(), mask: None, data }.dispatch();
        if !rest.is_empty() {
            Self::carry(key, counter.wrapping_add(until_wrap.into()), rest);
        }
    }

    /// What is left after the last 32 bits have wrapped, 64 GiB at a time.
    #[cold]
    fn carry(key: &Key, mut counter: u128, data: &mut [u8]) {
        let most = usize::try_from(16u64 << 32).unwrap_or(usize::MAX);
        for data in data.chunks_mut(most) {
            Ctr { key, layout: BigEndian, block: counter.to_be_bytes(), mask: None, data }.dispatch();
            counter = counter.wrapping_add(1 << 32);
        }
    }
}

macro_rules! ctr {
    ($name:ident, $aes:ident, $doc:literal) => {
        #[doc = $doc]
        ///
        /// The initial value is the first counter block, 16 bytes; the next ones are counted up in all their bits as one
        /// big-endian number, which wraps (the type `Ctr128BE` of RustCrypto's crate `ctr`). As long as the last four
        /// bytes do not wrap, that is GCM's counter too.
        ///
        /// The keystream ends after 2^70 - 64 bytes; a call that would pass the end is an error, and the data is as
        /// before. No counter block may be used twice with a key, by any message: choosing initial values is the
        /// caller's part, as is authentication.
        #[derive(Clone)]
        pub struct $name(Stream<Core<$aes>>);

        impl Keystream for Core<$aes> {
            const BLOCKS: u64 = u64::MAX;

            #[inline]
            fn apply(&self, first: u64, data: &mut [u8], last: &mut [u8; BLOCK]) {
                let key = &self.aes.key;
                let counter = |bytes: usize| {
                    self.first.wrapping_add(4 * u128::from(first)).wrapping_add((bytes / 16) as u128)
                };
                let whole = match data.len() % (2 * BLOCK) {
                    // Eight blocks of AES take less time than four twice.
                    rest if rest > BLOCK => data.len() - rest,
                    rest => data.len() - rest % BLOCK,
                };
                let (data, rest) = data.split_at_mut(whole);
                if !data.is_empty() {
                    Self::run(key, counter(0), data);
                }
                if rest.len() > BLOCK {
                    let mut two = [[0; BLOCK]; 2];
                    Self::run(key, counter(whole), two.as_flattened_mut());
                    xor(rest, &two.as_flattened()[..rest.len()]);
                    *last = two[1];
                    wipe(two.as_flattened_mut());
                } else if !rest.is_empty() {
                    last.fill(0);
                    Self::run(key, counter(whole), last);
                    xor(rest, &last[..rest.len()]);
                }
            }
        }

        impl InnerUser for $name {
            type Inner = $aes;
        }

        impl InnerIvInit for $name {
            fn inner_iv_init(aes: $aes, iv: &Iv<Self>) -> Self {
                Self(Stream::new(Core { aes, first: u128::from_be_bytes(iv.0) }))
            }
        }

        impl_stream_cipher!($name<>, inner, nonce U16);

        impl AlgorithmName for $name {
            fn write_alg_name(f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("Ctr128BE<")?;
                $aes::write_alg_name(f)?;
                f.write_str(">")
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    };
}

ctr!(Aes128Ctr, Aes128, "AES in counter mode with a key of 16 bytes.");
ctr!(Aes192Ctr, Aes192, "AES in counter mode with a key of 24 bytes.");
ctr!(Aes256Ctr, Aes256, "AES in counter mode with a key of 32 bytes.");
