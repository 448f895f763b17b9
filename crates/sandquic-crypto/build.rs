//! Tells the crate about `-C target-feature=+wide-arithmetic`, which the compiler does not report as a `cfg` while
//! the feature is unstable there.

use std::env;

fn main() {
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
