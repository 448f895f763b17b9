//! GHASH by lookups of nibbles in registers.
//!
//! For a multiplier H there are the sixteen multiples T\[n\] = n H of a high nibble n and the sixteen x^4 n H of a low
//! one, reduced. They are stored by rows: row j holds byte j of all sixteen. One swizzle with a block's nibbles then
//! gives byte j of sixteen products, of which the one for the block's byte q belongs at byte q + j of the result. So the
//! rows are added up from the last to the first, moving the sum by a byte after each, and the 31 bytes are reduced once.
//!
//! A group of G blocks, each with the table of its own power of H, shares the moves and the reduction. Lookups are in
//! registers and the addresses of rows are fixed: nothing depends on secrets.
//!
//! Bits are in the order of GCM: the top bit of byte 0 is the coefficient of x^0, a move to higher bytes multiplies.

use crate::simd::Vector;

/// Rows of the tables for high and low nibbles.
pub(crate) type Table = [[[u8; 16]; 2]; 16];

/// The number of powers of H that have a table, and of blocks in a group: with eight the nibbles no longer fit in the
/// sixteen registers of x86.
pub(crate) const POWERS: usize = 4;

/// The tables of H, H^2, H^3, H^4.
pub(crate) type Tables = [Table; POWERS];

/// Multiplies by x.
#[inline(always)]
pub(crate) fn times_x(h: u128) -> u128 {
    (h >> 1) ^ (0u128.wrapping_sub(h & 1) & (0xe1 << 120))
}

/// Builds the tables.
#[inline(always)]
pub(crate) fn build<V: Vector>(h: &[u8; 16], tables: &mut Tables) {
    let mut power = *h;
    for i in 0..POWERS {
        if i > 0 {
            let product = multiply::<V, 1>(&[&tables[0]], [V::load(&power)]);
            product.store(&mut power);
        }
        let mut multiple = u128::from_be_bytes(power);
        for half in 0..2 {
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
            for (rows, row) in tables[i].iter_mut().zip(transpose(t)) {
                row.store(&mut rows[half]);
            }
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

/// The sum of G blocks, each times the power of H whose table is at its place.
#[inline(always)]
fn multiply<V: Vector, const G: usize>(tables: &[&Table; G], blocks: [V; G]) -> V {
    let mask = V::splat_u8(15);
    let high = blocks.map(|block| block.shr_u32::<4>().and(mask));
    let low = blocks.map(|block| block.and(mask));
    let row = |j: usize| {
        let product = |g: usize| {
            let rows = &tables[g][j];
            V::broadcast(&rows[0]).swizzle(high[g]).xor(V::broadcast(&rows[1]).swizzle(low[g]))
        };
        // The first block waits for the group before this one: it comes last.
        let mut sum = product(G - 1);
        for g in (0..G - 1).rev() {
            sum = sum.xor(product(g));
        }
        sum
    };
    let mut sum = row(15);
    let mut over = V::zero();
    for j in (0..15).rev() {
        over = sum.align_bytes::<15>(over);
        sum = sum.shl_bytes::<1>().xor(row(j));
    }
    let reduce = |tables: &[[u8; 16]; 2]| {
        let high = V::broadcast(&tables[0]).swizzle(over.shr_u32::<4>().and(mask));
        high.xor(V::broadcast(&tables[1]).swizzle(over.and(mask)))
    };
    // Byte 31 is zero, so nothing is reduced twice.
    sum.xor(reduce(&REDUCE[0])).xor(reduce(&REDUCE[1]).shl_bytes::<1>())
}

/// Absorbs whole blocks, each turned round with `reverse`.
#[inline(always)]
pub(crate) fn absorb<V: Vector>(tables: &Tables, y: &mut [u8; 16], blocks: &[u8], reverse: bool) {
    let [h1, h2, h3, h4] = tables;
    let backwards = V::opaque(&super::REVERSE);
    let mut sum = V::load(y);
    let load = |block: &[u8]| {
        let block = V::load(block);
        if reverse { block.swizzle(backwards) } else { block }
    };
    let (fours, rest) = blocks.as_chunks::<64>();
    for four in fours {
        let [a, b, c, d] = [0, 16, 32, 48].map(|at| load(&four[at..]));
        sum = multiply::<V, 4>(&[h4, h3, h2, h1], [a.xor(sum), b, c, d]);
    }
    match rest.len() / 16 {
        1 => sum = multiply::<V, 1>(&[h1], [load(rest).xor(sum)]),
        2 => sum = multiply::<V, 2>(&[h2, h1], [load(rest).xor(sum), load(&rest[16..])]),
        3 => {
            let blocks = [load(rest).xor(sum), load(&rest[16..]), load(&rest[32..])];
            sum = multiply::<V, 3>(&[h3, h2, h1], blocks);
        }
        _ => {}
    }
    sum.store(y);
}
