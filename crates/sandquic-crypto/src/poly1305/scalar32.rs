//! Poly1305 over four 32-bit limbs with 64-bit products: the form for engines without a 64 x 64 -> 128
//! multiplication.
//!
//! An accumulator is `h0 + 2^32 h1 + 2^64 h2 + 2^96 h3`. Between blocks `h1, h2 < 2^32`, `h0 < 2.02 x 2^32` and
//! `h3 < 2^34`: the two bits above 2^128 stay in the top limb, which saves the products with a fifth one. A block makes
//! them at most `h0 < 3.02 x 2^32`, `h1, h2 < 2^33`, `h3 < 2^34 + 2^33`; limbs of a clamped r are below 2^28 and `5/4` of
//! them below 1.25 x 2^28; so the largest sum of four products, the lowest, is below 1.79e19 < 2^64.

#[cfg(feature = "zeroize")]
use crate::wipe::wipe;

/// The clamped multiplier r, and `5/4 r` of its upper limbs (clamping makes them divisible by four).
#[derive(Clone, Copy)]
pub(crate) struct Multiplier {
    r: [u64; 4],
    s: [u64; 3],
}

/// A partly reduced element of GF(2^130 - 5).
#[derive(Clone, Copy, Default)]
pub(crate) struct Accumulator([u64; 4]);

#[inline(always)]
fn words(bytes: &[u8; 16]) -> [u32; 4] {
    let word = |i: usize| u32::from_le_bytes([bytes[i], bytes[i + 1], bytes[i + 2], bytes[i + 3]]);
    [word(0), word(4), word(8), word(12)]
}

impl Multiplier {
    /// Clamps the first half of a Poly1305 key (RFC 8439, section 2.5).
    #[inline(always)]
    pub(crate) fn new(r: &[u8; 16]) -> Self {
        let w = words(r);
        let r = [w[0] & 0x0fff_ffff, w[1] & 0x0fff_fffc, w[2] & 0x0fff_fffc, w[3] & 0x0fff_fffc];
        let r = r.map(u64::from);
        Self { r, s: [r[1] + (r[1] >> 2), r[2] + (r[2] >> 2), r[3] + (r[3] >> 2)] }
    }

    /// r in five limbs of 26 bits.
    pub(crate) fn to_limbs26(self) -> [u32; 5] {
        let [a, b, c, d] = self.r.map(|limb| limb as u32);
        [
            a & 0x3ff_ffff,
            ((a >> 26) | (b << 6)) & 0x3ff_ffff,
            ((b >> 20) | (c << 12)) & 0x3ff_ffff,
            ((c >> 14) | (d << 18)) & 0x3ff_ffff,
            d >> 8,
        ]
    }
}

impl Accumulator {
    /// Adds one block, with `high` (0 or 1) as its bit 128, and multiplies by r.
    #[inline(always)]
    pub(crate) fn block(&mut self, by: &Multiplier, block: &[u8; 16], high: u32) {
        let m = words(block);
        for (limb, word) in self.0.iter_mut().zip(m) {
            *limb += u64::from(word);
        }
        self.0[3] += u64::from(high) << 32;
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
        let [h0, h1, h2, h3] = self.0;
        let [r0, r1, r2, r3] = by.r;
        let [s1, s2, s3] = by.s;
        // The multiplier's limbs come first: Cranelift puts a copy of a product's first factor where the product will be,
        // and of a limb that waits on the stack that is the load.
        let d0 = r0 * h0 + s3 * h1 + s2 * h2 + s1 * h3;
        let d1 = r1 * h0 + r0 * h1 + s3 * h2 + s2 * h3 + (d0 >> 32);
        let d2 = r2 * h0 + r1 * h1 + r0 * h2 + s3 * h3 + (d1 >> 32);
        let d3 = r3 * h0 + r2 * h1 + r1 * h2 + r0 * h3 + (d2 >> 32);
        let low = |x: u64| x & 0xffff_ffff;
        // 2^130 = 5: what lies above bit 130 comes back five-fold at the bottom.
        self.0 = [low(d0) + (d3 >> 34) * 5, low(d1), low(d2), d3 & 0x3_ffff_ffff];
    }

    /// Adds an element given as limbs of 26 bits, each below 2^29.
    pub(crate) fn add_limbs26(&mut self, limbs: &[u64; 5]) {
        let t = limbs;
        // Gathers bits into 32-bit words, low to high; a word's excess goes on to the next.
        let w0 = t[0] + ((t[1] & 0x3f) << 26);
        let w1 = (t[1] >> 6) + ((t[2] & 0xfff) << 20);
        let w2 = (t[2] >> 12) + ((t[3] & 0x3_ffff) << 14);
        let w3 = (t[3] >> 18) + ((t[4] & 0xff_ffff) << 8);
        let w3 = w3 + ((t[4] >> 24) << 32);
        for (limb, word) in self.0.iter_mut().zip([w0, w1, w2, w3]) {
            *limb += word;
        }
        self.carry();
    }

    /// Makes all limbs but h0 as small as between blocks, and h0 at most a few times five above 2^32.
    fn carry(&mut self) {
        let mut carry = 0;
        for limb in &mut self.0[..3] {
            let sum = *limb + carry;
            *limb = sum & 0xffff_ffff;
            carry = sum >> 32;
        }
        self.0[3] += carry;
        self.0[0] += (self.0[3] >> 34) * 5;
        self.0[3] &= 0x3_ffff_ffff;
    }

    /// In five limbs of 26 bits; the last may have a few more.
    pub(crate) fn to_limbs26(self) -> [u32; 5] {
        let [h0, h1, h2, h3] = self.0;
        let h1 = h1 + (h0 >> 32);
        let h2 = h2 + (h1 >> 32);
        let h3 = h3 + (h2 >> 32);
        let [a, b, c, d] = [h0 as u32, h1 as u32, h2 as u32, h3 as u32];
        let mask = 0x3ff_ffff;
        [
            a & mask,
            ((a >> 26) | (b << 6)) & mask,
            ((b >> 20) | (c << 12)) & mask,
            ((c >> 14) | (d << 18)) & mask,
            (h3 >> 8) as u32,
        ]
    }

    /// The tag: the accumulator reduced modulo 2^130 - 5, plus the second half of the key, modulo 2^128.
    pub(crate) fn tag(self, pad: &[u8; 16]) -> [u8; 16] {
        let mut h = self;
        // The first pass may wrap a carry around into h0, the second only after it left the other limbs small.
        h.carry();
        h.carry();
        h.carry();
        let [h0, h1, h2, h3] = h.0;
        let h = [h0, h1, h2, h3 & 0xffff_ffff, h3 >> 32];
        // h >= p exactly when h + 5 reaches 2^130; then h - p has the low 128 bits of h + 5.
        let mut plus5 = [0u64; 5];
        let mut carry = 5;
        for (out, limb) in plus5.iter_mut().zip(h) {
            let sum = limb + carry;
            *out = sum & 0xffff_ffff;
            carry = sum >> 32;
        }
        let take = 0u64.wrapping_sub((plus5[4] >> 2) & 1);
        let mut tag = [0; 16];
        let mut carry = 0;
        for (i, pad) in words(pad).into_iter().enumerate() {
            let limb = (h[i] & !take) | (plus5[i] & take);
            let sum = limb + u64::from(pad) + carry;
            tag[4 * i..4 * i + 4].copy_from_slice(&(sum as u32).to_le_bytes());
            carry = sum >> 32;
        }
        tag
    }
}

#[cfg(feature = "zeroize")]
impl Multiplier {
    pub(crate) fn wipe(&mut self) {
        wipe(&mut self.r);
        wipe(&mut self.s);
    }
}

#[cfg(feature = "zeroize")]
impl Accumulator {
    pub(crate) fn wipe(&mut self) {
        wipe(&mut self.0);
    }
}
