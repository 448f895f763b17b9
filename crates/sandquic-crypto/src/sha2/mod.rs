//! SHA-224, SHA-256, SHA-384, SHA-512 and SHA-512/256 (FIPS 180-4), HMAC (RFC 2104) and HKDF (RFC 5869)
//! over them.
//!
//! The hashes have the traits of [`digest`], so everything generic over them works. `update` never fails;
//! a message may have up to 2^61 - 1 bytes.
//!
//! ```
//! use digest::Digest;
//! use sandquic_crypto::sha2::Sha256;
//!
//! let hash = Sha256::digest(b"abc");
//! assert_eq!(hash[..4], [0xba, 0x78, 0x16, 0xbf]);
//! ```
#![doc = include_str!("../../docs/sha2.md")]

use core::fmt;

use digest::array::Array;
use digest::block_api::{
    AlgorithmName, Block, BlockSizeUser, Buffer, BufferKindUser, Eager, FixedOutputCore, OutputSizeUser,
    Reset, UpdateCore,
};
use digest::consts::{U28, U32, U48, U64, U128};
use digest::{HashMarker, Output};

mod consts;
mod sha256;
mod sha512;
mod word;

/// HMAC with SHA-256 (RFC 2104): keys of any length, tags of 32 bytes. See [`hmac`] for its traits.
pub type HmacSha256 = hmac::Hmac<Sha256>;
/// HMAC with SHA-384: tags of 48 bytes.
pub type HmacSha384 = hmac::Hmac<Sha384>;
/// HMAC with SHA-512: tags of 64 bytes.
pub type HmacSha512 = hmac::Hmac<Sha512>;
/// HKDF with SHA-256 (RFC 5869): at most 255 * 32 bytes of output, more is an error.
pub type HkdfSha256 = hkdf::Hkdf<Sha256>;
/// HKDF with SHA-384: at most 255 * 48 bytes of output, more is an error.
pub type HkdfSha384 = hkdf::Hkdf<Sha384>;
/// HKDF with SHA-512: at most 255 * 64 bytes of output, more is an error.
pub type HkdfSha512 = hkdf::Hkdf<Sha512>;

pub use {hkdf, hmac};

macro_rules! hash {
    ($title:literal, $name:ident, $core:ident, $word:ty, $module:ident, $initial:ident,
     $block:ty, $output:ty, $pad:ident, $length:ty) => {
        digest::buffer_fixed!(
            #[doc = concat!("The ", $title, " hash function.")]
            pub struct $name($core);
            impl: BaseFixedTraits AlgorithmName Default Clone HashMarker Reset FixedOutputReset ZeroizeOnDrop;
        );

        #[doc = concat!("The state of ", $title, " between blocks, without the buffer of the bytes that follow.")]
        #[derive(Clone)]
        pub struct $core {
            state: [$word; 8],
            /// The number of blocks so far.
            blocks: $length,
        }

        impl HashMarker for $core {}

        impl BlockSizeUser for $core {
            type BlockSize = $block;
        }

        impl BufferKindUser for $core {
            type BufferKind = Eager;
        }

        impl OutputSizeUser for $core {
            type OutputSize = $output;
        }

        impl Default for $core {
            #[inline]
            fn default() -> Self {
                Self { state: consts::$initial, blocks: 0 }
            }
        }

        impl Reset for $core {
            #[inline]
            fn reset(&mut self) {
                *self = Self::default();
            }
        }

        impl UpdateCore for $core {
            #[inline]
            fn update_blocks(&mut self, blocks: &[Block<Self>]) {
                self.blocks = self.blocks.wrapping_add(blocks.len() as $length);
                $module::compress(&mut self.state, Array::cast_slice_to_core(blocks));
            }
        }

        impl FixedOutputCore for $core {
            #[inline]
            fn finalize_fixed_core(&mut self, buffer: &mut Buffer<Self>, out: &mut Output<Self>) {
                const BLOCK: $length = 16 * size_of::<$word>() as $length;
                let bytes = self.blocks.wrapping_mul(BLOCK).wrapping_add(buffer.get_pos() as $length);
                buffer.$pad(bytes.wrapping_mul(8), |block| {
                    $module::compress(&mut self.state, core::slice::from_ref(&block.0));
                });
                // Truncated outputs end inside the state; every size is a whole number of 32-bit halves.
                for (out, word) in out.chunks_mut(size_of::<$word>()).zip(self.state) {
                    out.copy_from_slice(&word.to_be_bytes()[..out.len()]);
                }
            }
        }

        impl AlgorithmName for $core {
            fn write_alg_name(f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($title)
            }
        }

        impl fmt::Debug for $core {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($core)).finish_non_exhaustive()
            }
        }

        #[cfg(feature = "zeroize")]
        impl Drop for $core {
            fn drop(&mut self) {
                use zeroize::Zeroize;
                self.state.zeroize();
                self.blocks.zeroize();
            }
        }

        #[cfg(feature = "zeroize")]
        impl zeroize::ZeroizeOnDrop for $core {}
    };
}

hash!("SHA-224", Sha224, Sha224Core, u32, sha256, SHA224, U64, U28, len64_padding_be, u64);
hash!("SHA-256", Sha256, Sha256Core, u32, sha256, SHA256, U64, U32, len64_padding_be, u64);
hash!("SHA-384", Sha384, Sha384Core, u64, sha512, SHA384, U128, U48, len128_padding_be, u128);
hash!("SHA-512", Sha512, Sha512Core, u64, sha512, SHA512, U128, U64, len128_padding_be, u128);
hash!("SHA-512/256", Sha512_256, Sha512_256Core, u64, sha512, SHA512_256, U128, U32, len128_padding_be, u128);
