//! GHASH by lookups of nibbles in registers.
//!
//! For a multiplier H there are the sixteen multiples T\[n\] = n H, reduced, of a high nibble n, and those of a low one,
//! which is worth x^4 times as much. They are stored by rows: row j holds byte j of all sixteen. One swizzle with a
//! block's nibbles then gives byte j of sixteen products, of which the one for the block's byte q belongs at byte q + j of
//! the result. So the rows are added up from the first to the last, moving the sum down by a byte after each: the sum is
//! stored every time, a byte further on, and what the next one leaves of it is a byte of the product. The 31 bytes are
//! reduced once.
//!
//! A group of two blocks, each with the tables of its own power of H, shares the moves and the reduction. Lookups are in
//! registers and the addresses of rows are fixed: nothing depends on secrets.
//!
//! Bits are in the order of GCM: the top bit of byte 0 is the coefficient of x^0, a move to higher bytes multiplies.

use core::hint::black_box;

use crate::{aes::bitslice::Beside, simd::Vector};

/// Rows of the multiples: byte j of those of a high nibble, then of a low one.
pub(crate) type Table = [[[u8; 16]; 2]; 16];

/// The tables of H and H^2, for groups of two blocks.
pub(crate) type Pair = [Table; 2];

/// Multiplies by x.
#[inline(always)]
pub(crate) fn times_x(h: u128) -> u128 {
    (h >> 1) ^ (0u128.wrapping_sub(h & 1) & (0xe1 << 120))
}

/// The tables of H^2 beside those of H.
#[inline(always)]
pub(crate) fn square<V: Vector>(first: &Table) -> Pair {
    let constants = Constants::load();
    // The multiple of H by the high nibble 8 is H.
    let mut power = core::array::from_fn(|j| first[j][0][8]);
    let mut product = Product([0; 32]);
    Group::<V, 1>::new([V::load(&power)]).all([first], &mut product, &constants);
    product.reduce(&constants).store(&mut power);
    let mut pair = [*first; 2];
    build::<V>(&power, &mut pair[1]);
    pair
}

/// Builds the tables of a multiplier.
#[inline(always)]
pub(crate) fn build<V: Vector>(h: &[u8; 16], table: &mut Table) {
    let mut multiple = u128::from_be_bytes(*h);
    for nibble in 0..2 {
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
        for (bytes, row) in table.iter_mut().zip(transpose(t)) {
            row.store(&mut bytes[nibble]);
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

/// Constants that the compiler shall not know.
struct Constants<V> {
    /// Zero: with it a move by one byte is `palignr`, without a swizzle that costs more.
    zero: V,
}

impl<V: Vector> Constants<V> {
    #[inline(always)]
    fn load() -> Self {
        Self { zero: V::opaque(&[0; 16]) }
    }
}

/// A product that is not yet reduced; the last byte is 0.
#[repr(align(32))]
struct Product([u8; 32]);

impl Product {
    #[inline(always)]
    fn reduce<V: Vector>(&self, c: &Constants<V>) -> V {
        let mask = V::splat_u8(15);
        let (first, second) = (V::load(&self.0[..16]), V::load(&self.0[16..]));
        let (high, low) = (second.shr_u32::<4>().and(mask), second.and(mask));
        let [[t0_high, t0_low], [t1_high, t1_low]] =
            REDUCE.each_ref().map(|t| t.each_ref().map(V::broadcast));
        let here = t0_high.swizzle(high).xor(t0_low.swizzle(low));
        let next = t1_high.swizzle(high).xor(t1_low.swizzle(low));
        // Nothing leaves at the top: byte 31 is 0.
        first.xor(here).xor(c.zero.align_bytes::<15>(next))
    }
}

/// G blocks that are multiplied, each by a power of H.
#[derive(Clone, Copy)]
pub(crate) struct Group<V, const G: usize> {
    high: [V; G],
    low: [V; G],
    sum: V,
}

impl<V: Vector, const G: usize> Group<V, G> {
    #[inline(always)]
    fn new(blocks: [V; G]) -> Self {
        let mask = V::splat_u8(15);
        Self {
            high: blocks.map(|block| block.shr_u32::<4>().and(mask)),
            low: blocks.map(|block| block.and(mask)),
            sum: V::zero(),
        }
    }

    #[inline(always)]
    fn row(&mut self, j: usize, tables: [&Table; G], product: &mut Product, c: &Constants<V>) {
        let mut row = V::zero();
        for g in (0..G).rev() {
            let [high, low] = tables[g][j].each_ref().map(V::broadcast);
            let both = high.swizzle(self.high[g]).xor(low.swizzle(self.low[g]));
            row = if g == G - 1 { both } else { row.xor(both) };
        }
        self.sum = if j == 0 { row } else { self.sum.align_bytes::<1>(c.zero).xor(row) };
        self.sum.store(&mut product.0[j..]);
    }

    /// Eight rows of the sixteen. (Not a loop: the compiler does not unroll one of this size.)
    #[inline(always)]
    fn half<const FROM: usize>(&mut self, tables: [&Table; G], product: &mut Product, c: &Constants<V>) {
        macro_rules! rows {
            ($($j:literal)*) => {$( self.row(FROM + $j, tables, product, c); )*};
        }
        rows!(0 1 2 3 4 5 6 7);
    }

    #[inline(always)]
    fn all(mut self, tables: [&Table; G], product: &mut Product, c: &Constants<V>) {
        self.half::<0>(tables, product, c);
        self.half::<8>(tables, product, c);
    }
}

/// Absorbs whole blocks, each turned round with `reverse`: in pairs if there are tables for it.
#[inline(always)]
pub(crate) fn absorb<V: Vector>(
    first: &Table,
    pair: Option<&Pair>,
    y: &mut [u8; 16],
    blocks: &[u8],
    reverse: bool,
) {
    let backwards = V::opaque(&super::REVERSE);
    let constants = Constants::load();
    let load = |block: &[u8]| {
        let block = V::load(block);
        if reverse { block.swizzle(backwards) } else { block }
    };
    let mut sum = V::load(y);
    let mut product = Product([0; 32]);
    let mut rest = blocks;
    if let Some(tables) = pair {
        let (pairs, last) = blocks.as_chunks::<32>();
        for pair in pairs {
            // Opaque, lest the rows be loaded once before the loop, which makes spilled registers of them.
            let [h1, h2] = black_box(tables);
            let blocks = [load(&pair[..16]).xor(sum), load(&pair[16..])];
            Group::new(blocks).all([h2, h1], &mut product, &constants);
            sum = product.reduce(&constants);
        }
        rest = last;
    }
    for block in rest.as_chunks::<16>().0 {
        Group::new([load(block).xor(sum)]).all([black_box(first)], &mut product, &constants);
        sum = product.reduce(&constants);
    }
    sum.store(y);
}

/// GHASH of two blocks at a time, in halves that go beside other work.
pub(crate) struct Pairs<'a, V> {
    tables: &'a Pair,
    constants: Constants<V>,
    product: Product,
}

impl<'a, V: Vector> Pairs<'a, V> {
    #[inline(always)]
    pub(crate) fn new(tables: &'a Pair) -> Self {
        Self { tables, constants: Constants::load(), product: Product([0; 32]) }
    }

    /// What has been absorbed so far.
    #[inline(always)]
    pub(crate) fn sum(&self) -> V {
        self.product.reduce(&self.constants)
    }

    /// Absorbs whole blocks by themselves.
    #[inline(always)]
    pub(crate) fn absorb(&mut self, key: &super::HashKey, blocks: &[u8]) {
        if blocks.is_empty() {
            return;
        }
        let mut y = [0; 16];
        self.sum().store(&mut y);
        key.absorb(&mut y, blocks, false);
        self.product.0 = [0; 32];
        self.product.0[..16].copy_from_slice(&y);
    }

    /// Takes on pairs of blocks.
    #[inline(always)]
    pub(crate) fn beside<'p>(&'p mut self, pairs: &'p [[u8; 32]]) -> PairsBeside<'p, 'a, V> {
        PairsBeside { pairs: self, blocks: pairs }
    }
}

/// Pairs of blocks to absorb.
pub(crate) struct PairsBeside<'p, 'a, V> {
    pairs: &'p mut Pairs<'a, V>,
    pub(crate) blocks: &'p [[u8; 32]],
}

impl<V: Vector> Beside for PairsBeside<'_, '_, V> {
    type Step = Group<V, 2>;

    #[inline(always)]
    fn steps(&self) -> usize {
        self.blocks.len()
    }

    #[inline(always)]
    fn start(&mut self) -> Group<V, 2> {
        let Some((pair, rest)) = self.blocks.split_first() else { return Group::new([V::zero(); 2]) };
        self.blocks = rest;
        let sum = self.pairs.sum();
        Group::new([V::load(&pair[..16]).xor(sum), V::load(&pair[16..])])
    }

    #[inline(always)]
    fn part<const N: usize>(&mut self, group: &mut Group<V, 2>) {
        let [h1, h2] = black_box(self.pairs.tables);
        let (product, constants) = (&mut self.pairs.product, &self.pairs.constants);
        if N == 0 {
            group.half::<0>([h2, h1], product, constants);
        } else {
            group.half::<8>([h2, h1], product, constants);
        }
    }

    #[inline(always)]
    fn last(&mut self) {}
}
