//! Stock quinn, rustls, ring and h3 as programs: a client and a server that hold nothing of this project.

pub(crate) mod client;
pub(crate) mod server;

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// What these programs are made of.
pub(crate) const VERSION: &str = "quinn 0.11, rustls 0.23 with ring 0.17, h3 0.0.8";

/// Why one of these programs ended.
pub(crate) type Error = Box<dyn std::error::Error + Send + Sync>;

/// ring's provider, with one suite alone if one is named.
fn provider(cipher: Option<&str>) -> Result<Arc<CryptoProvider>, Error> {
    use rustls::CipherSuite as Suite;
    let mut provider = ring::default_provider();
    if let Some(cipher) = cipher {
        let wanted = match cipher {
            "aes-128-gcm" => Suite::TLS13_AES_128_GCM_SHA256,
            "aes-256-gcm" => Suite::TLS13_AES_256_GCM_SHA384,
            "chacha20-poly1305" => Suite::TLS13_CHACHA20_POLY1305_SHA256,
            other => return Err(format!("no cipher suite is called {other}").into()),
        };
        provider.cipher_suites.retain(|suite| suite.suite() == wanted);
    }
    Ok(Arc::new(provider))
}

/// What protects Initial packets, whatever suites are offered.
fn initial() -> Result<rustls::quic::Suite, Error> {
    let suite = ring::cipher_suite::TLS13_AES_128_GCM_SHA256.tls13().and_then(|suite| suite.quic_suite());
    suite.ok_or_else(|| "ring has no suite for Initial packets".into())
}

/// The certificates of a PEM file.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path)?.collect();
    Ok(found?)
}

/// The private key of a PEM file.
fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, Error> {
    Ok(PrivateKeyDer::from_pem_file(path)?)
}

/// Limits that let the tests' files through without waiting for credit.
fn transport() -> Arc<quinn::TransportConfig> {
    let mut transport = quinn::TransportConfig::default();
    transport.stream_receive_window((4_u32 << 20).into()).receive_window((8_u32 << 20).into());
    Arc::new(transport)
}
