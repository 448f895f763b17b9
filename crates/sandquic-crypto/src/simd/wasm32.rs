//! WebAssembly's 128-bit SIMD, and relaxed SIMD where the build turns it on.

use core::arch::wasm32::*;

use super::Vector;

/// One `v128`. Only memory access is unsafe: the build enables `simd128`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct V128(v128);

macro_rules! binary {
    ($($name:ident = $f:path;)*) => {$(
        #[inline(always)]
        fn $name(self, other: Self) -> Self {
            Self($f(self.0, other.0))
        }
    )*};
}

macro_rules! shift {
    ($($name:ident = $f:path;)*) => {$(
        #[inline(always)]
        fn $name<const N: i32>(self) -> Self {
            Self($f(self.0, N as u32))
        }
    )*};
}

impl Vector for V128 {
    const LANES: usize = 1;
    const FAST_SWIZZLE: bool = true;

    #[inline(always)]
    fn load(bytes: &[u8]) -> Self {
        let bytes = &bytes[..16];
        // SAFETY: the slice holds 16 bytes, and `v128.load` needs no alignment.
        Self(unsafe { v128_load(bytes.as_ptr().cast()) })
    }
    #[inline(always)]
    fn store(self, bytes: &mut [u8]) {
        let bytes = &mut bytes[..16];
        // SAFETY: the slice holds 16 writable bytes, and `v128.store` needs no alignment.
        unsafe { v128_store(bytes.as_mut_ptr().cast(), self.0) }
    }
    #[inline(always)]
    fn recall(place: &Self) -> Self {
        // SAFETY: a reference is valid for reads and aligned.
        unsafe { core::ptr::read_volatile(place) }
    }
    #[inline(always)]
    fn keep(place: &mut Self, value: Self) {
        // SAFETY: an exclusive reference is valid for writes and aligned; the type has no destructor.
        unsafe { core::ptr::write_volatile(place, value) }
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
    /// LLVM does not know where the linker puts a constant. An engine does: it decides the comparison, drops the branch and
    /// knows the vector, whose indices V8 then need not saturate. No constant lies in the upper half of memory; if one did, an
    /// average that LLVM leaves as it is would give the same vector.
    #[inline(always)]
    fn opaque(bytes: &[u8; 16]) -> Self {
        let known = Self::load(bytes);
        if (bytes.as_ptr() as i32) < 0 { Self(u8x16_avgr(known.0, known.0)) } else { known }
    }
    /// Cranelift does not decide comparisons of floats, and so has a vector that begins to live here. V8 does, and has a
    /// constant. LLVM would make a comparison of integers of this one, were it not for the factor.
    #[inline(always)]
    fn opaque_here(bytes: &[u8; 16]) -> Self {
        if f64::from(bytes.as_ptr() as i32) * 0.1 < -1.0 {
            // SAFETY: a reference is valid for reads and aligned.
            Self::load(&unsafe { core::ptr::read_volatile(bytes) })
        } else {
            Self::load(bytes)
        }
    }
    #[inline(always)]
    fn broadcast_u32(words: [u32; 4]) -> Self {
        Self(u32x4(words[0], words[1], words[2], words[3]))
    }
    #[inline(always)]
    fn from_lanes_u32(mut lane: impl FnMut(usize) -> [u32; 4]) -> Self {
        Self::broadcast_u32(lane(0))
    }
    #[inline(always)]
    fn splat_u8(x: u8) -> Self {
        Self(u8x16_splat(x))
    }
    #[inline(always)]
    fn splat_u32(x: u32) -> Self {
        Self(u32x4_splat(x))
    }
    #[inline(always)]
    fn splat_u64(x: u64) -> Self {
        Self(u64x2_splat(x))
    }
    #[inline(always)]
    fn not(self) -> Self {
        Self(v128_not(self.0))
    }
    #[inline(always)]
    fn select(self, a: Self, b: Self) -> Self {
        Self(v128_bitselect(a.0, b.0, self.0))
    }

    binary! {
        and = v128_and;
        or = v128_or;
        xor = v128_xor;
        andnot = v128_andnot;
        add_u8 = u8x16_add;
        add_u32 = u32x4_add;
        add_u64 = u64x2_add;
        sub_u32 = u32x4_sub;
        dot_i16 = i32x4_dot_i16x8;
        eq_u8 = u8x16_eq;
        gt_i8 = i8x16_gt;
        gt_i32 = i32x4_gt;
        interleave_lo_u8 = u8x16_shuffle::<0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23>;
        interleave_hi_u8 = u8x16_shuffle::<8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31>;
        interleave_lo_u16 = u16x8_shuffle::<0, 8, 1, 9, 2, 10, 3, 11>;
        interleave_hi_u16 = u16x8_shuffle::<4, 12, 5, 13, 6, 14, 7, 15>;
        interleave_lo_u32 = u32x4_shuffle::<0, 4, 1, 5>;
        interleave_hi_u32 = u32x4_shuffle::<2, 6, 3, 7>;
        interleave_lo_u64 = u64x2_shuffle::<0, 2>;
        interleave_hi_u64 = u64x2_shuffle::<1, 3>;
    }

    /// The shuffles bring the even elements together, which is what `pmuludq` behind `extmul_low` undoes.
    #[inline(always)]
    fn mul_even_u32(self, other: Self) -> Self {
        let a = u32x4_shuffle::<0, 2, 0, 2>(self.0, self.0);
        let b = u32x4_shuffle::<0, 2, 0, 2>(other.0, other.0);
        Self(u64x2_extmul_low_u32x4(a, b))
    }

    shift! {
        shl_u32 = u32x4_shl;
        shl_u64 = u64x2_shl;
        shr_u32 = u32x4_shr;
        shr_u64 = u64x2_shr;
        shr_i32 = i32x4_shr;
    }
    #[inline(always)]
    fn rotl_u32<const N: i32>(self) -> Self {
        Self(v128_or(u32x4_shl(self.0, N as u32), u32x4_shr(self.0, 32 - N as u32)))
    }

    /// Relaxed: an index of 16 or more gives 0 or the byte at the index modulo 16, but 0 with the top bit
    /// set, which is the contract of the trait.
    #[inline(always)]
    fn swizzle(self, indices: Self) -> Self {
        #[cfg(target_feature = "relaxed-simd")]
        return Self(i8x16_relaxed_swizzle(self.0, indices.0));
        #[cfg(not(target_feature = "relaxed-simd"))]
        Self(u8x16_swizzle(self.0, indices.0))
    }
    #[inline(always)]
    fn shuffle_u32<const A: usize, const B: usize, const C: usize, const D: usize>(self) -> Self {
        Self(u32x4_shuffle::<A, B, C, D>(self.0, self.0))
    }
    #[inline(always)]
    fn align_bytes<const N: i32>(self, next: Self) -> Self {
        Self(concat_shift::<N>(self.0, next.0))
    }
    #[inline(always)]
    fn shl_bytes<const N: i32>(self) -> Self {
        let zero = u64x2_splat(0);
        macro_rules! ladder {
            ($($n:literal $m:literal),*) => {
                match N { $($n => concat_shift::<$m>(zero, self.0),)* _ => self.0 }
            };
        }
        Self(ladder!(1 15, 2 14, 3 13, 4 12, 5 11, 6 10, 7 9, 8 8, 9 7, 10 6, 11 5, 12 4, 13 3, 14 2, 15 1))
    }
    #[inline(always)]
    fn shr_bytes<const N: i32>(self) -> Self {
        Self(concat_shift::<N>(self.0, u64x2_splat(0)))
    }

    #[inline(always)]
    fn zip_lanes(self, other: Self) -> (Self, Self) {
        (self, other)
    }
    #[inline(always)]
    fn extract_u32<const I: usize>(self) -> u32 {
        u32x4_extract_lane::<I>(self.0)
    }
    #[inline(always)]
    fn extract_u64<const I: usize>(self) -> u64 {
        u64x2_extract_lane::<I>(self.0)
    }
}

/// Bytes N to N+15 of `a` followed by `b`. The indices are spelt out: arithmetic on a constant parameter
/// is not allowed in a constant argument.
#[inline(always)]
fn concat_shift<const N: i32>(a: v128, b: v128) -> v128 {
    macro_rules! shifted {
        ($($i:literal)*) => { u8x16_shuffle::<$($i),*>(a, b) };
    }
    match N {
        1 => shifted!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16),
        2 => shifted!(2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17),
        3 => shifted!(3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18),
        4 => shifted!(4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19),
        5 => shifted!(5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20),
        6 => shifted!(6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21),
        7 => shifted!(7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22),
        8 => shifted!(8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23),
        9 => shifted!(9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24),
        10 => shifted!(10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25),
        11 => shifted!(11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26),
        12 => shifted!(12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27),
        13 => shifted!(13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28),
        14 => shifted!(14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29),
        15 => shifted!(15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30),
        _ => a,
    }
}
