//! Refuses values of the crate's `cfg`s that mean nothing, which the compiler would pass over in silence, and tells the
//! crate about `-C target-feature=+wide-arithmetic`, which the compiler does not report as a `cfg` while the feature is
//! unstable there.

use std::env;

const FORCED: [(&str, &[&str]); 3] = [
    ("sandquic_backend", &["soft", "portable", "simd128", "sse2", "avx2", "neon"]),
    ("sandquic_aes", &["soft", "native"]),
    ("sandquic_clmul", &["soft", "native"]),
];

fn main() {
    for (name, known) in FORCED {
        let variable = format!("CARGO_CFG_{}", name.to_uppercase());
        println!("cargo::rerun-if-env-changed={variable}");
        if let Ok(value) = env::var(variable)
            && !known.contains(&value.as_str())
        {
            println!(
                "cargo::error={name}=\"{value}\" is not one of {known:?}; give one of them, once, or no --cfg {name}"
            );
        }
    }
    println!("cargo::rustc-check-cfg=cfg(sandquic_wide_arithmetic)");
    println!("cargo::rerun-if-env-changed=CARGO_ENCODED_RUSTFLAGS");
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let wide = flags
        .split('\x1f')
        .filter_map(|flag| flag.strip_prefix("target-feature=").or(flag.strip_prefix("-Ctarget-feature=")))
        .flat_map(|features| features.split(','))
        .fold(false, |on, feature| match feature {
            "+wide-arithmetic" => true,
            "-wide-arithmetic" => false,
            _ => on,
        });
    if wide && env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family.split(',').any(|f| f == "wasm"))
    {
        println!("cargo::rustc-cfg=sandquic_wide_arithmetic");
    }
}
