//! GHASH of AES-GCM (NIST SP 800-38D) and POLYVAL of AES-GCM-SIV (RFC 8452).
//!
#![doc = include_str!("../../docs/ghash.md")]

pub(crate) mod clmul;
mod lazy;
mod scalar;
pub(crate) mod table;
#[cfg(test)]
mod tests;

use core::fmt;

pub use universal_hash;
use universal_hash::{
    KeyInit, ParBlocks, Reset, UhfBackend, UhfClosure, UniversalHash,
    common::{BlockSizeUser, KeySizeUser, ParBlocksSizeUser},
    consts::{U8, U16},
};

use crate::{
    backend,
    simd::{ClmulInstructions, ClmulKernel, Kernel, Vector},
};

#[cfg(feature = "zeroize")]
use crate::wipe::wipe;

/// Indices that turn a block round.
pub(crate) static REVERSE: [u8; 16] = [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0];

/// H with its tables or powers.
#[derive(Clone)]
pub(crate) struct HashKey {
    form: Form,
}

#[derive(Clone)]
#[allow(clippy::large_enum_variant, reason = "no allocator; a program uses one variant for all its keys")]
enum Form {
    Clmul(clmul::Powers),
    Table(lazy::Tables),
    Scalar([u8; 16]),
}

impl HashKey {
    /// H in the order of GHASH.
    pub(crate) fn new(h: &[u8; 16]) -> Self {
        let mut key = Self { form: Form::Scalar(*h) };
        if let Err(build) = backend::try_clmul(Build { h, into: &mut key.form }) {
            let Build { h, into } = build;
            backend::dispatch_narrow(BuildTables { h, into });
        }
        key
    }

    /// H in the order of POLYVAL: RFC 8452, appendix A.
    pub(crate) fn new_polyval(h: &[u8; 16]) -> Self {
        Self::new(&table::times_x(u128::from_le_bytes(*h)).to_be_bytes())
    }

    /// Absorbs whole blocks into y, which is in the order of GHASH; `reverse` if the blocks are in POLYVAL's.
    // One copy of several kilobytes of code.
    #[inline(never)]
    pub(crate) fn absorb(&self, y: &mut [u8; 16], blocks: &[u8], reverse: bool) {
        let pair = self.pair(blocks.len() / 16);
        let absorb = Absorb { key: self, pair, y, blocks, reverse };
        if let Err(absorb) = backend::try_clmul(absorb) {
            backend::dispatch_narrow(absorb);
        }
    }

    /// The powers for carry-less multiplication, if that is what the key was built for.
    #[inline(always)]
    pub(crate) fn powers(&self) -> &clmul::Powers {
        match &self.form {
            Form::Clmul(powers) => powers,
            // The same answer of the same processor chooses the kernel and chose the form.
            _ => unreachable!("a key for software in a kernel of carry-less multiplication"),
        }
    }
}

impl HashKey {
    /// The tables for pairs, if the key was built for tables and so many blocks are reason to have these.
    #[inline(always)]
    pub(crate) fn pair(&self, blocks: usize) -> Option<&table::Pair> {
        match &self.form {
            Form::Table(tables) => tables.pair(blocks),
            _ => None,
        }
    }
}

#[cfg(feature = "zeroize")]
impl Drop for HashKey {
    fn drop(&mut self) {
        match &mut self.form {
            Form::Clmul(powers) => wipe(powers.as_flattened_mut()),
            Form::Table(tables) => tables.wipe(),
            Form::Scalar(h) => wipe(h),
        }
    }
}

struct Build<'a> {
    h: &'a [u8; 16],
    into: &'a mut Form,
}

impl ClmulKernel for Build<'_> {
    type Output = ();

    #[inline(always)]
    fn run<C: ClmulInstructions>(self, clmul: C) {
        *self.into = Form::Clmul(clmul::build(clmul, self.h));
    }
}

struct BuildTables<'a> {
    h: &'a [u8; 16],
    into: &'a mut Form,
}

impl Kernel for BuildTables<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        if V::FAST_SWIZZLE {
            // In its place: moves of half a kilobyte show.
            *self.into = Form::Table(lazy::Tables::new());
            if let Form::Table(tables) = self.into {
                tables.build::<V>(self.h);
            }
        }
    }

    #[inline(always)]
    fn soft(self) {}
}

struct BuildPair<'a>(&'a table::Table);

impl Kernel for BuildPair<'_> {
    type Output = table::Pair;

    #[inline(always)]
    fn run<V: Vector>(self) -> table::Pair {
        table::square::<V>(self.0)
    }

    #[inline(always)]
    fn soft(self) -> table::Pair {
        Kernel::run::<crate::simd::portable::V128>(self)
    }
}

struct Absorb<'a> {
    key: &'a HashKey,
    pair: Option<&'a table::Pair>,
    y: &'a mut [u8; 16],
    blocks: &'a [u8],
    reverse: bool,
}

impl ClmulKernel for Absorb<'_> {
    type Output = ();

    #[inline(always)]
    fn run<C: ClmulInstructions>(self, clmul: C) {
        clmul::absorb(clmul, self.key.powers(), self.y, self.blocks, self.reverse);
    }
}

impl Kernel for Absorb<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        if !V::FAST_SWIZZLE {
            return self.soft();
        }
        if let Form::Table(tables) = &self.key.form {
            table::absorb::<V>(&tables.first, self.pair, self.y, self.blocks, self.reverse);
        }
    }

    #[inline(always)]
    fn soft(self) {
        if let Form::Scalar(h) = &self.key.form {
            scalar::absorb(h, self.y, self.blocks, self.reverse);
        }
    }
}

macro_rules! universal_hash {
    ($(#[$doc:meta])* $name:ident, $new:path, $reverse:literal) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $name {
            key: HashKey,
            y: [u8; 16],
        }

        impl KeySizeUser for $name {
            type KeySize = U16;
        }

        impl BlockSizeUser for $name {
            type BlockSize = U16;
        }

        impl ParBlocksSizeUser for $name {
            type ParBlocksSize = U8;
        }

        impl KeyInit for $name {
            fn new(key: &universal_hash::Key<Self>) -> Self {
                Self { key: $new(&key.0), y: [0; 16] }
            }
        }

        impl UniversalHash for $name {
            fn update_with_backend(&mut self, f: impl UhfClosure<BlockSize = Self::BlockSize>) {
                f.call(self);
            }

            fn update(&mut self, blocks: &[universal_hash::Block<Self>]) {
                let blocks = universal_hash::Block::<Self>::slice_as_flattened(blocks);
                self.key.absorb(&mut self.y, blocks, $reverse);
            }

            fn finalize(self) -> universal_hash::Block<Self> {
                let mut y = self.y;
                if $reverse {
                    y.reverse();
                }
                y.into()
            }
        }

        impl UhfBackend for $name {
            fn proc_block(&mut self, block: &universal_hash::Block<Self>) {
                self.key.absorb(&mut self.y, &block.0, $reverse);
            }

            fn proc_par_blocks(&mut self, blocks: &ParBlocks<Self>) {
                let blocks = universal_hash::Block::<Self>::slice_as_flattened(blocks);
                self.key.absorb(&mut self.y, blocks, $reverse);
            }
        }

        impl Reset for $name {
            fn reset(&mut self) {
                self.y = [0; 16];
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }

        #[cfg(feature = "zeroize")]
        impl Drop for $name {
            fn drop(&mut self) {
                wipe(&mut self.y);
            }
        }

        #[cfg(feature = "zeroize")]
        impl zeroize::ZeroizeOnDrop for $name {}
    };
}

universal_hash! {
    /// GHASH: NIST SP 800-38D, section 6.4. Keys and blocks are 16 bytes.
    GHash, HashKey::new, false
}
universal_hash! {
    /// POLYVAL: RFC 8452, section 3. Keys and blocks are 16 bytes.
    Polyval, HashKey::new_polyval, true
}
