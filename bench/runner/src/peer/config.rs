//! Configuration that both ends share: stock quinn, ring's ciphers, windows that do not limit.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, IdleTimeout, ServerConfig, TransportConfig, VarInt};
use rustls::RootCertStore;
use rustls::client::Resumption;
use rustls::crypto::ring;
use rustls::crypto::{CryptoProvider, ring::cipher_suite};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use sandquic_transfer::{Tickets, Verifications};

use super::{ALPN, ClientArgs, Mode, ServerArgs};
use crate::Error;
use crate::transfer::Cipher;

/// Receive windows of a connection and of each stream: more than ever is on the way, so that the sender's window and
/// the congestion controller decide.
const RECEIVE_WINDOW: u32 = 16 << 20;

/// Payload of a UDP datagram at an MTU of 1,500 bytes less headers, as quinn's MTU discovery ends; begun with here,
/// since the path is known.
const INITIAL_MTU: u16 = 1_452;

/// Transport parameters: CUBIC and all else as quinn has it. `window` is the most that is sent and not yet acknowledged.
fn transport(window: u64, idle_seconds: u32, mtu: Option<u16>) -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport
        .stream_receive_window(VarInt::from_u32(RECEIVE_WINDOW))
        .receive_window(VarInt::from_u32(RECEIVE_WINDOW))
        .send_window(window)
        .initial_mtu(INITIAL_MTU)
        .max_idle_timeout(IdleTimeout::try_from(Duration::from_secs(idle_seconds.into())).ok());
    if let Some(mtu) = mtu {
        transport.min_mtu(mtu).initial_mtu(mtu).mtu_discovery_config(None);
    }
    Arc::new(transport)
}

fn provider(cipher: Option<Cipher>) -> CryptoProvider {
    let mut provider = ring::default_provider();
    provider.cipher_suites = match cipher {
        None => vec![
            cipher_suite::TLS13_AES_128_GCM_SHA256,
            cipher_suite::TLS13_AES_256_GCM_SHA384,
            cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
        ],
        Some(Cipher::Aes128Gcm) => vec![cipher_suite::TLS13_AES_128_GCM_SHA256],
        Some(Cipher::Aes256Gcm) => vec![cipher_suite::TLS13_AES_256_GCM_SHA384],
        Some(Cipher::ChaCha20Poly1305) => vec![cipher_suite::TLS13_CHACHA20_POLY1305_SHA256],
    };
    provider
}

/// The suite of Initial packets (RFC 9001 section 5.2), which is needed whatever suite is offered.
fn initial_suite() -> Result<rustls::quic::Suite, Error> {
    cipher_suite::TLS13_AES_128_GCM_SHA256
        .tls13()
        .and_then(|suite| suite.quic_suite())
        .ok_or_else(|| Error::failed("ring's provider has no QUIC suite for Initial packets"))
}

fn tls(error: impl std::fmt::Display) -> Error {
    Error::failed(format!("cannot configure TLS: {error}"))
}

/// A client's configuration, the count of the certificates that it verified, and its tickets.
pub(super) fn client(args: &ClientArgs) -> Result<(ClientConfig, Arc<Verifications>, Arc<Tickets>), Error> {
    let ca = args.ca.as_path();
    let mut roots = RootCertStore::empty();
    for certificate in certificates(ca)? {
        roots.add(certificate).map_err(|error| {
            Error::failed(format!("{} has an unusable certificate: {error}", ca.display()))
        })?;
    }
    let provider = Arc::new(provider(args.cipher));
    let verifications = Verifications::new(roots, provider.clone()).map_err(tls)?;
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(tls)?
        .dangerous()
        .with_custom_certificate_verifier(verifications.clone())
        .with_no_client_auth();
    config.alpn_protocols = vec![ALPN.to_vec()];
    let mode = args.handshakes.map(|_| args.mode);
    let tickets = Arc::new(if mode == Some(Mode::Full) { Tickets::keeping(0) } else { Tickets::default() });
    config.resumption = Resumption::store(tickets.clone());
    config.enable_early_data = mode == Some(Mode::EarlyData);
    let crypto = QuicClientConfig::with_initial(Arc::new(config), initial_suite()?).map_err(tls)?;
    let mut config = ClientConfig::new(Arc::new(crypto));
    config.transport_config(transport(args.window, args.idle_timeout, args.mtu));
    Ok((config, verifications, tickets))
}

pub(super) fn server(args: &ServerArgs, idle_seconds: u32) -> Result<ServerConfig, Error> {
    let (chain, key) = (args.cert.as_path(), args.key.as_path());
    let private_key = PrivateKeyDer::from_pem_file(key).map_err(|error| {
        Error::failed(format!("cannot read a private key from {}: {error}", key.display()))
    })?;
    let mut config = rustls::ServerConfig::builder_with_provider(Arc::new(provider(None)))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(tls)?
        .with_no_client_auth()
        .with_single_cert(certificates(chain)?, private_key)
        .map_err(|error| {
            Error::failed(format!("{} and {} do not go together: {error}", chain.display(), key.display()))
        })?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    // The one value that QUIC has for "0-RTT data is welcome" (RFC 9001 section 4.6.1).
    config.max_early_data_size = u32::MAX;
    let crypto = QuicServerConfig::with_initial(Arc::new(config), initial_suite()?).map_err(tls)?;
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config.transport_config(transport(args.window, idle_seconds, args.mtu));
    Ok(config)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let unreadable =
        |error| Error::failed(format!("cannot read certificates from {}: {error}", path.display()));
    let certificates: Vec<_> = CertificateDer::pem_file_iter(path)
        .map_err(unreadable)?
        .collect::<Result<_, _>>()
        .map_err(unreadable)?;
    if certificates.is_empty() {
        return Err(Error::failed(format!("{} has no certificate in PEM form", path.display())));
    }
    Ok(certificates)
}
