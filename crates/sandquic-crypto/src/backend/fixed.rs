//! One vector type, known at compile time.

use crate::simd::Kernel;

cfg_select! {
    sandquic_backend = "portable" => {
        use crate::simd::portable::V128;
        pub(super) const BACKEND: &str = "portable";
    }
    target_arch = "wasm32" => {
        use crate::simd::wasm32::V128;
        pub(super) const BACKEND: &str = "simd128";
    }
    _ => {
        use crate::simd::aarch64::V128;
        pub(super) const BACKEND: &str = "neon";
    }
}

pub(super) fn backend() -> &'static str {
    BACKEND
}

/// Runs a kernel on the widest vectors.
#[inline(always)]
pub(crate) fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<V128>()
}

/// Runs a kernel on 128-bit vectors, for work that has no second lane.
#[inline(always)]
#[allow(dead_code, reason = "features take away the users")]
pub(crate) fn dispatch_narrow<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<V128>()
}
