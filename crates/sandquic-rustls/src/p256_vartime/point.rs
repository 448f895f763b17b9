//! Points of P-256, y^2 = x^3 - 3 x + b, and sums of their multiples.
//!
//! Jacobian coordinates: (X, Y, Z) is the point (X / Z^2, Y / Z^3). The point at infinity is `None`.

use super::field::Element;

/// A point by its coordinates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Affine {
    pub(super) x: Element,
    pub(super) y: Element,
}

impl Affine {
    /// The point with these coordinates, if they are in the field and on the curve.
    pub(super) fn new(x: &[u8; 32], y: &[u8; 32]) -> Option<Self> {
        let (x, y, b) = (Element::from_bytes(x)?, Element::from_bytes(y)?, Element::from_bytes(&B)?);
        let right = x.square().mul_add(&x, &b.sub(&x.times(3)));
        y.square().sub(&right).is_zero().then_some(Self { x, y })
    }

    /// The base point G (FIPS 186-4, D.1.2.3).
    pub(super) fn generator() -> Self {
        Self::new(&G.0, &G.1).expect("the base point is on the curve")
    }
}

const B: [u8; 32] = [
    0x5a, 0xc6, 0x35, 0xd8, 0xaa, 0x3a, 0x93, 0xe7, 0xb3, 0xeb, 0xbd, 0x55, 0x76, 0x98, 0x86, 0xbc, 0x65,
    0x1d, 0x06, 0xb0, 0xcc, 0x53, 0xb0, 0xf6, 0x3b, 0xce, 0x3c, 0x3e, 0x27, 0xd2, 0x60, 0x4b,
];
const G: ([u8; 32], [u8; 32]) = (
    [
        0x6b, 0x17, 0xd1, 0xf2, 0xe1, 0x2c, 0x42, 0x47, 0xf8, 0xbc, 0xe6, 0xe5, 0x63, 0xa4, 0x40, 0xf2, 0x77,
        0x03, 0x7d, 0x81, 0x2d, 0xeb, 0x33, 0xa0, 0xf4, 0xa1, 0x39, 0x45, 0xd8, 0x98, 0xc2, 0x96,
    ],
    [
        0x4f, 0xe3, 0x42, 0xe2, 0xfe, 0x1a, 0x7f, 0x9b, 0x8e, 0xe7, 0xeb, 0x4a, 0x7c, 0x0f, 0x9e, 0x16, 0x2b,
        0xce, 0x33, 0x57, 0x6b, 0x31, 0x5e, 0xce, 0xcb, 0xb6, 0x40, 0x68, 0x37, 0xbf, 0x51, 0xf5,
    ],
);

/// A point that is not at infinity. Its coordinates' digits have a <= 1.1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jacobian {
    pub(super) x: Element,
    pub(super) y: Element,
    pub(super) z: Element,
}

impl From<Affine> for Jacobian {
    fn from(point: Affine) -> Self {
        // Coordinates as they are read are products, so they are as small as they have to be.
        Self { x: point.x, y: point.y, z: Element::ONE }
    }
}

impl Jacobian {
    /// No point but the one at infinity is its own inverse, so twice another is never at infinity.
    pub(super) fn double(&mut self) {
        let delta = self.z.square();
        let gamma = self.y.square();
        let beta = self.x.mul(&gamma);
        let alpha = self.x.sub(&delta).times(3).mul(&self.x.add(&delta));
        self.x = alpha.square_add(&beta.times(-8));
        self.z = self.y.add(&self.z).square_add(&gamma.add(&delta).neg());
        self.y = alpha.mul_add(&beta.times(4).sub(&self.x), &gamma.square().times(-8));
    }

    /// Whether the point's x coordinate is `x`.
    pub(super) fn has_x(&self, x: &Element) -> bool {
        x.mul_add(&self.z.square(), &self.x.neg()).is_zero()
    }
}

/// A sum of points. It is changed in place, since a copy of a point is a call of the host's `memmove` in WebAssembly.
pub(super) struct Sum {
    point: Jacobian,
    /// Whether the sum is the point at infinity and `point` means nothing.
    is_infinite: bool,
}

impl Sum {
    fn new() -> Self {
        Self { point: Affine { x: Element::ONE, y: Element::ONE }.into(), is_infinite: true }
    }

    /// The sum, unless it is at infinity.
    fn point(self) -> Option<Jacobian> {
        (!self.is_infinite).then_some(self.point)
    }

    fn double(&mut self) {
        if !self.is_infinite {
            self.point.double();
        }
    }

    /// Adds a point, or takes it away.
    fn add_affine(&mut self, other: &Affine, negative: bool) {
        let sign = if negative { -1 } else { 1 };
        if self.is_infinite {
            self.point = Affine { x: other.x, y: other.y.times(sign) }.into();
            self.is_infinite = false;
            return;
        }
        let Jacobian { x, y, z } = &mut self.point;
        let zz = z.square();
        let h = other.x.mul_add(&zz, &x.neg());
        let r = other.y.times(sign).mul_add(&z.mul(&zz), &y.neg());
        self.finish(&h, &r);
    }

    /// Adds a point, or takes it away.
    fn add(&mut self, other: &Prepared, negative: bool) {
        let sign = if negative { -1 } else { 1 };
        if self.is_infinite {
            self.point = other.point;
            self.point.y = other.point.y.times(sign);
            self.is_infinite = false;
            return;
        }
        let Jacobian { x, y, z } = &mut self.point;
        let zz = z.square();
        let zzz = z.mul(&zz);
        // This point over the common denominator.
        *x = x.mul(&other.zz);
        *y = y.mul(&other.zzz);
        *z = z.mul(&other.point.z);
        let h = other.point.x.mul_add(&zz, &x.neg());
        let r = other.point.y.times(sign).mul_add(&zzz, &y.neg());
        self.finish(&h, &r);
    }

    /// Adds the point whose coordinates, over the same denominator, differ by `h` and `r`.
    #[inline(always)]
    fn finish(&mut self, h: &Element, r: &Element) {
        if h.is_zero() {
            // The same point, or its inverse.
            match r.is_zero() {
                true => self.point.double(),
                false => self.is_infinite = true,
            }
            return;
        }
        let Jacobian { x, y, z } = &mut self.point;
        let hh = h.square();
        let hhh = hh.mul(h);
        let v = x.mul(&hh);
        *x = r.square_add(&hhh.add(&v.times(2)).neg());
        *y = r.mul_add(&v.sub(x), &y.mul(&hhh).neg());
        *z = z.mul(h);
    }
}

/// A point with powers of its Z.
#[derive(Clone, Copy, Debug)]
struct Prepared {
    point: Jacobian,
    zz: Element,
    zzz: Element,
}

impl From<Jacobian> for Prepared {
    fn from(point: Jacobian) -> Self {
        let zz = point.z.square();
        Self { point, zz, zzz: zz.mul(&point.z) }
    }
}

/// The first odd multiples of a point, `COUNT` of them.
pub(super) trait Multiples {
    /// How many bits a digit may have for it to be one of the multiples or its inverse, the sign among them.
    const WIDTH: u32;

    /// Adds the multiple of that index to `sum`, or takes it away.
    fn add(&self, sum: &mut Sum, index: usize, negative: bool);
}

/// Made fast, slower to add.
pub(super) struct Few([Prepared; 8]);

impl Few {
    pub(super) fn new(point: &Jacobian) -> Self {
        Self(odd(point).map(Prepared::from))
    }
}

/// The first odd multiples of a point. The curve's order is a large prime, so that none of them is at infinity.
fn odd<const COUNT: usize>(point: &Jacobian) -> [Jacobian; COUNT] {
    let mut twice = *point;
    twice.double();
    let twice = Prepared::from(twice);
    let mut next = Sum { point: *point, is_infinite: false };
    std::array::from_fn(|_| {
        let this = next.point;
        next.add(&twice, false);
        this
    })
}

impl Multiples for Few {
    const WIDTH: u32 = 5;

    #[inline(always)]
    fn add(&self, sum: &mut Sum, index: usize, negative: bool) {
        sum.add(&self.0[index], negative);
    }
}

/// Made with an inversion, faster to add.
pub(super) struct Many<const COUNT: usize>([Affine; COUNT]);

impl<const COUNT: usize> Many<COUNT> {
    pub(super) fn new(point: &Jacobian) -> Self {
        let points: [Jacobian; COUNT] = odd(point);
        // One inversion for all: of the product of all Z, from which each in turn is taken.
        let mut product = Element::ONE;
        let before = points.map(|point| {
            let before = product;
            product = product.mul(&point.z);
            before
        });
        let mut inverse = product.invert();
        let mut affine = points.map(|point| Affine { x: point.x, y: point.y });
        for i in (0..COUNT).rev() {
            let z = inverse.mul(&before[i]);
            inverse = inverse.mul(&points[i].z);
            let zz = z.square();
            affine[i] = Affine { x: points[i].x.mul(&zz), y: points[i].y.mul(&zz.mul(&z)) };
        }
        Self(affine)
    }
}

impl<const COUNT: usize> Multiples for Many<COUNT> {
    const WIDTH: u32 = COUNT.ilog2() + 2;

    #[inline(always)]
    fn add(&self, sum: &mut Sum, index: usize, negative: bool) {
        sum.add_affine(&self.0[index], negative);
    }
}

/// A number of 256 bits, its least significant 64 first.
pub(super) type Number = [u64; PARTS];

/// 64 bits each.
pub(super) const PARTS: usize = 4;

/// The number of 32 bytes, the least significant first.
pub(super) fn number(bytes: &[u8; 32]) -> Number {
    std::array::from_fn(|i| {
        bytes[8 * i..8 * i + 8].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
    })
}

/// A multiple of a point, to be summed.
pub(super) struct Term<'a, M> {
    /// The number as odd digits with zeros between them, the lowest first.
    digits: [i8; 257],
    multiples: &'a M,
}

impl<'a, M: Multiples> Term<'a, M> {
    pub(super) fn new(number: &Number, multiples: &'a M) -> Self {
        let mut words = [0; PARTS + 2];
        words[..PARTS].copy_from_slice(number);
        let mut digits = [0; 257];
        let (mut at, mut carry) = (0, 0);
        while at < digits.len() {
            let (word, bit) = (at / 64, at % 64);
            // In two steps, since a shift by 64 is none.
            let bits = (words[word] >> bit | words[word + 1] << 1 << (63 - bit)) & ((1 << M::WIDTH) - 1);
            if bits & 1 == carry {
                at += 1;
                continue;
            }
            let digit = (bits + carry) as i16;
            carry = digit as u64 >> (M::WIDTH - 1);
            digits[at] = (digit - ((carry as i16) << M::WIDTH)) as i8;
            at += M::WIDTH as usize;
        }
        Self { digits, multiples }
    }

    #[inline(always)]
    fn add(&self, at: usize, sum: &mut Sum) {
        let digit = self.digits[at];
        if digit != 0 {
            self.multiples.add(sum, usize::from(digit.unsigned_abs() / 2), digit < 0);
        }
    }
}

/// The sum of the terms, whose numbers have at most so many `bits`.
pub(super) fn sum<A: Multiples, B: Multiples>(
    a: &[Term<'_, A>],
    b: &[Term<'_, B>],
    bits: usize,
) -> Option<Jacobian> {
    let mut sum = Sum::new();
    for at in (0..=bits).rev() {
        sum.double();
        a.iter().for_each(|term| term.add(at, &mut sum));
        b.iter().for_each(|term| term.add(at, &mut sum));
    }
    sum.point()
}

/// Multiples of a point and of 2^64, 2^128 and 2^192 times it: a sum takes a quarter of the doublings with them.
pub(super) struct Split<const COUNT: usize>([Many<COUNT>; PARTS]);

impl<const COUNT: usize> Split<COUNT> {
    pub(super) fn new(point: &Affine) -> Self {
        let mut next = Jacobian::from(*point);
        Self(std::array::from_fn(|_| {
            let this = next;
            (0..64).for_each(|_| next.double());
            Many::new(&this)
        }))
    }

    pub(super) fn terms(&self, number: &Number) -> [Term<'_, Many<COUNT>>; PARTS] {
        std::array::from_fn(|i| Term::new(&[number[i], 0, 0, 0], &self.0[i]))
    }
}
