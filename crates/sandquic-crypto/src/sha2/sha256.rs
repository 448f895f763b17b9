//! The compression function of SHA-224 and SHA-256 (FIPS 180-4, section 6.2.2).

use super::consts::K32;
use super::word::{Word, Working, sixteen};
use crate::backend;
use crate::simd::{Kernel, Vector};

/// Hashes blocks of 64 bytes into the state.
pub(super) fn compress(state: &mut [u32; 8], blocks: &[[u8; 64]]) {
    backend::dispatch_narrow(Compress { state, blocks });
}

struct Compress<'a> {
    state: &'a mut [u32; 8],
    blocks: &'a [[u8; 64]],
}

impl Kernel for Compress<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        if !V::FAST_SWIZZLE {
            return self.soft();
        }
        let swap = V::opaque_here(&SWAP);
        let mut inputs = [0; 256];
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
const SWAP: [u8; 16] = [3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12];

#[inline(always)]
fn scalar(state: &mut [u32; 8], block: &[u8; 64]) {
    let mut w = [0; 16];
    for (w, bytes) in w.iter_mut().zip(block.as_chunks().0) {
        *w = u32::from_be_bytes(*bytes);
    }
    let mut anchors = [0; 32];
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
                let a = working.round(T, w[T % 16].add(K32[T]));
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
    working.add_to(state);
    if cfg!(target_arch = "wasm32") {
        core::hint::black_box(&mut anchors);
    }
}

/// Scalar rounds over a schedule that is computed four words at a time, 16 rounds ahead, and handed over
/// through memory with the round constants already added.
///
/// On Wasm the new `a` of every other round is stored over a word that was used. Nothing reads it: it is an anchor.
/// Cranelift places a computation where a store or the end of the block first needs it, so without
/// anchors all 64 rounds come last, in the order of a tree walk, with their variables spilled (docs/sha2.md).
#[inline(always)]
#[allow(unused_assignments, reason = "the last words of the schedule are not needed for another")]
fn with_vectors<V: Vector>(state: &mut [u32; 8], block: &[u8; 64], swap: V, inputs: &mut [u8; 256]) {
    let mut x: [V; 4] = core::array::from_fn(|i| V::load(&block[16 * i..]).swizzle(swap));
    for (i, x) in x.iter().enumerate() {
        hand_over(inputs, 4 * i, *x);
    }
    let mut working = Working::new(state);
    macro_rules! rounds {
        ($from:expr) => {
            sixteen!($from, T => {
                if T % 8 == 0 && T < 48 {
                    let next = schedule(x, T / 4);
                    x[T / 4 % 4] = next;
                    hand_over(inputs, T + 16, next);
                    let next = schedule(x, T / 4 + 1);
                    x[(T / 4 + 1) % 4] = next;
                    hand_over(inputs, T + 20, next);
                }
                let input: [u8; 4] = inputs.as_chunks().0[T];
                let a = working.round(T, u32::from_le_bytes(input));
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
    working.add_to(state);
    if cfg!(target_arch = "wasm32") {
        core::hint::black_box(inputs);
    }
}

/// Stores `W[t..t + 4] + K[t..t + 4]`.
#[inline(always)]
fn hand_over<V: Vector>(inputs: &mut [u8; 256], t: usize, words: V) {
    let k = V::broadcast_u32([K32[t], K32[t + 1], K32[t + 2], K32[t + 3]]);
    words.add_u32(k).store(&mut inputs[4 * t..]);
}

/// The next four words, from the 16 before them in a ring of four vectors of which `oldest % 4` is the oldest.
///
/// Written with the ring in place instead, the whole is 5 % slower on wasmtime.
#[inline(always)]
fn schedule<V: Vector>(x: [V; 4], oldest: usize) -> V {
    let x: [V; 4] = core::array::from_fn(|i| x[(oldest + i) % 4]);
    // W[t-15..], W[t-7..]
    let early = x[0].align_bytes::<4>(x[1]);
    let late = x[2].align_bytes::<4>(x[3]);
    let sigma0 = early
        .shr_u32::<7>()
        .xor(early.shl_u32::<25>())
        .xor(early.shr_u32::<18>().xor(early.shl_u32::<14>()))
        .xor(early.shr_u32::<3>());
    let sum = x[0].add_u32(late).add_u32(sigma0);
    // σ1 of W[t-2] and W[t-1] for the first two words; of those two for the last two.
    let first = sum.add_u32(sigma1(x[3].shuffle_u32::<2, 2, 3, 3>()).interleave_lo_u64(V::zero()));
    first.add_u32(V::zero().interleave_lo_u64(sigma1(first.shuffle_u32::<0, 0, 1, 1>())))
}

/// σ1 of two words, each given twice so that a shift of 64 bits rotates it; both in each half of the result.
#[inline(always)]
fn sigma1<V: Vector>(twice: V) -> V {
    let sigma = twice.shr_u64::<17>().xor(twice.shr_u64::<19>()).xor(twice.shr_u32::<10>());
    sigma.shuffle_u32::<0, 2, 0, 2>()
}
