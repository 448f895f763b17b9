//! The 128-bit vector on SSE2, with `pshufb` and `palignr` where SSSE3 is there.

#[cfg(target_arch = "x86")]
use core::arch::x86::*;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;
use core::mem::transmute;

use crate::simd::Vector;

/// One XMM register. With `SSSE3` the type exists only where SSSE3 does.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct M128<const SSSE3: bool>(pub(super) __m128i);

/// One or more intrinsics of SSE2 (SSSE3 too under `if SSSE3`).
macro_rules! intrinsics {
    ($e:expr) => {
        // SAFETY: the type is private to the module `x86`, which hands it out only inside functions that
        // enable SSE2 (SSSE3 too under `if SSSE3`), after a check that they are there.
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

impl<const SSSE3: bool> Vector for M128<SSSE3> {
    const LANES: usize = 1;
    const FAST_SWIZZLE: bool = SSSE3;

    #[inline(always)]
    fn load(bytes: &[u8]) -> Self {
        let bytes = &bytes[..16];
        // SAFETY: the slice holds 16 bytes and the load needs no alignment; for the instruction see
        // `intrinsics`.
        Self(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
    }
    #[inline(always)]
    fn store(self, bytes: &mut [u8]) {
        let bytes = &mut bytes[..16];
        // SAFETY: the slice holds 16 writable bytes and the store needs no alignment; for the
        // instruction see `intrinsics`.
        unsafe { _mm_storeu_si128(bytes.as_mut_ptr().cast(), self.0) }
    }
    #[inline(always)]
    fn from_lanes(mut lane: impl FnMut(usize) -> [u8; 16]) -> Self {
        Self::load(&lane(0))
    }
    #[inline(always)]
    fn lane(self, _index: usize) -> [u8; 16] {
        let mut bytes = [0; 16];
        self.store(&mut bytes);
        bytes
    }
    #[inline(always)]
    fn opaque(bytes: &[u8; 16]) -> Self {
        Self::broadcast(core::hint::black_box(bytes))
    }
    #[inline(always)]
    fn splat_u32(x: u32) -> Self {
        Self(intrinsics!(_mm_set1_epi32(x as i32)))
    }
    #[inline(always)]
    fn splat_u64(x: u64) -> Self {
        Self(intrinsics!(_mm_set1_epi64x(x as i64)))
    }

    binary! {
        and = _mm_and_si128;
        or = _mm_or_si128;
        xor = _mm_xor_si128;
        add_u8 = _mm_add_epi8;
        add_u32 = _mm_add_epi32;
        add_u64 = _mm_add_epi64;
        sub_u32 = _mm_sub_epi32;
        mul_even_u32 = _mm_mul_epu32;
        dot_i16 = _mm_madd_epi16;
        eq_u8 = _mm_cmpeq_epi8;
        gt_i8 = _mm_cmpgt_epi8;
        gt_i32 = _mm_cmpgt_epi32;
        interleave_lo_u8 = _mm_unpacklo_epi8;
        interleave_hi_u8 = _mm_unpackhi_epi8;
        interleave_lo_u16 = _mm_unpacklo_epi16;
        interleave_hi_u16 = _mm_unpackhi_epi16;
        interleave_lo_u32 = _mm_unpacklo_epi32;
        interleave_hi_u32 = _mm_unpackhi_epi32;
        interleave_lo_u64 = _mm_unpacklo_epi64;
        interleave_hi_u64 = _mm_unpackhi_epi64;
    }
    #[inline(always)]
    fn andnot(self, other: Self) -> Self {
        Self(intrinsics!(_mm_andnot_si128(other.0, self.0)))
    }

    shift! {
        shl_u32 = _mm_slli_epi32;
        shl_u64 = _mm_slli_epi64;
        shr_u32 = _mm_srli_epi32;
        shr_u64 = _mm_srli_epi64;
        shr_i32 = _mm_srai_epi32;
        shl_bytes = _mm_slli_si128;
        shr_bytes = _mm_srli_si128;
    }
    /// The second count cannot be a constant argument, so both go in registers, until LLVM sees that they are constant.
    #[inline(always)]
    fn rotl_u32<const N: i32>(self) -> Self {
        Self(intrinsics!(_mm_or_si128(
            _mm_sll_epi32(self.0, _mm_cvtsi32_si128(N)),
            _mm_srl_epi32(self.0, _mm_cvtsi32_si128(32 - N))
        )))
    }

    #[inline(always)]
    fn rotl16_u32(self, indices: Self) -> Self {
        if SSSE3 {
            self.swizzle(indices)
        } else {
            Self(intrinsics!(_mm_shufflehi_epi16::<0b10_11_00_01>(_mm_shufflelo_epi16::<0b10_11_00_01>(
                self.0
            ))))
        }
    }
    #[inline(always)]
    fn rotl8_u32(self, indices: Self) -> Self {
        if SSSE3 { self.swizzle(indices) } else { self.rotl_u32::<8>() }
    }

    /// Without `pshufb`, compares every index with every position, so that no address depends on one.
    #[inline(always)]
    fn swizzle(self, indices: Self) -> Self {
        if SSSE3 {
            return Self(intrinsics!(_mm_shuffle_epi8(self.0, indices.0)));
        }
        let mut out = Self::zero();
        for (i, byte) in self.lane(0).into_iter().enumerate() {
            out = out.or(indices.eq_u8(Self::splat_u8(i as u8)).and(Self::splat_u8(byte)));
        }
        out
    }
    #[inline(always)]
    fn shuffle_u32<const A: usize, const B: usize, const C: usize, const D: usize>(self) -> Self {
        // SAFETY: both types are 16 bytes without padding or invalid values. (`pshufd` takes one constant,
        // which cannot be computed from four; LLVM makes one of this.)
        unsafe {
            let x = transmute::<__m128i, [u32; 4]>(self.0);
            Self(transmute::<[u32; 4], __m128i>([x[A], x[B], x[C], x[D]]))
        }
    }
    #[inline(always)]
    fn align_bytes<const N: i32>(self, next: Self) -> Self {
        if SSSE3 {
            return Self(intrinsics!(_mm_alignr_epi8::<N>(next.0, self.0)));
        }
        macro_rules! ladder {
            ($($n:literal $m:literal),*) => {
                match N { $($n => self.shr_bytes::<$n>().or(next.shl_bytes::<$m>()),)* _ => self }
            };
        }
        ladder!(1 15, 2 14, 3 13, 4 12, 5 11, 6 10, 7 9, 8 8, 9 7, 10 6, 11 5, 12 4, 13 3, 14 2, 15 1)
    }

    #[inline(always)]
    fn zip_lanes(self, other: Self) -> (Self, Self) {
        (self, other)
    }
    #[inline(always)]
    fn extract_u32<const I: usize>(self) -> u32 {
        // SAFETY: both types are 16 bytes without padding or invalid values.
        unsafe { transmute::<__m128i, [u32; 4]>(self.0)[I] }
    }
    #[inline(always)]
    fn extract_u64<const I: usize>(self) -> u64 {
        // SAFETY: both types are 16 bytes without padding or invalid values.
        unsafe { transmute::<__m128i, [u64; 2]>(self.0)[I] }
    }
}
