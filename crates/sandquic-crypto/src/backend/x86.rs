//! x86: chosen at run time with feature `std`, else by the build's target features.

use crate::simd::Kernel;
use crate::simd::x86::{Avx2, Sse2, Ssse3};

pub(super) const BACKEND: &str = if cfg!(sandquic_backend = "sse2") {
    "sse2"
} else if cfg!(target_feature = "avx2") {
    "avx2"
} else if cfg!(feature = "std") {
    "x86"
} else if cfg!(target_feature = "sse2") {
    "sse2"
} else {
    "soft"
};

pub(super) fn backend() -> &'static str {
    if avx2().is_some() {
        "avx2"
    } else if Sse2::detect().is_some() {
        "sse2"
    } else {
        "soft"
    }
}

/// Runs a kernel on the widest vectors that the machine has.
#[inline(always)]
pub(crate) fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    if let Some(avx2) = avx2() { avx2.run(kernel) } else { dispatch_sse(kernel) }
}

/// Runs a kernel on 128-bit vectors, for work that has no second lane.
#[inline(always)]
#[allow(dead_code, reason = "features take away the users")]
pub(crate) fn dispatch_narrow<K: Kernel>(kernel: K) -> K::Output {
    if let Some(avx2) = avx2() { avx2.run_narrow(kernel) } else { dispatch_sse(kernel) }
}

#[inline(always)]
fn dispatch_sse<K: Kernel>(kernel: K) -> K::Output {
    if let Some(ssse3) = Ssse3::detect() {
        ssse3.run(kernel)
    } else if let Some(sse2) = Sse2::detect() {
        sse2.run(kernel)
    } else {
        kernel.soft()
    }
}

#[inline(always)]
fn avx2() -> Option<Avx2> {
    if cfg!(sandquic_backend = "sse2") { None } else { Avx2::detect() }
}
