//! Whether the processor's own instructions for AES and carry-less multiplication are used.
//!
//! The functions give the kernel back (`Err`) where the instructions are missing or `soft` is forced, so
//! that the caller can go on with other code.

use crate::simd::{AesClmulKernel, AesKernel, ClmulKernel};

cfg_select! {
    any(target_arch = "x86", target_arch = "x86_64") => {
        use crate::simd::x86::{Aes, Clmul};

        #[inline(always)]
        fn run_clmul<K: ClmulKernel>(clmul: Clmul, kernel: K) -> K::Output {
            clmul.run(kernel)
        }
    }
    all(target_arch = "aarch64", target_endian = "little", target_feature = "neon") => {
        use crate::simd::aarch64::{Aes, Clmul};

        #[inline(always)]
        fn run_clmul<K: ClmulKernel>(clmul: Clmul, kernel: K) -> K::Output {
            clmul.run_clmul(kernel)
        }
    }
    _ => {
        use crate::simd::none::{Aes, Clmul};

        #[inline(always)]
        fn run_clmul<K: ClmulKernel>(clmul: Clmul, kernel: K) -> K::Output {
            clmul.run(kernel)
        }
    }
}

#[inline(always)]
fn aes() -> Option<Aes> {
    if cfg!(sandquic_aes = "soft") { None } else { Aes::detect() }
}

#[inline(always)]
fn clmul() -> Option<Clmul> {
    if cfg!(sandquic_clmul = "soft") { None } else { Clmul::detect() }
}

pub(super) fn has_aes() -> bool {
    aes().is_some()
}

pub(super) fn has_clmul() -> bool {
    clmul().is_some()
}

/// Runs a kernel on instructions for AES.
#[inline(always)]
#[allow(dead_code, reason = "features take away the users")]
pub(crate) fn try_aes<K: AesKernel>(kernel: K) -> Result<K::Output, K> {
    match aes() {
        Some(aes) => Ok(aes.run(kernel)),
        None => Err(kernel),
    }
}

/// Runs a kernel on carry-less multiplication.
#[inline(always)]
#[allow(dead_code, reason = "features take away the users")]
pub(crate) fn try_clmul<K: ClmulKernel>(kernel: K) -> Result<K::Output, K> {
    match clmul() {
        Some(clmul) => Ok(run_clmul(clmul, kernel)),
        None => Err(kernel),
    }
}

cfg_select! {
    any(target_arch = "x86", target_arch = "x86_64") => {
        use crate::simd::x86::Wide;

        /// Both instructions on 256 bits, unless something narrower is forced.
        #[inline(always)]
        fn wide() -> Option<Wide> {
            let forced = cfg!(any(sandquic_aes = "soft", sandquic_aes = "native", sandquic_backend = "sse2"));
            if forced { None } else { Wide::detect() }
        }

        pub(super) fn has_wide() -> bool {
            wide().is_some()
        }

        /// Runs a kernel on instructions for AES, on several blocks a vector if the processor can.
        #[inline(always)]
        #[allow(dead_code, reason = "features take away the users")]
        pub(crate) fn try_aes_wide<K: AesKernel>(kernel: K) -> Result<K::Output, K> {
            match wide() {
                Some(wide) => Ok(wide.run(kernel)),
                None => try_aes(kernel),
            }
        }

        /// Runs a kernel on both, on several blocks a vector if the processor can.
        #[inline(always)]
        #[allow(dead_code, reason = "features take away the users")]
        pub(crate) fn try_aes_clmul_wide<K: AesClmulKernel>(kernel: K) -> Result<K::Output, K> {
            match (wide(), clmul()) {
                (Some(wide), Some(_)) => Ok(wide.run_with_clmul(kernel)),
                _ => try_aes_clmul(kernel),
            }
        }
    }
    _ => {
        pub(super) fn has_wide() -> bool {
            false
        }

        #[allow(unused_imports, reason = "features take away the users")]
        pub(crate) use {try_aes as try_aes_wide, try_aes_clmul as try_aes_clmul_wide};
    }
}

/// Runs a kernel on both.
#[inline(always)]
#[allow(dead_code, reason = "features take away the users")]
pub(crate) fn try_aes_clmul<K: AesClmulKernel>(kernel: K) -> Result<K::Output, K> {
    match (aes(), clmul()) {
        (Some(aes), Some(clmul)) => Ok(aes.run_with_clmul(clmul, kernel)),
        _ => Err(kernel),
    }
}
