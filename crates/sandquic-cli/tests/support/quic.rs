//! A client of the transfer server inside the test.

use std::net::Ipv4Addr;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use sandquic::crypto::rustls::QuicClientConfig;
use sandquic::{ClientConfig, Endpoint, TransportConfig};

use super::{PATIENCE, pki};

pub(crate) fn config() -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(pki().join("ca.pem")).unwrap()).unwrap();
    let mut tls = rustls::ClientConfig::builder_with_provider(Arc::new(sandquic_rustls::provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"sandquic-transfer/1".to_vec()];
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()));
    let mut transport = TransportConfig::default();
    transport.max_idle_timeout(Some(PATIENCE.try_into().unwrap()));
    config.transport_config(Arc::new(transport));
    config
}

pub(crate) fn endpoint(config: &ClientConfig) -> Endpoint {
    let mut endpoint = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    endpoint.set_default_client_config(config.clone());
    endpoint
}
