//! rustls's configurations as quinn-proto takes them.

use std::sync::Arc;

use quinn_proto::crypto::{self, Keys, Session, UnsupportedVersion};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side};
use rustls::CipherSuite;
use rustls::client::{VerifierBuilderError, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::quic::{ClientConnection, Connection, ServerConnection, Suite, Version};

use super::{TlsSession, keys, retry};

/// A client's TLS configuration for QUIC.
///
/// The [`rustls::ClientConfig`] must offer TLS 1.3. 0-RTT needs its `enable_early_data`, and its `resumption` decides
/// whether [`Connecting::into_0rtt`](crate::Connecting::into_0rtt) is possible.
pub struct QuicClientConfig {
    tls: Arc<rustls::ClientConfig>,
    initial: Suite,
}

impl QuicClientConfig {
    /// With the suite for the Initial packets given apart, so that `inner` need not offer it for the rest.
    ///
    /// # Errors
    ///
    /// If `initial` is not TLS13_AES_128_GCM_SHA256.
    pub fn with_initial(
        inner: Arc<rustls::ClientConfig>,
        initial: Suite,
    ) -> Result<Self, NoInitialCipherSuite> {
        check_initial(&initial)?;
        Ok(Self { tls: inner, initial })
    }

    /// With the authorities to trust, on [`sandquic_rustls::provider()`], with 0-RTT enabled.
    pub(crate) fn with_root_certificates(
        roots: Arc<rustls::RootCertStore>,
    ) -> Result<Self, VerifierBuilderError> {
        let provider = Arc::new(sandquic_rustls::provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider.clone()).build()?;
        let mut tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .expect("the provider has TLS 1.3")
            .with_webpki_verifier(verifier)
            .with_no_client_auth();
        tls.enable_early_data = true;
        Ok(Self::try_from(tls).expect("the provider has AES-128-GCM for QUIC"))
    }
}

impl TryFrom<rustls::ClientConfig> for QuicClientConfig {
    type Error = NoInitialCipherSuite;

    fn try_from(inner: rustls::ClientConfig) -> Result<Self, Self::Error> {
        Arc::new(inner).try_into()
    }
}

impl TryFrom<Arc<rustls::ClientConfig>> for QuicClientConfig {
    type Error = NoInitialCipherSuite;

    fn try_from(inner: Arc<rustls::ClientConfig>) -> Result<Self, Self::Error> {
        let initial = initial_suite(inner.crypto_provider())?;
        Ok(Self { tls: inner, initial })
    }
}

impl crypto::ClientConfig for QuicClientConfig {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let version = known(version)?;
        let invalid = || ConnectError::InvalidServerName(server_name.into());
        let name = ServerName::try_from(server_name).map_err(|_| invalid())?.to_owned();
        // rustls refuses a configuration without TLS 1.3, which quinn-proto's trait has no error for.
        let tls = ClientConnection::new(self.tls.clone(), version, name, encode(params)).map_err(|e| {
            tracing::error!("the TLS configuration cannot be used for QUIC: {e}");
            ConnectError::UnsupportedVersion
        })?;
        Ok(Box::new(TlsSession::new(Connection::Client(tls), version, self.initial)))
    }
}

/// A server's TLS configuration for QUIC.
///
/// 0-RTT needs a [`rustls::ServerConfig`] with `max_early_data_size` of `u32::MAX`, the only value besides 0 that
/// RFC 9001, 4.6.1 allows, and with resumption by stored sessions: rustls does not accept early data with tickets.
pub struct QuicServerConfig {
    tls: Arc<rustls::ServerConfig>,
    initial: Suite,
}

impl QuicServerConfig {
    /// With the suite for the Initial packets given apart, so that `inner` need not offer it for the rest.
    ///
    /// # Errors
    ///
    /// If `initial` is not TLS13_AES_128_GCM_SHA256, or `inner` cannot serve QUIC.
    pub fn with_initial(
        inner: Arc<rustls::ServerConfig>,
        initial: Suite,
    ) -> Result<Self, NoInitialCipherSuite> {
        check_initial(&initial)?;
        Self::checked(inner, initial)
    }

    /// With one certificate chain, on [`sandquic_rustls::provider()`], with 0-RTT enabled.
    pub(crate) fn with_single_cert(
        cert_chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, rustls::Error> {
        let mut tls = rustls::ServerConfig::builder_with_provider(Arc::new(sandquic_rustls::provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_no_client_auth()
            .with_single_cert(cert_chain, key)?;
        tls.max_early_data_size = u32::MAX;
        Ok(Self::try_from(tls).expect("the provider has AES-128-GCM for QUIC"))
    }

    /// A session is started where there is no way to report an error, so what rustls refuses is found here.
    fn checked(tls: Arc<rustls::ServerConfig>, initial: Suite) -> Result<Self, NoInitialCipherSuite> {
        match ServerConnection::new(tls.clone(), Version::V1, Vec::new()) {
            Ok(_) => Ok(Self { tls, initial }),
            Err(e) => Err(NoInitialCipherSuite(Problem::Refused(e))),
        }
    }
}

impl TryFrom<rustls::ServerConfig> for QuicServerConfig {
    type Error = NoInitialCipherSuite;

    fn try_from(inner: rustls::ServerConfig) -> Result<Self, Self::Error> {
        Arc::new(inner).try_into()
    }
}

impl TryFrom<Arc<rustls::ServerConfig>> for QuicServerConfig {
    type Error = NoInitialCipherSuite;

    fn try_from(inner: Arc<rustls::ServerConfig>) -> Result<Self, Self::Error> {
        let initial = initial_suite(inner.crypto_provider())?;
        Self::checked(inner, initial)
    }
}

impl crypto::ServerConfig for QuicServerConfig {
    fn initial_keys(&self, version: u32, dst_cid: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys::initial(&self.initial, known(version)?, dst_cid, Side::Server))
    }

    fn retry_tag(&self, version: u32, orig_dst_cid: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        let version = known(version).expect("not called for versions that initial_keys refused");
        retry::tag(version, orig_dst_cid, &[packet])
    }

    fn start_session(self: Arc<Self>, version: u32, params: &TransportParameters) -> Box<dyn Session> {
        let version = known(version).expect("not called for versions that initial_keys refused");
        let tls = ServerConnection::new(self.tls.clone(), version, encode(params))
            .expect("checked when the configuration was made");
        Box::new(TlsSession::new(Connection::Server(tls), version, self.initial))
    }
}

/// A TLS configuration that cannot serve QUIC: the suite for Initial packets is missing (RFC 9001, 5.2 demands
/// TLS13_AES_128_GCM_SHA256), or rustls refuses it.
#[derive(Debug, Clone, thiserror::Error)]
#[error(transparent)]
pub struct NoInitialCipherSuite(Problem);

#[derive(Debug, Clone, thiserror::Error)]
enum Problem {
    #[error("the suite given for Initial packets is not TLS13_AES_128_GCM_SHA256")]
    Wrong,
    #[error("the provider has no TLS13_AES_128_GCM_SHA256 for QUIC, which Initial packets need")]
    Missing,
    #[error("the TLS configuration cannot be used for QUIC: {0}")]
    Refused(rustls::Error),
}

fn check_initial(suite: &Suite) -> Result<(), NoInitialCipherSuite> {
    match suite.suite.common.suite {
        CipherSuite::TLS13_AES_128_GCM_SHA256 => Ok(()),
        _ => Err(NoInitialCipherSuite(Problem::Wrong)),
    }
}

fn initial_suite(provider: &CryptoProvider) -> Result<Suite, NoInitialCipherSuite> {
    provider
        .cipher_suites
        .iter()
        .filter(|suite| suite.suite() == CipherSuite::TLS13_AES_128_GCM_SHA256)
        .find_map(|suite| suite.tls13()?.quic_suite())
        .ok_or(NoInitialCipherSuite(Problem::Missing))
}

/// The versions of QUIC that rustls has keys for: 1 (RFC 9000), and the drafts 29 to 34 before it.
fn known(version: u32) -> Result<Version, UnsupportedVersion> {
    match version {
        1 | 0xff00_0021..=0xff00_0022 => Ok(Version::V1),
        0xff00_001d..=0xff00_0020 => Ok(Version::V1Draft),
        _ => Err(UnsupportedVersion),
    }
}

fn encode(params: &TransportParameters) -> Vec<u8> {
    let mut bytes = Vec::new();
    params.write(&mut bytes);
    bytes
}
