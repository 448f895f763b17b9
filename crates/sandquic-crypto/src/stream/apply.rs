//! The keystream over a slice: passes of four or eight blocks, then what is left.

use super::{BLOCK, to_bytes, xor};
use crate::backend::{dispatch, dispatch_narrow};
use crate::simd::{Kernel, Vector};

/// The block function of a stream cipher over 16 words of input, one of which or two count the blocks.
pub(crate) trait BlockFunction {
    /// Several blocks at once.
    type Pass<V: Vector>: Pass;

    /// The input with another block number.
    fn at(input: &[u32; 16], block: u64) -> [u32; 16];
    /// The block number of an input; of one with a counter of 32 bits the upper half means nothing.
    fn number(input: &[u32; 16]) -> u64;
    /// One block.
    fn block(input: &[u32; 16]) -> [u32; 16];
}

/// Several blocks, one word of each in a vector.
pub(crate) trait Pass {
    /// The blocks from the one that `input` describes on.
    fn new(input: &[u32; 16]) -> Self;
    /// Xors the blocks into 256 bytes per lane of the vector.
    fn xor(&self, out: &mut [u8]);
    /// Writes the blocks to 256 bytes per lane of the vector.
    fn write(&self, out: &mut [u8]);
    /// Goes on to the blocks that follow.
    fn advance(&mut self);
}

struct Apply<'a, F, const WRITE: bool> {
    input: [u32; 16],
    data: &'a mut [u8],
    last: &'a mut [u8; BLOCK],
    function: core::marker::PhantomData<F>,
}

/// Xors the keystream into `data` from block `first` on, or with `WRITE` writes it there. If `data` ends inside
/// a block, that block is left in `last`.
#[inline]
pub(crate) fn apply<F: BlockFunction, const WRITE: bool>(
    input: &[u32; 16],
    first: u64,
    data: &mut [u8],
    last: &mut [u8; BLOCK],
) {
    let input = F::at(input, first);
    if data.len() <= BLOCK {
        return one_block::<F, WRITE>(&input, data, last);
    }
    let kernel = Apply::<F, WRITE> { input, data, last, function: core::marker::PhantomData };
    // Only x86 has two widths: elsewhere the same code would be there twice.
    if cfg!(any(target_arch = "x86", target_arch = "x86_64")) && kernel.data.len() <= 4 * BLOCK {
        dispatch_narrow(kernel);
    } else {
        dispatch(kernel);
    }
}

/// At most one block, in scalar code: as fast as any vector layout of a single block. Not inlined, because it
/// is called at both ends of a message.
#[inline(never)]
fn one_block<F: BlockFunction, const WRITE: bool>(
    input: &[u32; 16],
    data: &mut [u8],
    last: &mut [u8; BLOCK],
) {
    let keystream = to_bytes(&F::block(input));
    if let Ok(whole) = <&mut [u8; BLOCK]>::try_from(&mut *data) {
        if WRITE {
            *whole = keystream;
        } else {
            xor(whole, &keystream);
        }
        return;
    }
    *last = keystream;
    let n = data.len();
    if WRITE {
        data.copy_from_slice(&keystream[..n]);
    } else {
        xor(data, &keystream[..n]);
    }
}

impl<F: BlockFunction, const WRITE: bool> Kernel for Apply<'_, F, WRITE> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let len = self.data.len();
        let mut pass = F::Pass::<V>::new(&self.input);
        let mut chunks = self.data.chunks_exact_mut(256 * V::LANES);
        for chunk in &mut chunks {
            if WRITE {
                pass.write(chunk);
            } else {
                pass.xor(chunk);
            }
            pass.advance();
        }
        let rest = chunks.into_remainder();
        if rest.is_empty() {
            return;
        }
        if rest.len() <= BLOCK {
            let done = ((len - rest.len()) / BLOCK) as u64;
            let input = F::at(&self.input, F::number(&self.input).wrapping_add(done));
            return one_block::<F, WRITE>(&input, rest, self.last);
        }
        // A pass costs less than two blocks in scalar code.
        let mut keystream = [0; 512];
        pass.write(&mut keystream);
        if WRITE {
            rest.copy_from_slice(&keystream[..rest.len()]);
        } else {
            xor(rest, &keystream[..rest.len()]);
        }
        if rest.len() % BLOCK != 0 {
            let start = rest.len() / BLOCK * BLOCK;
            self.last.copy_from_slice(&keystream[start..start + BLOCK]);
        }
    }

    #[inline(always)]
    fn soft(self) {
        let first = F::number(&self.input);
        for (i, chunk) in self.data.chunks_mut(BLOCK).enumerate() {
            let input = F::at(&self.input, first.wrapping_add(i as u64));
            one_block::<F, WRITE>(&input, chunk, self.last);
        }
    }
}
