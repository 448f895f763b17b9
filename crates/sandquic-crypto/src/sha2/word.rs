//! What the 32-bit and the 64-bit functions share: the round, over a word of either size.

use core::ops::{BitAnd, BitXor};

/// A word of SHA-2, with the functions of FIPS 180-4 section 4.1 that differ by size.
pub(super) trait Word: Copy + BitAnd<Output = Self> + BitXor<Output = Self> {
    /// Sum modulo the word's size.
    fn add(self, other: Self) -> Self;
    /// Σ0.
    fn big_sigma0(self) -> Self;
    /// Σ1.
    fn big_sigma1(self) -> Self;
    /// σ0.
    fn small_sigma0(self) -> Self;
    /// σ1.
    fn small_sigma1(self) -> Self;
}

macro_rules! word {
    ($word:ty: $a:literal $b:literal $c:literal, $d:literal $e:literal $f:literal,
     $g:literal $h:literal $i:literal, $j:literal $k:literal $l:literal) => {
        impl Word for $word {
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn big_sigma0(self) -> Self {
                self.rotate_right($a) ^ self.rotate_right($b) ^ self.rotate_right($c)
            }
            #[inline(always)]
            fn big_sigma1(self) -> Self {
                self.rotate_right($d) ^ self.rotate_right($e) ^ self.rotate_right($f)
            }
            #[inline(always)]
            fn small_sigma0(self) -> Self {
                self.rotate_right($g) ^ self.rotate_right($h) ^ (self >> $i)
            }
            #[inline(always)]
            fn small_sigma1(self) -> Self {
                self.rotate_right($j) ^ self.rotate_right($k) ^ (self >> $l)
            }
        }
    };
}

word!(u32: 2 13 22, 6 11 25, 7 18 3, 17 19 10);
word!(u64: 28 34 39, 14 18 41, 1 8 7, 19 61 6);

/// The working variables a to h, and b xor c.
#[derive(Clone, Copy)]
pub(super) struct Working<W> {
    pub(super) v: [W; 8],
    /// `b ^ c` of the next round, which is `a ^ b` of this one: the majority then takes three operations.
    b_xor_c: W,
}

impl<W: Word> Working<W> {
    #[inline(always)]
    pub(super) fn new(state: &[W; 8]) -> Self {
        Self { v: *state, b_xor_c: state[1] ^ state[2] }
    }

    /// Round `t`, for `input` = `W[t] + K[t]`; returns the new a.
    ///
    /// The variables stay where they are and change roles instead: in round t, a is `v[-t mod 8]`.
    ///
    /// The order of the additions is the one that was measured best on wasmtime and V8 (docs/sha2.md).
    #[inline(always)]
    pub(super) fn round(&mut self, t: usize, input: W) -> W {
        let at = |i: usize| (i + 8 - t % 8) % 8;
        let [a, b, e, f, g] = [0, 1, 4, 5, 6].map(|i| self.v[at(i)]);
        let a_xor_b = a ^ b;
        let t1 = self.v[at(7)].add(input).add(g ^ (e & (f ^ g))).add(e.big_sigma1());
        self.v[at(3)] = self.v[at(3)].add(t1);
        self.v[at(7)] = t1.add(b ^ (a_xor_b & self.b_xor_c)).add(a.big_sigma0());
        self.b_xor_c = a_xor_b;
        self.v[at(7)]
    }

    /// After all rounds of a block.
    #[inline(always)]
    pub(super) fn add_to(&self, state: &mut [W; 8]) {
        for (state, v) in state.iter_mut().zip(self.v) {
            *state = state.add(v);
        }
    }
}

/// Runs `$body` with `$t` a constant from `$from` to `$from + 15`: straight-line code, whatever the optimiser
/// thinks of unrolling.
macro_rules! sixteen {
    ($from:expr, $t:ident => $body:block) => {
        sixteen!(@ $from, $t, $body, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    (@ $from:expr, $t:ident, $body:block, $($i:literal)*) => {$({
        const $t: usize = $from + $i;
        $body
    })*};
}
pub(super) use sixteen;
