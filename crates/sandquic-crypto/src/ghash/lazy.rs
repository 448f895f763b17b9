//! The tables of a key: those of H from the start, those of H^2 when they are worth their price.

use super::{
    BuildPair,
    table::{self, Pair, Table},
};
use crate::{backend, simd::Vector};

/// As many blocks go through the table of H alone before that of H^2 is built. Those of a short message of AES-GCM count
/// twice: it asks as a whole, then part by part.
#[cfg(feature = "std")]
const ALONE: u32 = 32;

/// The tables of a key. Without the feature `std` there is nothing to build them in later, so they are built at once.
#[cfg_attr(not(feature = "std"), derive(Clone))]
pub(super) struct Tables {
    pub(super) first: Table,
    #[cfg(feature = "std")]
    pair: std::sync::OnceLock<Pair>,
    /// Blocks that went through the table of H alone. A lost update between threads only delays the other.
    #[cfg(feature = "std")]
    alone: core::sync::atomic::AtomicU32,
    #[cfg(not(feature = "std"))]
    pair: Pair,
}

#[cold]
#[inline(never)]
fn build(first: &Table) -> Pair {
    backend::dispatch_narrow(BuildPair(first))
}

#[cfg(feature = "std")]
impl Tables {
    pub(super) fn new() -> Self {
        Self { first: [[[0; 16]; 2]; 16], pair: Default::default(), alone: Default::default() }
    }

    #[inline(always)]
    pub(super) fn build<V: Vector>(&mut self, h: &[u8; 16]) {
        table::build::<V>(h, &mut self.first);
    }

    /// The tables for pairs, if so many blocks, or those before, are reason to have them.
    #[inline(always)]
    pub(super) fn pair(&self, blocks: usize) -> Option<&Pair> {
        match self.pair.get() {
            Some(pair) => Some(pair),
            None => self.pair_later(blocks),
        }
    }

    #[inline(never)]
    fn pair_later(&self, blocks: usize) -> Option<&Pair> {
        use core::sync::atomic::Ordering::Relaxed;

        let blocks = u32::try_from(blocks).unwrap_or(u32::MAX);
        let alone = self.alone.load(Relaxed).saturating_add(blocks);
        if alone >= ALONE {
            return Some(self.pair.get_or_init(|| build(&self.first)));
        }
        self.alone.store(alone, Relaxed);
        None
    }

    #[cfg(feature = "zeroize")]
    pub(super) fn wipe(&mut self) {
        wipe(&mut self.first);
        for table in self.pair.get_mut().into_iter().flatten() {
            wipe(table);
        }
    }
}

#[cfg(not(feature = "std"))]
impl Tables {
    pub(super) fn new() -> Self {
        Self { first: [[[0; 16]; 2]; 16], pair: [[[[0; 16]; 2]; 16]; 2] }
    }

    #[inline(always)]
    pub(super) fn build<V: Vector>(&mut self, h: &[u8; 16]) {
        table::build::<V>(h, &mut self.first);
        self.pair = build(&self.first);
    }

    #[inline(always)]
    pub(super) fn pair(&self, _blocks: usize) -> Option<&Pair> {
        Some(&self.pair)
    }

    #[cfg(feature = "zeroize")]
    pub(super) fn wipe(&mut self) {
        wipe(&mut self.first);
        self.pair.iter_mut().for_each(wipe);
    }
}

#[cfg(feature = "zeroize")]
fn wipe(table: &mut Table) {
    crate::wipe::wipe(table.as_flattened_mut().as_flattened_mut());
}

#[cfg(feature = "std")]
impl Clone for Tables {
    fn clone(&self) -> Self {
        // The copy counts from the start if the tables are not there yet.
        Self { first: self.first, pair: self.pair.clone(), alone: Default::default() }
    }
}
