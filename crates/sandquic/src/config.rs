//! Configuration: quinn-proto's types with the constructors that need a cryptographic provider.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use quinn_proto as proto;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::session::{NoInitialCipherSuite, QuicClientConfig, QuicServerConfig, ResetKey, TokenKey};
use crate::{crypto, instance};

/// How an endpoint connects to servers.
///
/// Dereferences to [`quinn_proto::ClientConfig`], which has the setters: `transport_config`, `token_store`,
/// `initial_dst_cid_provider` and `version`.
#[derive(Clone)]
pub struct ClientConfig(pub(crate) proto::ClientConfig);

impl ClientConfig {
    /// A configuration with the given cryptography, usually a [`QuicClientConfig`].
    pub fn new(crypto: Arc<dyn crypto::ClientConfig>) -> Self {
        Self(proto::ClientConfig::new(crypto))
    }

    /// A configuration that trusts the given authorities, on [`sandquic_rustls::provider()`], with 0-RTT enabled.
    ///
    /// # Errors
    ///
    /// If `roots` is empty.
    pub fn with_root_certificates(
        roots: Arc<rustls::RootCertStore>,
    ) -> Result<Self, rustls::client::VerifierBuilderError> {
        Ok(Self::new(Arc::new(QuicClientConfig::with_root_certificates(roots)?)))
    }
}

impl TryFrom<rustls::ClientConfig> for ClientConfig {
    type Error = NoInitialCipherSuite;

    fn try_from(config: rustls::ClientConfig) -> Result<Self, Self::Error> {
        Ok(Self::new(Arc::new(QuicClientConfig::try_from(config)?)))
    }
}

/// How an endpoint answers clients.
///
/// Dereferences to [`quinn_proto::ServerConfig`], which has the fields `transport`, `crypto` and `validation_token`
/// and the setters: `transport_config`, `validation_token_config`, `token_key`, `retry_token_lifetime`, `migration`,
/// `preferred_address_v4`, `preferred_address_v6`, `max_incoming`, `incoming_buffer_size`,
/// `incoming_buffer_size_total` and `time_source`.
#[derive(Clone)]
pub struct ServerConfig(pub(crate) proto::ServerConfig);

impl ServerConfig {
    /// A configuration with the given cryptography, usually a [`QuicServerConfig`], and the key that protects the
    /// address-validation tokens.
    pub fn new(crypto: Arc<dyn crypto::ServerConfig>, token_key: Arc<dyn crypto::HandshakeTokenKey>) -> Self {
        Self(proto::ServerConfig::new(crypto, token_key))
    }

    /// A configuration with the given cryptography and a fresh token key; in one of several [instances](crate::instance),
    /// with the key of all of them.
    pub fn with_crypto(crypto: Arc<dyn crypto::ServerConfig>) -> Self {
        let token_key = match instance::current() {
            Some(instance) => instance.token_key(),
            None => Arc::new(TokenKey::random()),
        };
        Self::new(crypto, token_key)
    }

    /// A configuration with one certificate chain, its own certificate first, and its key, on
    /// [`sandquic_rustls::provider()`], with 0-RTT enabled.
    ///
    /// # Errors
    ///
    /// If the key cannot be used or does not belong to the certificate.
    pub fn with_single_cert(
        cert_chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, rustls::Error> {
        Ok(Self::with_crypto(Arc::new(QuicServerConfig::with_single_cert(cert_chain, key)?)))
    }
}

impl TryFrom<rustls::ServerConfig> for ServerConfig {
    type Error = NoInitialCipherSuite;

    fn try_from(config: rustls::ServerConfig) -> Result<Self, Self::Error> {
        Ok(Self::with_crypto(Arc::new(QuicServerConfig::try_from(config)?)))
    }
}

/// What holds for all connections of an endpoint.
///
/// Dereferences to [`quinn_proto::EndpointConfig`], which has the setters: `cid_generator`, `reset_key`,
/// `max_udp_payload_size`, `supported_versions`, `grease_quic_bit`, `min_reset_interval` and `rng_seed`.
/// [`Default`] takes a fresh random key for stateless resets; in one of several [instances](crate::instance), the key of
/// all of them, and connection IDs that name this one.
#[derive(Clone)]
pub struct EndpointConfig(pub(crate) proto::EndpointConfig);

impl EndpointConfig {
    /// A configuration with the given key for the tokens of stateless resets.
    pub fn new(reset_key: Arc<dyn crypto::HmacKey>) -> Self {
        Self(proto::EndpointConfig::new(reset_key))
    }
}

impl Default for EndpointConfig {
    fn default() -> Self {
        let Some(instance) = instance::current() else { return Self::new(Arc::new(ResetKey::random())) };
        let mut config = Self::new(instance.reset_key());
        config.cid_generator(move || Box::new(instance.connection_ids()));
        config
    }
}

macro_rules! wrapper {
    ($name:ident) => {
        impl Deref for $name {
            type Target = proto::$name;

            fn deref(&self) -> &Self::Target {
                &self.0
            }
        }

        impl DerefMut for $name {
            fn deref_mut(&mut self) -> &mut Self::Target {
                &mut self.0
            }
        }

        impl From<proto::$name> for $name {
            fn from(config: proto::$name) -> Self {
                Self(config)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

wrapper!(ClientConfig);
wrapper!(ServerConfig);
wrapper!(EndpointConfig);
