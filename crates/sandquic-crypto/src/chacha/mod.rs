//! ChaCha8, 12 and 20, XChaCha, HChaCha (RFC 8439) and the ChaCha random number generators.
//!
//! | type | key | nonce | counter | longest keystream |
//! | --- | --- | --- | --- | --- |
//! | [`ChaCha20`], [`ChaCha12`], [`ChaCha8`] (RFC 8439 section 2.4) | 32 bytes | 12 bytes | 32 bits | 2^32 blocks (256 GiB) |
//! | [`ChaCha20Legacy`], [`ChaCha12Legacy`], [`ChaCha8Legacy`] (Bernstein's original) | 32 bytes | 8 bytes | 64 bits | 2^64 - 1 blocks |
//! | [`XChaCha20`], [`XChaCha12`], [`XChaCha8`] (draft-irtf-cfrg-xchacha-03) | 32 bytes | 24 bytes | 32 bits | 2^32 blocks |
//!
//! Blocks have 64 bytes. The ciphers implement [`cipher::KeyIvInit`], [`cipher::StreamCipher`] and
//! [`cipher::StreamCipherSeek`]; a call that would run past the end of the keystream is an error, and the
//! data is as before. (RustCrypto's crate leaves the last block of the 32-bit counter unused; this one does not.
//! libsodium's XChaCha20 counts on in 64 bits, and agrees up to there.)
//!
//! ```
//! use sandquic_crypto::chacha::ChaCha20;
//! use sandquic_crypto::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
//!
//! let mut cipher = ChaCha20::new(&[7; 32].into(), &[9; 12].into());
//! let mut data = *b"some text";
//! cipher.apply_keystream(&mut data);
//! cipher.seek(0u32);
//! cipher.apply_keystream(&mut data);
//! assert_eq!(&data, b"some text");
//! ```
//!
#![doc = include_str!("../../docs/chacha.md")]

use core::fmt;
use core::marker::PhantomData;

use cipher::array::Array;
use cipher::consts::{U8, U12, U16, U24, U32};
use cipher::{Iv, Key as CipherKey, KeyIvInit};

use crate::stream::{self, BLOCK, Keystream, Stream, impl_stream_cipher, to_words};
use crate::wipe::wipe;

mod apply;
pub(crate) mod block;
#[cfg(feature = "rng")]
mod rng;
#[cfg(feature = "bench-variants")]
#[doc(hidden)]
pub mod variants;

#[cfg(feature = "rng")]
pub use rng::{ChaCha8Rng, ChaCha12Rng, ChaCha20Rng};

use block::State;

/// A key: 32 bytes.
pub type Key = Array<u8, U32>;
/// A nonce of RFC 8439: 12 bytes.
pub type Nonce = Array<u8, U12>;
/// A nonce of the original ChaCha: 8 bytes.
pub type LegacyNonce = Array<u8, U8>;
/// A nonce of XChaCha: 24 bytes.
pub type XNonce = Array<u8, U24>;

mod sealed {
    use super::block::State;

    pub trait Rounds {
        fn apply<const WIDE: bool, const WRITE: bool>(
            state: &State,
            first: u64,
            data: &mut [u8],
            last: &mut [u8; super::BLOCK],
        );
        fn permute(state: &State) -> [u8; super::BLOCK];
    }

    pub trait Variant {
        const WIDE: bool;
        const BLOCKS: u64;
    }
}

/// A number of rounds: [`R8`], [`R12`] or [`R20`].
pub trait Rounds: sealed::Rounds + Clone + Send + Sync + 'static {
    /// Half the number of rounds.
    const DOUBLE_ROUNDS: usize;
}

macro_rules! rounds {
    ($($(#[$doc:meta])* $name:ident $double:literal),*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl sealed::Rounds for $name {
            #[inline]
            fn apply<const WIDE: bool, const WRITE: bool>(
                state: &State,
                first: u64,
                data: &mut [u8],
                last: &mut [u8; BLOCK],
            ) {
                type Function<const WIDE: bool> = apply::Function<$double, WIDE, { block::rotation::SWIZZLE }>;
                stream::apply::<Function<WIDE>, WRITE>(state, first, data, last);
            }
            #[inline]
            fn permute(state: &State) -> [u8; BLOCK] {
                type Function = apply::Function<$double, false, { block::rotation::SWIZZLE }>;
                let mut out = [[0; BLOCK]];
                stream::blocks::<Function, false, 1>(state, u64::from(state[12]), &mut out);
                out[0]
            }
        }
        impl Rounds for $name {
            const DOUBLE_ROUNDS: usize = $double;
        }
    )*};
}

rounds! {
    /// 8 rounds: the fewest without a known attack, with little margin.
    R8 4,
    /// 12 rounds.
    R12 6,
    /// 20 rounds: the standard.
    R20 10
}

/// A layout of counter and nonce: [`Ietf`] or [`Legacy`].
pub trait Variant: sealed::Variant + Clone + Send + Sync + 'static {
    /// The size of the nonce.
    type NonceSize: cipher::array::ArraySize;
}

/// RFC 8439: a counter of 32 bits and a nonce of 96.
#[derive(Clone, Copy, Debug)]
pub struct Ietf;

/// The original: a counter of 64 bits and a nonce of 64.
#[derive(Clone, Copy, Debug)]
pub struct Legacy;

impl sealed::Variant for Ietf {
    const WIDE: bool = false;
    const BLOCKS: u64 = 1 << 32;
}
impl Variant for Ietf {
    type NonceSize = U12;
}
impl sealed::Variant for Legacy {
    const WIDE: bool = true;
    const BLOCKS: u64 = u64::MAX;
}
impl Variant for Legacy {
    type NonceSize = U8;
}

/// The key and the nonce as the input of the block function.
#[derive(Clone)]
struct Core<R, V> {
    state: State,
    variant: PhantomData<(R, V)>,
}

impl<R: Rounds, V: Variant> Keystream for Core<R, V> {
    const BLOCKS: u64 = V::BLOCKS;

    #[inline]
    fn apply(&self, first: u64, data: &mut [u8], last: &mut [u8; BLOCK]) {
        if V::WIDE {
            R::apply::<true, false>(&self.state, first, data, last);
        } else {
            R::apply::<false, false>(&self.state, first, data, last);
        }
    }
}

#[cfg(feature = "zeroize")]
impl<R, V> Drop for Core<R, V> {
    fn drop(&mut self) {
        wipe(&mut self.state);
    }
}

/// ChaCha with `R` rounds in the variant `V`.
#[derive(Clone)]
pub struct ChaCha<R: Rounds, V: Variant>(Stream<Core<R, V>>);

/// ChaCha with 20 rounds, RFC 8439.
pub type ChaCha20 = ChaCha<R20, Ietf>;
/// ChaCha with 12 rounds.
pub type ChaCha12 = ChaCha<R12, Ietf>;
/// ChaCha with 8 rounds.
pub type ChaCha8 = ChaCha<R8, Ietf>;
/// ChaCha with 20 rounds, a nonce of 8 bytes and a counter of 64 bits.
pub type ChaCha20Legacy = ChaCha<R20, Legacy>;
/// ChaCha with 12 rounds, a nonce of 8 bytes and a counter of 64 bits.
pub type ChaCha12Legacy = ChaCha<R12, Legacy>;
/// ChaCha with 8 rounds, a nonce of 8 bytes and a counter of 64 bits.
pub type ChaCha8Legacy = ChaCha<R8, Legacy>;

impl_stream_cipher!(ChaCha<R: Rounds, V: Variant>, key U32, nonce V::NonceSize);

impl<R: Rounds, V: Variant> KeyIvInit for ChaCha<R, V> {
    fn new(key: &CipherKey<Self>, nonce: &Iv<Self>) -> Self {
        // The nonce ends the input, whatever its size; the counter before it starts at 0.
        let mut last = [0; 16];
        last[16 - nonce.len()..].copy_from_slice(nonce);
        let state = block::state(&key.0, to_words(&last));
        Self(Stream::new(Core { state, variant: PhantomData }))
    }
}

impl<R: Rounds, V: Variant> fmt::Debug for ChaCha<R, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChaCha{} {{ .. }}", 2 * R::DOUBLE_ROUNDS)
    }
}

/// XChaCha with `R` rounds: a nonce long enough to be drawn at random.
///
/// HChaCha makes a key of the first 16 bytes of the nonce; the last 8 are the nonce of [`ChaCha`] with it.
#[derive(Clone)]
pub struct XChaCha<R: Rounds>(Stream<Core<R, Ietf>>);

/// XChaCha with 20 rounds, draft-irtf-cfrg-xchacha-03.
pub type XChaCha20 = XChaCha<R20>;
/// XChaCha with 12 rounds.
pub type XChaCha12 = XChaCha<R12>;
/// XChaCha with 8 rounds.
pub type XChaCha8 = XChaCha<R8>;

impl_stream_cipher!(XChaCha<R: Rounds>, key U32, nonce U24);

impl<R: Rounds> KeyIvInit for XChaCha<R> {
    fn new(key: &Key, nonce: &XNonce) -> Self {
        let mut input = Array::default();
        input.copy_from_slice(&nonce[..16]);
        let mut subkey = hchacha::<R>(key, &input);
        let [n2, n3] = to_words(&nonce[16..]);
        let state = block::state(&subkey.0, [0, 0, n2, n3]);
        wipe(&mut subkey.0);
        Self(Stream::new(Core { state, variant: PhantomData }))
    }
}

impl<R: Rounds> fmt::Debug for XChaCha<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "XChaCha{} {{ .. }}", 2 * R::DOUBLE_ROUNDS)
    }
}

/// HChaCha (draft-irtf-cfrg-xchacha-03 section 2.2): a key of 32 bytes from a key and 16 bytes of input.
#[must_use]
pub fn hchacha<R: Rounds>(key: &Key, input: &Array<u8, U16>) -> Key {
    let mut x = R::permute(&block::state(&key.0, to_words(input)));
    let mut out = Key::default();
    out[..16].copy_from_slice(&x[..16]);
    out[16..].copy_from_slice(&x[48..]);
    wipe(&mut x);
    out
}
