//! The block function of Salsa20: one block in scalar code, four blocks a 128-bit lane in vectors.

use crate::simd::Vector;
use crate::stream::{BlockFunction, Pass, SLOTS, Slots, each_of_four, each_row, to_bytes};

/// "expand 32-byte k".
pub(super) const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// The input of the block function: constants at words 0, 5, 10 and 15, key at 1 to 4 and 11 to 14, nonce at 6
/// and 7, counter at 8 and 9.
pub(super) type State = [u32; 16];

/// The input for a key of 32 bytes and the words in the middle.
#[inline(always)]
pub(super) fn state(key: &[u8; 32], middle: [u32; 4]) -> State {
    let k: [u32; 8] = crate::stream::to_words(key);
    let [c0, c1, c2, c3] = CONSTANTS;
    let [n0, n1, n2, n3] = middle;
    [c0, k[0], k[1], k[2], k[3], c1, n0, n1, n2, n3, c2, k[4], k[5], k[6], k[7], c3]
}

#[inline(always)]
fn quarter_round(x: &mut State, a: usize, b: usize, c: usize, d: usize) {
    x[b] ^= x[a].wrapping_add(x[d]).rotate_left(7);
    x[c] ^= x[b].wrapping_add(x[a]).rotate_left(9);
    x[d] ^= x[c].wrapping_add(x[b]).rotate_left(13);
    x[a] ^= x[d].wrapping_add(x[c]).rotate_left(18);
}

/// The rounds alone, without the addition of the input: what HSalsa20 needs.
#[inline(always)]
pub(super) fn permute<const DOUBLE_ROUNDS: usize>(state: &State) -> State {
    let mut x = *state;
    for _ in 0..DOUBLE_ROUNDS {
        quarter_round(&mut x, 0, 4, 8, 12);
        quarter_round(&mut x, 5, 9, 13, 1);
        quarter_round(&mut x, 10, 14, 2, 6);
        quarter_round(&mut x, 15, 3, 7, 11);
        quarter_round(&mut x, 0, 1, 2, 3);
        quarter_round(&mut x, 5, 6, 7, 4);
        quarter_round(&mut x, 10, 11, 8, 9);
        quarter_round(&mut x, 15, 12, 13, 14);
    }
    x
}

/// Four blocks a lane: vector i holds word i of each block. Blocks 0 to 3 are the elements of lane 0,
/// blocks 4 to 7 those of lane 1.
#[derive(Clone, Copy)]
struct Wide<V> {
    input: [V; 16],
}

impl<V: Vector> Wide<V> {
    /// The blocks from the one that `state` describes on.
    #[inline(always)]
    fn new(state: &State) -> Self {
        let mut wide = Self { input: state.map(V::splat_u32) };
        wide.count(V::from_lanes_u32(|lane| core::array::from_fn(|i| (4 * lane + i) as u32)));
        wide
    }

    #[inline(always)]
    fn count(&mut self, n: V) {
        let low = self.input[8].add_u32(n);
        // All ones, which is -1, where the sum wrapped: unsigned low < n.
        let sign = V::splat_u32(1 << 31);
        let carry = n.xor(sign).gt_i32(low.xor(sign));
        self.input[9] = self.input[9].sub_u32(carry);
        self.input[8] = low;
    }

    /// Four quarter rounds at once, step by step: one after the other they would be chains longer than
    /// what a processor looks ahead.
    #[inline(always)]
    fn quarter_rounds(x: &mut [V; 16], a: [usize; 4], b: [usize; 4], c: [usize; 4], d: [usize; 4]) {
        each_of_four!(i => x[b[i]] = x[b[i]].xor(x[a[i]].add_u32(x[d[i]]).rotl_u32::<7>()));
        each_of_four!(i => x[c[i]] = x[c[i]].xor(x[b[i]].add_u32(x[a[i]]).rotl_u32::<9>()));
        each_of_four!(i => x[d[i]] = x[d[i]].xor(x[c[i]].add_u32(x[b[i]]).rotl_u32::<13>()));
        each_of_four!(i => x[a[i]] = x[a[i]].xor(x[d[i]].add_u32(x[c[i]]).rotl_u32::<18>()));
    }

    #[inline(always)]
    fn rounds<const DOUBLE_ROUNDS: usize>(&self) -> [V; 16] {
        let mut x = self.input;
        for _ in 0..DOUBLE_ROUNDS {
            Self::column_round(&mut x);
            Self::row_round(&mut x);
        }
        x
    }

    #[inline(always)]
    fn column_round(x: &mut [V; 16]) {
        Self::quarter_rounds(x, [0, 5, 10, 15], [4, 9, 14, 3], [8, 13, 2, 7], [12, 1, 6, 11]);
    }

    #[inline(always)]
    fn row_round(x: &mut [V; 16]) {
        Self::quarter_rounds(x, [0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]);
    }

    /// A round over words in memory; words `a` are on the diagonal. A step is computed when its results are stored.
    #[inline(always)]
    fn round_in(x: &mut Slots<V>, b: [usize; 4], c: [usize; 4], d: [usize; 4]) {
        let a = [0, 5, 10, 15];
        let (mut wa, mut wb) = ([V::zero(); 4], [V::zero(); 4]);
        let (mut wc, mut wd) = ([V::zero(); 4], [V::zero(); 4]);
        each_of_four!(i => {
            (wa[i], wd[i]) = (x.get(a[i]), x.get(d[i]));
            wb[i] = x.get(b[i]).xor(wa[i].add_u32(wd[i]).rotl_u32::<7>());
            x.set(b[i], wb[i]);
        });
        each_of_four!(i => {
            wc[i] = x.get(c[i]).xor(wb[i].add_u32(wa[i]).rotl_u32::<9>());
            x.set(c[i], wc[i]);
        });
        each_of_four!(i => {
            wd[i] = wd[i].xor(wc[i].add_u32(wb[i]).rotl_u32::<13>());
            x.set(d[i], wd[i]);
        });
        // Loaded again: with these in registers there would be too few.
        each_of_four!(i => x.set(a[i], x.get(a[i]).xor(wd[i].add_u32(wc[i]).rotl_u32::<18>())));
    }

    /// Both passes, round by round in turn: a processor has other work while it waits for the results of a round.
    #[inline(always)]
    fn two<const DOUBLE_ROUNDS: usize, const WRITE: bool>(&self, next: &Self, out: &mut [u8]) {
        let (first, second) = out.split_at_mut(256 * V::LANES);
        if SLOTS {
            let (mut x, mut y) = (Slots::new(&self.input), Slots::new(&next.input));
            for _ in 0..DOUBLE_ROUNDS {
                Self::round_in(&mut x, [4, 9, 14, 3], [8, 13, 2, 7], [12, 1, 6, 11]);
                Self::round_in(&mut y, [4, 9, 14, 3], [8, 13, 2, 7], [12, 1, 6, 11]);
                Self::round_in(&mut x, [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]);
                Self::round_in(&mut y, [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]);
            }
            self.finish::<WRITE>(|i| x.get(i), first);
            next.finish::<WRITE>(|i| y.get(i), second);
        } else {
            let (mut x, mut y) = (self.input, next.input);
            for _ in 0..DOUBLE_ROUNDS {
                Self::column_round(&mut x);
                Self::column_round(&mut y);
                Self::row_round(&mut x);
                Self::row_round(&mut y);
            }
            self.finish::<WRITE>(|i| x[i], first);
            next.finish::<WRITE>(|i| y[i], second);
        }
    }

    /// Adds the input to the result of the rounds, of which `word` is word i of every block, and xors the blocks, in
    /// order, into 256 bytes a lane, or with `WRITE` writes them there.
    #[inline(always)]
    fn finish<const WRITE: bool>(&self, word: impl Fn(usize) -> V, out: &mut [u8]) {
        let word = |i| word(i).add_u32(self.input[i]);
        if WRITE {
            each_row(word, out, |row, out| row.store(out));
        } else {
            each_row(word, out, |row, out| row.xor_into(out));
        }
    }
}

/// Salsa20 with a number of double rounds, as a block function of [`crate::stream`].
pub(super) struct Function<const DOUBLE_ROUNDS: usize>;

/// Blocks of [`Function`].
#[derive(Clone, Copy)]
pub(super) struct Blocks<V, const DOUBLE_ROUNDS: usize>(Wide<V>);

impl<const DOUBLE_ROUNDS: usize> BlockFunction for Function<DOUBLE_ROUNDS> {
    type Pass<V: Vector> = Blocks<V, DOUBLE_ROUNDS>;

    const TWO: bool = false;

    #[inline(always)]
    fn at(input: &[u32; 16], number: u64) -> [u32; 16] {
        let mut input = *input;
        input[8] = number as u32;
        input[9] = (number >> 32) as u32;
        input
    }
    #[inline(always)]
    fn number(input: &[u32; 16]) -> u64 {
        u64::from(input[8]) | u64::from(input[9]) << 32
    }
    #[inline(always)]
    fn block<const ADD: bool>(input: &[u32; 16]) -> [u32; 16] {
        let mut x = permute::<DOUBLE_ROUNDS>(input);
        if ADD {
            for (x, input) in x.iter_mut().zip(input) {
                *x = x.wrapping_add(*input);
            }
        }
        x
    }
    /// Scalar code: as four diagonals, a block takes a tenth longer on Wasm and natively, because they have to be
    /// put together and taken apart.
    #[inline(always)]
    fn few<V: Vector, const ADD: bool, const N: usize>(
        input: &[u32; 16],
        number: u64,
        out: &mut [[u8; 64]; N],
    ) {
        for (i, out) in out.iter_mut().enumerate() {
            let input = Self::at(input, number.wrapping_add(i as u64));
            *out = to_bytes(&Self::block::<ADD>(&input));
        }
    }
}

impl<V: Vector, const DOUBLE_ROUNDS: usize> Pass<V> for Blocks<V, DOUBLE_ROUNDS> {
    #[inline(always)]
    fn new(input: &[u32; 16]) -> Self {
        Self(Wide::new(input))
    }
    #[inline(always)]
    fn advance(&mut self) {
        self.0.count(V::splat_u32(4 * V::LANES as u32));
    }
    #[inline(always)]
    fn rounds(&self) -> [V; 16] {
        self.0.rounds::<DOUBLE_ROUNDS>()
    }
    #[inline(always)]
    fn two<const WRITE: bool>(&self, next: &Self, out: &mut [u8]) {
        self.0.two::<DOUBLE_ROUNDS, WRITE>(&next.0, out);
    }
    #[inline(always)]
    fn finish<const WRITE: bool>(&self, x: &[V; 16], out: &mut [u8]) {
        self.0.finish::<WRITE>(|i| x[i], out);
    }
}
