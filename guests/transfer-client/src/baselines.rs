//! The ciphers that the product is compared with.

use rustls::crypto::CryptoProvider;
use sandquic_baselines::NAMES;
use sandquic_transfer::{Error, Providers};

/// Takes the names of the benchmarks' builds.
pub(crate) struct Baselines;

impl Providers for Baselines {
    fn provider(&self, name: Option<&str>) -> Result<CryptoProvider, Error> {
        let Some(name) = name else { return Ok(sandquic_rustls::provider()) };
        sandquic_baselines::provider(name)
            .ok_or_else(|| Error::Usage(format!("no ciphers {name}; there are: {}", NAMES.join(", "))))
    }
}
