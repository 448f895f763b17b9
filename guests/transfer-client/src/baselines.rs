//! The ciphers that the product is compared with.

use rustls::crypto::CryptoProvider;
use sandquic_baselines::{RustCrypto, RustCryptoOld};
use sandquic_transfer::{Error, Providers};

/// Takes the names of the benchmarks' builds.
pub(crate) struct Baselines;

impl Providers for Baselines {
    fn provider(&self, name: Option<&str>) -> Result<CryptoProvider, Error> {
        match name {
            None => Ok(sandquic_rustls::provider()),
            Some("rustcrypto-old") => Ok(sandquic_rustls::provider_with::<RustCryptoOld>()),
            Some("rustcrypto") => Ok(sandquic_rustls::provider_with::<RustCrypto>()),
            Some(name) => {
                Err(Error::Usage(format!("no ciphers {name}; there are: rustcrypto-old, rustcrypto")))
            }
        }
    }
}
