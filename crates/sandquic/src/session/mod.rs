//! The TLS session of a QUIC connection (RFC 9001) on [`rustls::quic`], for quinn-proto.

use std::any::Any;
use std::io;

use quinn_proto::crypto::{self, ExportKeyingMaterialError, KeyPair, Keys};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectionId, Side, TransportError, TransportErrorCode};
use rustls::pki_types::CertificateDer;
use rustls::quic::{Connection, KeyChange, Secrets, Suite, Version};

mod config;
pub(crate) mod keys;
mod retry;
mod token;

pub use config::{NoInitialCipherSuite, QuicClientConfig, QuicServerConfig};
pub(crate) use token::{ResetKey, TokenKey};

/// What a TLS handshake tells the application, from [`Connection::handshake_data`](crate::Connection::handshake_data).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandshakeData {
    /// The application protocol agreed on (ALPN); always set if the configuration names any.
    pub protocol: Option<Vec<u8>>,
    /// The name that the client asked for (SNI); `None` on the client.
    pub server_name: Option<String>,
}

/// A TLS 1.3 handshake and the keys that come out of it.
pub struct TlsSession {
    tls: Connection,
    version: Version,
    /// AES-128-GCM, for Initial packets.
    initial: Suite,
    /// Where the 1-RTT keys of the next key phase come from, once there are 1-RTT keys.
    next: Option<Secrets>,
    /// Whether quinn-proto has been told that [`HandshakeData`] is there.
    announced: bool,
}

impl TlsSession {
    fn new(tls: Connection, version: Version, initial: Suite) -> Self {
        Self { tls, version, initial, next: None, announced: false }
    }

    fn server_name(&self) -> Option<&str> {
        match &self.tls {
            Connection::Client(_) => None,
            Connection::Server(tls) => tls.server_name(),
        }
    }
}

impl crypto::Session for TlsSession {
    fn initial_keys(&self, dst_cid: &ConnectionId, side: Side) -> Keys {
        keys::initial(&self.initial, self.version, dst_cid, side)
    }

    /// A boxed [`HandshakeData`].
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        if !self.announced {
            return None;
        }
        Some(Box::new(HandshakeData {
            protocol: self.tls.alpn_protocol().map(<[u8]>::to_vec),
            server_name: self.server_name().map(str::to_owned),
        }))
    }

    /// A boxed `Vec<CertificateDer<'static>>`.
    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        let chain = self.tls.peer_certificates()?;
        let chain: Vec<CertificateDer<'static>> =
            chain.iter().map(|cert| cert.clone().into_owned()).collect();
        Some(Box::new(chain))
    }

    fn early_crypto(&self) -> Option<(Box<dyn crypto::HeaderKey>, Box<dyn crypto::PacketKey>)> {
        let keys = self.tls.zero_rtt_keys()?;
        Some((Box::new(keys::Header(keys.header)), Box::new(keys::Packet(keys.packet))))
    }

    fn early_data_accepted(&self) -> Option<bool> {
        match &self.tls {
            Connection::Client(tls) => Some(tls.is_early_data_accepted()),
            Connection::Server(_) => None,
        }
    }

    fn is_handshaking(&self) -> bool {
        self.tls.is_handshaking()
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        if let Err(e) = self.tls.read_hs(buf) {
            // RFC 9001, 4.8: a TLS alert becomes a CRYPTO_ERROR.
            let code = match self.tls.alert() {
                Some(alert) => TransportErrorCode::crypto(alert.into()),
                None => TransportErrorCode::PROTOCOL_VIOLATION,
            };
            return Err(TransportError { code, frame: None, reason: e.to_string() });
        }
        // rustls does not say when the ClientHello or the ALPN answer has been processed; these follow from it.
        let known =
            self.tls.alpn_protocol().is_some() || self.server_name().is_some() || !self.tls.is_handshaking();
        let news = known && !self.announced;
        self.announced |= known;
        Ok(news)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let Some(bytes) = self.tls.quic_transport_parameters() else { return Ok(None) };
        let side = match self.tls {
            Connection::Client(_) => Side::Client,
            Connection::Server(_) => Side::Server,
        };
        Ok(Some(TransportParameters::read(side, &mut io::Cursor::new(bytes))?))
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let keys = match self.tls.write_hs(buf)? {
            KeyChange::Handshake { keys } => keys,
            KeyChange::OneRtt { keys, next } => {
                self.next = Some(next);
                keys
            }
        };
        Some(keys::both(keys))
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn crypto::PacketKey>>> {
        let keys = self.next.as_mut()?.next_packet_keys();
        Some(KeyPair {
            local: Box::new(keys::Packet(keys.local)),
            remote: Box::new(keys::Packet(keys.remote)),
        })
    }

    fn is_valid_retry(&self, orig_dst_cid: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        retry::is_valid(self.version, orig_dst_cid, header, payload)
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        match self.tls.export_keying_material(output, label, Some(context)) {
            Ok(_) => Ok(()),
            Err(_) => Err(ExportKeyingMaterialError),
        }
    }
}
