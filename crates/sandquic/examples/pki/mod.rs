//! A certificate for `localhost`, and both sides' configurations with it. A program of yours reads its own.

use std::error::Error;
use std::sync::Arc;

use sandquic::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use sandquic::rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use sandquic::rustls::version::TLS13;
use sandquic::{ClientConfig, ServerConfig, rustls};

const CA: &[u8] = include_bytes!("../../../sandquic-rustls/tests/fixtures/ca.pem");
const CERTIFICATE: &[u8] = include_bytes!("../../../sandquic-rustls/tests/fixtures/p256.pem");
const KEY: &[u8] = include_bytes!("../../../sandquic-rustls/tests/fixtures/p256.key.pem");

/// A server with that certificate, for one application protocol.
pub(crate) fn server(alpn: &[u8]) -> Result<ServerConfig, Box<dyn Error>> {
    let chain = vec![CertificateDer::from_pem_slice(CERTIFICATE)?];
    let mut tls = rustls::ServerConfig::builder_with_provider(Arc::new(sandquic_rustls::provider()))
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::from_pem_slice(KEY)?)?;
    tls.alpn_protocols = vec![alpn.to_vec()];
    Ok(ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?)))
}

/// A client that trusts who issued it.
pub(crate) fn client(alpn: &[u8]) -> Result<ClientConfig, Box<dyn Error>> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(CA)?)?;
    let mut tls = rustls::ClientConfig::builder_with_provider(Arc::new(sandquic_rustls::provider()))
        .with_protocol_versions(&[&TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![alpn.to_vec()];
    Ok(ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?)))
}
