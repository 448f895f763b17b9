//! Poly1305 over two 64-bit limbs with 128-bit products: the form for 64-bit machines and for WebAssembly with
//! `wide-arithmetic`.
//!
//! An accumulator is `h0 + 2^64 h1 + 2^128 h2`. Between blocks `h2 <= 4`; a clamped r has limbs below 2^60, so sums of
//! three products stay below 2^126.

#[cfg(feature = "zeroize")]
use crate::wipe::wipe;

/// The clamped multiplier r, and `5/4 r1` (clamping makes r1 divisible by four).
#[derive(Clone, Copy)]
pub(crate) struct Multiplier {
    r: [u64; 2],
    s1: u64,
}

/// A partly reduced element of GF(2^130 - 5).
#[derive(Clone, Copy, Default)]
pub(crate) struct Accumulator([u64; 3]);

#[inline(always)]
fn words(bytes: &[u8; 16]) -> [u64; 2] {
    let all = u128::from_le_bytes(*bytes);
    [all as u64, (all >> 64) as u64]
}

#[inline(always)]
fn wide(a: u64, b: u64) -> u128 {
    u128::from(a) * u128::from(b)
}

impl Multiplier {
    /// Clamps the first half of a Poly1305 key (RFC 8439, section 2.5).
    #[inline(always)]
    pub(crate) fn new(r: &[u8; 16]) -> Self {
        let w = words(r);
        let r = [w[0] & 0x0fff_fffc_0fff_ffff, w[1] & 0x0fff_fffc_0fff_fffc];
        Self { r, s1: r[1] + (r[1] >> 2) }
    }

    /// r in five limbs of 26 bits.
    pub(crate) fn to_limbs26(self) -> [u32; 5] {
        let [a, b] = self.r;
        let mask = 0x3ff_ffff;
        [a & mask, (a >> 26) & mask, ((a >> 52) | (b << 12)) & mask, (b >> 14) & mask, b >> 40]
            .map(|x| x as u32)
    }
}

impl Accumulator {
    /// Adds one block, with `high` (0 or 1) as its bit 128, and multiplies by r.
    #[inline(always)]
    pub(crate) fn block(&mut self, by: &Multiplier, block: &[u8; 16], high: u32) {
        let m = words(block);
        let (h0, carry) = self.0[0].overflowing_add(m[0]);
        let h1 = u128::from(self.0[1]) + u128::from(m[1]) + u128::from(carry);
        self.0 = [h0, h1 as u64, self.0[2] + (h1 >> 64) as u64 + u64::from(high)];
        self.multiply(by);
    }

    /// As [`block`](Self::block) of a whole block, at this place between other work: without the store, Cranelift would put
    /// all blocks of a loop at its end.
    #[inline(always)]
    pub(crate) fn block_here(&mut self, by: &Multiplier, block: &[u8; 16]) {
        self.block(by, block, 1);
        core::hint::black_box(self.0[0]);
    }

    /// Multiplies by r.
    #[inline(always)]
    pub(crate) fn multiply(&mut self, by: &Multiplier) {
        let [h0, h1, h2] = self.0;
        let [r0, r1] = by.r;
        // h2 is below 8, so its products with r and 5/4 r1 fit in 64 bits.
        let d0 = wide(h0, r0) + wide(h1, by.s1);
        let d1 = wide(h0, r1) + wide(h1, r0) + u128::from(h2 * by.s1);
        let d1 = d1 + (d0 >> 64);
        let d2 = (h2 * r0).wrapping_add((d1 >> 64) as u64);
        let fold = (d2 & !3) + (d2 >> 2);
        let (h0, carry) = (d0 as u64).overflowing_add(fold);
        let (h1, carry) = (d1 as u64).overflowing_add(u64::from(carry));
        self.0 = [h0, h1, (d2 & 3) + u64::from(carry)];
    }

    /// Adds an element given as limbs of 26 bits, each below 2^29.
    pub(crate) fn add_limbs26(&mut self, limbs: &[u64; 5]) {
        let t = limbs.map(u128::from);
        // The low four limbs reach 2^(78 + 29); the fifth joins in two parts, below and above bit 128.
        let low = t[0] + (t[1] << 26) + (t[2] << 52) + (t[3] << 78);
        let (sum, c0) = low.overflowing_add((t[4] & 0xff_ffff) << 104);
        let (sum, c1) = sum.overflowing_add(u128::from(self.0[0]) | (u128::from(self.0[1]) << 64));
        let top = self.0[2] + (limbs[4] >> 24) + u64::from(c0) + u64::from(c1);
        let (sum, c2) = sum.overflowing_add(u128::from((top >> 2) * 5));
        self.0 = [sum as u64, (sum >> 64) as u64, (top & 3) + u64::from(c2)];
    }

    /// In five limbs of 26 bits; the last may have a few more.
    pub(crate) fn to_limbs26(self) -> [u32; 5] {
        let [a, b, c] = self.0;
        let mask = 0x3ff_ffff;
        [a & mask, (a >> 26) & mask, ((a >> 52) | (b << 12)) & mask, (b >> 14) & mask, (b >> 40) | (c << 24)]
            .map(|x| x as u32)
    }

    /// The tag: the accumulator reduced modulo 2^130 - 5, plus the second half of the key, modulo 2^128.
    pub(crate) fn tag(self, pad: &[u8; 16]) -> [u8; 16] {
        let [h0, h1, h2] = self.0;
        let low = u128::from(h0) | (u128::from(h1) << 64);
        // Fold bit 130 and above first; h2 <= 4 before, so at most one more than 3 can be left after it.
        let (low, carry) = low.overflowing_add(u128::from((h2 >> 2) * 5));
        let h2 = (h2 & 3) + u64::from(carry);
        // h >= p exactly when h + 5 reaches 2^130; then h - p has the low 128 bits of h + 5.
        let (plus5, carry) = low.overflowing_add(5);
        let take = 0u128.wrapping_sub(u128::from(((h2 + u64::from(carry)) >> 2) & 1));
        let reduced = (low & !take) | (plus5 & take);
        reduced.wrapping_add(u128::from_le_bytes(*pad)).to_le_bytes()
    }
}

#[cfg(feature = "zeroize")]
impl Multiplier {
    pub(crate) fn wipe(&mut self) {
        wipe(&mut self.r);
        wipe(core::slice::from_mut(&mut self.s1));
    }
}

#[cfg(feature = "zeroize")]
impl Accumulator {
    pub(crate) fn wipe(&mut self) {
        wipe(&mut self.0);
    }
}
