//! Random number generators: the keystream of ChaCha with a 64-bit counter and a stream number as nonce.

use core::convert::Infallible;
use core::fmt;

use rand_core::{SeedableRng, TryCryptoRng, TryRng};
use subtle::ConstantTimeEq;

use super::block::{self, State};
use super::sealed::Rounds;
use crate::stream::BLOCK;

/// Words in a block.
const WORDS: u128 = 16;
/// Bytes in the buffer: a pass of four blocks.
const BUFFER: usize = 4 * BLOCK;

/// The generator behind the three public types.
#[derive(Clone)]
struct Generator<R> {
    /// The key (the seed) and the stream.
    state: State,
    /// The block after those in the buffer.
    next: u64,
    /// Bytes used of the buffer, a multiple of 4; `BUFFER` if there is nothing in it.
    used: usize,
    buffer: [u8; BUFFER],
    rounds: core::marker::PhantomData<R>,
}

impl<R: Rounds> Generator<R> {
    fn new(seed: &[u8; 32]) -> Self {
        let state = block::state(seed, [0; 4]);
        Self { state, next: 0, used: BUFFER, buffer: [0; BUFFER], rounds: core::marker::PhantomData }
    }

    /// Writes whole blocks of the keystream.
    fn write(&mut self, blocks: &mut [u8]) {
        R::apply::<true, true>(&self.state, self.next, blocks, &mut [0; BLOCK]);
        self.next = self.next.wrapping_add((blocks.len() / BLOCK) as u64);
    }

    /// Fills the buffer and leaves `used` of its bytes behind.
    #[inline(never)]
    fn refill(&mut self, used: usize) {
        R::apply::<true, true>(&self.state, self.next, &mut self.buffer, &mut [0; BLOCK]);
        self.next = self.next.wrapping_add((BUFFER / BLOCK) as u64);
        self.used = used;
    }

    #[inline]
    fn next_u32(&mut self) -> u32 {
        if self.used >= BUFFER {
            self.refill(0);
        }
        let mut word = [0; 4];
        word.copy_from_slice(&self.buffer[self.used..self.used + 4]);
        self.used += 4;
        u32::from_le_bytes(word)
    }

    #[inline]
    fn next_u64(&mut self) -> u64 {
        let low = self.next_u32();
        u64::from(low) | u64::from(self.next_u32()) << 32
    }

    /// Uses whole words: the rest of the last one is lost, as in `rand_core`'s own generators.
    fn fill_bytes(&mut self, mut out: &mut [u8]) {
        loop {
            let n = out.len().min(BUFFER - self.used);
            let (now, later) = out.split_at_mut(n);
            now.copy_from_slice(&self.buffer[self.used..self.used + n]);
            self.used += n.next_multiple_of(4);
            if later.is_empty() {
                return;
            }
            // What is larger than the buffer does not go through it.
            let (blocks, rest) = later.split_at_mut(later.len() / BUFFER * BUFFER);
            if !blocks.is_empty() {
                self.write(blocks);
            }
            if rest.is_empty() {
                return;
            }
            self.refill(0);
            out = rest;
        }
    }

    /// The number of the word that comes next, modulo 2^68.
    fn word_pos(&self) -> u128 {
        let unused = ((BUFFER - self.used) / 4) as u128;
        (u128::from(self.next) * WORDS).wrapping_sub(unused) & ((1 << 68) - 1)
    }

    fn set_word_pos(&mut self, pos: u128) {
        self.next = (pos / WORDS) as u64;
        self.used = BUFFER;
        let word = (pos % WORDS) as usize;
        if word != 0 {
            self.refill(4 * word);
        }
    }

    fn stream(&self) -> u64 {
        u64::from(self.state[14]) | u64::from(self.state[15]) << 32
    }

    fn set_stream(&mut self, stream: u64) {
        let pos = self.word_pos();
        self.state[14] = stream as u32;
        self.state[15] = (stream >> 32) as u32;
        self.set_word_pos(pos);
    }

    /// Without a branch on the seeds, which are secret.
    fn equals(&self, other: &Self) -> bool {
        let same_seed_and_stream = bool::from(self.state.ct_eq(&other.state));
        same_seed_and_stream && self.word_pos() == other.word_pos()
    }

    fn seed(&self) -> [u8; 32] {
        let mut seed = [0; 32];
        for (chunk, word) in seed.chunks_exact_mut(4).zip(&self.state[4..12]) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        seed
    }
}

#[cfg(feature = "zeroize")]
impl<R> Drop for Generator<R> {
    fn drop(&mut self) {
        crate::wipe::wipe(&mut self.state);
        crate::wipe::wipe(&mut self.buffer);
    }
}

macro_rules! generators {
    ($($name:ident $rounds:ident $text:literal;)*) => {$(
        #[doc = concat!("A random number generator: the keystream of ChaCha with ", $text, " rounds.")]
        ///
        /// The output is that of the types of the same name in `rand_chacha` and `chacha20`. The seed is the
        /// key; a seed has 2^64 streams of 2^68 words of 32 bits each, after which a stream repeats.
        #[derive(Clone)]
        pub struct $name(Generator<super::$rounds>);

        impl $name {
            /// The number, modulo 2^68, of the 32-bit word that comes next.
            #[must_use]
            pub fn get_word_pos(&self) -> u128 {
                self.0.word_pos()
            }
            /// Goes to a 32-bit word of the stream, by its number modulo 2^68.
            pub fn set_word_pos(&mut self, word_offset: u128) {
                self.0.set_word_pos(word_offset);
            }
            /// The number of the stream: 0 at first.
            #[must_use]
            pub fn get_stream(&self) -> u64 {
                self.0.stream()
            }
            /// Goes to another stream, at the same word position (as in `rand_chacha`; `chacha20`'s type of
            /// this name goes to position 0).
            pub fn set_stream(&mut self, stream: u64) {
                self.0.set_stream(stream);
            }
            /// The seed.
            #[must_use]
            pub fn get_seed(&self) -> [u8; 32] {
                self.0.seed()
            }
        }

        impl SeedableRng for $name {
            type Seed = [u8; 32];

            fn from_seed(seed: Self::Seed) -> Self {
                Self(Generator::new(&seed))
            }
        }

        impl TryRng for $name {
            type Error = Infallible;

            #[inline]
            fn try_next_u32(&mut self) -> Result<u32, Infallible> {
                Ok(self.0.next_u32())
            }
            #[inline]
            fn try_next_u64(&mut self) -> Result<u64, Infallible> {
                Ok(self.0.next_u64())
            }
            #[inline]
            fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Infallible> {
                self.0.fill_bytes(dst);
                Ok(())
            }
        }

        impl TryCryptoRng for $name {}

        /// Equal generators go on with the same output. Seeds are compared in constant time.
        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.0.equals(&other.0)
            }
        }
        impl Eq for $name {}

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), " { .. }"))
            }
        }

        #[cfg(feature = "zeroize")]
        impl zeroize::ZeroizeOnDrop for $name {}
    )*};
}

generators! {
    ChaCha8Rng R8 "8";
    ChaCha12Rng R12 "12";
    ChaCha20Rng R20 "20";
}
