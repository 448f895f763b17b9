//! Sixteen words of several blocks in memory.

use crate::simd::Vector;

/// Whether two passes at once have their words in [`Slots`] instead of in variables.
pub(crate) const SLOTS: bool = cfg!(target_arch = "wasm32");

/// Vector i holds word i of each block, in memory: a read is a load where it is written and an assignment a store.
///
/// For the engines of WebAssembly. Two passes have 32 words and registers are 16. Left to themselves the engines keep
/// words in places on the stack and, what costs more, place an operation just before the first that needs it: of rounds
/// with nothing but variables, Cranelift makes one quarter round after the other, across both rounds and passes. Stores
/// stay in their order. Every quarter round begins with loads and ends with stores, and needs few registers.
pub(crate) struct Slots<V>([V; 16]);

impl<V: Vector> Slots<V> {
    #[inline(always)]
    pub(crate) fn new(words: &[V; 16]) -> Self {
        Self(*words)
    }

    #[inline(always)]
    pub(crate) fn get(&self, i: usize) -> V {
        V::recall(&self.0[i])
    }

    #[inline(always)]
    pub(crate) fn set(&mut self, i: usize, value: V) {
        V::keep(&mut self.0[i], value);
    }
}
