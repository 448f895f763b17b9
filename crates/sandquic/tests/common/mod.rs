//! What the tests share: certificates and configurations.

#![allow(dead_code, unreachable_pub)]

use std::sync::Arc;

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sandquic::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use sandquic::{ClientConfig, ServerConfig};

const CA: &[u8] = include_bytes!("../../../sandquic-rustls/tests/fixtures/ca.pem");
const CERTIFICATE: &[u8] = include_bytes!("../../../sandquic-rustls/tests/fixtures/p256.pem");
const KEY: &[u8] = include_bytes!("../../../sandquic-rustls/tests/fixtures/p256.key.pem");

/// The application protocol of the tests.
pub const ALPN: &[u8] = b"sandquic-test";
/// The name that the certificate is for.
pub const NAME: &str = "localhost";

pub fn chain() -> Vec<CertificateDer<'static>> {
    vec![CertificateDer::from_pem_slice(CERTIFICATE).unwrap()]
}

/// A chain of 20 kB: the certificate, and copies of it that no verifier needs.
pub fn long_chain() -> Vec<CertificateDer<'static>> {
    std::iter::repeat_n(chain(), 40).flatten().collect()
}

pub fn key() -> PrivateKeyDer<'static> {
    PrivateKeyDer::from_pem_slice(KEY).unwrap()
}

pub fn roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(CA).unwrap()).unwrap();
    roots
}

/// rustls's side of a client on any provider, with 0-RTT and a session store of its own.
pub fn client_tls(provider: rustls::crypto::CryptoProvider) -> rustls::ClientConfig {
    let mut tls = rustls::ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots())
        .with_no_client_auth();
    tls.alpn_protocols = vec![ALPN.to_vec()];
    tls.enable_early_data = true;
    tls
}

/// rustls's side of a server on any provider, with 0-RTT.
pub fn server_tls(provider: rustls::crypto::CryptoProvider) -> rustls::ServerConfig {
    let mut tls = rustls::ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain(), key())
        .unwrap();
    tls.alpn_protocols = vec![ALPN.to_vec()];
    tls.max_early_data_size = u32::MAX;
    tls
}

pub fn client_config() -> ClientConfig {
    let tls = client_tls(sandquic_rustls::provider());
    ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()))
}

pub fn server_config() -> ServerConfig {
    let tls = server_tls(sandquic_rustls::provider());
    ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls).unwrap()))
}

/// `len` bytes that differ from one place to the next.
pub fn pattern(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64 ^ len as u64;
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}
