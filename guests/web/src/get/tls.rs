//! Whom to trust, and the TLS configuration of a connection.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime, pem};
use rustls::quic::Suite;
use rustls::{CertificateError, CipherSuite, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::args::Args;
use super::failure::{Failure, reason, status};
use super::options::usage;
use crate::tls::{KeyLogFile, spki_hash};

/// The ciphers by the names of the command line and by TLS's.
const CIPHERS: [(&str, &str, CipherSuite); 3] = [
    ("aes-128-gcm", "TLS_AES_128_GCM_SHA256", CipherSuite::TLS13_AES_128_GCM_SHA256),
    ("aes-256-gcm", "TLS_AES_256_GCM_SHA384", CipherSuite::TLS13_AES_256_GCM_SHA384),
    ("chacha20-poly1305", "TLS_CHACHA20_POLY1305_SHA256", CipherSuite::TLS13_CHACHA20_POLY1305_SHA256),
];

/// What all connections have in common.
pub(crate) struct Trust {
    pub(crate) provider: Arc<CryptoProvider>,
    pub(crate) initial: Suite,
    /// Absent with `--insecure`.
    authorities: Option<Arc<WebPkiServerVerifier>>,
    pins: Vec<String>,
    keylog: Option<Arc<KeyLogFile>>,
}

impl Trust {
    /// Reads what the flags name, on top of a provider.
    pub(crate) fn new(args: &Args, mut provider: CryptoProvider) -> Result<Self, Failure> {
        // RFC 9001, 5.2: the suite of the Initial packets is fixed, whatever is offered afterwards.
        let initial = provider
            .cipher_suites
            .iter()
            .filter(|suite| suite.suite() == CipherSuite::TLS13_AES_128_GCM_SHA256)
            .find_map(|suite| suite.tls13()?.quic_suite())
            .ok_or_else(|| {
                Failure::new(status::TLS, "this build lacks AES-128-GCM, which QUIC starts with")
            })?;
        if let Some(list) = &args.ciphers {
            let wanted = ciphers(list)?;
            let mut suites = std::mem::take(&mut provider.cipher_suites);
            suites.retain(|suite| wanted.contains(&suite.suite()));
            suites.sort_by_key(|suite| wanted.iter().position(|wanted| *wanted == suite.suite()));
            provider.cipher_suites = suites;
        }
        let provider = Arc::new(provider);
        let authorities = match args.insecure {
            true => None,
            false => {
                let roots = Arc::new(roots(args.ca.as_deref())?);
                let builder = WebPkiServerVerifier::builder_with_provider(roots, provider.clone());
                Some(builder.build().map_err(|error| Failure::new(status::AUTHORITIES, error.to_string()))?)
            }
        };
        let path = match &args.keylog {
            Some(path) => Some(path.clone()),
            None => std::env::var("SSLKEYLOGFILE").ok().filter(|path| !path.is_empty()),
        };
        let keylog = path.map(|path| KeyLogFile::open(&path).map_err(|error| Failure::write(&path, &error)));
        let keylog = keylog.transpose()?.map(Arc::new);
        let pins = args.pin.as_deref().map(pins).transpose()?.unwrap_or_default();
        Ok(Self { provider, initial, authorities, pins, keylog })
    }

    /// A configuration for connections to one server, and what becomes of its certificate.
    pub(crate) fn client(&self, alpn: &[u8]) -> Result<(rustls::ClientConfig, Arc<Verifier>), Failure> {
        let verifier = Arc::new(Verifier {
            authorities: self.authorities.clone(),
            algorithms: self.provider.signature_verification_algorithms,
            pins: self.pins.clone(),
            refusal: Mutex::default(),
            count: AtomicUsize::new(0),
        });
        let mut tls = rustls::ClientConfig::builder_with_provider(self.provider.clone())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| {
                Failure::new(status::TLS, format!("the ciphers cannot be used for QUIC: {error}"))
            })?
            .dangerous()
            .with_custom_certificate_verifier(verifier.clone())
            .with_no_client_auth();
        tls.alpn_protocols = vec![alpn.to_vec()];
        if let Some(keylog) = &self.keylog {
            tls.key_log = keylog.clone();
        }
        Ok((tls, verifier))
    }
}

fn ciphers(list: &str) -> Result<Vec<CipherSuite>, Failure> {
    let names = list.split([',', ':']).map(str::trim).filter(|name| !name.is_empty());
    let wanted: Vec<_> = names
        .map(|name| {
            let found = CIPHERS
                .iter()
                .find(|(own, tls, _)| name.eq_ignore_ascii_case(own) || name.eq_ignore_ascii_case(tls));
            found.map(|(.., suite)| *suite).ok_or_else(|| {
                let known = CIPHERS.map(|(own, ..)| own).join(", ");
                usage(format!("--ciphers {name}: no such cipher; there are: {known}"))
            })
        })
        .collect::<Result<_, _>>()?;
    if wanted.is_empty() {
        return Err(usage("--ciphers: the list is empty"));
    }
    Ok(wanted)
}

/// The authorities of a file, or else those that Mozilla trusts.
fn roots(path: Option<&str>) -> Result<RootCertStore, Failure> {
    let Some(path) = path else {
        return Ok(RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() });
    };
    let wrong = |what: String| Failure::new(status::AUTHORITIES, format!("--ca {path}: {what}"));
    let certificates = CertificateDer::pem_file_iter(path)
        .and_then(|certificates| certificates.collect::<Result<Vec<_>, _>>())
        .map_err(|error| match error {
            pem::Error::Io(error) => wrong(reason(&error)),
            error => wrong(format!("not a PEM file: {error}")),
        })?;
    let mut roots = RootCertStore::empty();
    let (usable, _) = roots.add_parsable_certificates(certificates);
    match usable {
        0 => Err(wrong("there is no usable certificate in it; give a PEM file".into())),
        _ => Ok(roots),
    }
}

/// What a pin begins with.
const PIN: &str = "sha256//";

/// Reads `sha256//BASE64[;...]`, as curl has it, and returns the hashes as [`spki_hash`] writes them.
fn pins(text: &str) -> Result<Vec<String>, Failure> {
    let one = |pin: &str| {
        let hash = pin
            .trim()
            .strip_prefix(PIN)
            .filter(|hash| BASE64_STANDARD.decode(hash).is_ok_and(|digest| digest.len() == 32));
        hash.map(str::to_owned).ok_or_else(|| {
            usage(format!(
                "--pin {pin}: write sha256//BASE64, the SHA-256 of the server's SubjectPublicKeyInfo"
            ))
        })
    };
    text.split(';').filter(|pin| !pin.trim().is_empty()).map(one).collect()
}

/// Why a server was not believed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Refusal {
    /// Its certificate.
    Certificate(CertificateError),
    /// Its key, which has this SHA-256.
    Pin(String),
}

/// Verifies a server's certificate with authorities and pins, and remembers why it refused one.
#[derive(Debug)]
pub(crate) struct Verifier {
    authorities: Option<Arc<WebPkiServerVerifier>>,
    algorithms: WebPkiSupportedAlgorithms,
    pins: Vec<String>,
    refusal: Mutex<Option<Refusal>>,
    count: AtomicUsize,
}

impl Verifier {
    /// How often a server has proved itself with a certificate. One that takes up a session does not.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Takes the reason of the last refusal.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn refuse(&self, refusal: Refusal) {
        *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(refusal);
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if let Some(authorities) = &self.authorities {
            authorities
                .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
                .inspect_err(|error| {
                    if let rustls::Error::InvalidCertificate(error) = error {
                        self.refuse(Refusal::Certificate(error.clone()));
                    }
                })?;
        }
        if !self.pins.is_empty() {
            let certificate = webpki::EndEntityCert::try_from(end_entity)
                .map_err(|_| rustls::Error::InvalidCertificate(CertificateError::BadEncoding))?;
            let hash = spki_hash(&certificate.subject_public_key_info());
            if !self.pins.contains(&hash) {
                self.refuse(Refusal::Pin(format!("{PIN}{hash}")));
                return Err(CertificateError::ApplicationVerificationFailure.into());
            }
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        // With --insecure too: whoever is there has the key of the certificate.
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_are_read_as_curl_writes_them() {
        let one = "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
        assert_eq!(pins(one).unwrap(), [&one[PIN.len()..]]);
        assert_eq!(pins(&format!("{one};{one}")).unwrap().len(), 2);
        for text in ["AAAA", "sha256//AAAA", "sha1//AAAA", &format!("{one};x"), "sha256//?"] {
            assert_eq!(pins(text).unwrap_err().status, status::USAGE, "{text}");
        }
    }

    #[test]
    fn ciphers_are_offered_in_the_order_of_the_list() {
        let [aes128, aes256, chacha] = CIPHERS.map(|(.., suite)| suite);
        assert_eq!(ciphers("chacha20-poly1305,aes-128-gcm").unwrap(), [chacha, aes128]);
        assert_eq!(ciphers("TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256").unwrap(), [aes256, aes128]);
        assert_eq!(ciphers("rc4").unwrap_err().status, status::USAGE);
        assert_eq!(ciphers(",").unwrap_err().status, status::USAGE);
    }

    #[test]
    fn the_public_authorities_are_there_unless_others_are_named() {
        assert!(roots(None).unwrap().len() > 100);
        assert_eq!(roots(Some("/nowhere/at/all")).unwrap_err().status, status::AUTHORITIES);
        assert_eq!(roots(Some("Cargo.toml")).unwrap_err().status, status::AUTHORITIES);
    }
}
