//! The keystream over a slice: passes of four or eight blocks, then what is left.

use super::{BLOCK, to_bytes, xor};
use crate::backend::{dispatch, dispatch_narrow};
use crate::simd::{Kernel, Vector};

/// The block function of a stream cipher over 16 words of input, one of which or two count the blocks.
pub(crate) trait BlockFunction {
    /// Several blocks at once.
    type Pass<V: Vector>: Pass<V>;

    /// The input with another block number.
    fn at(input: &[u32; 16], block: u64) -> [u32; 16];
    /// The block number of an input; of one with a counter of 32 bits the upper half means nothing.
    fn number(input: &[u32; 16]) -> u64;
    /// One block in scalar code; without `ADD` the rounds alone, which HChaCha and HSalsa need.
    fn block<const ADD: bool>(input: &[u32; 16]) -> [u32; 16];
    /// Whether [`few`](Self::few) takes less time for two blocks than a pass.
    const TWO: bool;
    /// One or two blocks that follow each other from block `number` on, as bytes, on a machine that has `V`, which has one
    /// lane.
    fn few<V: Vector, const ADD: bool, const N: usize>(
        input: &[u32; 16],
        number: u64,
        out: &mut [[u8; BLOCK]; N],
    );
}

/// Several blocks, one word of each in a vector.
pub(crate) trait Pass<V>: Copy {
    /// The blocks from the one that `input` describes on.
    fn new(input: &[u32; 16]) -> Self;
    /// Goes on to the blocks that follow.
    fn advance(&mut self);
    /// The rounds.
    fn rounds(&self) -> [V; 16];
    /// Xors these blocks and those of `next`, which follow them, into 512 bytes per lane of the vector, or with `WRITE`
    /// writes them there. The rounds are computed together.
    fn two<const WRITE: bool>(&self, next: &Self, out: &mut [u8]);
    /// Adds the input to the result of the rounds and xors the blocks into 256 bytes per lane of the vector, or with
    /// `WRITE` writes them there.
    fn finish<const WRITE: bool>(&self, x: &[V; 16], out: &mut [u8]);
}

struct Apply<'a, F, const WRITE: bool> {
    input: [u32; 16],
    data: &'a mut [u8],
    last: &'a mut [u8; BLOCK],
    function: core::marker::PhantomData<F>,
}

/// Xors the keystream into `data` from block `first` on, or with `WRITE` writes it there. If `data` ends inside
/// a block, that block is left in `last`, whose content is undefined otherwise.
#[inline]
pub(crate) fn apply<F: BlockFunction, const WRITE: bool>(
    input: &[u32; 16],
    first: u64,
    data: &mut [u8],
    last: &mut [u8; BLOCK],
) {
    if data.len() <= BLOCK {
        return last_block::<F, WRITE>(input, first, data, last);
    }
    let input = F::at(input, first);
    let kernel = Apply::<F, WRITE> { input, data, last, function: core::marker::PhantomData };
    // Only x86 has two widths: elsewhere the same code would be there twice.
    if cfg!(any(target_arch = "x86", target_arch = "x86_64")) && kernel.data.len() <= 4 * BLOCK {
        dispatch_narrow(kernel);
    } else {
        dispatch(kernel);
    }
}

/// `N` blocks of the keystream; without `ADD` the rounds alone.
struct Blocks<'a, F, const ADD: bool, const N: usize> {
    input: &'a [u32; 16],
    number: u64,
    out: &'a mut [[u8; BLOCK]; N],
    function: core::marker::PhantomData<F>,
}

impl<F: BlockFunction, const ADD: bool, const N: usize> Kernel for Blocks<'_, F, ADD, N> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        F::few::<V, ADD, N>(self.input, self.number, self.out);
    }

    #[inline(always)]
    fn soft(self) {
        for (i, out) in self.out.iter_mut().enumerate() {
            *out = to_bytes(&F::block::<ADD>(&F::at(self.input, self.number.wrapping_add(i as u64))));
        }
    }
}

/// `N` blocks of the keystream from block `number` on; without `ADD` the rounds alone. Not inlined, because it is called at
/// both ends of a message. The number comes apart from the input: written into it, it would be loaded as part of a vector
/// before it has left the processor's queue of stores.
#[inline(never)]
pub(crate) fn blocks<F: BlockFunction, const ADD: bool, const N: usize>(
    input: &[u32; 16],
    number: u64,
    out: &mut [[u8; BLOCK]; N],
) {
    dispatch_narrow(Blocks::<F, ADD, N> { input, number, out, function: core::marker::PhantomData });
}

/// A block or less. The block is left in `last` in any case.
#[inline(always)]
fn last_block<F: BlockFunction, const WRITE: bool>(
    input: &[u32; 16],
    number: u64,
    data: &mut [u8],
    last: &mut [u8; BLOCK],
) {
    blocks::<F, true, 1>(input, number, core::array::from_mut(last));
    let n = data.len();
    if WRITE {
        data.copy_from_slice(&last[..n]);
    } else {
        xor(data, &last[..n]);
    }
}

/// Uses a keystream of the blocks that `data` has.
#[inline(always)]
fn finish<const WRITE: bool>(keystream: &[u8], data: &mut [u8], last: &mut [u8; BLOCK]) {
    let n = data.len();
    if WRITE {
        data.copy_from_slice(&keystream[..n]);
    } else {
        xor(data, &keystream[..n]);
    }
    if !n.is_multiple_of(BLOCK) {
        let start = n / BLOCK * BLOCK;
        last.copy_from_slice(&keystream[start..start + BLOCK]);
    }
}

impl<F: BlockFunction, const WRITE: bool> Kernel for Apply<'_, F, WRITE> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let len = self.data.len();
        let mut pass = F::Pass::<V>::new(&self.input);
        // Two passes at once: a pass alone waits for its own results.
        let mut pairs = self.data.chunks_exact_mut(512 * V::LANES);
        for pair in &mut pairs {
            let mut next = pass;
            next.advance();
            pass.two::<WRITE>(&next, pair);
            pass = next;
            pass.advance();
        }
        let mut chunks = pairs.into_remainder().chunks_exact_mut(256 * V::LANES);
        for chunk in &mut chunks {
            pass.finish::<WRITE>(&pass.rounds(), chunk);
            pass.advance();
        }
        let rest = chunks.into_remainder();
        if rest.is_empty() {
            return;
        }
        if rest.len() <= if F::TWO { 2 * BLOCK } else { BLOCK } {
            let done = ((len - rest.len()) / BLOCK) as u64;
            let number = F::number(&self.input).wrapping_add(done);
            if rest.len() <= BLOCK {
                return last_block::<F, WRITE>(&self.input, number, rest, self.last);
            }
            let mut keystream = [[0; BLOCK]; 2];
            blocks::<F, true, 2>(&self.input, number, &mut keystream);
            return finish::<WRITE>(keystream.as_flattened(), rest, self.last);
        }
        let mut keystream = [0; 512];
        pass.finish::<true>(&pass.rounds(), &mut keystream);
        finish::<WRITE>(&keystream, rest, self.last);
    }

    #[inline(always)]
    fn soft(self) {
        let first = F::number(&self.input);
        for (i, chunk) in self.data.chunks_mut(BLOCK).enumerate() {
            let input = F::at(&self.input, first.wrapping_add(i as u64));
            finish::<WRITE>(&to_bytes(&F::block::<true>(&input)), chunk, self.last);
        }
    }
}
