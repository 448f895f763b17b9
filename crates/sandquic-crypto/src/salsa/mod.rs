//! Salsa20/8, /12, /20, XSalsa20 and HSalsa20.
//!
//! | type | key | nonce | source |
//! | --- | --- | --- | --- |
//! | [`Salsa20`], [`Salsa12`], [`Salsa8`] | 32 bytes | 8 bytes | Bernstein, "The Salsa20 family of stream ciphers" |
//! | [`XSalsa20`], [`XSalsa12`], [`XSalsa8`] | 32 bytes | 24 bytes | Bernstein, "Extending the Salsa20 nonce" |
//!
//! Blocks have 64 bytes, the counter 64 bits; 2^64 - 1 blocks can be used. The ciphers implement
//! [`cipher::KeyIvInit`], [`cipher::StreamCipher`] and [`cipher::StreamCipherSeek`]; a call that would run past
//! the end of the keystream is an error, and the data is as before. Keys of 16 bytes are not supported.
//!
//! ```
//! use sandquic_crypto::cipher::{KeyIvInit, StreamCipher};
//! use sandquic_crypto::salsa::XSalsa20;
//!
//! let (key, nonce) = ([7; 32], [9; 24]);
//! let mut data = *b"some text";
//! XSalsa20::new(&key.into(), &nonce.into()).apply_keystream(&mut data);
//! XSalsa20::new(&key.into(), &nonce.into()).apply_keystream(&mut data);
//! assert_eq!(&data, b"some text");
//! ```

use core::fmt;
use core::marker::PhantomData;

use cipher::KeyIvInit;
use cipher::array::Array;
use cipher::consts::{U8, U16, U24, U32};

use crate::stream::{self, BLOCK, Keystream, Stream, impl_stream_cipher, to_words};
use crate::wipe::wipe;

mod block;

/// A key: 32 bytes.
pub type Key = Array<u8, U32>;
/// A nonce of Salsa20: 8 bytes.
pub type Nonce = Array<u8, U8>;
/// A nonce of XSalsa20: 24 bytes.
pub type XNonce = Array<u8, U24>;

mod sealed {
    pub trait Rounds {
        fn apply(state: &[u32; 16], first: u64, data: &mut [u8], last: &mut [u8; super::BLOCK]);
        fn permute(state: &[u32; 16]) -> [u8; super::BLOCK];
    }
}

/// A number of rounds: [`R8`], [`R12`] or [`R20`].
pub trait Rounds: sealed::Rounds + Clone + Send + Sync + 'static {
    /// Half the number of rounds.
    const DOUBLE_ROUNDS: usize;
}

pub use crate::chacha::{R8, R12, R20};

macro_rules! rounds {
    ($($name:ident $double:literal),*) => {$(
        impl sealed::Rounds for $name {
            #[inline]
            fn apply(state: &[u32; 16], first: u64, data: &mut [u8], last: &mut [u8; BLOCK]) {
                stream::apply::<block::Function<$double>, false>(state, first, data, last);
            }
            #[inline]
            fn permute(state: &[u32; 16]) -> [u8; BLOCK] {
                let mut out = [[0; BLOCK]];
                let number = <block::Function<$double> as stream::BlockFunction>::number(state);
                stream::blocks::<block::Function<$double>, false, 1>(state, number, &mut out);
                out[0]
            }
        }
        impl Rounds for $name {
            const DOUBLE_ROUNDS: usize = $double;
        }
    )*};
}

rounds!(R8 4, R12 6, R20 10);

/// The key and the nonce as the input of the block function.
#[derive(Clone)]
struct Core<R> {
    state: [u32; 16],
    rounds: PhantomData<R>,
}

impl<R: Rounds> Core<R> {
    /// Block 0 with a nonce of 8 bytes.
    fn new(key: &[u8; 32], nonce: &[u8]) -> Self {
        let [n0, n1] = to_words(nonce);
        Self { state: block::state(key, [n0, n1, 0, 0]), rounds: PhantomData }
    }
}

impl<R: Rounds> Keystream for Core<R> {
    const BLOCKS: u64 = u64::MAX;

    #[inline]
    fn apply(&self, first: u64, data: &mut [u8], last: &mut [u8; BLOCK]) {
        R::apply(&self.state, first, data, last);
    }
}

#[cfg(feature = "zeroize")]
impl<R> Drop for Core<R> {
    fn drop(&mut self) {
        wipe(&mut self.state);
    }
}

/// Salsa20 with `R` rounds.
#[derive(Clone)]
pub struct Salsa<R: Rounds>(Stream<Core<R>>);

/// Salsa20 with 20 rounds.
pub type Salsa20 = Salsa<R20>;
/// Salsa20 with 12 rounds.
pub type Salsa12 = Salsa<R12>;
/// Salsa20 with 8 rounds.
pub type Salsa8 = Salsa<R8>;

impl_stream_cipher!(Salsa<R: Rounds>, key U32, nonce U8);

impl<R: Rounds> KeyIvInit for Salsa<R> {
    fn new(key: &Key, nonce: &Nonce) -> Self {
        Self(Stream::new(Core::new(&key.0, nonce)))
    }
}

impl<R: Rounds> fmt::Debug for Salsa<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Salsa{} {{ .. }}", 2 * R::DOUBLE_ROUNDS)
    }
}

/// XSalsa20 with `R` rounds: a nonce long enough to be drawn at random.
///
/// HSalsa20 makes a key of the first 16 bytes of the nonce; the last 8 are the nonce of [`Salsa`] with it.
#[derive(Clone)]
pub struct XSalsa<R: Rounds>(Stream<Core<R>>);

/// XSalsa20 with 20 rounds.
pub type XSalsa20 = XSalsa<R20>;
/// XSalsa20 with 12 rounds.
pub type XSalsa12 = XSalsa<R12>;
/// XSalsa20 with 8 rounds.
pub type XSalsa8 = XSalsa<R8>;

impl_stream_cipher!(XSalsa<R: Rounds>, key U32, nonce U24);

impl<R: Rounds> KeyIvInit for XSalsa<R> {
    fn new(key: &Key, nonce: &XNonce) -> Self {
        let mut input = Array::default();
        input.copy_from_slice(&nonce[..16]);
        let mut subkey = hsalsa::<R>(key, &input);
        let core = Core::new(&subkey.0, &nonce[16..]);
        wipe(&mut subkey.0);
        Self(Stream::new(core))
    }
}

impl<R: Rounds> fmt::Debug for XSalsa<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "XSalsa{} {{ .. }}", 2 * R::DOUBLE_ROUNDS)
    }
}

/// HSalsa20 ("Extending the Salsa20 nonce", section 2): a key of 32 bytes from a key and 16 bytes of input.
#[must_use]
pub fn hsalsa<R: Rounds>(key: &Key, input: &Array<u8, U16>) -> Key {
    let mut x = R::permute(&block::state(&key.0, to_words(input)));
    let mut out = Key::default();
    for (chunk, i) in out.chunks_exact_mut(4).zip([0, 5, 10, 15, 6, 7, 8, 9]) {
        chunk.copy_from_slice(&x[4 * i..4 * i + 4]);
    }
    wipe(&mut x);
    out
}
