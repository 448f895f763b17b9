//! Poly1305 in limbs of 13 bits with 16-bit dot products, four blocks per 128-bit lane of a vector.
//!
//! Each 32-bit element follows every n-th block (n = 4 or 8 of them in a vector) and is multiplied by r^n. The
//! accumulator h is in ten limbs, packed as five vectors of 16-bit pairs (h\[2j\], h\[2j+1\]). With R the limbs of r^n,
//! balanced (|R| <= 4,101), and C\[m\] = R\[m\] for m >= 0, 5 R\[m + 10\] below, limb k of the product is
//! `sum over i of h[i] C[k - i]`, so five dot products with the pairs (C\[m\], C\[m - 1\]), m = k - 2j.
//!
//! Bounds: between steps 0 <= h\[2j\] < 2^13 and -160 <= h\[2j+1\] < 2^13 + 160. A sum is largest for k = 0:
//! 8,351 x (4,101 + 9 x 20,505) = 1.58e9, plus a message limb of 26 bits 1.65e9 < 2^31.
//! The last carries go from even to odd limbs: an even limb must not be negative, for a pair is joined with `or`.

use super::{Accumulator, Multiplier};
use crate::simd::Vector;

/// Blocks for which building r^n pays; fewer go through the scalar code.
pub(crate) const THRESHOLD: usize = 20;

/// The eighteen pairs (C\[m\], C\[m - 1\]) for m = -8..=9 of r^n, each in one word.
#[derive(Clone)]
pub(crate) struct Power {
    pairs: [u32; 18],
    /// 0 until it is built, then n.
    exponent: usize,
}

impl Power {
    pub(crate) const UNBUILT: Self = Self { pairs: [0; 18], exponent: 0 };

    #[inline(always)]
    fn build(&mut self, r: &Multiplier, exponent: usize) {
        if self.exponent != exponent {
            *self = Self::new(r, exponent);
        }
    }

    /// The eighteen words.
    #[cfg(test)]
    pub(super) fn pairs(&self) -> [u32; 18] {
        self.pairs
    }

    /// r^exponent; a power of two.
    pub(super) fn new(r: &Multiplier, exponent: usize) -> Self {
        let mut power = r.to_limbs26().map(u64::from);
        for _ in 0..exponent.trailing_zeros() {
            power = square(power);
        }
        let limbs = balanced(power);
        let c = |m: i32| if m >= 0 { limbs[m as usize] } else { 5 * limbs[(m + 10) as usize] };
        let pair = |m: i32| (c(m) as u32 & 0xffff) | ((c(m - 1) as u32) << 16);
        Self { pairs: core::array::from_fn(|i| pair(i as i32 - 8)), exponent }
    }
}

/// Ten balanced limbs of 13 bits from five of 26, the first of which may be at 2^26 or a little above.
pub(super) fn balanced(power: [u64; 5]) -> [i32; 10] {
    let mut limbs = [0; 10];
    let mut carry = 0;
    for (i, limb) in limbs.iter_mut().enumerate() {
        let half = if i % 2 == 0 { power[i / 2] & 0x1fff } else { power[i / 2] >> 13 };
        let bits = half as i32 + carry;
        carry = (bits + 0x1000) >> 13;
        *limb = bits - (carry << 13);
    }
    limbs[0] += 5 * carry;
    limbs
}

/// Squares an element in limbs of 26 bits (at most 2^26 + 2^10 each); the result is again that small, below 2^26 but
/// for limb 0, which is below 2^26 + 5.
fn square(a: [u64; 5]) -> [u64; 5] {
    let [a0, a1, a2, a3, a4] = a;
    let (b3, b4) = (5 * a3, 5 * a4);
    let mut t = [
        a0 * a0 + 2 * (a1 * b4 + a2 * b3),
        2 * (a0 * a1 + a2 * b4) + a3 * b3,
        2 * (a0 * a2 + a3 * b4) + a1 * a1,
        2 * (a0 * a3 + a1 * a2) + a4 * b4,
        2 * (a0 * a4 + a1 * a3) + a2 * a2,
    ];
    let mut carry = 0;
    for limb in &mut t {
        *limb += carry;
        carry = *limb >> 26;
        *limb &= 0x3ff_ffff;
    }
    t[0] += 5 * carry;
    // The carry was below 2^36: one more pass over all limbs makes them exact but for a last wrap into limb 0, which
    // leaves it below 2^26 + 5.
    carry = 0;
    for limb in &mut t {
        *limb += carry;
        carry = *limb >> 26;
        *limb &= 0x3ff_ffff;
    }
    t[0] += 5 * carry;
    t
}

/// The accumulator of every element of a vector, and the multiplier.
#[derive(Clone, Copy)]
pub(crate) struct Lanes<V> {
    h: [V; 5],
    pairs: [V; 18],
}

impl<V: Vector> Lanes<V> {
    /// Bytes of a step.
    pub(crate) const STEP: usize = 64 * V::LANES;

    /// Begins with one step's blocks.
    #[inline(always)]
    pub(crate) fn new(h: &Accumulator, r: &Multiplier, power: &mut Power, first: &[u8]) -> Self {
        power.build(r, 4 * V::LANES);
        let start = h.to_limbs26();
        let mut sums = message::<V>(first);
        for (sum, limb) in sums.iter_mut().zip(start) {
            // What was absorbed before joins the first block.
            *sum = sum.add_u32(V::from_lanes_u32(|lane| [if lane == 0 { limb } else { 0 }, 0, 0, 0]));
        }
        let zero = V::zero();
        let [a, b, c, d, e] = sums;
        let h = carry([a, zero, b, zero, c, zero, d, zero, e, zero]);
        let mut pairs = [zero; 18];
        for (pair, word) in pairs.iter_mut().zip(power.pairs) {
            *pair = V::splat_u32(word);
        }
        Self { h, pairs }
    }

    /// Multiplies, and adds one step's blocks.
    #[inline(always)]
    pub(crate) fn step(&mut self, chunk: &[u8]) {
        let m = message::<V>(chunk);
        let mut product = [V::zero(); 10];
        // Loops and macros, not closures: natively a closure is compiled without the caller's instructions.
        for (k, product) in product.iter_mut().enumerate() {
            macro_rules! term {
                ($j:literal) => {
                    self.h[$j].dot_i16(self.pairs[k + 8 - 2 * $j])
                };
            }
            let sum = term!(0).add_u32(term!(1)).add_u32(term!(2).add_u32(term!(3))).add_u32(term!(4));
            *product = if k % 2 == 0 { sum.add_u32(m[k / 2]) } else { sum };
        }
        self.h = carry(product);
    }

    /// Joins the elements.
    #[inline(always)]
    pub(crate) fn finish(self, r: &Multiplier) -> Accumulator {
        merge(self.h, r)
    }
}

/// Absorbs whole blocks, as many as make up full vectors, and returns how many bytes that was.
#[inline(always)]
pub(crate) fn absorb<V: Vector>(
    h: &mut Accumulator,
    r: &Multiplier,
    power: &mut Power,
    blocks: &[u8],
) -> usize {
    let mut chunks = blocks.chunks_exact(Lanes::<V>::STEP);
    let Some(first) = chunks.next() else { return 0 };
    let mut lanes = Lanes::<V>::new(h, r, power, first);
    for chunk in &mut chunks {
        lanes.step(chunk);
    }
    *h = lanes.finish(r);
    blocks.len() / Lanes::<V>::STEP * Lanes::<V>::STEP
}

/// The blocks of one step in limbs of 26 bits, bit 128 set: element e of lane l has block e LANES + l.
#[inline(always)]
fn message<V: Vector>(chunk: &[u8]) -> [V; 5] {
    let chunk = &chunk[..4 * V::BYTES];
    let (a, b) = (V::load(chunk), V::load(&chunk[V::BYTES..]));
    let (c, d) = (V::load(&chunk[2 * V::BYTES..]), V::load(&chunk[3 * V::BYTES..]));
    let (ab0, ab1) = (a.interleave_lo_u32(b), a.interleave_hi_u32(b));
    let (cd0, cd1) = (c.interleave_lo_u32(d), c.interleave_hi_u32(d));
    let (w0, w1) = (ab0.interleave_lo_u64(cd0), ab0.interleave_hi_u64(cd0));
    let (w2, w3) = (ab1.interleave_lo_u64(cd1), ab1.interleave_hi_u64(cd1));
    let mask = V::splat_u32(0x3ff_ffff);
    [
        w0.and(mask),
        w0.shr_u32::<26>().or(w1.shl_u32::<6>()).and(mask),
        w1.shr_u32::<20>().or(w2.shl_u32::<12>()).and(mask),
        w2.shr_u32::<14>().or(w3.shl_u32::<18>()).and(mask),
        w3.shr_u32::<8>().or(V::splat_u32(1 << 24)),
    ]
}

/// Carries from even limbs, from odd, from even again, and joins the pairs.
#[inline(always)]
fn carry<V: Vector>(p: [V; 10]) -> [V; 5] {
    let mask = V::splat_u32(0x1fff);
    let [mut e0, o0, mut e1, o1, mut e2, o2, mut e3, o3, mut e4, o4] = p;
    let o0 = o0.add_u32(e0.shr_i32::<13>());
    let o1 = o1.add_u32(e1.shr_i32::<13>());
    let o2 = o2.add_u32(e2.shr_i32::<13>());
    let o3 = o3.add_u32(e3.shr_i32::<13>());
    let o4 = o4.add_u32(e4.shr_i32::<13>());
    let wrap = o4.shr_i32::<13>();
    e0 = e0.and(mask).add_u32(wrap).add_u32(wrap.shl_u32::<2>());
    e1 = e1.and(mask).add_u32(o0.shr_i32::<13>());
    e2 = e2.and(mask).add_u32(o1.shr_i32::<13>());
    e3 = e3.and(mask).add_u32(o2.shr_i32::<13>());
    e4 = e4.and(mask).add_u32(o3.shr_i32::<13>());
    macro_rules! join {
        ($e:ident, $o:ident) => {
            $o.and(mask).add_u32($e.shr_i32::<13>()).shl_u32::<16>().or($e.and(mask))
        };
    }
    [join!(e0, o0), join!(e1, o1), join!(e2, o2), join!(e3, o3), join!(e4, o4)]
}

/// Joins the elements by Horner's rule: the one with the oldest block first, a multiplication by r after each.
#[inline(always)]
fn merge<V: Vector>(pairs: [V; 5], r: &Multiplier) -> Accumulator {
    // Twice p in limbs of 26 bits, so that a slightly negative limb becomes positive.
    const BIAS: [u64; 5] = [0x7ff_fff6, 0x7ff_fffe, 0x7ff_fffe, 0x7ff_fffe, 0x7ff_fffe];
    let mut bytes = [[0u8; 32]; 5];
    for (bytes, pair) in bytes.iter_mut().zip(pairs) {
        pair.store(bytes);
    }
    let mut h = Accumulator::default();
    for position in 0..4 * V::LANES {
        let (element, lane) = (position / V::LANES, position % V::LANES);
        let at = 16 * lane + 4 * element;
        let limbs = core::array::from_fn(|j| {
            let even = u16::from_le_bytes([bytes[j][at], bytes[j][at + 1]]);
            let odd = i16::from_le_bytes([bytes[j][at + 2], bytes[j][at + 3]]);
            BIAS[j].wrapping_add(u64::from(even)).wrapping_add_signed(i64::from(odd) << 13)
        });
        h.add_limbs26(&limbs);
        h.multiply(r);
    }
    h
}

#[cfg(feature = "zeroize")]
impl Power {
    pub(crate) fn wipe(&mut self) {
        // Most messages never build it.
        if self.exponent != 0 {
            crate::wipe::wipe(&mut self.pairs);
            self.exponent = 0;
        }
    }
}
