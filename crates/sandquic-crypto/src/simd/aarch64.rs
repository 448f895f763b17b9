//! AArch64: NEON, which all but its soft-float targets enable, and the instructions for AES and 64-bit polynomials.

use core::arch::aarch64::*;
use core::mem::transmute;

use super::{AesClmulKernel, AesInstructions, AesKernel, ClmulInstructions, ClmulKernel, Vector};

/// One vector register, seen as bytes.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct V128(uint8x16_t);

/// Intrinsics of NEON between conversions of the vector to the element type and back.
macro_rules! neon {
    ($e:expr) => {
        // SAFETY: this module is compiled only where the build enables NEON.
        unsafe { $e }
    };
}

macro_rules! binary {
    ($($name:ident = $to:ident $f:ident $from:ident;)*) => {$(
        #[inline(always)]
        fn $name(self, other: Self) -> Self {
            Self(neon!($from($f($to(self.0), $to(other.0)))))
        }
    )*};
}

/// Shifts by a register that holds a constant (negative: to the right), which LLVM turns into an
/// immediate: the intrinsics with an immediate have bounds that a generic constant cannot show.
macro_rules! shift {
    ($($name:ident = $to:ident $f:ident $dup:ident [$($minus:tt)?] $t:ident $from:ident;)*) => {$(
        #[inline(always)]
        fn $name<const N: i32>(self) -> Self {
            Self(neon!($from($f($to(self.0), $dup($($minus)? (N as $t))))))
        }
    )*};
}

#[inline(always)]
fn id(x: uint8x16_t) -> uint8x16_t {
    x
}

impl Vector for V128 {
    const LANES: usize = 1;
    const FAST_SWIZZLE: bool = true;

    #[inline(always)]
    fn load(bytes: &[u8]) -> Self {
        let bytes = &bytes[..16];
        // SAFETY: the slice holds 16 bytes; for the instruction see `neon`.
        Self(unsafe { vld1q_u8(bytes.as_ptr()) })
    }
    #[inline(always)]
    fn store(self, bytes: &mut [u8]) {
        let bytes = &mut bytes[..16];
        // SAFETY: the slice holds 16 writable bytes; for the instruction see `neon`.
        unsafe { vst1q_u8(bytes.as_mut_ptr(), self.0) }
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
    fn splat_u32(x: u32) -> Self {
        Self(neon!(vreinterpretq_u8_u32(vdupq_n_u32(x))))
    }
    #[inline(always)]
    fn splat_u64(x: u64) -> Self {
        Self(neon!(vreinterpretq_u8_u64(vdupq_n_u64(x))))
    }
    #[inline(always)]
    fn not(self) -> Self {
        Self(neon!(vmvnq_u8(self.0)))
    }
    #[inline(always)]
    fn select(self, a: Self, b: Self) -> Self {
        Self(neon!(vbslq_u8(self.0, a.0, b.0)))
    }

    binary! {
        and = id vandq_u8 id;
        or = id vorrq_u8 id;
        xor = id veorq_u8 id;
        andnot = id vbicq_u8 id;
        add_u8 = id vaddq_u8 id;
        add_u32 = vreinterpretq_u32_u8 vaddq_u32 vreinterpretq_u8_u32;
        add_u64 = vreinterpretq_u64_u8 vaddq_u64 vreinterpretq_u8_u64;
        sub_u32 = vreinterpretq_u32_u8 vsubq_u32 vreinterpretq_u8_u32;
        eq_u8 = id vceqq_u8 id;
        gt_i8 = vreinterpretq_s8_u8 vcgtq_s8 id;
        gt_i32 = vreinterpretq_s32_u8 vcgtq_s32 vreinterpretq_u8_u32;
        interleave_lo_u8 = id vzip1q_u8 id;
        interleave_hi_u8 = id vzip2q_u8 id;
        interleave_lo_u16 = vreinterpretq_u16_u8 vzip1q_u16 vreinterpretq_u8_u16;
        interleave_hi_u16 = vreinterpretq_u16_u8 vzip2q_u16 vreinterpretq_u8_u16;
        interleave_lo_u32 = vreinterpretq_u32_u8 vzip1q_u32 vreinterpretq_u8_u32;
        interleave_hi_u32 = vreinterpretq_u32_u8 vzip2q_u32 vreinterpretq_u8_u32;
        interleave_lo_u64 = vreinterpretq_u64_u8 vzip1q_u64 vreinterpretq_u8_u64;
        interleave_hi_u64 = vreinterpretq_u64_u8 vzip2q_u64 vreinterpretq_u8_u64;
    }
    #[inline(always)]
    fn mul_even_u32(self, other: Self) -> Self {
        Self(neon!({
            let a = vmovn_u64(vreinterpretq_u64_u8(self.0));
            let b = vmovn_u64(vreinterpretq_u64_u8(other.0));
            vreinterpretq_u8_u64(vmull_u32(a, b))
        }))
    }
    #[inline(always)]
    fn dot_i16(self, other: Self) -> Self {
        Self(neon!({
            let (a, b) = (vreinterpretq_s16_u8(self.0), vreinterpretq_s16_u8(other.0));
            let low = vmull_s16(vget_low_s16(a), vget_low_s16(b));
            let high = vmull_high_s16(a, b);
            vreinterpretq_u8_s32(vpaddq_s32(low, high))
        }))
    }

    shift! {
        shl_u32 = vreinterpretq_u32_u8 vshlq_u32 vdupq_n_s32 [] i32 vreinterpretq_u8_u32;
        shl_u64 = vreinterpretq_u64_u8 vshlq_u64 vdupq_n_s64 [] i64 vreinterpretq_u8_u64;
        shr_u32 = vreinterpretq_u32_u8 vshlq_u32 vdupq_n_s32 [-] i32 vreinterpretq_u8_u32;
        shr_u64 = vreinterpretq_u64_u8 vshlq_u64 vdupq_n_s64 [-] i64 vreinterpretq_u8_u64;
        shr_i32 = vreinterpretq_s32_u8 vshlq_s32 vdupq_n_s32 [-] i32 vreinterpretq_u8_s32;
    }
    #[inline(always)]
    fn rotl_u32<const N: i32>(self) -> Self {
        Self(neon!({
            let x = vreinterpretq_u32_u8(self.0);
            let (left, right) = (vshlq_u32(x, vdupq_n_s32(N)), vshlq_u32(x, vdupq_n_s32(N - 32)));
            vreinterpretq_u8_u32(vorrq_u32(left, right))
        }))
    }
    #[inline(always)]
    fn rotl16_u32(self, _indices: Self) -> Self {
        Self(neon!(vreinterpretq_u8_u16(vrev32q_u16(vreinterpretq_u16_u8(self.0)))))
    }

    #[inline(always)]
    fn swizzle(self, indices: Self) -> Self {
        Self(neon!(vqtbl1q_u8(self.0, indices.0)))
    }
    #[inline(always)]
    fn shuffle_u32<const A: usize, const B: usize, const C: usize, const D: usize>(self) -> Self {
        // SAFETY: both types are 16 bytes without padding or invalid values. (LLVM makes a shuffle of it.)
        unsafe {
            let x = transmute::<uint8x16_t, [u32; 4]>(self.0);
            Self(transmute::<[u32; 4], uint8x16_t>([x[A], x[B], x[C], x[D]]))
        }
    }
    #[inline(always)]
    fn align_bytes<const N: i32>(self, next: Self) -> Self {
        Self(neon!(vextq_u8::<N>(self.0, next.0)))
    }
    #[inline(always)]
    fn shl_bytes<const N: i32>(self) -> Self {
        let zero = Self::zero();
        macro_rules! ladder {
            ($($n:literal $m:literal),*) => {
                match N { $($n => zero.align_bytes::<$m>(self),)* _ => self }
            };
        }
        ladder!(1 15, 2 14, 3 13, 4 12, 5 11, 6 10, 7 9, 8 8, 9 7, 10 6, 11 5, 12 4, 13 3, 14 2, 15 1)
    }
    #[inline(always)]
    fn shr_bytes<const N: i32>(self) -> Self {
        self.align_bytes::<N>(Self::zero())
    }

    #[inline(always)]
    fn zip_lanes(self, other: Self) -> (Self, Self) {
        (self, other)
    }
    #[inline(always)]
    fn extract_u32<const I: usize>(self) -> u32 {
        // SAFETY: both types are 16 bytes without padding or invalid values.
        unsafe { transmute::<uint8x16_t, [u32; 4]>(self.0)[I] }
    }
    #[inline(always)]
    fn extract_u64<const I: usize>(self) -> u64 {
        // SAFETY: both types are 16 bytes without padding or invalid values.
        unsafe { transmute::<uint8x16_t, [u64; 2]>(self.0)[I] }
    }
}

/// The extension FEAT_AES with FEAT_PMULL can be used: one name, "aes", stands for both.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aes(());

/// PMULL can be used.
pub(crate) type Clmul = Aes;

impl Aes {
    /// The token, if the instructions can be used: the build says so, or (feature `std`) the processor.
    #[inline(always)]
    pub(crate) fn detect() -> Option<Self> {
        if cfg!(target_feature = "aes") {
            return Some(Self(()));
        }
        #[cfg(feature = "std")]
        if std::arch::is_aarch64_feature_detected!("aes") && std::arch::is_aarch64_feature_detected!("pmull")
        {
            return Some(Self(()));
        }
        None
    }

    /// Runs a kernel that uses AES instructions.
    #[inline(always)]
    pub(crate) fn run<K: AesKernel>(self, kernel: K) -> K::Output {
        #[target_feature(enable = "aes")]
        fn inner<K: AesKernel>(kernel: K) -> K::Output {
            kernel.run(ArmAes(()))
        }
        // SAFETY: `self` shows that the instructions are there.
        unsafe { inner(kernel) }
    }

    /// Runs a kernel that uses PMULL.
    #[inline(always)]
    pub(crate) fn run_clmul<K: ClmulKernel>(self, kernel: K) -> K::Output {
        #[target_feature(enable = "aes")]
        fn inner<K: ClmulKernel>(kernel: K) -> K::Output {
            kernel.run(ArmAes(()))
        }
        // SAFETY: `self` shows that the instructions are there.
        unsafe { inner(kernel) }
    }

    /// Runs a kernel that uses AES instructions and PMULL.
    #[inline(always)]
    pub(crate) fn run_with_clmul<K: AesClmulKernel>(self, _clmul: Clmul, kernel: K) -> K::Output {
        #[target_feature(enable = "aes")]
        fn inner<K: AesClmulKernel>(kernel: K) -> K::Output {
            kernel.run(ArmAes(()))
        }
        // SAFETY: `self` shows that the instructions are there.
        unsafe { inner(kernel) }
    }
}

// The intrinsics are to be inlined always, which they can be only into functions that name their feature. Those
// here are inlined in their turn into the function that runs the kernel.

/// `AESE` adds its key first; with zero it is SubBytes and ShiftRows, and LLVM merges the addition that ends a
/// round into the next round's `AESE`.
#[target_feature(enable = "neon,aes")]
#[inline]
fn encrypt_round(block: uint8x16_t) -> uint8x16_t {
    vaesmcq_u8(vaeseq_u8(block, vdupq_n_u8(0)))
}
#[target_feature(enable = "neon,aes")]
#[inline]
fn encrypt_last(block: uint8x16_t) -> uint8x16_t {
    vaeseq_u8(block, vdupq_n_u8(0))
}
#[target_feature(enable = "neon,aes")]
#[inline]
fn decrypt_round(block: uint8x16_t) -> uint8x16_t {
    vaesimcq_u8(vaesdq_u8(block, vdupq_n_u8(0)))
}
#[target_feature(enable = "neon,aes")]
#[inline]
fn decrypt_last(block: uint8x16_t) -> uint8x16_t {
    vaesdq_u8(block, vdupq_n_u8(0))
}
#[target_feature(enable = "neon,aes")]
#[inline]
fn inv_mix_columns(key: uint8x16_t) -> uint8x16_t {
    vaesimcq_u8(key)
}
#[target_feature(enable = "neon,aes")]
#[inline]
fn multiply(a: u64, b: u64) -> u128 {
    vmull_p64(a, b)
}

/// AES instructions and PMULL. Private: only the methods of [`Aes`] make one.
#[derive(Clone, Copy)]
struct ArmAes(());

impl AesInstructions for ArmAes {
    type V = V128;
    type Narrow = Self;

    #[inline(always)]
    fn narrow(self) -> Self {
        self
    }
    #[inline(always)]
    fn encrypt_round(self, block: V128, key: V128) -> V128 {
        // SAFETY: `self` exists only inside a function that enables the instructions.
        V128(unsafe { encrypt_round(block.0) }).xor(key)
    }
    #[inline(always)]
    fn encrypt_last(self, block: V128, key: V128) -> V128 {
        // SAFETY: as above.
        V128(unsafe { encrypt_last(block.0) }).xor(key)
    }
    #[inline(always)]
    fn decrypt_round(self, block: V128, key: V128) -> V128 {
        // SAFETY: as above.
        V128(unsafe { decrypt_round(block.0) }).xor(key)
    }
    #[inline(always)]
    fn decrypt_last(self, block: V128, key: V128) -> V128 {
        // SAFETY: as above.
        V128(unsafe { decrypt_last(block.0) }).xor(key)
    }
    #[inline(always)]
    fn inv_mix_columns(self, key: V128) -> V128 {
        // SAFETY: as above.
        V128(unsafe { inv_mix_columns(key.0) })
    }
    /// All columns are equal, so that ShiftRows changes nothing.
    #[inline(always)]
    fn sub_word(self, word: u32) -> u32 {
        self.encrypt_last(V128::splat_u32(word), V128::zero()).extract_u32::<0>()
    }
}

impl ClmulInstructions for ArmAes {
    type W = V128;

    #[inline(always)]
    fn mul_lo_lo(self, a: V128, b: V128) -> V128 {
        self.multiply(a.extract_u64::<0>(), b.extract_u64::<0>())
    }
    #[inline(always)]
    fn mul_lo_hi(self, a: V128, b: V128) -> V128 {
        self.multiply(a.extract_u64::<0>(), b.extract_u64::<1>())
    }
    #[inline(always)]
    fn mul_hi_lo(self, a: V128, b: V128) -> V128 {
        self.multiply(a.extract_u64::<1>(), b.extract_u64::<0>())
    }
    #[inline(always)]
    fn mul_hi_hi(self, a: V128, b: V128) -> V128 {
        self.multiply(a.extract_u64::<1>(), b.extract_u64::<1>())
    }
}

impl ArmAes {
    #[inline(always)]
    fn multiply(self, a: u64, b: u64) -> V128 {
        // SAFETY: `self` exists only inside a function that enables the instruction; u128 and the vector
        // are both 16 bytes without padding or invalid values.
        V128(unsafe { transmute::<u128, uint8x16_t>(multiply(a, b)) })
    }
}
