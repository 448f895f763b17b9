//! What the network does to datagrams.

use std::time::Duration;

/// A link, the same in both directions. Probabilities are in thousandths.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    pub delay: Duration,
    /// Up to this much more, evenly spread: more than the distance of two datagrams reorders them.
    pub jitter: Duration,
    pub loss: u32,
    pub duplication: u32,
    pub corruption: u32,
    /// The longest datagram that passes, in bytes.
    pub mtu: usize,
}

impl Link {
    /// 10 ms one way, and nothing else.
    pub const CLEAN: Self = Self {
        delay: Duration::from_millis(10),
        jitter: Duration::ZERO,
        loss: 0,
        duplication: 0,
        corruption: 0,
        mtu: 1472,
    };

    /// A bit of everything.
    pub const BAD: Self = Self {
        delay: Duration::from_millis(10),
        jitter: Duration::from_millis(3),
        loss: 20,
        duplication: 20,
        corruption: 10,
        mtu: 1472,
    };

    /// Nothing arrives.
    pub const CUT: Self = Self { loss: 1000, ..Self::CLEAN };

    /// The copies of a datagram that arrive, with their delays.
    pub(super) fn carry(&self, _now: Duration, rng: &mut Rng, bytes: &[u8]) -> Vec<(Duration, Vec<u8>)> {
        if rng.chance(self.loss) {
            return Vec::new();
        }
        let copies = 1 + usize::from(rng.chance(self.duplication));
        (0..copies)
            .map(|_| {
                let mut bytes = bytes.to_vec();
                if rng.chance(self.corruption) && !bytes.is_empty() {
                    let at = rng.below(bytes.len() as u64) as usize;
                    bytes[at] ^= 1 << rng.below(8);
                }
                let jitter = match self.jitter.as_nanos() as u64 {
                    0 => 0,
                    most => rng.below(most),
                };
                (self.delay + Duration::from_nanos(jitter), bytes)
            })
            .collect()
    }
}

/// A small generator (xorshift64*), the same everywhere.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// True with a probability in thousandths.
    pub fn chance(&mut self, thousandths: u32) -> bool {
        self.below(1000) < u64::from(thousandths)
    }

    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]);
        }
    }
}
