//! Component: the transfer client of the product, but that its host protects the packets.
//!
//! The AEAD of packets and of TLS records is behind the import `sandquic:bench/aead`, with the keys on the host's side:
//! a call and two copies across the boundary for each packet, which is how an interface like WASI-Crypto would be used.
//! Header masks stay in here: such an interface has AEADs, and neither a single AES block nor a ChaCha20 block, and the
//! paper counts one call for each packet. Key schedule, signatures and key exchange stay in here too.

#![deny(unsafe_code)]

mod ciphers;

use rustls::crypto::CryptoProvider;
use sandquic_transfer::{Error, Providers};

use crate::ciphers::HostCiphers;

#[allow(
    missing_docs,
    unreachable_pub,
    unsafe_code,
    reason = "generated; calls across the boundary are `unsafe`"
)]
mod bindings {
    wit_bindgen::generate!({ path: "../wit", world: "client" });
}

/// The host's ciphers and no others.
struct HostProvider;

impl Providers for HostProvider {
    fn provider(&self, name: Option<&str>) -> Result<CryptoProvider, Error> {
        match name {
            None => Ok(sandquic_rustls::provider_with::<HostCiphers>()),
            Some(name) => {
                Err(Error::Usage(format!("--ciphers {name}: this build has only its host's ciphers")))
            }
        }
    }
}

/// The program: takes the arguments, its own name first, and returns the exit status.
pub async fn run(arguments: Vec<String>) -> u8 {
    sandquic_transfer::client(arguments.get(1..).unwrap_or_default(), &HostProvider).await
}

#[cfg(target_os = "wasi")]
sandquic::command!(run);
