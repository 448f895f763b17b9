//! `sandquic info`.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use sandquic_host::{ENGINE, Host, HostOptions};
use sandquic_rustls::{Ciphers, DefaultCiphers};
use serde_json::json;

use crate::Failure;
use crate::cli::InfoArgs;
use crate::components::EMBEDDED;

const TARGET: &str = env!("SANDQUIC_TARGET");

/// What the embedded host can do for a program.
const FEATURES: &[&str] = &[
    "wasi-0.1",
    "wasi-0.2",
    "wasi-0.3",
    "simd128",
    "relaxed-simd",
    "wide-arithmetic",
    "compiled-code-cache",
    "perfmap",
];

pub(crate) fn info(arguments: &InfoArgs) -> Result<ExitCode, Failure> {
    let version = env!("CARGO_PKG_VERSION");
    // Of this native program; a component's kernels were chosen when it was built.
    let backend = sandquic_crypto::backend();
    let (aes, clmul) = (sandquic_crypto::aes_backend(), sandquic_crypto::clmul_backend());
    let ciphers = DefaultCiphers::NAME;
    // Setting the host up shows that the engine works here.
    let host = Host::new(HostOptions::default())?;
    let cache = host.cache_dir().map(|path| path.display().to_string());
    if let Some(path) = &arguments.json {
        let components: serde_json::Map<_, _> =
            EMBEDDED.iter().map(|(name, bytes)| (name.to_string(), json!(bytes.len()))).collect();
        let object = json!({
            "schema_version": 1,
            "version": version,
            "target": TARGET,
            "backend": backend,
            "aes": aes,
            "clmul": clmul,
            "ciphers": ciphers,
            "engine": ENGINE,
            "features": FEATURES,
            "cache_dir": cache,
            "components": components,
        });
        write_json(path, &object)?;
        return Ok(ExitCode::SUCCESS);
    }
    println!("sandquic {version} ({TARGET})");
    println!("backend     {backend}, AES {aes}, GHASH {clmul}; ciphers of the provider: {ciphers}");
    println!("engine      {ENGINE}");
    println!("features    {}", FEATURES.join(", "));
    println!("cache       {}", cache.as_deref().unwrap_or("none: compiled code is not kept"));
    if EMBEDDED.is_empty() {
        println!("components  none; run `cargo xtask build`");
    }
    for (index, (name, bytes)) in EMBEDDED.iter().enumerate() {
        let label = if index == 0 { "components" } else { "" };
        println!("{label:<11} @{name} ({} KiB)", bytes.len().div_ceil(1024));
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes one JSON object and a line end to a file, or to standard output for `-`.
fn write_json(path: &Path, object: &serde_json::Value) -> Result<(), Failure> {
    let text = format!("{object:#}\n");
    if path == Path::new("-") {
        print!("{text}");
        return Ok(());
    }
    fs::write(path, text)
        .map_err(|error| Failure::Failed(format!("cannot write {}: {error}", path.display())))
}
