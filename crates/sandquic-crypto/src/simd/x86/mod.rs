//! x86: 128-bit vectors on SSE2 with or without SSSE3, 256-bit vectors on AVX2, AES-NI and PCLMULQDQ,
//! VAES and VPCLMULQDQ on 256 bits.
//!
//! The vector types are private to this module. Code outside obtains one as the type parameter of a
//! [`Kernel`], from a token ([`Sse2`], [`Ssse3`], [`Avx2`], ...) that exists only if the build enables the
//! instructions or the processor was asked. That is what the `SAFETY` comments below rely on.

#[cfg(target_arch = "x86")]
use core::arch::x86::*;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

use super::{AesClmulKernel, AesInstructions, AesKernel, ClmulInstructions, ClmulKernel, Kernel};

mod m128;
mod m256;

use m128::M128;
use m256::M256;

/// A token type: `detect` asks the build, then (feature `std`) the processor.
macro_rules! token {
    ($(#[$doc:meta])* $name:ident, $($feature:tt),+) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $name(());

        impl $name {
            /// The token, if the instructions can be used.
            #[inline(always)]
            pub(crate) fn detect() -> Option<Self> {
                if cfg!(all($(target_feature = $feature),+)) {
                    return Some(Self(()));
                }
                // The answer is cached by the standard library: a load and a test per feature.
                #[cfg(feature = "std")]
                if $(std::arch::is_x86_feature_detected!($feature))&&+ {
                    return Some(Self(()));
                }
                None
            }
        }
    };
}

token! {
    /// SSE2 can be used.
    Sse2, "sse2"
}
token! {
    /// SSSE3 and what precedes it can be used.
    Ssse3, "ssse3"
}
token! {
    /// AVX2 and what precedes it can be used.
    Avx2, "avx2"
}
token! {
    /// AES-NI can be used, and AVX for its three-operand encoding.
    Aes, "aes", "avx"
}
token! {
    /// VAES and VPCLMULQDQ can be used on 256-bit vectors, and what precedes them on 128 bits.
    Wide, "vaes", "vpclmulqdq", "avx2", "aes", "pclmulqdq"
}
token! {
    /// PCLMULQDQ can be used, and AVX for its three-operand encoding.
    Clmul, "pclmulqdq", "avx"
}

impl Sse2 {
    /// Runs a kernel on 128-bit vectors whose byte swizzle is emulated.
    #[inline(always)]
    pub(crate) fn run<K: Kernel>(self, kernel: K) -> K::Output {
        #[target_feature(enable = "sse2")]
        fn inner<K: Kernel>(kernel: K) -> K::Output {
            kernel.run::<M128<false>>()
        }
        // SAFETY: `self` shows that SSE2 is there.
        unsafe { inner(kernel) }
    }
}

impl Ssse3 {
    /// Runs a kernel on 128-bit vectors.
    #[inline(always)]
    pub(crate) fn run<K: Kernel>(self, kernel: K) -> K::Output {
        #[target_feature(enable = "ssse3")]
        fn inner<K: Kernel>(kernel: K) -> K::Output {
            kernel.run::<M128<true>>()
        }
        // SAFETY: `self` shows that SSSE3 is there.
        unsafe { inner(kernel) }
    }
}

impl Avx2 {
    /// Runs a kernel on 256-bit vectors.
    #[inline(always)]
    pub(crate) fn run<K: Kernel>(self, kernel: K) -> K::Output {
        #[target_feature(enable = "avx2")]
        fn inner<K: Kernel>(kernel: K) -> K::Output {
            kernel.run::<M256>()
        }
        // SAFETY: `self` shows that AVX2 is there.
        unsafe { inner(kernel) }
    }

    /// Runs a kernel on 128-bit vectors, in AVX2's encoding: for work that has no second lane.
    #[inline(always)]
    pub(crate) fn run_narrow<K: Kernel>(self, kernel: K) -> K::Output {
        #[target_feature(enable = "avx2")]
        fn inner<K: Kernel>(kernel: K) -> K::Output {
            kernel.run::<M128<true>>()
        }
        // SAFETY: `self` shows that AVX2 is there, and with it SSSE3.
        unsafe { inner(kernel) }
    }
}

impl Aes {
    /// Runs a kernel that uses AES-NI.
    #[inline(always)]
    pub(crate) fn run<K: AesKernel>(self, kernel: K) -> K::Output {
        #[target_feature(enable = "aes,avx")]
        fn inner<K: AesKernel>(kernel: K) -> K::Output {
            kernel.run(AesNi(()))
        }
        // SAFETY: `self` shows that AES-NI and AVX are there.
        unsafe { inner(kernel) }
    }

    /// Runs a kernel that uses AES-NI and PCLMULQDQ.
    #[inline(always)]
    pub(crate) fn run_with_clmul<K: AesClmulKernel>(self, _clmul: Clmul, kernel: K) -> K::Output {
        #[target_feature(enable = "aes,pclmulqdq,avx")]
        fn inner<K: AesClmulKernel>(kernel: K) -> K::Output {
            kernel.run(AesNiPclmul(()))
        }
        // SAFETY: the two tokens show that AES-NI, PCLMULQDQ and AVX are there.
        unsafe { inner(kernel) }
    }
}

impl Wide {
    /// Runs a kernel that uses VAES.
    #[inline(always)]
    pub(crate) fn run<K: AesKernel>(self, kernel: K) -> K::Output {
        #[target_feature(enable = "vaes,vpclmulqdq,avx2,aes,pclmulqdq")]
        fn inner<K: AesKernel>(kernel: K) -> K::Output {
            kernel.run(VaesVpclmul(()))
        }
        // SAFETY: `self` shows that all of them are there.
        unsafe { inner(kernel) }
    }

    /// Runs a kernel that uses VAES and VPCLMULQDQ.
    #[inline(always)]
    pub(crate) fn run_with_clmul<K: AesClmulKernel>(self, kernel: K) -> K::Output {
        #[target_feature(enable = "vaes,vpclmulqdq,avx2,aes,pclmulqdq")]
        fn inner<K: AesClmulKernel>(kernel: K) -> K::Output {
            kernel.run(VaesVpclmul(()))
        }
        // SAFETY: `self` shows that all of them are there.
        unsafe { inner(kernel) }
    }
}

impl Clmul {
    /// Runs a kernel that uses PCLMULQDQ.
    #[inline(always)]
    pub(crate) fn run<K: ClmulKernel>(self, kernel: K) -> K::Output {
        #[target_feature(enable = "pclmulqdq,avx")]
        fn inner<K: ClmulKernel>(kernel: K) -> K::Output {
            kernel.run(Pclmul(()))
        }
        // SAFETY: `self` shows that PCLMULQDQ and AVX are there.
        unsafe { inner(kernel) }
    }
}

/// AES-NI. Private: only [`Aes::run`] makes one.
#[derive(Clone, Copy)]
struct AesNi(());
/// PCLMULQDQ. Private: only [`Clmul::run`] makes one.
#[derive(Clone, Copy)]
struct Pclmul(());
/// Both. Private: only [`Aes::run_with_clmul`] makes one.
#[derive(Clone, Copy)]
struct AesNiPclmul(());
/// VAES and VPCLMULQDQ, with AES-NI. Private: only [`Wide::run`] and [`Wide::run_with_clmul`] make one.
#[derive(Clone, Copy)]
struct VaesVpclmul(());

macro_rules! aes_ni {
    ($name:ident, $narrow:ident, $v:ident($vector:ty), $enc:ident, $last:ident, $dec:ident, $dec_last:ident) => {
        impl AesInstructions for $name {
            type V = $vector;
            type Narrow = $narrow;

            #[inline(always)]
            fn narrow(self) -> $narrow {
                // What enables the instructions on 256 bits enables those on 128 too.
                $narrow(())
            }
            #[inline(always)]
            fn encrypt_round(self, block: Self::V, key: Self::V) -> Self::V {
                // SAFETY: `self` exists only inside a function that enables AES-NI, and VAES for 256 bits.
                $v(unsafe { $enc(block.0, key.0) })
            }
            #[inline(always)]
            fn encrypt_last(self, block: Self::V, key: Self::V) -> Self::V {
                // SAFETY: as above.
                $v(unsafe { $last(block.0, key.0) })
            }
            #[inline(always)]
            fn decrypt_round(self, block: Self::V, key: Self::V) -> Self::V {
                // SAFETY: as above.
                $v(unsafe { $dec(block.0, key.0) })
            }
            #[inline(always)]
            fn decrypt_last(self, block: Self::V, key: Self::V) -> Self::V {
                // SAFETY: as above.
                $v(unsafe { $dec_last(block.0, key.0) })
            }
            #[inline(always)]
            fn inv_mix_columns(self, key: M128<true>) -> M128<true> {
                // SAFETY: as above.
                M128(unsafe { _mm_aesimc_si128(key.0) })
            }
            #[inline(always)]
            fn sub_word(self, word: u32) -> u32 {
                // SAFETY: as above. Element 0 of the result is SubWord of element 1.
                unsafe {
                    _mm_cvtsi128_si32(_mm_aeskeygenassist_si128::<0>(_mm_set1_epi32(word as i32))) as u32
                }
            }
        }
    };
}

macro_rules! pclmul {
    ($name:ident, $w:ident($vector:ty), $multiply:ident) => {
        impl ClmulInstructions for $name {
            type W = $vector;

            #[inline(always)]
            fn mul_lo_lo(self, a: Self::W, b: Self::W) -> Self::W {
                // SAFETY: `self` exists only inside a function that enables PCLMULQDQ, and VPCLMULQDQ for 256 bits.
                $w(unsafe { $multiply::<0x00>(a.0, b.0) })
            }
            #[inline(always)]
            fn mul_lo_hi(self, a: Self::W, b: Self::W) -> Self::W {
                // SAFETY: as above.
                $w(unsafe { $multiply::<0x10>(a.0, b.0) })
            }
            #[inline(always)]
            fn mul_hi_lo(self, a: Self::W, b: Self::W) -> Self::W {
                // SAFETY: as above.
                $w(unsafe { $multiply::<0x01>(a.0, b.0) })
            }
            #[inline(always)]
            fn mul_hi_hi(self, a: Self::W, b: Self::W) -> Self::W {
                // SAFETY: as above.
                $w(unsafe { $multiply::<0x11>(a.0, b.0) })
            }
        }
    };
}

macro_rules! narrow_aes {
    ($name:ident) => {
        aes_ni!(
            $name,
            $name,
            M128(M128<true>),
            _mm_aesenc_si128,
            _mm_aesenclast_si128,
            _mm_aesdec_si128,
            _mm_aesdeclast_si128
        );
    };
}

narrow_aes!(AesNi);
narrow_aes!(AesNiPclmul);
aes_ni!(
    VaesVpclmul,
    AesNi,
    M256(M256),
    _mm256_aesenc_epi128,
    _mm256_aesenclast_epi128,
    _mm256_aesdec_epi128,
    _mm256_aesdeclast_epi128
);
pclmul!(Pclmul, M128(M128<true>), _mm_clmulepi64_si128);
pclmul!(AesNiPclmul, M128(M128<true>), _mm_clmulepi64_si128);
pclmul!(VaesVpclmul, M256(M256), _mm256_clmulepi64_epi128);
