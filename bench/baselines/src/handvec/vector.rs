//! 128-bit vectors of four 32-bit words: WebAssembly's, SSE2's on x86-64, and plain words elsewhere.
//!
//! Conversions are safe casts of `bytemuck`; on WebAssembly they become `v128.load` and `v128.store`.

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
#[path = "vector/wasm32.rs"]
mod arch;
#[cfg(target_arch = "x86_64")]
#[path = "vector/x86_64.rs"]
mod arch;
#[cfg(not(any(all(target_arch = "wasm32", target_feature = "simd128"), target_arch = "x86_64")))]
#[path = "vector/words.rs"]
mod arch;

pub(super) use arch::V;

impl V {
    /// Rotates each word to the left by `L` bits, `R` being 32 - `L`.
    #[inline(always)]
    pub(super) fn rotate_left<const L: u32, const R: u32>(self) -> Self {
        self.shl::<L>().or(self.shr::<R>())
    }
}

/// The four vectors whose lanes are the others' words at one place.
#[inline(always)]
pub(super) fn transpose([a, b, c, d]: [V; 4]) -> [V; 4] {
    let (ab_low, ab_high) = (a.unpack_low(b), a.unpack_high(b));
    let (cd_low, cd_high) = (c.unpack_low(d), c.unpack_high(d));
    [
        ab_low.low_halves(cd_low),
        ab_low.high_halves(cd_low),
        ab_high.low_halves(cd_high),
        ab_high.high_halves(cd_high),
    ]
}
