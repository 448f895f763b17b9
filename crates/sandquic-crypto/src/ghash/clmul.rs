//! GHASH on carry-less multiplication.
//!
//! Blocks are turned round, so that bit i of a vector is the coefficient of x^(127 - i), and the key is multiplied by x
//! once: then GHASH is POLYVAL (RFC 8452, appendix A), whose product a b x^-128 modulo x^128 + x^127 + x^126 + x^121 + 1
//! needs no shift by a bit.

use crate::simd::{ClmulInstructions, Vector};

/// Blocks that share a reduction at most.
pub(crate) const POWERS: usize = 16;

/// The powers H^16, .., H^2, H as POLYVAL takes them, and a zero: with vectors of two lanes an odd block stands beside it.
pub(crate) type Powers = [[u8; 16]; POWERS + 1];

/// A product not yet reduced.
#[derive(Clone, Copy)]
pub(crate) struct Wide<W> {
    low: W,
    middle: W,
    high: W,
}

impl<W: Vector> Wide<W> {
    #[inline(always)]
    pub(crate) fn zero() -> Self {
        Self { low: W::zero(), middle: W::zero(), high: W::zero() }
    }

    /// Adds a product.
    #[inline(always)]
    pub(crate) fn add<C: ClmulInstructions<W = W>>(self, clmul: C, a: W, b: W) -> Self {
        Self {
            low: self.low.xor(clmul.mul_lo_lo(a, b)),
            middle: self.middle.xor(clmul.mul_lo_hi(a, b)).xor(clmul.mul_hi_lo(a, b)),
            high: self.high.xor(clmul.mul_hi_hi(a, b)),
        }
    }

    /// Divides by x^128 and reduces: twice, the lower 64 bits are cancelled by a multiple of the modulus, which is
    /// 1 modulo x^64 and has 0xc2 << 56 above.
    #[inline(always)]
    pub(crate) fn reduce<C: ClmulInstructions<W = W>>(self, clmul: C) -> W {
        let modulus = W::splat_u64(0xc2 << 56);
        let low = self.low.xor(self.middle.shl_bytes::<8>());
        let high = self.high.xor(self.middle.shr_bytes::<8>());
        let low = low.shuffle_u32::<2, 3, 0, 1>().xor(clmul.mul_lo_lo(low, modulus));
        let low = low.shuffle_u32::<2, 3, 0, 1>().xor(clmul.mul_lo_lo(low, modulus));
        low.xor(high)
    }

    /// Reduces the sum of all lanes, into the first.
    #[inline(always)]
    pub(crate) fn reduce_lanes<C: ClmulInstructions<W = W>>(self, clmul: C) -> W {
        let reduced = self.reduce(clmul);
        if W::LANES == 1 {
            return reduced;
        }
        let (first, second) = reduced.zip_lanes(W::zero());
        first.xor(second)
    }
}

/// The powers of H.
#[inline(always)]
pub(crate) fn build<C: ClmulInstructions>(clmul: C, h: &[u8; 16]) -> Powers {
    let turned = u128::from_be_bytes(*h);
    let top = 0u128.wrapping_sub(turned >> 127);
    let times_x = (turned << 1) ^ (top & ((0xc2 << 120) | 1));
    let first = C::W::load(&times_x.to_le_bytes());
    let square = Wide::zero().add(clmul, first, first).reduce(clmul);
    let (mut odd, mut even) = (first, square);
    let mut powers = [[0; 16]; POWERS + 1];
    // Two chains of products, since a product waits for the one before.
    for i in (0..POWERS).step_by(2).rev() {
        odd.store(&mut powers[i + 1]);
        even.store(&mut powers[i]);
        odd = Wide::zero().add(clmul, odd, square).reduce(clmul);
        even = Wide::zero().add(clmul, even, square).reduce(clmul);
    }
    powers
}

/// Absorbs whole blocks; GHASH's are turned round, POLYVAL's (`reverse`) are as they must be.
#[inline(always)]
pub(crate) fn absorb<C: ClmulInstructions>(
    clmul: C,
    powers: &Powers,
    y: &mut [u8; 16],
    blocks: &[u8],
    reverse: bool,
) {
    let backwards = C::W::opaque(&super::REVERSE);
    let load = |block: &[u8; 16]| {
        let block = C::W::load(block);
        if reverse { block } else { block.swizzle(backwards) }
    };
    let mut sum = C::W::load(y).swizzle(backwards);
    for group in blocks.as_chunks::<16>().0.chunks(8) {
        let mut wide = Wide::zero();
        for (i, block) in group.iter().enumerate() {
            let block = if i == 0 { load(block).xor(sum) } else { load(block) };
            wide = wide.add(clmul, block, C::W::load(&powers[POWERS - group.len() + i]));
        }
        sum = wide.reduce(clmul);
    }
    sum.swizzle(backwards).store(y);
}
