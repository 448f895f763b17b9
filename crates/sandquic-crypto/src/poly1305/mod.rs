//! Poly1305, the one-time authenticator of RFC 8439.
//!
#![doc = include_str!("../../docs/poly1305.md")]

#[allow(dead_code, reason = "one of the two scalar forms is used, by target")]
mod scalar32;
#[allow(dead_code, reason = "one of the two scalar forms is used, by target")]
mod scalar64;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod wide;

#[cfg(not(any(target_pointer_width = "64", sandquic_wide_arithmetic)))]
pub(crate) use scalar32::{Accumulator, Multiplier};
#[cfg(any(target_pointer_width = "64", sandquic_wide_arithmetic))]
pub(crate) use scalar64::{Accumulator, Multiplier};

use core::fmt;

pub use universal_hash;
use universal_hash::{
    KeyInit, ParBlocks, UhfBackend, UhfClosure, UniversalHash,
    common::{BlockSizeUser, KeySizeUser, ParBlocksSizeUser},
    consts::{U16, U32},
};

use crate::simd::{Kernel, Vector};

/// A key: 16 bytes of r, which are clamped, and 16 bytes that are added at the end.
pub type Key = universal_hash::Key<Poly1305>;
/// A block, 16 bytes.
pub type Block = universal_hash::Block<Poly1305>;
/// A tag, 16 bytes.
pub type Tag = universal_hash::Block<Poly1305>;

/// Poly1305. A key authenticates one message and no more.
///
/// [`UniversalHash::update_padded`] pads the last block with zeros, as the AEADs need it; Poly1305 of RFC 8439, where
/// the last block is as long as it is, is [`compute_unpadded`](Self::compute_unpadded).
///
/// ```
/// use sandquic_crypto::poly1305::{Poly1305, universal_hash::KeyInit};
///
/// let tag = Poly1305::new(&[0x42; 32].into()).compute_unpadded(b"a message");
/// assert_eq!(tag.len(), 16);
/// ```
#[derive(Clone)]
pub struct Poly1305 {
    state: State,
    pad: [u8; 16],
}

/// Up to 15 bytes with zeros behind them. On Wasm a copy of a length that the compiler does not know is a call of the
/// engine.
#[inline(always)]
fn zero_padded(bytes: &[u8]) -> [u8; 16] {
    let n = bytes.len();
    let padded = if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        // Eight bytes or more: the last eight overlap the first.
        let high = u128::from(u64::from_le_bytes(*last)) << (8 * n - 64);
        u128::from(u64::from_le_bytes(*first)) | high
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let high = u64::from(u32::from_le_bytes(*last)) << (8 * n - 32);
        u128::from(u64::from(u32::from_le_bytes(*first)) | high)
    } else {
        bytes.iter().rev().fold(0, |word, byte| word << 8 | u128::from(*byte))
    };
    padded.to_le_bytes()
}

/// r, the accumulator, and r^n once a long message has asked for it.
#[derive(Clone)]
pub(crate) struct State {
    r: Multiplier,
    h: Accumulator,
    power: wide::Power,
}

impl State {
    #[inline(always)]
    pub(crate) fn new(r: &[u8; 16]) -> Self {
        Self { r: Multiplier::new(r), h: Accumulator::default(), power: wide::Power::UNBUILT }
    }

    /// Absorbs whole blocks in scalar code.
    #[inline(always)]
    pub(crate) fn blocks_scalar(&mut self, blocks: &[u8]) {
        // Locals stay in registers across the loop.
        let (r, mut h) = (self.r, self.h);
        for block in blocks.as_chunks().0 {
            h.block(&r, block, 1);
        }
        self.h = h;
    }

    /// Absorbs whole blocks, by vectors where they are many.
    #[inline(always)]
    pub(crate) fn blocks<V: Vector>(&mut self, mut blocks: &[u8]) {
        if blocks.len() >= 16 * wide::THRESHOLD {
            let done = wide::absorb::<V>(&mut self.h, &self.r, &mut self.power, blocks);
            blocks = &blocks[done..];
        }
        self.blocks_scalar(blocks);
    }

    /// Absorbs a message and pads it with zeros to a whole block.
    #[inline(always)]
    pub(crate) fn padded<V: Vector>(&mut self, bytes: &[u8]) {
        let whole = bytes.len() / 16 * 16;
        self.blocks::<V>(&bytes[..whole]);
        self.padded_tail(&bytes[whole..]);
    }

    /// As [`padded`](Self::padded), for messages too short for vectors.
    #[inline(always)]
    pub(crate) fn padded_short(&mut self, bytes: &[u8]) {
        let whole = bytes.len() / 16 * 16;
        self.blocks_scalar(&bytes[..whole]);
        self.padded_tail(&bytes[whole..]);
    }

    /// Absorbs what is left of a message after whole blocks, if anything, padded with zeros.
    #[inline(always)]
    pub(crate) fn padded_tail(&mut self, tail: &[u8]) {
        if !tail.is_empty() {
            self.h.block(&self.r, &zero_padded(tail), 1);
        }
    }

    /// The multiplier and the accumulator, for a caller with a loop of its own.
    #[inline(always)]
    pub(crate) fn parts(&self) -> (Multiplier, Accumulator) {
        (self.r, self.h)
    }

    /// Puts the accumulator back.
    #[inline(always)]
    pub(crate) fn set(&mut self, h: Accumulator) {
        self.h = h;
    }

    /// Absorbs one block.
    #[inline(always)]
    pub(crate) fn block(&mut self, block: &[u8; 16]) {
        self.h.block(&self.r, block, 1);
    }

    /// The tag.
    #[inline(always)]
    pub(crate) fn tag(&self, pad: &[u8; 16]) -> [u8; 16] {
        self.h.tag(pad)
    }
}

#[cfg(feature = "zeroize")]
impl State {
    /// Overwrites everything.
    pub(crate) fn wipe(&mut self) {
        self.r.wipe();
        self.h.wipe();
        self.power.wipe();
    }
}

/// Absorbs blocks on the best vectors there are.
struct Absorb<'a> {
    state: &'a mut State,
    blocks: &'a [u8],
}

impl Kernel for Absorb<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        self.state.blocks::<V>(self.blocks);
    }

    #[inline(always)]
    fn soft(self) {
        self.state.blocks_scalar(self.blocks);
    }
}

impl Poly1305 {
    /// The tag of a message of any length (RFC 8439, section 2.5.1).
    #[must_use]
    pub fn compute_unpadded(mut self, message: &[u8]) -> Tag {
        let whole = message.len() / 16 * 16;
        self.absorb(&message[..whole]);
        let tail = &message[whole..];
        if !tail.is_empty() {
            let mut block = [0; 16];
            block[..tail.len()].copy_from_slice(tail);
            block[tail.len()] = 1;
            self.state.h.block(&self.state.r, &block, 0);
        }
        self.finalize()
    }

    fn absorb(&mut self, blocks: &[u8]) {
        if blocks.len() < 16 * wide::THRESHOLD {
            self.state.blocks_scalar(blocks);
        } else {
            crate::backend::dispatch(Absorb { state: &mut self.state, blocks });
        }
    }
}

impl KeySizeUser for Poly1305 {
    type KeySize = U32;
}

impl BlockSizeUser for Poly1305 {
    type BlockSize = U16;
}

impl ParBlocksSizeUser for Poly1305 {
    type ParBlocksSize = U32;
}

impl KeyInit for Poly1305 {
    fn new(key: &Key) -> Self {
        let (halves, _) = key.as_chunks::<16>();
        Self { state: State::new(&halves[0]), pad: halves[1] }
    }
}

impl UniversalHash for Poly1305 {
    fn update_with_backend(&mut self, f: impl UhfClosure<BlockSize = Self::BlockSize>) {
        f.call(self);
    }

    fn update(&mut self, blocks: &[Block]) {
        self.absorb(Block::slice_as_flattened(blocks));
    }

    fn finalize(self) -> Tag {
        self.state.tag(&self.pad).into()
    }
}

impl UhfBackend for Poly1305 {
    fn proc_block(&mut self, block: &Block) {
        self.state.block(&block.0);
    }

    fn proc_par_blocks(&mut self, blocks: &ParBlocks<Self>) {
        self.absorb(Block::slice_as_flattened(blocks));
    }
}

impl fmt::Debug for Poly1305 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Poly1305").finish_non_exhaustive()
    }
}

#[cfg(feature = "zeroize")]
impl Drop for Poly1305 {
    fn drop(&mut self) {
        self.state.wipe();
        crate::wipe::wipe(&mut self.pad);
    }
}

#[cfg(feature = "zeroize")]
impl zeroize::ZeroizeOnDrop for Poly1305 {}
