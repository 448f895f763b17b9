//! What the tests of this crate share: the test PKI, and a client and a server connected through memory.

#![allow(dead_code, unreachable_pub)]

use std::io::{Read, Write};
use std::sync::Arc;

use pki_types::pem::PemObject;
use pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::client::WebPkiServerVerifier;
use rustls::crypto::{CryptoProvider, SupportedKxGroup, WebPkiSupportedAlgorithms};
use rustls::server::WebPkiClientVerifier;
use rustls::{
    ClientConfig, ClientConnection, Connection, Error, RootCertStore, ServerConfig, ServerConnection,
    SignatureScheme, SupportedCipherSuite,
};

macro_rules! identities {
    ($($constant:ident = $file:literal;)*) => {
        $(pub const $constant: Identity = Identity {
            certificate: include_bytes!(concat!("../fixtures/", $file, ".pem")),
            key: include_bytes!(concat!("../fixtures/", $file, ".key.pem")),
        };)*
    };
}

identities! {
    P256 = "p256";
    P384 = "p384";
    ED25519 = "ed25519";
    RSA2048 = "rsa2048";
    RSA3072 = "rsa3072";
    RSA4096 = "rsa4096";
    EXPIRED = "expired";
    CLIENT = "client";
    STRANGE_CLIENT = "strange-client";
    UNDER_P384 = "under-p384";
    UNDER_ED25519 = "under-ed25519";
    UNDER_RSA2048 = "under-rsa2048";
    UNDER_RSA8192 = "under-rsa8192";
    UNDER_RSA_PSS = "under-rsa-pss";
}

pub const CA: &[u8] = include_bytes!("../fixtures/ca.pem");
pub const CA_P384: &[u8] = include_bytes!("../fixtures/ca-p384.pem");
pub const CA_ED25519: &[u8] = include_bytes!("../fixtures/ca-ed25519.pem");
pub const CA_RSA2048: &[u8] = include_bytes!("../fixtures/ca-rsa2048.pem");
pub const CA_RSA8192: &[u8] = include_bytes!("../fixtures/ca-rsa8192.pem");
pub const STRANGER: &[u8] = include_bytes!("../fixtures/stranger.pem");

/// A certificate and its key, as PEM.
#[derive(Clone, Copy)]
pub struct Identity {
    pub certificate: &'static [u8],
    pub key: &'static [u8],
}

impl Identity {
    pub fn chain(&self) -> Vec<CertificateDer<'static>> {
        vec![CertificateDer::from_pem_slice(self.certificate).unwrap()]
    }

    pub fn key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::from_pem_slice(self.key).unwrap()
    }
}

pub fn roots(authority: &[u8]) -> Arc<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority).unwrap()).unwrap();
    Arc::new(roots)
}

pub fn localhost() -> ServerName<'static> {
    ServerName::try_from("localhost").unwrap()
}

/// `provider` with one suite.
pub fn with_suite(mut provider: CryptoProvider, suite: SupportedCipherSuite) -> CryptoProvider {
    provider.cipher_suites = vec![suite];
    provider
}

/// `provider` with one group.
pub fn with_group(mut provider: CryptoProvider, group: &'static dyn SupportedKxGroup) -> CryptoProvider {
    provider.kx_groups = vec![group];
    provider
}

/// `provider` that takes one signature scheme from its peer's handshake, and certificates as before.
pub fn with_scheme(mut provider: CryptoProvider, scheme: SignatureScheme) -> CryptoProvider {
    let algorithms = provider.signature_verification_algorithms;
    let mapping = algorithms.mapping.iter().copied().filter(|(known, _)| *known == scheme);
    provider.signature_verification_algorithms =
        WebPkiSupportedAlgorithms { all: algorithms.all, mapping: mapping.collect::<Vec<_>>().leak() };
    assert_eq!(provider.signature_verification_algorithms.mapping.len(), 1, "{scheme:?} is not supported");
    provider
}

pub fn client_config(provider: CryptoProvider, authority: &[u8], identity: Option<Identity>) -> ClientConfig {
    let provider = Arc::new(provider);
    let verifier =
        WebPkiServerVerifier::builder_with_provider(roots(authority), provider.clone()).build().unwrap();
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_webpki_verifier(verifier);
    match identity {
        Some(identity) => builder.with_client_auth_cert(identity.chain(), identity.key()).unwrap(),
        None => builder.with_no_client_auth(),
    }
}

pub fn server_config(
    provider: CryptoProvider,
    identity: Identity,
    client_authority: Option<&[u8]>,
) -> ServerConfig {
    let provider = Arc::new(provider);
    let builder =
        ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions().unwrap();
    let builder = match client_authority {
        Some(authority) => builder.with_client_cert_verifier(
            WebPkiClientVerifier::builder_with_provider(roots(authority), provider).build().unwrap(),
        ),
        None => builder.with_no_client_auth(),
    };
    builder.with_single_cert(identity.chain(), identity.key()).unwrap()
}

/// A client and a server whose bytes go through memory.
pub struct Pair {
    pub client: Connection,
    pub server: Connection,
}

/// What one side of a handshake failed with.
#[derive(Debug)]
pub enum Failure {
    Client(Error),
    Server(Error),
}

impl Pair {
    pub fn new(client: Arc<ClientConfig>, server: Arc<ServerConfig>) -> Self {
        Self::to(client, server, localhost())
    }

    pub fn to(client: Arc<ClientConfig>, server: Arc<ServerConfig>, name: ServerName<'static>) -> Self {
        Self {
            client: ClientConnection::new(client, name).unwrap().into(),
            server: ServerConnection::new(server).unwrap().into(),
        }
    }

    /// Carries what there is to carry until there is nothing.
    pub fn carry(&mut self) -> Result<Arrived, Failure> {
        let mut arrived = Arrived::default();
        loop {
            let sent =
                send(&mut self.client, &mut self.server, &mut arrived.at_server).map_err(Failure::Server)?;
            let answered =
                send(&mut self.server, &mut self.client, &mut arrived.at_client).map_err(Failure::Client)?;
            if !sent && !answered {
                return Ok(arrived);
            }
        }
    }

    /// The handshake, and data each way: a byte, and more than two records hold.
    pub fn run(&mut self) -> Result<(), Failure> {
        self.carry()?;
        assert!(!self.client.is_handshaking() && !self.server.is_handshaking());
        assert_eq!(self.client.negotiated_cipher_suite(), self.server.negotiated_cipher_suite());
        for len in [1, 40_000] {
            let content: Vec<u8> = (0..len).map(|i| (i * 7 % 251) as u8).collect();
            self.client.writer().write_all(&content).unwrap();
            self.server.writer().write_all(&content).unwrap();
            let arrived = self.carry()?;
            assert!(arrived.at_server == content && arrived.at_client == content, "{len} bytes changed");
        }
        Ok(())
    }
}

/// The plaintext that came out on each side.
#[derive(Debug, Default)]
pub struct Arrived {
    pub at_client: Vec<u8>,
    pub at_server: Vec<u8>,
}

/// Carries what `from` has to send now; plaintext goes to `arrived`. True if there was something to carry.
fn send(from: &mut Connection, to: &mut Connection, arrived: &mut Vec<u8>) -> Result<bool, Error> {
    let mut bytes = vec![];
    while from.wants_write() {
        from.write_tls(&mut bytes).unwrap();
    }
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        to.read_tls(&mut rest).unwrap();
        to.process_new_packets()?;
        match to.reader().read_to_end(arrived) {
            Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => panic!("{error}"),
            _ => {}
        }
    }
    Ok(!bytes.is_empty())
}

/// The message of an error, checked to contain each of `parts`.
#[track_caller]
pub fn assert_says(error: &Error, parts: &[&str]) {
    let message = error.to_string();
    for part in parts {
        assert!(message.contains(part), "{message:?} does not say {part:?}");
    }
}

pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    let value = |digit: u8| char::from(digit).to_digit(16).unwrap() as u8;
    digits.chunks(2).map(|pair| value(pair[0]) << 4 | value(pair[1])).collect()
}
