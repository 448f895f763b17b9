//! Both ends of a QUIC transfer, built natively. The first word is `client` or `server`, the flags are those of the transfer
//! components.
//!
//! It is a program apart from the runner because which vectors and instructions its ciphers take is a choice of the
//! build. `cargo xtask build` makes `sandquic-peer-128` of it, with 128-bit vectors and no instructions for AES, GHASH
//! or wider vectors, in our kernels and in RustCrypto's crates alike; and `sandquic-peer-no-avx2`, `-no-aes` and
//! `-no-clmul`, each without one of the things that our kernels make use of.

#![forbid(unsafe_code)]

use rustls::crypto::CryptoProvider;
use sandquic_baselines::NAMES;
use sandquic_transfer::{Error, Providers};

/// The product's ciphers, and those of the benchmarks by their names.
struct Everyone;

impl Providers for Everyone {
    fn provider(&self, name: Option<&str>) -> Result<CryptoProvider, Error> {
        let Some(name) = name else { return Ok(sandquic_rustls::provider()) };
        sandquic_baselines::provider(name)
            .ok_or_else(|| Error::Usage(format!("no ciphers {name}; there are: {}", NAMES.join(", "))))
    }
}

async fn run(arguments: Vec<String>) -> u8 {
    sandquic_transfer::peer(arguments.get(1..).unwrap_or_default(), &Everyone).await
}

sandquic::command!(run);
