//! GHASH by lookups of nibbles in registers.
//!
//! For a multiplier H there are the sixteen multiples T\[n\] = n H, reduced, of a nibble n. They are stored by rows: row j
//! holds byte j of all sixteen. One swizzle with a block's nibbles then gives byte j of sixteen products, of which the one
//! for the block's byte q belongs at byte q + j of the result. So the rows are added up from the first to the last, moving
//! the sum down by a byte after each, and the 31 bytes are reduced once. High and low nibbles have sums of their own, which
//! are joined at the end: a low nibble is worth x^4 times a high one.
//!
//! A group of three blocks, each with the table of its own power of H, shares the moves and the reduction. Lookups are in
//! registers and the addresses of rows are fixed: nothing depends on secrets.
//!
//! Bits are in the order of GCM: the top bit of byte 0 is the coefficient of x^0, a move to higher bytes multiplies.

use core::hint::black_box;

use crate::simd::Vector;

/// Rows of the multiples.
pub(crate) type Table = [[u8; 16]; 16];

/// The number of powers of H that have a table, and of blocks in a group. With four, nibbles and sums no longer fit in the
/// sixteen registers of x86.
pub(crate) const POWERS: usize = 3;

/// The tables of H, H^2, H^3.
pub(crate) type Tables = [Table; POWERS];

/// Multiplies by x.
#[inline(always)]
pub(crate) fn times_x(h: u128) -> u128 {
    (h >> 1) ^ (0u128.wrapping_sub(h & 1) & (0xe1 << 120))
}

/// Builds the tables.
#[inline(always)]
pub(crate) fn build<V: Vector>(h: &[u8; 16], tables: &mut Tables) {
    let constants = Constants::load();
    let mut power = *h;
    for i in 0..POWERS {
        if i > 0 {
            multiply::<V, 1>([&tables[0]], [V::load(&power)], &constants).store(&mut power);
        }
        let mut multiple = u128::from_be_bytes(power);
        let mut t = [V::zero(); 16];
        for bit in [8, 4, 2, 1] {
            let v = V::load(&multiple.to_be_bytes());
            // Multiples with this as the lowest bit so far: those of the higher bits, plus it.
            let mut n = 0;
            while n < 16 {
                t[n + bit] = t[n].xor(v);
                n += 2 * bit;
            }
            multiple = times_x(multiple);
        }
        for (bytes, row) in tables[i].iter_mut().zip(transpose(t)) {
            row.store(bytes);
        }
    }
}

/// Transposes sixteen by sixteen bytes.
#[inline(always)]
fn transpose<V: Vector>(mut t: [V; 16]) -> [V; 16] {
    for _ in 0..4 {
        t = core::array::from_fn(|i| {
            let (a, b) = (t[i / 2], t[i / 2 + 8]);
            if i % 2 == 0 { a.interleave_lo_u8(b) } else { a.interleave_hi_u8(b) }
        });
    }
    t
}

/// What byte 16 + q of a product adds to byte q (first) and q + 1 (second), for its high and its low nibble:
/// x^128 = 1 + x + x^2 + x^7.
static REDUCE: [[[u8; 16]; 2]; 2] = {
    let mut tables = [[[0; 16]; 2]; 2];
    let mut n = 0;
    while n < 16 {
        let mut low = 0;
        while low < 2 {
            let byte = (n as u16) << (if low == 1 { 8 } else { 12 });
            let product = byte ^ (byte >> 1) ^ (byte >> 2) ^ (byte >> 7);
            tables[0][low][n] = (product >> 8) as u8;
            tables[1][low][n] = product as u8;
            low += 1;
        }
        n += 1;
    }
    tables
};

/// Indices that move bytes up by one.
static UP: [u8; 16] = [0x80, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14];
/// Indices that bring the last byte to the first place, alone.
static LAST: [u8; 16] =
    [15, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80];

struct Constants<V> {
    /// Zero, but the compiler does not know: with it a move by one byte is `palignr`, without a swizzle that costs more.
    zero: V,
    up: V,
    last: V,
}

impl<V: Vector> Constants<V> {
    #[inline(always)]
    fn load() -> Self {
        Self { zero: V::opaque(&[0; 16]), up: V::opaque(&UP), last: V::opaque(&LAST) }
    }
}

/// The sum of G blocks, each times the power of H whose table is at its place.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "one row of every table at a time")]
fn multiply<V: Vector, const G: usize>(tables: [&Table; G], blocks: [V; G], c: &Constants<V>) -> V {
    let mask = V::splat_u8(15);
    let high = blocks.map(|block| block.shr_u32::<4>().and(mask));
    let low = blocks.map(|block| block.and(mask));
    // What leaves a sum at the bottom is collected from the top: at the end bytes 0 to 14 of the product.
    let (mut sum_high, mut sum_low) = (V::zero(), V::zero());
    let (mut out_high, mut out_low) = (V::zero(), V::zero());
    for j in 0..16 {
        out_high = out_high.align_bytes::<1>(sum_high);
        out_low = out_low.align_bytes::<1>(sum_low);
        sum_high = sum_high.align_bytes::<1>(c.zero);
        sum_low = sum_low.align_bytes::<1>(c.zero);
        for g in (0..G).rev() {
            let row = V::broadcast(&tables[g][j]);
            sum_high = sum_high.xor(row.swizzle(high[g]));
            sum_low = sum_low.xor(row.swizzle(low[g]));
        }
    }
    // The first sum that left was the zero of the beginning; bytes 0 to 15 and 16 to 30:
    let (low0, low1) = (out_low.align_bytes::<1>(sum_low), sum_low.align_bytes::<1>(c.zero));
    let (high0, high1) = (out_high.align_bytes::<1>(sum_high), sum_high.align_bytes::<1>(c.zero));
    // Times x^4: each nibble moves to the next place.
    let high_mask = V::splat_u8(0xf0);
    let times_x4 =
        |here: V, before: V| here.shr_u32::<4>().and(mask).or(before.shl_u32::<4>().and(high_mask));
    let first = high0.xor(times_x4(low0, low0.swizzle(c.up)));
    let second = high1.xor(times_x4(low1, low0.align_bytes::<15>(low1)));
    // Reduce. Byte 31 has a high nibble only, and adds to byte 32 at most three bits, which are reduced again.
    let (n_high, n_low) = (second.shr_u32::<4>().and(mask), second.and(mask));
    let [[t0_high, t0_low], [t1_high, t1_low]] = REDUCE.each_ref().map(|t| t.each_ref().map(V::broadcast));
    let here = t0_high.swizzle(n_high).xor(t0_low.swizzle(n_low));
    let next = t1_high.swizzle(n_high).xor(t1_low.swizzle(n_low));
    let over = next.swizzle(c.last).shr_u32::<4>().and(mask);
    let here = here.xor(t0_high.swizzle(over));
    let next = next.swizzle(c.up).xor(t1_high.swizzle(over).swizzle(c.up));
    first.xor(here).xor(next)
}

/// Absorbs whole blocks, each turned round with `reverse`.
#[inline(always)]
pub(crate) fn absorb<V: Vector>(tables: &Tables, y: &mut [u8; 16], blocks: &[u8], reverse: bool) {
    let backwards = V::opaque(&super::REVERSE);
    let constants = Constants::load();
    let mut sum = V::load(y);
    let load = |block: &[u8]| {
        let block = V::load(block);
        if reverse { block.swizzle(backwards) } else { block }
    };
    let (threes, rest) = blocks.as_chunks::<48>();
    for three in threes {
        // Opaque, lest the rows be loaded once before the loop, which makes spilled registers of them.
        let [h1, h2, h3] = black_box(tables);
        let [a, b, c] = [0, 16, 32].map(|at| load(&three[at..]));
        sum = multiply([h3, h2, h1], [a.xor(sum), b, c], &constants);
    }
    match rest.len() {
        0 => {}
        16 => sum = multiply([&tables[0]], [load(rest).xor(sum)], &constants),
        _ => sum = multiply([&tables[1], &tables[0]], [load(rest).xor(sum), load(&rest[16..])], &constants),
    }
    sum.store(y);
}
