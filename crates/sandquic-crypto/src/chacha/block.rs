//! The block function of ChaCha: one block in scalar code, in vectors one or two blocks as rows and four
//! blocks a 128-bit lane.

use crate::simd::{ROTATE_8, ROTATE_16, Vector};
use crate::stream::{SLOTS, Slots, each_of_four, each_row};

/// "expand 32-byte k", RFC 8439 section 2.3.
pub(crate) const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// The input of the block function: constants, key, counter (word 12, with 64 bits 12 and 13) and nonce.
pub(crate) type State = [u32; 16];

/// The input for a key of 32 bytes and the last four words.
#[inline(always)]
pub(crate) fn state(key: &[u8; 32], last: [u32; 4]) -> State {
    let k: [u32; 8] = crate::stream::to_words(key);
    let [c0, c1, c2, c3] = CONSTANTS;
    let [n0, n1, n2, n3] = last;
    [c0, c1, c2, c3, k[0], k[1], k[2], k[3], k[4], k[5], k[6], k[7], n0, n1, n2, n3]
}

/// The input with another block number: 32 bits, or with `WIDE` 64.
#[inline(always)]
pub(crate) fn at<const WIDE: bool>(state: &State, block: u64) -> State {
    let mut state = *state;
    state[12] = block as u32;
    if WIDE {
        state[13] = (block >> 32) as u32;
    }
    state
}

#[inline(always)]
fn quarter_round(x: &mut State, a: usize, b: usize, c: usize, d: usize) {
    x[a] = x[a].wrapping_add(x[b]);
    x[d] = (x[d] ^ x[a]).rotate_left(16);
    x[c] = x[c].wrapping_add(x[d]);
    x[b] = (x[b] ^ x[c]).rotate_left(12);
    x[a] = x[a].wrapping_add(x[b]);
    x[d] = (x[d] ^ x[a]).rotate_left(8);
    x[c] = x[c].wrapping_add(x[d]);
    x[b] = (x[b] ^ x[c]).rotate_left(7);
}

/// The rounds alone, without the addition of the input: what HChaCha needs.
#[inline(always)]
pub(crate) fn permute<const DOUBLE_ROUNDS: usize>(state: &State) -> State {
    let mut x = *state;
    for _ in 0..DOUBLE_ROUNDS {
        quarter_round(&mut x, 0, 4, 8, 12);
        quarter_round(&mut x, 1, 5, 9, 13);
        quarter_round(&mut x, 2, 6, 10, 14);
        quarter_round(&mut x, 3, 7, 11, 15);
        quarter_round(&mut x, 0, 5, 10, 15);
        quarter_round(&mut x, 1, 6, 11, 12);
        quarter_round(&mut x, 2, 7, 8, 13);
        quarter_round(&mut x, 3, 4, 9, 14);
    }
    x
}

/// One block of the keystream.
#[inline(always)]
pub(crate) fn block<const DOUBLE_ROUNDS: usize>(state: &State) -> State {
    let mut x = permute::<DOUBLE_ROUNDS>(state);
    for (x, input) in x.iter_mut().zip(state) {
        *x = x.wrapping_add(*input);
    }
    x
}

/// How the rotations by 16 and 8 bits are written. The default is the fastest everywhere; the others
/// are kept for the benchmarks.
pub(crate) mod rotation {
    /// Byte swizzles with indices that the compiler does not know.
    pub(crate) const SWIZZLE: u8 = 0;
    /// Byte permutations that the compiler knows: `i8x16.shuffle` on Wasm.
    #[allow(dead_code, reason = "feature bench-variants")]
    pub(crate) const SHUFFLE: u8 = 1;
    /// Two shifts and an or.
    #[allow(dead_code, reason = "feature bench-variants")]
    pub(crate) const SHIFT: u8 = 2;
}

/// Four blocks a lane: vector i holds word i of each block. Blocks 0 to 3 are the elements of lane 0,
/// blocks 4 to 7 those of lane 1.
#[derive(Clone, Copy)]
pub(crate) struct Wide<V, const ROTATION: u8 = { rotation::SWIZZLE }> {
    /// The input of the blocks.
    pub(crate) input: [V; 16],
    by16: V,
    by8: V,
}

impl<V: Vector, const ROTATION: u8> Wide<V, ROTATION> {
    /// Blocks a pass: 4 or 8.
    pub(crate) const BLOCKS: usize = 4 * V::LANES;
    /// Bytes a pass: 256 or 512.
    pub(crate) const BYTES: usize = 64 * Self::BLOCKS;

    /// The blocks from the one that `state` describes on. With `WIDE` the counter has 64 bits.
    #[inline(always)]
    pub(crate) fn new<const WIDE: bool>(state: &State) -> Self {
        let mut wide = Self::with_input(state.map(V::splat_u32));
        let numbers = V::from_lanes_u32(|lane| core::array::from_fn(|i| (4 * lane + i) as u32));
        wide.count::<WIDE>(numbers);
        wide
    }

    /// Blocks of unrelated inputs, such as header masks: word `word` of block `block` is `f(block, word)`.
    #[inline(always)]
    #[allow(dead_code, reason = "for header masks")]
    pub(crate) fn from_blocks(mut f: impl FnMut(usize, usize) -> u32) -> Self {
        Self::with_input(core::array::from_fn(|word| {
            V::from_lanes_u32(|lane| core::array::from_fn(|i| f(4 * lane + i, word)))
        }))
    }

    #[inline(always)]
    fn with_input(input: [V; 16]) -> Self {
        if ROTATION == rotation::SWIZZLE {
            Self { input, by16: V::opaque(&ROTATE_16), by8: V::opaque(&ROTATE_8) }
        } else {
            Self { input, by16: V::broadcast(&ROTATE_16), by8: V::broadcast(&ROTATE_8) }
        }
    }

    /// Goes on by a pass.
    #[inline(always)]
    pub(crate) fn advance<const WIDE: bool>(&mut self) {
        self.count::<WIDE>(V::splat_u32(Self::BLOCKS as u32));
    }

    #[inline(always)]
    fn count<const WIDE: bool>(&mut self, n: V) {
        let low = self.input[12].add_u32(n);
        if WIDE {
            // All ones, which is -1, where the sum wrapped: unsigned low < n.
            let sign = V::splat_u32(1 << 31);
            let carry = n.xor(sign).gt_i32(low.xor(sign));
            self.input[13] = self.input[13].sub_u32(carry);
        }
        self.input[12] = low;
    }

    #[inline(always)]
    fn rotl16(&self, x: V) -> V {
        match ROTATION {
            rotation::SWIZZLE => x.rotl16_u32(self.by16),
            rotation::SHUFFLE => x.swizzle(self.by16),
            _ => x.rotl_u32::<16>(),
        }
    }

    #[inline(always)]
    fn rotl8(&self, x: V) -> V {
        match ROTATION {
            rotation::SWIZZLE => x.rotl8_u32(self.by8),
            rotation::SHUFFLE => x.swizzle(self.by8),
            _ => x.rotl_u32::<8>(),
        }
    }

    /// Four quarter rounds at once, step by step: one after the other they would be chains longer than
    /// what a processor looks ahead.
    #[inline(always)]
    fn quarter_rounds(&self, x: &mut [V; 16], b: [usize; 4], c: [usize; 4], d: [usize; 4]) {
        each_of_four!(i => x[i] = x[i].add_u32(x[b[i]]));
        each_of_four!(i => x[d[i]] = self.rotl16(x[d[i]].xor(x[i])));
        each_of_four!(i => x[c[i]] = x[c[i]].add_u32(x[d[i]]));
        each_of_four!(i => x[b[i]] = x[b[i]].xor(x[c[i]]).rotl_u32::<12>());
        each_of_four!(i => x[i] = x[i].add_u32(x[b[i]]));
        each_of_four!(i => x[d[i]] = self.rotl8(x[d[i]].xor(x[i])));
        each_of_four!(i => x[c[i]] = x[c[i]].add_u32(x[d[i]]));
        each_of_four!(i => x[b[i]] = x[b[i]].xor(x[c[i]]).rotl_u32::<7>());
    }

    /// A column round and a diagonal round, begun with `input`. A caller can do other work between two.
    #[inline(always)]
    pub(crate) fn double_round(&self, x: &mut [V; 16]) {
        self.column_round(x);
        self.diagonal_round(x);
    }

    #[inline(always)]
    fn column_round(&self, x: &mut [V; 16]) {
        self.quarter_rounds(x, [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]);
    }

    #[inline(always)]
    fn diagonal_round(&self, x: &mut [V; 16]) {
        self.quarter_rounds(x, [5, 6, 7, 4], [10, 11, 8, 9], [15, 12, 13, 14]);
    }

    /// All rounds: give the result to [`finish`](Self::finish), which adds the input.
    #[inline(always)]
    pub(crate) fn rounds<const DOUBLE_ROUNDS: usize>(&self) -> [V; 16] {
        let mut x = self.input;
        for _ in 0..DOUBLE_ROUNDS {
            self.double_round(&mut x);
        }
        x
    }

    /// Two quarter rounds over words in memory: with all four, a round would not do with sixteen registers.
    #[inline(always)]
    fn quarter_rounds_in(
        &self,
        x: &mut Slots<V>,
        a: [usize; 2],
        b: [usize; 2],
        c: [usize; 2],
        d: [usize; 2],
    ) {
        let (mut wa, mut wb) = ([V::zero(); 2], [V::zero(); 2]);
        let (mut wc, mut wd) = ([V::zero(); 2], [V::zero(); 2]);
        macro_rules! both {
            ($i:ident => $e:expr) => {{
                {
                    let $i = 0;
                    $e;
                }
                {
                    let $i = 1;
                    $e;
                }
            }};
        }
        both!(i => {
            wa[i] = x.get(a[i]);
            wb[i] = x.get(b[i]);
            wa[i] = wa[i].add_u32(wb[i]);
            wd[i] = self.rotl16(x.get(d[i]).xor(wa[i]));
        });
        both!(i => {
            wc[i] = x.get(c[i]).add_u32(wd[i]);
            wb[i] = wb[i].xor(wc[i]).rotl_u32::<12>();
        });
        both!(i => {
            wa[i] = wa[i].add_u32(wb[i]);
            x.set(a[i], wa[i]);
            wd[i] = self.rotl8(wd[i].xor(wa[i]));
            x.set(d[i], wd[i]);
        });
        both!(i => {
            wc[i] = wc[i].add_u32(wd[i]);
            x.set(c[i], wc[i]);
            wb[i] = wb[i].xor(wc[i]).rotl_u32::<7>();
            x.set(b[i], wb[i]);
        });
    }

    /// The same with the indices of the rotations loaded anew, which keeps them in registers for what follows.
    #[inline(always)]
    pub(crate) fn refreshed(&self) -> Self {
        Self { by16: V::opaque_here(&ROTATE_16), by8: V::opaque_here(&ROTATE_8), ..*self }
    }

    /// As `column_round`, over words in memory.
    #[inline(always)]
    pub(crate) fn column_round_in(&self, x: &mut Slots<V>) {
        self.quarter_rounds_in(x, [0, 1], [4, 5], [8, 9], [12, 13]);
        self.quarter_rounds_in(x, [2, 3], [6, 7], [10, 11], [14, 15]);
    }

    /// As `diagonal_round`, over words in memory.
    #[inline(always)]
    pub(crate) fn diagonal_round_in(&self, x: &mut Slots<V>) {
        self.quarter_rounds_in(x, [0, 1], [5, 6], [10, 11], [15, 12]);
        self.quarter_rounds_in(x, [2, 3], [7, 4], [8, 9], [13, 14]);
    }

    /// Both passes, round by round in turn: a processor has other work while it waits for the results of a round.
    #[inline(always)]
    pub(crate) fn two<const DOUBLE_ROUNDS: usize, const WRITE: bool>(&self, next: &Self, out: &mut [u8]) {
        let (first, second) = out.split_at_mut(256 * V::LANES);
        if SLOTS && ROTATION != rotation::SWIZZLE {
            // The benchmarks' variants are what others have: a pass at a time.
            let x = self.rounds::<DOUBLE_ROUNDS>();
            self.finish::<WRITE>(|i| x[i], first);
            let y = next.rounds::<DOUBLE_ROUNDS>();
            next.finish::<WRITE>(|i| y[i], second);
        } else if SLOTS {
            let (mut x, mut y) = (Slots::new(&self.input), Slots::new(&next.input));
            for _ in 0..DOUBLE_ROUNDS {
                self.column_round_in(&mut x);
                self.column_round_in(&mut y);
                self.diagonal_round_in(&mut x);
                self.diagonal_round_in(&mut y);
            }
            self.finish::<WRITE>(|i| x.get(i), first);
            next.finish::<WRITE>(|i| y.get(i), second);
        } else {
            let (mut x, mut y) = (self.input, next.input);
            for _ in 0..DOUBLE_ROUNDS {
                self.column_round(&mut x);
                next.column_round(&mut y);
                self.diagonal_round(&mut x);
                next.diagonal_round(&mut y);
            }
            self.finish::<WRITE>(|i| x[i], first);
            next.finish::<WRITE>(|i| y[i], second);
        }
    }

    /// Adds the input to the result of the rounds, of which `word` is word i of every block, and xors the blocks, in
    /// order, into `BYTES` bytes, or with `WRITE` writes them there.
    #[inline(always)]
    pub(crate) fn finish<const WRITE: bool>(&self, word: impl Fn(usize) -> V, out: &mut [u8]) {
        let word = |i| word(i).add_u32(self.input[i]);
        if WRITE {
            each_row(word, out, |row, out| row.store(out));
        } else {
            each_row(word, out, |row, out| row.xor_into(out));
        }
    }
}

/// The rounds over `N` blocks that follow each other, each as the four rows of its matrix: less waiting than
/// in scalar code, and on Wasm not at the mercy of what LLVM makes of 16 words. `V` has one lane. The result
/// is the rows, with `ADD` plus the input. With `WIDE` the counter has 64 bits.
#[inline(always)]
pub(crate) fn rows<
    V: Vector,
    const DOUBLE_ROUNDS: usize,
    const ADD: bool,
    const WIDE: bool,
    const N: usize,
>(
    input: &State,
    number: u64,
) -> [[V; 4]; N] {
    let (by16, by8) = (V::opaque(&ROTATE_16), V::opaque(&ROTATE_8));
    let row = |row: usize| [input[4 * row], input[4 * row + 1], input[4 * row + 2], input[4 * row + 3]];
    let first: [V; 4] = core::array::from_fn(|i| V::broadcast_u32(row(i)));
    let start: [[V; 4]; N] = core::array::from_fn(|n| {
        let last = at::<WIDE>(input, number.wrapping_add(n as u64));
        [first[0], first[1], first[2], V::broadcast_u32([last[12], last[13], last[14], last[15]])]
    });
    let mut x = start;
    macro_rules! each {
        ($($row:literal = $e:expr;)*) => {$(
            for x in &mut x {
                x[$row] = $e(x);
            }
        )*};
    }
    macro_rules! quarter_rounds {
        () => {
            each! {
                0 = |x: &[V; 4]| x[0].add_u32(x[1]);
                3 = |x: &[V; 4]| x[3].xor(x[0]).rotl16_u32(by16);
                2 = |x: &[V; 4]| x[2].add_u32(x[3]);
                1 = |x: &[V; 4]| x[1].xor(x[2]).rotl_u32::<12>();
                0 = |x: &[V; 4]| x[0].add_u32(x[1]);
                3 = |x: &[V; 4]| x[3].xor(x[0]).rotl8_u32(by8);
                2 = |x: &[V; 4]| x[2].add_u32(x[3]);
                1 = |x: &[V; 4]| x[1].xor(x[2]).rotl_u32::<7>();
            }
        };
    }
    for _ in 0..DOUBLE_ROUNDS {
        quarter_rounds!();
        // Diagonals become columns.
        each! {
            1 = |x: &[V; 4]| x[1].shuffle_u32::<1, 2, 3, 0>();
            2 = |x: &[V; 4]| x[2].shuffle_u32::<2, 3, 0, 1>();
            3 = |x: &[V; 4]| x[3].shuffle_u32::<3, 0, 1, 2>();
        }
        quarter_rounds!();
        each! {
            1 = |x: &[V; 4]| x[1].shuffle_u32::<3, 0, 1, 2>();
            2 = |x: &[V; 4]| x[2].shuffle_u32::<2, 3, 0, 1>();
            3 = |x: &[V; 4]| x[3].shuffle_u32::<1, 2, 3, 0>();
        }
    }
    if ADD {
        for (x, start) in x.iter_mut().zip(start) {
            *x = [0, 1, 2, 3].map(|row| x[row].add_u32(start[row]));
        }
    }
    x
}
