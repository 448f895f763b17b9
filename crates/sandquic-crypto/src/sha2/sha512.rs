//! The compression function of SHA-384, SHA-512 and SHA-512/256 (FIPS 180-4, section 6.4.2).
//!
//! As in [`super::sha256`], with words twice as wide: two to a vector instead of four.

use super::consts::K64;
use super::word::{Word, Working, sixteen};
use crate::backend;
use crate::simd::{Kernel, Vector};

/// Hashes blocks of 128 bytes into the state.
pub(super) fn compress(state: &mut [u64; 8], blocks: &[[u8; 128]]) {
    backend::dispatch_narrow(Compress { state, blocks });
}

struct Compress<'a> {
    state: &'a mut [u64; 8],
    blocks: &'a [[u8; 128]],
}

impl Kernel for Compress<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        if !V::FAST_SWIZZLE {
            return self.soft();
        }
        let swap = V::opaque_here(&SWAP);
        let mut inputs = [0; 640];
        for block in self.blocks {
            with_vectors::<V>(self.state, block, swap, &mut inputs);
        }
    }

    #[inline(always)]
    fn soft(self) {
        for block in self.blocks {
            scalar(self.state, block);
        }
    }
}

/// Indices that reverse the bytes of each word.
const SWAP: [u8; 16] = [7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8];

#[inline(always)]
fn scalar(state: &mut [u64; 8], block: &[u8; 128]) {
    let mut w = [0; 16];
    for (w, bytes) in w.iter_mut().zip(block.as_chunks().0) {
        *w = u64::from_be_bytes(*bytes);
    }
    let mut anchors = [0; 40];
    let mut working = Working::new(state);
    macro_rules! rounds {
        ($from:expr) => {
            sixteen!($from, T => {
                if T >= 16 {
                    w[T % 16] = w[T % 16]
                        .add(w[(T + 1) % 16].small_sigma0())
                        .add(w[(T + 9) % 16])
                        .add(w[(T + 14) % 16].small_sigma1());
                }
                let a = working.round(T, w[T % 16].add(K64[T]));
                if cfg!(target_arch = "wasm32") && T % 2 == 1 {
                    anchors[T / 2] = a;
                }
            })
        };
    }
    rounds!(0);
    rounds!(16);
    rounds!(32);
    rounds!(48);
    rounds!(64);
    working.add_to(state);
    if cfg!(target_arch = "wasm32") {
        core::hint::black_box(&mut anchors);
    }
}

/// As its namesake for SHA-256, anchors included.
#[inline(always)]
fn with_vectors<V: Vector>(state: &mut [u64; 8], block: &[u8; 128], swap: V, inputs: &mut [u8; 640]) {
    let mut x: [V; 8] = core::array::from_fn(|i| V::load(&block[16 * i..]).swizzle(swap));
    for (i, x) in x.iter().enumerate() {
        hand_over(inputs, 2 * i, *x);
    }
    let mut working = Working::new(state);
    macro_rules! rounds {
        ($from:expr) => {
            sixteen!($from, T => {
                if T % 4 == 0 && T < 64 {
                    schedule(&mut x, T / 2);
                    hand_over(inputs, T + 16, x[T / 2 % 8]);
                    schedule(&mut x, T / 2 + 1);
                    hand_over(inputs, T + 18, x[(T / 2 + 1) % 8]);
                }
                let input: [u8; 8] = inputs.as_chunks().0[T];
                let a = working.round(T, u64::from_le_bytes(input));
                if cfg!(target_arch = "wasm32") && T % 2 == 1 {
                    inputs.as_chunks_mut().0[T] = a.to_le_bytes();
                }
            })
        };
    }
    rounds!(0);
    rounds!(16);
    rounds!(32);
    rounds!(48);
    rounds!(64);
    working.add_to(state);
    if cfg!(target_arch = "wasm32") {
        core::hint::black_box(inputs);
    }
}

/// Stores `W[t..t + 2] + K[t..t + 2]`.
#[inline(always)]
fn hand_over<V: Vector>(inputs: &mut [u8; 640], t: usize, words: V) {
    let k = V::broadcast_u32([
        K64[t] as u32,
        (K64[t] >> 32) as u32,
        K64[t + 1] as u32,
        (K64[t + 1] >> 32) as u32,
    ]);
    words.add_u64(k).store(&mut inputs[8 * t..]);
}

/// The next two words take the place of the oldest, `oldest % 8`, in a ring of the last 16.
#[inline(always)]
fn schedule<V: Vector>(x: &mut [V; 8], oldest: usize) {
    let at = |i: usize| x[(oldest + i) % 8];
    // W[t-15..], W[t-7..], W[t-2..]
    let early = at(0).align_bytes::<8>(at(1));
    let late = at(4).align_bytes::<8>(at(5));
    let last = at(7);
    let sigma0 = early
        .shr_u64::<1>()
        .xor(early.shl_u64::<63>())
        .xor(early.shr_u64::<8>().xor(early.shl_u64::<56>()))
        .xor(early.shr_u64::<7>());
    let sigma1 = last
        .shr_u64::<19>()
        .xor(last.shl_u64::<45>())
        .xor(last.shr_u64::<61>().xor(last.shl_u64::<3>()))
        .xor(last.shr_u64::<6>());
    x[oldest % 8] = at(0).add_u64(late).add_u64(sigma0.add_u64(sigma1));
}
