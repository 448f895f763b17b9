//! Targets without instructions for AES or carry-less multiplication: tokens that never exist.

use core::convert::Infallible;

use super::{AesClmulKernel, AesKernel, ClmulKernel};

/// Never exists.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aes(Infallible);

/// Never exists.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clmul(Infallible);

impl Aes {
    /// No.
    #[inline(always)]
    pub(crate) fn detect() -> Option<Self> {
        None
    }
    /// Cannot be called.
    #[inline(always)]
    pub(crate) fn run<K: AesKernel>(self, _kernel: K) -> K::Output {
        match self.0 {}
    }
    /// Cannot be called.
    #[inline(always)]
    pub(crate) fn run_with_clmul<K: AesClmulKernel>(self, _clmul: Clmul, _kernel: K) -> K::Output {
        match self.0 {}
    }
}

impl Clmul {
    /// No.
    #[inline(always)]
    pub(crate) fn detect() -> Option<Self> {
        None
    }
    /// Cannot be called.
    #[inline(always)]
    pub(crate) fn run<K: ClmulKernel>(self, _kernel: K) -> K::Output {
        match self.0 {}
    }
}
