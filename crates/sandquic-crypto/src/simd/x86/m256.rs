//! The 256-bit vector on AVX2: two independent lanes of 128 bits, as the instructions see them.

#[cfg(target_arch = "x86")]
use core::arch::x86::*;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;
use core::mem::transmute;

use crate::simd::Vector;

/// One YMM register.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct M256(pub(super) __m256i);

/// One or more intrinsics of AVX2.
macro_rules! intrinsics {
    ($e:expr) => {
        // SAFETY: the type is private to the module `x86`, which hands it out only inside functions that
        // enable AVX2, after a check that it is there.
        unsafe { $e }
    };
}

macro_rules! binary {
    ($($name:ident = $f:ident;)*) => {$(
        #[inline(always)]
        fn $name(self, other: Self) -> Self {
            Self(intrinsics!($f(self.0, other.0)))
        }
    )*};
}

macro_rules! shift {
    ($($name:ident = $f:ident;)*) => {$(
        #[inline(always)]
        fn $name<const N: i32>(self) -> Self {
            Self(intrinsics!($f::<N>(self.0)))
        }
    )*};
}

impl Vector for M256 {
    const LANES: usize = 2;
    const FAST_SWIZZLE: bool = true;

    #[inline(always)]
    fn load(bytes: &[u8]) -> Self {
        let bytes = &bytes[..32];
        // SAFETY: the slice holds 32 bytes and the load needs no alignment; for the instruction see
        // `intrinsics`.
        Self(unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) })
    }
    #[inline(always)]
    fn store(self, bytes: &mut [u8]) {
        let bytes = &mut bytes[..32];
        // SAFETY: the slice holds 32 writable bytes and the store needs no alignment; for the
        // instruction see `intrinsics`.
        unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), self.0) }
    }
    #[inline(always)]
    fn from_lanes(mut lane: impl FnMut(usize) -> [u8; 16]) -> Self {
        // SAFETY: both types are 32 bytes without padding or invalid values.
        Self(unsafe { transmute::<[[u8; 16]; 2], __m256i>([lane(0), lane(1)]) })
    }
    #[inline(always)]
    fn lane(self, index: usize) -> [u8; 16] {
        // SAFETY: both types are 32 bytes without padding or invalid values.
        unsafe { transmute::<__m256i, [[u8; 16]; 2]>(self.0)[index] }
    }
    #[inline(always)]
    fn opaque(bytes: &[u8; 16]) -> Self {
        Self::broadcast(core::hint::black_box(bytes))
    }
    #[inline(always)]
    fn splat_u32(x: u32) -> Self {
        Self(intrinsics!(_mm256_set1_epi32(x as i32)))
    }
    #[inline(always)]
    fn splat_u64(x: u64) -> Self {
        Self(intrinsics!(_mm256_set1_epi64x(x as i64)))
    }

    binary! {
        and = _mm256_and_si256;
        or = _mm256_or_si256;
        xor = _mm256_xor_si256;
        add_u8 = _mm256_add_epi8;
        add_u32 = _mm256_add_epi32;
        add_u64 = _mm256_add_epi64;
        sub_u32 = _mm256_sub_epi32;
        mul_even_u32 = _mm256_mul_epu32;
        dot_i16 = _mm256_madd_epi16;
        eq_u8 = _mm256_cmpeq_epi8;
        gt_i8 = _mm256_cmpgt_epi8;
        gt_i32 = _mm256_cmpgt_epi32;
        interleave_lo_u8 = _mm256_unpacklo_epi8;
        interleave_hi_u8 = _mm256_unpackhi_epi8;
        interleave_lo_u16 = _mm256_unpacklo_epi16;
        interleave_hi_u16 = _mm256_unpackhi_epi16;
        interleave_lo_u32 = _mm256_unpacklo_epi32;
        interleave_hi_u32 = _mm256_unpackhi_epi32;
        interleave_lo_u64 = _mm256_unpacklo_epi64;
        interleave_hi_u64 = _mm256_unpackhi_epi64;
    }
    #[inline(always)]
    fn andnot(self, other: Self) -> Self {
        Self(intrinsics!(_mm256_andnot_si256(other.0, self.0)))
    }

    shift! {
        shl_u32 = _mm256_slli_epi32;
        shl_u64 = _mm256_slli_epi64;
        shr_u32 = _mm256_srli_epi32;
        shr_u64 = _mm256_srli_epi64;
        shr_i32 = _mm256_srai_epi32;
        shl_bytes = _mm256_slli_si256;
        shr_bytes = _mm256_srli_si256;
    }
    /// The second count cannot be a constant argument, so both go in registers, until LLVM sees that they are constant.
    #[inline(always)]
    fn rotl_u32<const N: i32>(self) -> Self {
        Self(intrinsics!(_mm256_or_si256(
            _mm256_sll_epi32(self.0, _mm_cvtsi32_si128(N)),
            _mm256_srl_epi32(self.0, _mm_cvtsi32_si128(32 - N))
        )))
    }

    #[inline(always)]
    fn swizzle(self, indices: Self) -> Self {
        Self(intrinsics!(_mm256_shuffle_epi8(self.0, indices.0)))
    }
    #[inline(always)]
    fn shuffle_u32<const A: usize, const B: usize, const C: usize, const D: usize>(self) -> Self {
        // SAFETY: both types are 32 bytes without padding or invalid values. (`vpshufd` takes one constant,
        // which cannot be computed from four; LLVM makes one of this.)
        unsafe {
            let x = transmute::<__m256i, [u32; 8]>(self.0);
            Self(transmute::<[u32; 8], __m256i>([
                x[A],
                x[B],
                x[C],
                x[D],
                x[A + 4],
                x[B + 4],
                x[C + 4],
                x[D + 4],
            ]))
        }
    }
    #[inline(always)]
    fn align_bytes<const N: i32>(self, next: Self) -> Self {
        Self(intrinsics!(_mm256_alignr_epi8::<N>(next.0, self.0)))
    }

    #[inline(always)]
    fn zip_lanes(self, other: Self) -> (Self, Self) {
        (
            Self(intrinsics!(_mm256_permute2x128_si256::<0x20>(self.0, other.0))),
            Self(intrinsics!(_mm256_permute2x128_si256::<0x31>(self.0, other.0))),
        )
    }
    #[inline(always)]
    fn extract_u32<const I: usize>(self) -> u32 {
        // SAFETY: both types are 32 bytes without padding or invalid values.
        unsafe { transmute::<__m256i, [u32; 8]>(self.0)[I] }
    }
    #[inline(always)]
    fn extract_u64<const I: usize>(self) -> u64 {
        // SAFETY: both types are 32 bytes without padding or invalid values.
        unsafe { transmute::<__m256i, [u64; 4]>(self.0)[I] }
    }
}
