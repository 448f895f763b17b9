//! SHA-2 by the book (FIPS 180-4), slow: nothing of it is shared with the crate. The round constants are
//! computed from the primes.

/// The first `count` primes.
fn primes(count: usize) -> Vec<u64> {
    (2..).filter(|n| (2..*n).all(|d| n % d != 0)).take(count).collect()
}

/// The first 64 bits of the fractional part of a prime's root of the given degree (2 or 3).
pub(crate) fn root_fraction(prime: u64, degree: u32) -> u64 {
    // The largest x with x^degree <= prime * 2^(64 degree), bit by bit; limbs of 32 bits.
    let limit = {
        let mut limbs = vec![0; 2 * degree as usize];
        limbs.push(prime);
        limbs
    };
    let mut root: u128 = 0;
    for bit in (0..68).rev() {
        let candidate = root | 1 << bit;
        let mut power = vec![1];
        for _ in 0..degree {
            power = multiply(&power, candidate);
        }
        if !greater(&power, &limit) {
            root = candidate;
        }
    }
    root as u64
}

fn multiply(a: &[u64], b: u128) -> Vec<u64> {
    let b: Vec<u64> = (0..3).map(|i| (b >> (32 * i)) as u64 & 0xffff_ffff).collect();
    let mut out = vec![0u64; a.len() + 4];
    for (i, x) in a.iter().enumerate() {
        let mut carry = 0;
        for (j, y) in b.iter().enumerate() {
            let sum = out[i + j] + x * y + carry;
            out[i + j] = sum & 0xffff_ffff;
            carry = sum >> 32;
        }
        out[i + 3] += carry;
    }
    out
}

fn greater(a: &[u64], b: &[u64]) -> bool {
    let limb = |v: &[u64], i: usize| v.get(i).copied().unwrap_or(0);
    (0..a.len().max(b.len()))
        .rev()
        .find_map(|i| (limb(a, i) != limb(b, i)).then(|| limb(a, i) > limb(b, i)))
        .unwrap_or(false)
}

/// One of the two widths: all that FIPS 180-4 sections 4 and 6 let differ.
pub(crate) struct Model {
    bits: u32,
    rounds: usize,
    constants: Vec<u64>,
    big0: [u32; 3],
    big1: [u32; 3],
    small0: [u32; 3],
    small1: [u32; 3],
}

impl Model {
    pub(crate) fn narrow() -> Self {
        Self {
            bits: 32,
            rounds: 64,
            constants: primes(64).iter().map(|p| root_fraction(*p, 3) >> 32).collect(),
            big0: [2, 13, 22],
            big1: [6, 11, 25],
            small0: [7, 18, 3],
            small1: [17, 19, 10],
        }
    }

    pub(crate) fn wide() -> Self {
        Self {
            bits: 64,
            rounds: 80,
            constants: primes(80).iter().map(|p| root_fraction(*p, 3)).collect(),
            big0: [28, 34, 39],
            big1: [14, 18, 41],
            small0: [1, 8, 7],
            small1: [19, 61, 6],
        }
    }

    /// SHA-256's or SHA-512's initial value.
    pub(crate) fn initial(&self) -> Vec<u64> {
        primes(8).iter().map(|p| root_fraction(*p, 2) >> (64 - self.bits)).collect()
    }

    /// SHA-224's or SHA-384's initial value.
    pub(crate) fn initial_short(&self) -> Vec<u64> {
        primes(16)[8..].iter().map(|p| root_fraction(*p, 2) & self.mask()).collect()
    }

    /// SHA-512/256's, section 5.3.6.
    pub(crate) fn initial_512_256(&self) -> Vec<u64> {
        let xored: Vec<u64> = self.initial().iter().map(|x| x ^ 0xa5a5_a5a5_a5a5_a5a5).collect();
        let hash = self.hash(&xored, b"SHA-512/256");
        hash.chunks(8).map(|c| u64::from_be_bytes(c.try_into().unwrap())).collect()
    }

    fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }

    fn add(&self, terms: &[u64]) -> u64 {
        terms.iter().fold(0, |a: u64, b| a.wrapping_add(*b)) & self.mask()
    }

    fn rotate(&self, x: u64, n: u32) -> u64 {
        (x >> n | x << (self.bits - n)) & self.mask()
    }

    fn big(&self, x: u64, by: [u32; 3]) -> u64 {
        self.rotate(x, by[0]) ^ self.rotate(x, by[1]) ^ self.rotate(x, by[2])
    }

    fn small(&self, x: u64, by: [u32; 3]) -> u64 {
        self.rotate(x, by[0]) ^ self.rotate(x, by[1]) ^ x >> by[2]
    }

    /// The final state, whole: the caller truncates.
    pub(crate) fn hash(&self, initial: &[u64], message: &[u8]) -> Vec<u8> {
        let word = self.bits as usize / 8;
        let block = 16 * word;
        let mut padded = message.to_vec();
        padded.push(0x80);
        while padded.len() % block != block - 2 * word {
            padded.push(0);
        }
        let length = (message.len() as u128 * 8).to_be_bytes();
        padded.extend_from_slice(&length[16 - 2 * word..]);

        let mut state = initial.to_vec();
        for block in padded.chunks(block) {
            let mut w: Vec<u64> =
                block.chunks(word).map(|b| b.iter().fold(0, |x, b| x << 8 | u64::from(*b))).collect();
            for t in 16..self.rounds {
                let early = self.small(w[t - 15], self.small0);
                let last = self.small(w[t - 2], self.small1);
                w.push(self.add(&[last, w[t - 7], early, w[t - 16]]));
            }
            let mut v = state.clone();
            for (constant, w) in self.constants.iter().zip(&w) {
                let [a, b, c, d, e, f, g, h] = v[..] else { unreachable!("eight variables") };
                let choice = (e & f) ^ (!e & g);
                let majority = (a & b) ^ (a & c) ^ (b & c);
                let t1 = self.add(&[h, self.big(e, self.big1), choice, *constant, *w]);
                let t2 = self.add(&[self.big(a, self.big0), majority]);
                v = vec![self.add(&[t1, t2]), a, b, c, self.add(&[d, t1]), e, f, g];
            }
            for (state, v) in state.iter_mut().zip(v) {
                *state = self.add(&[*state, v]);
            }
        }
        state.iter().flat_map(|x| x.to_be_bytes()[8 - word..].to_vec()).collect()
    }
}
