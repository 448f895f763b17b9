//! The only dispatch: which vector type and which instructions this build, or this machine, uses.
//!
//! | target | chosen | forced by `--cfg sandquic_backend="..."` |
//! | --- | --- | --- |
//! | wasm32 | at compile time: `simd128` if the target feature is on, else `soft` | `simd128`, `soft`, `portable` |
//! | x86, x86_64 | at run time with feature `std`, else by target features: `avx2`, else `sse2` (with `pshufb` where SSSE3 is there), else `soft` | `avx2`, `sse2`, `soft`, `portable` |
//! | aarch64 | `neon`, on big-endian and soft-float targets `soft` | `neon`, `soft`, `portable` |
//! | others | `soft` | `soft`, `portable` |
//!
//! `soft` is scalar code; `portable` runs the vector algorithms on a vector type in plain Rust, which is
//! slow and meant for checkers. `--cfg sandquic_aes="soft|native"` and `--cfg sandquic_clmul="soft|native"`
//! do the same for the instructions of AES and GHASH, which x86 and aarch64 have. On x86, VAES and VPCLMULQDQ on 256 bits
//! are used where they are found and neither `sandquic_aes` nor `sandquic_backend="sse2"` forces something narrower.

#[cfg(all(sandquic_backend = "simd128", not(all(target_arch = "wasm32", target_feature = "simd128"))))]
compile_error!(
    "sandquic_backend=\"simd128\" needs the target wasm32 and `-C target-feature=+simd128`; enable it or force another backend"
);
#[cfg(all(sandquic_backend = "sse2", not(any(target_arch = "x86", target_arch = "x86_64"))))]
compile_error!("sandquic_backend=\"sse2\" needs an x86 target; force another backend");
#[cfg(all(
    sandquic_backend = "sse2",
    any(target_arch = "x86", target_arch = "x86_64"),
    not(target_feature = "sse2")
))]
compile_error!(
    "sandquic_backend=\"sse2\" needs `-C target-feature=+sse2`; without forcing, SSE2 is found at run time"
);
#[cfg(all(sandquic_backend = "avx2", not(any(target_arch = "x86", target_arch = "x86_64"))))]
compile_error!("sandquic_backend=\"avx2\" needs an x86 target; force another backend");
#[cfg(all(
    sandquic_backend = "avx2",
    any(target_arch = "x86", target_arch = "x86_64"),
    not(target_feature = "avx2")
))]
compile_error!(
    "sandquic_backend=\"avx2\" needs `-C target-feature=+avx2`; without forcing, AVX2 is found at run time"
);
#[cfg(all(
    sandquic_backend = "neon",
    not(all(target_arch = "aarch64", target_endian = "little", target_feature = "neon"))
))]
compile_error!(
    "sandquic_backend=\"neon\" needs a little-endian aarch64 target with NEON; force another backend"
);
#[cfg(all(
    sandquic_aes = "native",
    not(any(
        target_arch = "x86",
        target_arch = "x86_64",
        all(target_arch = "aarch64", target_endian = "little", target_feature = "neon")
    ))
))]
compile_error!(
    "sandquic_aes=\"native\" needs an x86 or aarch64 target: no other has instructions for AES here"
);
#[cfg(all(
    sandquic_clmul = "native",
    not(any(
        target_arch = "x86",
        target_arch = "x86_64",
        all(target_arch = "aarch64", target_endian = "little", target_feature = "neon")
    ))
))]
compile_error!(
    "sandquic_clmul=\"native\" needs an x86 or aarch64 target: no other has carry-less multiplication here"
);
#[cfg(all(
    sandquic_aes = "native",
    any(target_arch = "x86", target_arch = "x86_64"),
    not(all(target_feature = "aes", target_feature = "avx"))
))]
compile_error!(
    "sandquic_aes=\"native\" needs `-C target-feature=+aes,+avx`; without forcing, AES-NI is found at run time"
);
#[cfg(all(
    sandquic_clmul = "native",
    any(target_arch = "x86", target_arch = "x86_64"),
    not(all(target_feature = "pclmulqdq", target_feature = "avx"))
))]
compile_error!(
    "sandquic_clmul=\"native\" needs `-C target-feature=+pclmulqdq,+avx`; without forcing, PCLMULQDQ is found at run time"
);
#[cfg(all(
    any(sandquic_aes = "native", sandquic_clmul = "native"),
    target_arch = "aarch64",
    not(target_feature = "aes")
))]
compile_error!(
    "native AES or GHASH needs `-C target-feature=+aes`; without forcing, it is found at run time"
);

cfg_select! {
    sandquic_backend = "soft" => {
        mod soft;
        use soft as chosen;
    }
    sandquic_backend = "portable" => {
        mod fixed;
        use fixed as chosen;
    }
    any(target_arch = "x86", target_arch = "x86_64") => {
        mod x86;
        use x86 as chosen;
    }
    any(
        all(target_arch = "wasm32", target_feature = "simd128"),
        all(target_arch = "aarch64", target_endian = "little", target_feature = "neon"),
    ) => {
        mod fixed;
        use fixed as chosen;
    }
    _ => {
        mod soft;
        use soft as chosen;
    }
}

#[allow(unused_imports, reason = "features take away the users")]
pub(crate) use chosen::{dispatch, dispatch_narrow};

mod native;
#[allow(unused_imports, reason = "features take away the users")]
pub(crate) use native::{try_aes, try_aes_clmul, try_aes_clmul_wide, try_aes_wide, try_clmul};

/// The vector backend of this build.
///
/// On x86 with feature `std`, where nothing is forced and AVX2 is not part of the target, it is `"x86"`:
/// [`backend`] says which was chosen at run time. Else it equals [`backend`].
pub const BACKEND: &str = chosen::BACKEND;

/// The vector backend that this machine uses: `"avx2"`, `"sse2"`, `"simd128"`, `"neon"`, `"portable"` or
/// `"soft"`.
#[must_use]
pub fn backend() -> &'static str {
    chosen::backend()
}

/// Whether AES runs on the processor's instructions for it: `"native"` or `"soft"`, `"vaes"` where counter modes and
/// AES-GCM put two blocks in a vector.
#[must_use]
pub fn aes_backend() -> &'static str {
    if native::has_wide() {
        "vaes"
    } else if native::has_aes() {
        "native"
    } else {
        "soft"
    }
}

/// Whether GHASH runs on carry-less multiplication: `"native"` or `"soft"`.
#[must_use]
pub fn clmul_backend() -> &'static str {
    if native::has_clmul() { "native" } else { "soft" }
}
