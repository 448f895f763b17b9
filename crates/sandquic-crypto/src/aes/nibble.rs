//! AES by lookups of nibbles in registers, after Hamburg's vector permutations: one block in one vector.
//!
//! A byte is held in the basis of the tower GF(16)\[w\], w^2 + a w + a = 0: low nibble k, high nibble i, standing for
//! k + i w. Its inverse is conj / N with the norm N = k^2 + a i k + a i^2. Hamburg's observation: with j = i + k,
//!
//! ```text
//! 1/io = (k + a i) / N        where io = 1/(1/i + a/k) + j
//! 1/jo = (k + a i + a k) / N  where jo = 1/(1/j + a/k) + i
//! ```
//!
//! and both coordinates of the inverse are linear in 1/io and 1/jo: five lookups to io and jo, then one for each in a
//! table that holds the rest of the round function. 1/0 is 0x80, an index that looks up nothing, as it must be: in
//! every case that meets it the formulas above have that limit.

use crate::simd::Vector;

/// Products in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1.
const fn mul(a: u8, b: u8) -> u8 {
    let (mut a, mut product, mut i) = (a as u16, 0, 0);
    while i < 8 {
        if (b >> i) & 1 == 1 {
            product ^= a;
        }
        a <<= 1;
        if a & 0x100 != 0 {
            a ^= 0x11b;
        }
        i += 1;
    }
    product as u8
}

const fn power(a: u8, exponent: usize) -> u8 {
    let (mut product, mut i) = (1, 0);
    while i < exponent {
        product = mul(product, a);
        i += 1;
    }
    product
}

const fn inverse(a: u8) -> u8 {
    power(a, 254)
}

/// The linear part of SubBytes.
const fn linear(x: u8) -> u8 {
    x ^ x.rotate_left(1) ^ x.rotate_left(2) ^ x.rotate_left(3) ^ x.rotate_left(4)
}

/// A generator of GF(16)'s multiplicative group: 3 generates that of GF(2^8).
const H: u8 = power(3, 17);

/// The element of GF(16) that a nibble stands for: basis 1, H, H^2, H^3.
const fn element(nibble: u8) -> u8 {
    let (mut sum, mut bit) = (0, 0);
    while bit < 4 {
        if (nibble >> bit) & 1 == 1 {
            sum ^= power(H, bit);
        }
        bit += 1;
    }
    sum
}

/// The nibble of an element of GF(16).
const fn nibble(element_: u8) -> u8 {
    let mut n = 0;
    while n < 16 {
        if element(n) == element_ {
            return n;
        }
        n += 1;
    }
    panic!("not in GF(16)")
}

/// w: the first element whose trace and norm over GF(16) are equal and not 0.
const W: u8 = {
    let mut w = 2;
    while power(w, 16) == w || power(w, 16) ^ w != power(w, 17) {
        w += 1;
    }
    w
};

/// a, that trace and norm.
const A: u8 = power(W, 17);

/// The representations of all bytes.
const ENCODED: [u8; 256] = {
    let mut encoded = [0; 256];
    let mut n = 0;
    while n < 256 {
        encoded[(element(n as u8 & 15) ^ mul(element(n as u8 >> 4), W)) as usize] = n as u8;
        n += 1;
    }
    encoded
};

/// Which function of 1/n a table of nibbles holds.
#[derive(Clone, Copy)]
enum Part {
    /// What 1/io contributes to the inverse: (1 + w (1/a + 1/a^2)) / io.
    Io,
    /// What 1/jo contributes to it: (w / a^2) / jo.
    Jo,
}

/// For every nibble n: `linear(part of 1/n)`, times `factor`, encoded or not.
const fn output(part: Part, factor: u8, encode: bool) -> [u8; 16] {
    let by_a = inverse(A);
    let by_a2 = mul(by_a, by_a);
    let coefficient = match part {
        Part::Io => 1 ^ mul(W, by_a ^ by_a2),
        Part::Jo => mul(W, by_a2),
    };
    let mut table = [0; 16];
    let mut n = 1;
    while n < 16 {
        let byte = mul(factor, linear(mul(coefficient, inverse(element(n as u8)))));
        table[n] = if encode { ENCODED[byte as usize] } else { byte };
        n += 1;
    }
    table
}

/// For every nibble n: the nibble of numerator / n, and 0x80 for 0.
const fn quotients(numerator: u8) -> [u8; 16] {
    let mut table = [0x80; 16];
    let mut n = 1;
    while n < 16 {
        table[n] = nibble(mul(numerator, inverse(element(n as u8))));
        n += 1;
    }
    table
}

/// The encoding of a low or high nibble.
const fn encode(shift: usize) -> [u8; 16] {
    let mut table = [0; 16];
    let mut n = 0;
    while n < 16 {
        table[n] = ENCODED[n << shift];
        n += 1;
    }
    table
}

static ENCODE_LOW: [u8; 16] = encode(0);
static ENCODE_HIGH: [u8; 16] = encode(4);
static INVERSE: [u8; 16] = quotients(1);
static A_OVER: [u8; 16] = quotients(A);
static ROUND_IO: [u8; 16] = output(Part::Io, 1, true);
static ROUND_JO: [u8; 16] = output(Part::Jo, 1, true);
static ROUND2_IO: [u8; 16] = output(Part::Io, 2, true);
static ROUND2_JO: [u8; 16] = output(Part::Jo, 2, true);
static LAST_IO: [u8; 16] = output(Part::Io, 1, false);
static LAST_JO: [u8; 16] = output(Part::Jo, 1, false);

/// The tables, as registers or spilled ones.
#[derive(Clone, Copy)]
pub(crate) struct Tables<V> {
    mask: V,
    encode: [V; 2],
    inverse: V,
    a_over: V,
    round: [V; 2],
    round2: [V; 2],
    last: [V; 2],
    next_row: [V; 4],
}

impl<V: Vector> Tables<V> {
    /// Loads them. They are operands that swizzle, not indices, but for `next_row`.
    #[inline(always)]
    pub(crate) fn load() -> Self {
        Self {
            mask: V::splat_u8(15),
            encode: [V::broadcast(&ENCODE_LOW), V::broadcast(&ENCODE_HIGH)],
            inverse: V::broadcast(&INVERSE),
            a_over: V::broadcast(&A_OVER),
            round: [V::broadcast(&ROUND_IO), V::broadcast(&ROUND_JO)],
            round2: [V::broadcast(&ROUND2_IO), V::broadcast(&ROUND2_JO)],
            last: [V::broadcast(&LAST_IO), V::broadcast(&LAST_JO)],
            next_row: super::NEXT_ROW.each_ref().map(V::opaque),
        }
    }

    #[inline(always)]
    fn nibbles(&self, x: V) -> (V, V) {
        (x.and(self.mask), x.shr_u32::<4>().and(self.mask))
    }

    /// Plain bytes to the basis of the tower.
    #[inline(always)]
    pub(crate) fn encode(&self, x: V) -> V {
        let (low, high) = self.nibbles(x);
        self.encode[0].swizzle(low).xor(self.encode[1].swizzle(high))
    }

    /// io and jo of every byte.
    #[inline(always)]
    fn invert(&self, x: V) -> (V, V) {
        let (k, i) = self.nibbles(x);
        let j = i.xor(k);
        let a_over_k = self.a_over.swizzle(k);
        let iak = self.inverse.swizzle(i).xor(a_over_k);
        let jak = self.inverse.swizzle(j).xor(a_over_k);
        (self.inverse.swizzle(iak).xor(j), self.inverse.swizzle(jak).xor(i))
    }

    #[inline(always)]
    fn lookup(tables: [V; 2], (io, jo): (V, V)) -> V {
        tables[0].swizzle(io).xor(tables[1].swizzle(jo))
    }

    /// SubBytes without 0x63, from and to plain bytes.
    #[inline(always)]
    pub(crate) fn sub_bytes(&self, x: V) -> V {
        Self::lookup(self.last, self.invert(self.encode(x)))
    }

    /// Encrypts blocks in the layout of [`super::layout`]; the result is in that of the last round.
    #[inline(always)]
    pub(crate) fn encrypt<const N: usize>(&self, keys: &[[u8; 16]], blocks: [V; N]) -> [V; N] {
        let mut x = blocks.map(|block| self.encode(block).xor(V::broadcast(&keys[0])));
        let last = keys.len() - 1;
        let mut round = 1;
        // The number of full rounds, 9, 11 or 13, is odd.
        loop {
            x = self.round(x, &keys[round], self.next_row[round % 4], V::shuffle_u32::<3, 2, 1, 0>);
            round += 1;
            if round == last {
                break;
            }
            x = self.round(x, &keys[round], self.next_row[round % 4], V::shuffle_u32::<2, 3, 0, 1>);
            round += 1;
        }
        let key = V::broadcast(&keys[last]);
        x.map(|x| Self::lookup(self.last, self.invert(x)).xor(key))
    }

    #[inline(always)]
    fn round<const N: usize>(
        &self,
        x: [V; N],
        key: &[u8; 16],
        next_row: V,
        two_rows: impl Fn(V) -> V,
    ) -> [V; N] {
        let key = V::broadcast(key);
        x.map(|x| {
            let inverted = self.invert(x);
            let once = Self::lookup(self.round, inverted);
            let twice = Self::lookup(self.round2, inverted);
            // 2 s + 3 s' + s'' + s''' = 2 s + (s + 2 s)' + (s + s')'' - the primes count rows.
            let next = once.swizzle(next_row);
            let sum = twice.xor(twice.swizzle(next_row)).xor(next);
            sum.xor(two_rows(once.xor(next))).xor(key)
        })
    }
}
