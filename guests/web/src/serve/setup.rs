//! The configuration of TLS and QUIC.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustls::sign::SingleCertAndKey;
use sandquic::crypto::rustls::QuicServerConfig;
use sandquic::{IdleTimeout, QlogConfig, ServerConfig, TransportConfig, VarInt};

use super::args::Args;
use super::{Failure, log};
use crate::hq;
use crate::tls::{H3_ALPN, Identity, KeyLogFile, SelfSigned};

/// Names of a self-signed certificate unless others are given.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];
/// Unidirectional streams that a client may have open: the three of HTTP/3, reserved ones, and no crowd.
const UNIDIRECTIONAL: u32 = 16;
/// What a stream may have sent that nobody has read, in bytes, where contents are not taken.
const SMALL_WINDOW: u32 = 256 * 1024;
/// Connection attempts that wait to be looked at, and the bytes kept of all together.
const MAX_INCOMING: usize = 1 << 12;
const MAX_INCOMING_BYTES: u64 = 8 << 20;

/// The server's certificate, which may be one that is made anew in time.
#[derive(Debug)]
pub(super) enum Certificate {
    Given(Identity),
    SelfSigned(Box<SelfSigned>),
}

impl Certificate {
    pub(super) fn open(args: &Args) -> Result<Self, Failure> {
        if let (Some(cert), Some(key)) = (&args.cert, &args.key) {
            return Ok(Self::Given(Identity::from_pem_files(cert, key)?));
        }
        let mut names = args.names.clone();
        if names.is_empty() {
            names.extend(NAMES.map(String::from));
            let address = args.listen.ip();
            if !address.is_unspecified() && !address.is_loopback() {
                names.push(address.to_string());
            }
        }
        let certificate = SelfSigned::open(args.state.as_deref(), &names, SystemTime::now())?;
        Ok(Self::SelfSigned(Box::new(certificate)))
    }

    pub(super) fn identity(&self) -> &Identity {
        match self {
            Self::Given(identity) => identity,
            Self::SelfSigned(certificate) => certificate.identity(),
        }
    }

    /// How long until it is to be made anew.
    pub(super) fn renewal_in(&self) -> Option<Duration> {
        match self {
            Self::Given(_) => None,
            Self::SelfSigned(certificate) => Some(certificate.renewal_in(SystemTime::now())),
        }
    }

    /// Makes it anew.
    pub(super) fn renew(&mut self) -> Result<(), Failure> {
        match self {
            Self::Given(_) => Ok(()),
            Self::SelfSigned(certificate) => Ok(certificate.renew(SystemTime::now())?),
        }
    }

    /// What a person who starts the server wants to know of it.
    pub(super) fn describe(&self) -> String {
        let identity = self.identity();
        let kind = match self {
            Self::Given(_) => String::new(),
            Self::SelfSigned(certificate) => {
                let until = log::utc(certificate.valid_until());
                match certificate.kept_in() {
                    Some(path) => {
                        format!("certificate self-signed until {until}, kept in {}\n", path.display())
                    }
                    None => format!("certificate self-signed until {until}, not kept\n"),
                }
            }
        };
        format!(
            "{kind}certificate sha256 {}\ncertificate spki sha256 {}",
            identity.certificate_hash(),
            identity.spki_hash()
        )
    }
}

/// What connections are configured with.
#[derive(Debug)]
pub(super) struct Setup {
    idle_timeout: IdleTimeout,
    requests: VarInt,
    /// What all of a connection's streams may have sent that nobody has read, in bytes.
    window: VarInt,
    /// The same for one stream.
    stream_window: VarInt,
    key_log: Option<Arc<KeyLogFile>>,
    qlog: Option<PathBuf>,
}

impl Setup {
    pub(super) fn new(args: &Args) -> Result<Self, Failure> {
        let key_log = match &args.keylog {
            None => None,
            Some(path) => {
                let file = KeyLogFile::open(path);
                let file =
                    file.map_err(|error| Failure(format!("--keylog {path} cannot be written: {error}")))?;
                Some(Arc::new(file))
            }
        };
        if let Some(path) = &args.qlog {
            std::fs::create_dir_all(path)
                .map_err(|error| Failure(format!("--qlog {path} cannot be made: {error}")))?;
        }
        let window = VarInt::from_u64(args.client_memory.max(64 * 1024))?;
        Ok(Self {
            idle_timeout: Duration::from_secs(args.idle_timeout.into()).try_into()?,
            requests: args.max_requests.into(),
            window,
            stream_window: if args.upload.is_some() { window } else { window.min(SMALL_WINDOW.into()) },
            key_log,
            qlog: args.qlog.as_ref().map(PathBuf::from),
        })
    }

    fn transport(&self) -> TransportConfig {
        let mut transport = TransportConfig::default();
        transport
            .max_idle_timeout(Some(self.idle_timeout))
            .max_concurrent_bidi_streams(self.requests)
            .max_concurrent_uni_streams(UNIDIRECTIONAL.into())
            .receive_window(self.window)
            .stream_receive_window(self.stream_window)
            .send_window(self.window.into_inner())
            .datagram_receive_buffer_size(None);
        transport
    }

    /// The configuration with a certificate.
    pub(super) fn server_config(&self, identity: &Identity) -> Result<ServerConfig, Failure> {
        let provider = Arc::new(sandquic_rustls::provider());
        let mut tls = rustls::ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(identity.certified_key())));
        tls.alpn_protocols = vec![H3_ALPN.to_vec(), hq::ALPN.to_vec()];
        // The one value that QUIC has for "0-RTT data is welcome" (RFC 9001, 4.6.1).
        tls.max_early_data_size = u32::MAX;
        if let Some(key_log) = &self.key_log {
            tls.key_log = key_log.clone();
        }
        let crypto = QuicServerConfig::try_from(tls)?;
        let mut config = ServerConfig::with_crypto(Arc::new(crypto));
        config
            .transport_config(Arc::new(self.transport()))
            .max_incoming(MAX_INCOMING)
            .incoming_buffer_size_total(MAX_INCOMING_BYTES);
        Ok(config)
    }

    /// The configuration for one connection, if it is to have a log of its own.
    pub(super) fn with_qlog(
        &self,
        config: &ServerConfig,
        name: &str,
    ) -> Option<Result<Arc<ServerConfig>, Failure>> {
        let path = self.qlog.as_ref()?.join(format!("{name}.qlog"));
        Some(self.qlog_into(config, name, &path))
    }

    fn qlog_into(
        &self,
        config: &ServerConfig,
        name: &str,
        path: &Path,
    ) -> Result<Arc<ServerConfig>, Failure> {
        let file = File::create(path).map_err(|error| Failure(format!("{}: {error}", path.display())))?;
        let mut qlog = QlogConfig::default();
        qlog.writer(Box::new(BufWriter::new(file))).title(Some(name.to_owned()));
        let mut transport = self.transport();
        transport.qlog_stream(qlog.into_stream());
        let mut config = config.clone();
        config.transport_config(Arc::new(transport));
        Ok(Arc::new(config))
    }
}
