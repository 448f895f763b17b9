//! `sandquic info`.

use std::fmt::Write as _;
use std::process::ExitCode;

use sandquic_host::{ENGINE, Host, HostOptions};
use sandquic_rustls::{Ciphers, DefaultCiphers};
use serde_json::json;

use crate::Failure;
use crate::cli::InfoArgs;
use crate::components::EMBEDDED;
use crate::json::{print, write_json};

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
    "instance-pool",
    "perfmap",
    "jitdump",
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
    print(&text(version, &format!("{backend}, AES {aes}, GHASH {clmul}"), ciphers, cache.as_deref()))?;
    Ok(ExitCode::SUCCESS)
}

/// The same for people.
fn text(version: &str, backend: &str, ciphers: &str, cache: Option<&str>) -> String {
    let mut text = String::new();
    let mut line = |key: &str, value: &str| {
        writeln!(text, "{key:<11} {value}").expect("a String takes every write");
    };
    line("sandquic", &format!("{version} ({TARGET})"));
    line("backend", &format!("{backend}; ciphers of the provider: {ciphers}"));
    line("engine", ENGINE);
    line("features", &FEATURES.join(", "));
    line("cache", cache.unwrap_or("none: compiled code is not kept"));
    if EMBEDDED.is_empty() {
        line("components", "none; run `cargo xtask build`");
    }
    for (index, (name, bytes)) in EMBEDDED.iter().enumerate() {
        let key = if index == 0 { "components" } else { "" };
        line(key, &format!("@{name} ({} KiB)", bytes.len().div_ceil(1024)));
    }
    text
}
