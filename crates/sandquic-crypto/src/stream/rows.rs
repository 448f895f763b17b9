//! From vectors that hold one word of several blocks to the blocks.

use crate::simd::Vector;

/// Gives `sink` every row of the blocks whose word i is the vector `word(i)`, with the place in `out` where it
/// belongs. Blocks 0 to 3 are the elements of the first lane, 4 to 7 those of the second.
#[inline(always)]
pub(crate) fn each_row<V: Vector>(word: impl Fn(usize) -> V, out: &mut [u8], sink: impl Fn(V, &mut [u8])) {
    let out = &mut out[..256 * V::LANES];
    if V::LANES == 1 {
        for r in 0..4 {
            for (b, row) in transpose(&word, r).into_iter().enumerate() {
                sink(row, &mut out[64 * b + 16 * r..]);
            }
        }
    } else {
        // Two rows of a block at a time, side by side in a vector.
        for half in 0..2 {
            let (rows, next) = (transpose(&word, 2 * half), transpose(&word, 2 * half + 1));
            for b in 0..4 {
                let (first, second) = rows[b].zip_lanes(next[b]);
                sink(first, &mut out[64 * b + 32 * half..]);
                sink(second, &mut out[64 * (b + 4) + 32 * half..]);
            }
        }
    }
}

/// Words 4r to 4r + 3 of each block of a lane: a 4 by 4 transposition.
#[inline(always)]
fn transpose<V: Vector>(word: &impl Fn(usize) -> V, r: usize) -> [V; 4] {
    let (a, b, c, d) = (word(4 * r), word(4 * r + 1), word(4 * r + 2), word(4 * r + 3));
    let (ab_low, ab_high) = (a.interleave_lo_u32(b), a.interleave_hi_u32(b));
    let (cd_low, cd_high) = (c.interleave_lo_u32(d), c.interleave_hi_u32(d));
    [
        ab_low.interleave_lo_u64(cd_low),
        ab_low.interleave_hi_u64(cd_low),
        ab_high.interleave_lo_u64(cd_high),
        ab_high.interleave_hi_u64(cd_high),
    ]
}
