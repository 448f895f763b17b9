//! Certificates, ciphers and the configurations of both sides.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{
    ClientSessionStore, Resumption, Tls12ClientSessionValue, Tls13ClientSessionValue, WebPkiServerVerifier,
};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem};
use rustls::{
    CipherSuite, DigitallySignedStruct, DistinguishedName, NamedGroup, RootCertStore, SignatureScheme,
    SupportedCipherSuite,
};
use sandquic::congestion::CubicConfig;
use sandquic::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use sandquic::{ClientConfig, ServerConfig, TransportConfig};

use crate::{ALPN, ClientOptions, Error, Mode, ServerOptions};

/// The ciphers of TLS 1.3 by the names of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CipherName {
    /// TLS_AES_128_GCM_SHA256.
    Aes128Gcm,
    /// TLS_AES_256_GCM_SHA384.
    Aes256Gcm,
    /// TLS_CHACHA20_POLY1305_SHA256.
    ChaCha20Poly1305,
}

impl CipherName {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Aes128Gcm, Self::Aes256Gcm, Self::ChaCha20Poly1305];

    /// Reads a name.
    ///
    /// # Errors
    /// [`Error::Usage`] with the known names.
    pub fn parse(name: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|cipher| cipher.name() == name).ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            Error::Usage(format!("no cipher {name}; there are: {known}"))
        })
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Aes128Gcm => "aes-128-gcm",
            Self::Aes256Gcm => "aes-256-gcm",
            Self::ChaCha20Poly1305 => "chacha20-poly1305",
        }
    }

    /// The cipher suite of TLS 1.3.
    pub fn suite(self) -> CipherSuite {
        match self {
            Self::Aes128Gcm => CipherSuite::TLS13_AES_128_GCM_SHA256,
            Self::Aes256Gcm => CipherSuite::TLS13_AES_256_GCM_SHA384,
            Self::ChaCha20Poly1305 => CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
        }
    }
}

/// The implementations of the ciphers that a build holds, by the name that `--ciphers` takes.
pub trait Providers {
    /// The provider of that name, or the build's own for `None`.
    ///
    /// # Errors
    /// [`Error::Usage`] with the known names.
    fn provider(&self, name: Option<&str>) -> Result<CryptoProvider, Error>;
}

/// The product's own provider and no other.
#[derive(Debug, Clone, Copy, Default)]
pub struct SandquicProvider;

impl Providers for SandquicProvider {
    fn provider(&self, name: Option<&str>) -> Result<CryptoProvider, Error> {
        match name {
            None => Ok(sandquic_rustls::provider()),
            Some(name) => Err(Error::Usage(format!("--ciphers {name}: this build has only its own ciphers"))),
        }
    }
}

/// Verifies a server's certificates as rustls does, and counts how often.
///
/// A server that takes up an earlier session shows no certificate (RFC 8446, 2.2): a connection during which the count
/// stood still was resumed, whatever was offered.
#[derive(Debug)]
pub struct Verifications {
    verifier: Arc<WebPkiServerVerifier>,
    count: AtomicUsize,
}

impl Verifications {
    /// With the authorities to trust and the provider whose algorithms verify.
    ///
    /// # Errors
    /// If `roots` is empty.
    pub fn new(
        roots: RootCertStore,
        provider: Arc<CryptoProvider>,
    ) -> Result<Arc<Self>, rustls::client::VerifierBuilderError> {
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build()?;
        Ok(Arc::new(Self { verifier, count: AtomicUsize::new(0) }))
    }

    /// How many certificates were verified so far.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }
}

impl ServerCertVerifier for Verifications {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }

    fn root_hint_subjects(&self) -> Option<&[DistinguishedName]> {
        self.verifier.root_hint_subjects()
    }
}

/// What a client keeps of earlier connections to one server, to be seen from outside: a connection that is to be resumed
/// can wait until there is a ticket.
#[derive(Debug)]
pub struct Tickets {
    kept: Mutex<Kept>,
    /// Tickets that are kept, the newest.
    most: usize,
}

#[derive(Debug, Default)]
struct Kept {
    tickets: VecDeque<Tls13ClientSessionValue>,
    group: Option<NamedGroup>,
}

impl Default for Tickets {
    fn default() -> Self {
        Self::keeping(8)
    }
}

impl Tickets {
    /// Keeps so many. With none every handshake is a full one, but the group that a server chose is known to the next: one
    /// share is made then, and not that of a hybrid which the server does not have.
    pub fn keeping(most: usize) -> Self {
        Self { kept: Mutex::default(), most }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.kept().tickets.is_empty()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientSessionStore for Tickets {
    fn set_kx_hint(&self, _: ServerName<'static>, group: NamedGroup) {
        self.kept().group = Some(group);
    }

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        self.kept().group
    }

    // QUIC has TLS 1.3 alone.
    fn set_tls12_session(&self, _: ServerName<'static>, _: Tls12ClientSessionValue) {}

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        None
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {}

    fn insert_tls13_ticket(&self, _: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        let tickets = &mut self.kept().tickets;
        tickets.push_back(ticket);
        if tickets.len() > self.most {
            tickets.pop_front();
        }
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.kept().tickets.pop_back()
    }
}

/// What a client connects with, and what can be seen of it.
pub(crate) struct Client {
    pub(crate) config: ClientConfig,
    pub(crate) verifications: Arc<Verifications>,
    pub(crate) tickets: Arc<Tickets>,
}

/// The client's side of the handshake and the transport's settings.
pub(crate) fn client_config(options: &ClientOptions, mut provider: CryptoProvider) -> Result<Client, Error> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates("--ca", &options.ca)? {
        roots.add(certificate).map_err(|error| {
            Error::Failed(format!("--ca {}: a certificate cannot be used: {error}", options.ca))
        })?;
    }
    let initial = initial_suite(&provider)?;
    if let Some(cipher) = options.cipher {
        provider.cipher_suites.retain(|suite| suite.suite() == cipher.suite());
        if provider.cipher_suites.is_empty() {
            return Err(Error::Usage(format!("--cipher {}: this build does not have it", cipher.name())));
        }
    }
    let provider = Arc::new(provider);
    let verifications = Verifications::new(roots, provider.clone())
        .map_err(|error| Error::Failed(format!("--ca {}: it cannot be used: {error}", options.ca)))?;
    let mut tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| Error::Failed(format!("the ciphers cannot be used for QUIC: {error}")))?
        .dangerous()
        .with_custom_certificate_verifier(verifications.clone())
        .with_no_client_auth();
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let mode = options.handshakes.map(|handshakes| handshakes.mode);
    let tickets = Arc::new(if mode == Some(Mode::Full) { Tickets::keeping(0) } else { Tickets::default() });
    tls.resumption = Resumption::store(tickets.clone());
    tls.enable_early_data = mode == Some(Mode::EarlyData);
    let crypto = QuicClientConfig::with_initial(Arc::new(tls), initial)
        .map_err(|error| Error::Failed(format!("the ciphers cannot be used for QUIC: {error}")))?;
    let mut config = ClientConfig::new(Arc::new(crypto));
    config.transport_config(Arc::new(transport(options.idle_timeout, options.window, options.mtu)?));
    Ok(Client { config, verifications, tickets })
}

/// The server's side of the handshake and the transport's settings.
pub(crate) fn server_config(
    options: &ServerOptions,
    provider: CryptoProvider,
) -> Result<ServerConfig, Error> {
    let chain = certificates("--cert", &options.cert)?;
    let key = PrivateKeyDer::from_pem_file(&options.key)
        .map_err(|error| pem_error("--key", &options.key, &error))?;
    let initial = initial_suite(&provider)?;
    let mut tls = rustls::ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| Error::Failed(format!("the ciphers cannot be used for QUIC: {error}")))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| {
            Error::Failed(format!(
                "--cert {} and --key {} cannot be used: {error}",
                options.cert, options.key
            ))
        })?;
    tls.alpn_protocols = vec![ALPN.to_vec()];
    // The one value that QUIC has for "0-RTT data is welcome" (RFC 9001, 4.6.1).
    tls.max_early_data_size = u32::MAX;
    let crypto = QuicServerConfig::with_initial(Arc::new(tls), initial)
        .map_err(|error| Error::Failed(format!("the ciphers cannot be used for QUIC: {error}")))?;
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config.transport_config(Arc::new(transport(options.idle_timeout, options.window, options.mtu)?));
    Ok(config)
}

/// Flow-control windows of a connection and of each stream: more than a socket's buffer holds, so that the sender's
/// congestion window decides, and still a bound on what an application that does not read makes this side keep.
const RECEIVE_WINDOW: u32 = 16 << 20;

/// Payload of a UDP datagram at an MTU of 1,500 bytes less headers, where MTU discovery ends. Transfers begin with it, as the
/// benchmarks' native peers do: a component cannot discover it, since WASI has no datagrams that may not be fragmented,
/// and would send 1,200 bytes for ever. On a path that swallows them quinn-proto falls back to 1,200.
const INITIAL_MTU: u16 = 1_452;

fn transport(
    idle_timeout: Duration,
    send_window: Option<u64>,
    mtu: Option<u16>,
) -> Result<TransportConfig, Error> {
    let mut transport = TransportConfig::default();
    let idle = idle_timeout
        .try_into()
        .map_err(|_| Error::Usage(format!("--idle-timeout {}: too long", idle_timeout.as_secs())))?;
    // A peer that is busy with its disk says nothing for a while; one that is gone does not answer these either.
    transport.max_idle_timeout(Some(idle)).keep_alive_interval(Some(idle_timeout / 3));
    let window = sandquic::VarInt::from_u32(RECEIVE_WINDOW);
    transport.stream_receive_window(window).receive_window(window).initial_mtu(INITIAL_MTU);
    // Each stream that a peer might open takes memory in every connection, idle or not: the 200 of quinn-proto's default, 8.6 kB.
    transport.max_concurrent_bidi_streams(MAX_REQUESTS.into()).max_concurrent_uni_streams(0_u32.into());
    if let Some(window) = send_window {
        transport.send_window(window);
    }
    if let Some(mtu) = mtu {
        transport.min_mtu(mtu).initial_mtu(mtu).mtu_discovery_config(None);
        // RFC 9002, 7.2. quinn-proto's own is that of the smallest packets, and holds only one of the largest.
        let packet = u64::from(mtu);
        let mut cubic = CubicConfig::default();
        cubic.initial_window((10 * packet).min(14_720.max(2 * packet)));
        transport.congestion_controller_factory(Arc::new(cubic));
    }
    Ok(transport)
}

/// Requests that a client may have open at once on one connection.
const MAX_REQUESTS: u32 = 16;

/// The suite of the Initial packets (RFC 9001, 5.2), which is fixed, whatever is offered afterwards.
fn initial_suite(provider: &CryptoProvider) -> Result<rustls::quic::Suite, Error> {
    provider
        .cipher_suites
        .iter()
        .find(|suite| suite.suite() == CipherSuite::TLS13_AES_128_GCM_SHA256)
        .and_then(SupportedCipherSuite::tls13)
        .and_then(|suite| suite.quic_suite())
        .ok_or_else(|| Error::Failed("the ciphers lack AES-128-GCM, which QUIC starts with".into()))
}

fn certificates(flag: &str, path: &str) -> Result<Vec<CertificateDer<'static>>, Error> {
    let certificates = CertificateDer::pem_file_iter(path)
        .and_then(|certificates| certificates.collect::<Result<Vec<_>, _>>())
        .map_err(|error| pem_error(flag, path, &error))?;
    if certificates.is_empty() {
        return Err(Error::Failed(format!("{flag} {path}: there is no certificate in it; give a PEM file")));
    }
    Ok(certificates)
}

fn pem_error(flag: &str, path: &str, error: &pem::Error) -> Error {
    match error {
        pem::Error::Io(error) => crate::error::file("read", &format!("{path} ({flag})"), error),
        pem::Error::NoItemsFound => {
            Error::Failed(format!("{flag} {path}: nothing usable in it; give a PEM file"))
        }
        other => Error::Failed(format!("{flag} {path}: not a PEM file: {other}")),
    }
}
