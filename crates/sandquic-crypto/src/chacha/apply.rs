//! ChaCha as a block function of [`crate::stream`].

use super::block::{Wide, at, block, permute, rows};
use crate::simd::Vector;
use crate::stream::{BlockFunction, Pass};

/// ChaCha with a number of double rounds, a counter of 32 bits or (`WIDE`) 64, and a way of rotating.
pub(super) struct Function<const DOUBLE_ROUNDS: usize, const WIDE: bool, const ROTATION: u8>;

/// Blocks of [`Function`].
#[derive(Clone, Copy)]
pub(super) struct Blocks<V, const DOUBLE_ROUNDS: usize, const WIDE: bool, const ROTATION: u8>(
    Wide<V, ROTATION>,
);

impl<const DOUBLE_ROUNDS: usize, const WIDE: bool, const ROTATION: u8> BlockFunction
    for Function<DOUBLE_ROUNDS, WIDE, ROTATION>
{
    type Pass<V: Vector> = Blocks<V, DOUBLE_ROUNDS, WIDE, ROTATION>;

    const TWO: bool = true;

    #[inline(always)]
    fn at(input: &[u32; 16], number: u64) -> [u32; 16] {
        at::<WIDE>(input, number)
    }
    #[inline(always)]
    fn number(input: &[u32; 16]) -> u64 {
        u64::from(input[12]) | u64::from(input[13]) << 32
    }
    #[inline(always)]
    fn block<const ADD: bool>(input: &[u32; 16]) -> [u32; 16] {
        if ADD { block::<DOUBLE_ROUNDS>(input) } else { permute::<DOUBLE_ROUNDS>(input) }
    }
    #[inline(always)]
    fn few<V: Vector, const ADD: bool, const N: usize>(
        input: &[u32; 16],
        number: u64,
        out: &mut [[u8; 64]; N],
    ) {
        let blocks = rows::<V, DOUBLE_ROUNDS, ADD, WIDE, N>(input, number);
        for (out, rows) in out.iter_mut().zip(blocks) {
            for (chunk, row) in out.chunks_exact_mut(16).zip(rows) {
                row.store(chunk);
            }
        }
    }
}

impl<V: Vector, const DOUBLE_ROUNDS: usize, const WIDE: bool, const ROTATION: u8> Pass<V>
    for Blocks<V, DOUBLE_ROUNDS, WIDE, ROTATION>
{
    #[inline(always)]
    fn new(input: &[u32; 16]) -> Self {
        Self(Wide::new::<WIDE>(input))
    }
    #[inline(always)]
    fn advance(&mut self) {
        self.0.advance::<WIDE>();
    }
    #[inline(always)]
    fn rounds(&self) -> [V; 16] {
        self.0.rounds::<DOUBLE_ROUNDS>()
    }
    #[inline(always)]
    fn two<const WRITE: bool>(&self, next: &Self, out: &mut [u8]) {
        self.0.two::<DOUBLE_ROUNDS, WRITE>(&next.0, out);
    }
    #[inline(always)]
    fn finish<const WRITE: bool>(&self, x: &[V; 16], out: &mut [u8]) {
        self.0.finish::<WRITE>(|i| x[i], out);
    }
}
