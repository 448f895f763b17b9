//! The field of P-256, the integers modulo p = 2^256 - 2^224 + 2^192 + 2^96 - 1.
//!
//! An element is nine signed digits of 29 bits, since WebAssembly has no product of more than 64 bits: those of two such
//! digits are summed in one word, nine at a time, without a carry. Elements stand in Montgomery's form, multiplied
//! by R = 2^261. p is -1 modulo 2^96, so the digits that a reduction multiplies p with are those that it takes away.
//!
//! Bounds, which `Element::check` asserts in tests. Let a be the largest of the digits' absolute values over 2^28. A product's
//! operands may have any with a a' <= 14: nine products of 2^28 and 2^28 are 2^59.2, and 14 times that is below 2^63. What
//! `mul` and `square` return has a <= 1 and, if its operands' absolute values are at most 8 p^2 when multiplied, one below
//! 0.75 p: half of p and a 32nd of those. What `mul_add` and `square_add` return has a <= 1.1 and an absolute value below
//! 0.6 p if their addend is at most ten such products. Sums and differences add both. The largest operands are those of a
//! doubling's alpha, 3 * 2.1 and 2.1.

/// An element of the field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element([i64; DIGITS]);

const DIGITS: usize = 9;
const BITS: u32 = 29;

/// What remains of a column of digits: the digit, and what is carried to the next column.
#[inline(always)]
const fn split(column: i64) -> (i64, i64) {
    let carry = (column + (1 << (BITS - 1))) >> BITS;
    (column - (carry << BITS), carry)
}

/// Montgomery's reduction of 17 columns of products, with `c` added to the result's digits.
///
/// A digit m of the first nine columns is taken away by adding m p: its -m at its own place, and 2^256 - 2^224 + 2^192 + 2^96
/// times m at places eight, seven, six and three above.
macro_rules! reduce {
    ($c:expr; $t0:expr, $t1:expr, $t2:expr, $t3:expr, $t4:expr, $t5:expr, $t6:expr, $t7:expr, $t8:expr, $t9:expr,
     $t10:expr, $t11:expr, $t12:expr, $t13:expr, $t14:expr, $t15:expr, $t16:expr $(,)?) => {{
        let (m0, carry) = split($t0);
        let (m1, carry) = split(carry + $t1);
        let (m2, carry) = split(carry + $t2);
        let (m3, carry) = split(carry + $t3 + (m0 << 9));
        let (m4, carry) = split(carry + $t4 + (m1 << 9));
        let (m5, carry) = split(carry + $t5 + (m2 << 9));
        let (m6, carry) = split(carry + $t6 + (m3 << 9) + (m0 << 18));
        let (m7, carry) = split(carry + $t7 + (m4 << 9) + (m1 << 18) - (m0 << 21));
        let (m8, carry) = split(carry + $t8 + (m5 << 9) + (m2 << 18) - (m1 << 21) + (m0 << 24));
        let c = $c;
        let high = (m6 << 9) + (m3 << 18) - (m2 << 21) + (m1 << 24);
        let (r0, carry) = split(carry + $t9 + high + c[0]);
        let high = (m7 << 9) + (m4 << 18) - (m3 << 21) + (m2 << 24);
        let (r1, carry) = split(carry + $t10 + high + c[1]);
        let high = (m8 << 9) + (m5 << 18) - (m4 << 21) + (m3 << 24);
        let (r2, carry) = split(carry + $t11 + high + c[2]);
        let (r3, carry) = split(carry + $t12 + (m6 << 18) - (m5 << 21) + (m4 << 24) + c[3]);
        let (r4, carry) = split(carry + $t13 + (m7 << 18) - (m6 << 21) + (m5 << 24) + c[4]);
        let (r5, carry) = split(carry + $t14 + (m8 << 18) - (m7 << 21) + (m6 << 24) + c[5]);
        let (r6, carry) = split(carry + $t15 - (m8 << 21) + (m7 << 24) + c[6]);
        let (r7, carry) = split(carry + $t16 + (m8 << 24) + c[7]);
        [r0, r1, r2, r3, r4, r5, r6, r7, carry + c[8]]
    }};
}

macro_rules! product {
    ($a:expr, $b:expr, $c:expr) => {{
        let [a0, a1, a2, a3, a4, a5, a6, a7, a8] = $a.0;
        let [b0, b1, b2, b3, b4, b5, b6, b7, b8] = $b.0;
        reduce!(
            $c;
            a0 * b0,
            a0 * b1 + a1 * b0,
            a0 * b2 + a1 * b1 + a2 * b0,
            a0 * b3 + a1 * b2 + a2 * b1 + a3 * b0,
            a0 * b4 + a1 * b3 + a2 * b2 + a3 * b1 + a4 * b0,
            a0 * b5 + a1 * b4 + a2 * b3 + a3 * b2 + a4 * b1 + a5 * b0,
            a0 * b6 + a1 * b5 + a2 * b4 + a3 * b3 + a4 * b2 + a5 * b1 + a6 * b0,
            a0 * b7 + a1 * b6 + a2 * b5 + a3 * b4 + a4 * b3 + a5 * b2 + a6 * b1 + a7 * b0,
            a0 * b8 + a1 * b7 + a2 * b6 + a3 * b5 + a4 * b4 + a5 * b3 + a6 * b2 + a7 * b1 + a8 * b0,
            a1 * b8 + a2 * b7 + a3 * b6 + a4 * b5 + a5 * b4 + a6 * b3 + a7 * b2 + a8 * b1,
            a2 * b8 + a3 * b7 + a4 * b6 + a5 * b5 + a6 * b4 + a7 * b3 + a8 * b2,
            a3 * b8 + a4 * b7 + a5 * b6 + a6 * b5 + a7 * b4 + a8 * b3,
            a4 * b8 + a5 * b7 + a6 * b6 + a7 * b5 + a8 * b4,
            a5 * b8 + a6 * b7 + a7 * b6 + a8 * b5,
            a6 * b8 + a7 * b7 + a8 * b6,
            a7 * b8 + a8 * b7,
            a8 * b8,
        )
    }};
}

macro_rules! square {
    ($a:expr, $c:expr) => {{
        let [a0, a1, a2, a3, a4, a5, a6, a7, a8] = $a.0;
        let [d0, d1, d2, d3, d4, d5, d6, d7] =
            [a0 << 1, a1 << 1, a2 << 1, a3 << 1, a4 << 1, a5 << 1, a6 << 1, a7 << 1];
        reduce!(
            $c;
            a0 * a0,
            d0 * a1,
            d0 * a2 + a1 * a1,
            d0 * a3 + d1 * a2,
            d0 * a4 + d1 * a3 + a2 * a2,
            d0 * a5 + d1 * a4 + d2 * a3,
            d0 * a6 + d1 * a5 + d2 * a4 + a3 * a3,
            d0 * a7 + d1 * a6 + d2 * a5 + d3 * a4,
            d0 * a8 + d1 * a7 + d2 * a6 + d3 * a5 + a4 * a4,
            d1 * a8 + d2 * a7 + d3 * a6 + d4 * a5,
            d2 * a8 + d3 * a7 + d4 * a6 + a5 * a5,
            d3 * a8 + d4 * a7 + d5 * a6,
            d4 * a8 + d5 * a7 + a6 * a6,
            d5 * a8 + d6 * a7,
            d6 * a8 + a7 * a7,
            d7 * a8,
            a8 * a8,
        )
    }};
}

impl Element {
    /// R modulo p, which is 1 in Montgomery's form.
    pub(super) const ONE: Self = Self([32, 0, 0, -16_384, 0, 0, -8_388_608, 67_108_864, 0]);
    /// R^2 modulo p.
    const R2: Self = Self([3_072, 0, -65_536, -2_097_152, -4_194_304, 0, 0, -1, 20]);
    /// p, most significant byte first.
    const P: [u8; 32] = [
        255, 255, 255, 255, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255,
    ];

    /// The element of 32 bytes, most significant first, or `None` if they are not below p.
    pub(super) fn from_bytes(bytes: &[u8; 32]) -> Option<Self> {
        if *bytes >= Self::P {
            return None;
        }
        let mut digits = [0; DIGITS];
        for (digit, at) in digits.iter_mut().zip((0..).step_by(BITS as usize)) {
            // The five bytes that hold a digit, whatever its place in the first of them.
            let mut word = 0;
            for byte in (at / 8..32).take(5) {
                word |= i64::from(bytes[31 - byte]) << (8 * (byte - at / 8));
            }
            *digit = word >> (at % 8) & ((1 << BITS) - 1);
        }
        Some(Self(digits).mul(&Self::R2))
    }

    #[inline(never)]
    pub(super) fn mul(&self, other: &Self) -> Self {
        check(self, other);
        Self(product!(self, other, [0; DIGITS]))
    }

    #[inline(never)]
    pub(super) fn square(&self) -> Self {
        check(self, self);
        Self(square!(self, [0; DIGITS]))
    }

    /// The product with `other`, and `addend` added.
    #[inline(never)]
    pub(super) fn mul_add(&self, other: &Self, addend: &Self) -> Self {
        check(self, other);
        Self(product!(self, other, addend.0)).fold()
    }

    /// The square, and `addend` added.
    #[inline(never)]
    pub(super) fn square_add(&self, addend: &Self) -> Self {
        check(self, self);
        Self(square!(self, addend.0)).fold()
    }

    /// Takes multiples of p away until the absolute value is not much more than half of 2^256.
    #[inline(always)]
    fn fold(mut self) -> Self {
        let high = (self.0[8] + (1 << 23)) >> 24;
        self.0[0] += high;
        self.0[3] -= high << 9;
        self.0[6] -= high << 18;
        self.0[7] += high << 21;
        self.0[8] -= high << 24;
        self
    }

    /// `self` squared so many times.
    fn squares(&self, count: u32) -> Self {
        (0..count).fold(*self, |element, _| element.square())
    }

    /// The inverse, by Fermat; that of 0 is 0.
    pub(super) fn invert(&self) -> Self {
        // Powers whose exponents are so many ones in base 2.
        let e2 = self.square().mul(self);
        let e4 = e2.squares(2).mul(&e2);
        let e8 = e4.squares(4).mul(&e4);
        let e16 = e8.squares(8).mul(&e8);
        let e30 = e16.squares(8).mul(&e8).squares(4).mul(&e4).squares(2).mul(&e2);
        let e32 = e16.squares(16).mul(&e16);
        // p - 2 = ffffffff 00000001 00000000 00000000 00000000 ffffffff ffffffff fffffffd
        let high = e32.squares(32).mul(self).squares(128).mul(&e32).squares(32).mul(&e32);
        high.squares(30).mul(&e30).squares(2).mul(self)
    }

    #[inline(always)]
    pub(super) fn add(mut self, other: &Self) -> Self {
        self.0.iter_mut().zip(&other.0).for_each(|(digit, other)| *digit += other);
        self
    }

    #[inline(always)]
    pub(super) fn sub(mut self, other: &Self) -> Self {
        self.0.iter_mut().zip(&other.0).for_each(|(digit, other)| *digit -= other);
        self
    }

    #[inline(always)]
    pub(super) fn neg(self) -> Self {
        self.times(-1)
    }

    /// Multiplied by a small number.
    #[inline(always)]
    pub(super) fn times(mut self, factor: i64) -> Self {
        self.0.iter_mut().for_each(|digit| *digit *= factor);
        self
    }

    /// Whether it is 0, for elements of an absolute value of at most 16 p.
    #[inline(always)]
    pub(super) fn is_zero(&self) -> bool {
        // j p is -j modulo 2^29: nearly everything else can be told from 0 by this digit.
        (self.0[0] + 16) & ((1 << BITS) - 1) <= 32 && self.is_multiple_of_p()
    }

    #[cold]
    fn is_multiple_of_p(&self) -> bool {
        // Out of Montgomery's form the absolute value is below p, and 0 has one form.
        let mut one = [0; DIGITS];
        one[0] = 1;
        self.mul(&Self(one)).0 == [0; DIGITS]
    }
}

/// Asserts in tests that no column of a product can overflow.
#[inline(always)]
fn check(_a: &Element, _b: &Element) {
    #[cfg(test)]
    {
        let largest = |element: &Element| element.0.iter().map(|digit| i128::from(digit.abs())).max();
        let product = largest(_a).unwrap_or(0) * largest(_b).unwrap_or(0);
        assert!(product <= 14 << 56, "{_a:?} and {_b:?}");
    }
}

#[cfg(test)]
mod tests {
    use crrl::field::GFp256;
    use sha2::{Digest, Sha512};

    use super::*;

    /// An element as another implementation has it, out of Montgomery's form.
    fn value(element: &Element) -> GFp256 {
        let sum =
            element.0.iter().rev().fold(GFp256::ZERO, |sum, digit| {
                sum * GFp256::from_u64(1 << BITS) + GFp256::from_i64(*digit)
            });
        (0..DIGITS).fold(sum, |sum, _| sum / GFp256::from_u64(1 << BITS))
    }

    fn assert_same(element: &Element, expected: GFp256) {
        assert_eq!(value(element).equals(expected), u32::MAX, "{element:?}");
    }

    /// Digits with as large a size as a factor of `size` allows: one that does look random, and all the largest and smallest.
    fn elements(size: f64) -> Vec<Element> {
        let most = (size * f64::from(1 << 28)) as i64;
        let mut elements = Vec::new();
        for which in 0..50_u32 {
            let hash = Sha512::digest(which.to_be_bytes());
            let digit = |i: usize| {
                let bytes: [u8; 4] = hash[4 * i..4 * i + 4].try_into().expect("four bytes");
                i64::from(u32::from_be_bytes(bytes)) % (2 * most + 1) - most
            };
            let mut random = Element(std::array::from_fn(digit));
            elements.push(random);
            // As large, but with signs that look random; the same with a topmost digit as elements have it.
            random.0 = random.0.map(|digit| if digit < 0 { -most } else { most });
            elements.push(random);
            random.0[8] >>= 5;
            elements.push(random);
        }
        for digit in [-most, -1, 0, 1, most] {
            elements.push(Element([digit; DIGITS]));
            elements.push(Element(std::array::from_fn(|i| if i % 2 == 0 { digit } else { -digit })));
        }
        elements.push(Element::ONE);
        elements
    }

    #[test]
    fn products_and_squares() {
        for (a_size, b_size) in [(1.0, 1.0), (1.0, 14.0), (3.74, 3.74), (6.4, 2.18)] {
            let (a, b) = (elements(a_size), elements(b_size));
            for (i, a) in a.iter().enumerate() {
                for b in b.iter().skip(i % 3).step_by(3) {
                    let product = value(a) * value(b);
                    assert_same(&a.mul(b), product);
                    let addend = b.times(9);
                    assert_same(&a.mul_add(b, &addend), product + value(&addend));
                }
                if a_size * a_size <= 14.0 {
                    assert_same(&a.square(), value(a) * value(a));
                    assert_same(
                        &a.square_add(&a.times(-9)),
                        value(a) * value(a) - value(a) * GFp256::from_i64(9),
                    );
                }
            }
        }
    }

    /// The sizes that the module's text promises of results, by which it is known that the points' formulas do not overflow.
    #[test]
    fn results_are_small() {
        let small = |element: &Element, most: f64, topmost: f64| {
            let most = (most * f64::from(1 << 28)) as i64;
            let topmost = (topmost * f64::from(1 << 24)) as i64;
            assert!(element.0[..8].iter().all(|digit| digit.abs() <= most), "{element:?}");
            assert!(element.0[8].abs() <= topmost, "{element:?}");
        };
        let mut sized = elements(14.0_f64.sqrt());
        // Topmost digits as values have them whose products are at most 8 p^2.
        let most = 2.8 * f64::from(1 << 24);
        sized.iter_mut().for_each(|element| element.0[8] = element.0[8].clamp(-most as i64, most as i64));
        for a in &sized {
            for b in &sized {
                let product = a.mul(b);
                small(&product, 1.0, 0.75);
                small(&a.mul_add(b, &product.times(10)), 1.1, 0.6);
                small(&a.square(), 1.0, 0.75);
                small(&a.square_add(&product.times(-10)), 1.1, 0.6);
            }
        }
    }

    #[test]
    fn sums() {
        for a in elements(1.0) {
            for b in elements(1.2).iter().step_by(7) {
                assert_same(&a.add(b), value(&a) + value(b));
                assert_same(&a.sub(b), value(&a) - value(b));
            }
            assert_same(&a.neg(), -value(&a));
            assert_same(&a.times(3), value(&a) * GFp256::from_u64(3));
        }
    }

    #[test]
    fn inverses() {
        for a in elements(1.0) {
            assert_same(&a.invert(), GFp256::ONE / value(&a));
        }
        assert!(Element([0; DIGITS]).invert().is_zero());
    }

    #[test]
    fn zero_has_many_forms() {
        // p itself, in digits.
        let p = Element([-1, 0, 0, 512, 0, 0, 262_144, -2_097_152, 16_777_216]);
        for factor in -16..=16 {
            let multiple = p.times(factor);
            assert!(multiple.is_zero(), "{factor}");
            for digit in 0..DIGITS {
                let mut other = multiple;
                other.0[digit] += 1;
                assert!(!other.is_zero(), "{factor} {digit}");
            }
            // The same number, and the same with a carry that was not made.
            let mut other = multiple;
            other.0[0] += 1 << BITS;
            other.0[1] -= 1;
            assert!(other.is_zero());
        }
    }

    #[test]
    fn bytes() {
        assert!(Element::from_bytes(&Element::P).is_none());
        assert!(Element::from_bytes(&[255; 32]).is_none());
        let mut largest = Element::P;
        largest[31] -= 1;
        assert!(Element::from_bytes(&largest).expect("it is below p").add(&Element::ONE).is_zero());
        assert!(Element::from_bytes(&[0; 32]).expect("0 is").is_zero());
        for place in 0..256 {
            let mut bytes = [0; 32];
            bytes[31 - place / 8] = 1 << (place % 8);
            let mut expected = bytes;
            expected.reverse();
            let (expected, _) = GFp256::decode32(&expected);
            assert_same(&Element::from_bytes(&bytes).expect("it is below p"), expected);
        }
    }
}
