//! No vectors: scalar code.

use crate::simd::Kernel;

pub(super) const BACKEND: &str = "soft";

pub(super) fn backend() -> &'static str {
    BACKEND
}

/// Runs a kernel on the widest vectors: here in scalar code.
#[inline(always)]
pub(crate) fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    kernel.soft()
}

/// Runs a kernel on 128-bit vectors: here in scalar code.
#[inline(always)]
#[allow(dead_code, reason = "features take away the users")]
pub(crate) fn dispatch_narrow<K: Kernel>(kernel: K) -> K::Output {
    kernel.soft()
}
