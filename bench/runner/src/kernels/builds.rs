//! Engines, builds, and where each build's code is.

use clap::ValueEnum;
use serde::Serialize;

use crate::choice::display_by_value;

/// What runs the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// Wasmtime, in this program.
    Wasmtime,
    /// V8, in Node.
    V8,
    /// The processor itself.
    Native,
}

/// Whose kernels, built how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Build {
    /// Ours; on Wasm with simd128.
    Sandquic,
    /// Ours with simd128, relaxed-simd and wide-arithmetic.
    SandquicWide,
    /// Ours with simd128 and relaxed-simd.
    SandquicRelaxed,
    /// Ours in scalar code, without simd128.
    Soft,
    /// Our ChaCha20 with rotations as shuffles that the compiler knows.
    Shuffle,
    /// The paper's kernels and scalar MACs; on Wasm with simd128. Natively the MACs take the processor's instructions.
    Paper,
    /// RustCrypto's current crates; on Wasm with simd128.
    #[value(name = "rustcrypto")]
    #[serde(rename = "rustcrypto")]
    RustCrypto,
    /// RustCrypto's current crates with simd128, their software backends forced.
    #[value(name = "rustcrypto-soft")]
    #[serde(rename = "rustcrypto-soft")]
    RustCryptoSoft,
    /// RustCrypto's current crates without simd128.
    #[value(name = "rustcrypto-nosimd")]
    #[serde(rename = "rustcrypto-nosimd")]
    RustCryptoNoSimd,
    /// The generator of the crate rand_chacha; on Wasm with simd128.
    RandChacha,
    /// ring: native only.
    Ring,
}

impl Build {
    /// The module that holds the build's code for Wasm, and the library in it.
    pub(super) fn module(self) -> Option<(&'static str, &'static str)> {
        Some(match self {
            Self::Sandquic => ("kernels-simd128", "sandquic"),
            Self::SandquicWide => ("kernels-wide", "sandquic"),
            Self::SandquicRelaxed => ("kernels-relaxed", "sandquic"),
            Self::Soft => ("kernels-base", "sandquic"),
            Self::Shuffle => ("kernels-simd128", "shuffle"),
            Self::Paper => ("kernels-simd128", "paper"),
            Self::RustCrypto => ("kernels-simd128", "rustcrypto"),
            Self::RustCryptoSoft => ("kernels-simd128-soft", "rustcrypto"),
            Self::RustCryptoNoSimd => ("kernels-base", "rustcrypto"),
            Self::RandChacha => ("kernels-simd128", "rand_chacha"),
            Self::Ring => return None,
        })
    }

    /// The library of the native body.
    pub(super) fn native(self) -> Option<&'static str> {
        Some(match self {
            Self::Sandquic => "sandquic",
            Self::Shuffle => "shuffle",
            Self::Paper => "paper",
            Self::RustCrypto => "rustcrypto",
            Self::RandChacha => "rand_chacha",
            Self::Ring => "ring",
            _ => return None,
        })
    }

    /// Whether the engine can run it. V8 has no wide-arithmetic.
    pub(super) fn runs_on(self, engine: Engine) -> bool {
        match engine {
            Engine::Wasmtime => self.module().is_some(),
            Engine::V8 => self.module().is_some() && self != Self::SandquicWide,
            Engine::Native => self.native().is_some(),
        }
    }
}

display_by_value!(Engine, Build);
