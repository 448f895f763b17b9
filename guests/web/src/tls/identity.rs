//! A server's certificate and key: from PEM files, or self-signed, made at the first start and kept.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use p256::pkcs8::{DecodePrivateKey, EncodePrivateKey, LineEnding};
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyIdMethod, SerialNumber,
};
use rustls::SignatureScheme;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SigningKey};
use time::OffsetDateTime;

use super::{certificate_hash, spki_hash};

/// How long a self-signed certificate is valid: browsers take one by its hash only up to 14 days.
const VALIDITY: Duration = Duration::from_secs(13 * 24 * 3600);
/// How long before its end it is made anew.
const RENEWAL: Duration = Duration::from_secs(2 * 24 * 3600);
/// How far clients' clocks may be behind.
const SKEW: Duration = Duration::from_secs(3600);

/// How often an instance looks for a certificate that another one makes, and how long it waits in between.
const LOOKS: usize = 100;
const LOOK: Duration = Duration::from_millis(50);

/// A certificate chain with its key.
#[derive(Clone)]
pub struct Identity {
    certified: Arc<CertifiedKey>,
    spki: Vec<u8>,
}

impl Identity {
    /// Reads a certificate chain, the server's own first, and its private key (PKCS #8, SEC 1 or PKCS #1), both PEM.
    ///
    /// # Errors
    /// If a file cannot be read or used, or the key is not the certificate's.
    pub fn from_pem_files(certificate: &str, key: &str) -> Result<Self, IdentityError> {
        let chain = CertificateDer::pem_file_iter(certificate)
            .and_then(|certificates| certificates.collect::<Result<Vec<_>, _>>())
            .map_err(|error| unreadable(certificate, "certificate", error))?;
        if chain.is_empty() {
            return Err(unreadable(certificate, "certificate", pem::Error::NoItemsFound));
        }
        let key_der =
            PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, "private key", error))?;
        Self::new(chain, key_der).map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => IdentityError(format!(
                "the key in {key} does not belong to the certificate in {certificate}; give the two that were made together"
            )),
            error => IdentityError(format!("{certificate} with {key} cannot be used: {error}")),
        })
    }

    fn new(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> Result<Self, rustls::Error> {
        let provider = sandquic_rustls::provider();
        let certified = CertifiedKey::from_der(chain, key, &provider)?;
        let spki = certified.key.public_key().ok_or_else(|| {
            rustls::Error::General("the public key cannot be told from the private key".into())
        })?;
        let spki = spki.as_ref().to_vec();
        Ok(Self { certified: Arc::new(certified), spki })
    }

    /// What rustls signs with.
    pub fn certified_key(&self) -> Arc<CertifiedKey> {
        self.certified.clone()
    }

    /// SHA-256 of the certificate, hexadecimal.
    pub fn certificate_hash(&self) -> String {
        self.certified.cert.first().map(|certificate| certificate_hash(certificate)).unwrap_or_default()
    }

    /// SHA-256 of the public key's SubjectPublicKeyInfo, base64.
    pub fn spki_hash(&self) -> String {
        spki_hash(&self.spki)
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("certificate", &self.certificate_hash()).finish_non_exhaustive()
    }
}

/// A self-signed certificate (ECDSA with P-256) and where it is kept. The key stays the same when the certificate is
/// renewed, and with it the hash of the public key.
#[derive(Debug)]
pub struct SelfSigned {
    names: Vec<String>,
    directory: Option<PathBuf>,
    /// The end of the present certificate's validity.
    until: SystemTime,
    identity: Identity,
    key: PrivateKeyDer<'static>,
}

impl SelfSigned {
    /// Takes the certificate that is kept in `directory`, or makes one for these names (DNS names and IP addresses)
    /// and keeps it there; without a directory it is made and not kept.
    ///
    /// # Errors
    /// If the directory cannot be used or a name is none.
    pub fn open(directory: Option<&str>, names: &[String], now: SystemTime) -> Result<Self, IdentityError> {
        Self::kept_or_made(directory.map(PathBuf::from), names, now)
    }

    fn kept_or_made(
        directory: Option<PathBuf>,
        names: &[String],
        now: SystemTime,
    ) -> Result<Self, IdentityError> {
        let Some(kept) = &directory else {
            return Self::make(None, names, new_key()?, now);
        };
        fs::create_dir_all(kept).map_err(|error| failed("make the directory", kept, &error))?;
        // Of several instances that share an address the first makes it, and the others wait for it.
        let makes = sandquic::instance::from_env()
            .map_err(|error| IdentityError(error.to_string()))?
            .is_none_or(|instance| instance.position().index() == 0);
        let mut patience = if makes { 0 } else { LOOKS };
        loop {
            let key = match PrivateKeyDer::from_pem_file(key_path(kept)) {
                Ok(key) => Some(key),
                Err(pem::Error::Io(error)) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => {
                    return Err(unreadable(&key_path(kept).to_string_lossy(), "private key", error));
                }
            };
            if let Some(key) = &key
                && let Some(until) = still_good(kept, names, now)
                && let Ok(chain) = CertificateDer::from_pem_file(certificate_path(kept))
                && let Ok(identity) = Identity::new(vec![chain], key.clone_key())
            {
                let (names, key) = (names.to_vec(), key.clone_key());
                return Ok(Self { names, directory, until, identity, key });
            }
            if patience == 0 {
                let key = key.map_or_else(new_key, Ok)?;
                return Self::make(directory, names, key, now);
            }
            patience -= 1;
            std::thread::sleep(LOOK);
        }
    }

    /// The certificate and its key.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The end of its validity.
    pub fn valid_until(&self) -> SystemTime {
        self.until
    }

    /// The file it is kept in, if it is.
    pub fn kept_in(&self) -> Option<PathBuf> {
        self.directory.as_deref().map(certificate_path)
    }

    /// How long until [`renew`](Self::renew) is due.
    pub fn renewal_in(&self, now: SystemTime) -> Duration {
        (self.until - RENEWAL).duration_since(now).unwrap_or_default()
    }

    /// Makes another certificate for the same key.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn renew(&mut self, now: SystemTime) -> Result<(), IdentityError> {
        *self = match &self.directory {
            // What is kept ends soon, so that it is made anew, by this instance or another.
            Some(directory) => Self::kept_or_made(Some(directory.clone()), &self.names, now)?,
            None => Self::make(None, &self.names, self.key.clone_key(), now)?,
        };
        Ok(())
    }

    fn make(
        directory: Option<PathBuf>,
        names: &[String],
        key: PrivateKeyDer<'static>,
        now: SystemTime,
    ) -> Result<Self, IdentityError> {
        let unusable = |error: &dyn fmt::Display| IdentityError(format!("no certificate was made: {error}"));
        let signer = Signer::new(&key).map_err(|error| unusable(&error))?;
        let mut params = CertificateParams::new(names).map_err(|_| {
            IdentityError(format!("one of {} is neither a DNS name nor an IP address", names.join(", ")))
        })?;
        params.distinguished_name = DistinguishedName::new();
        if let Some(name) = names.first() {
            params.distinguished_name.push(DnType::CommonName, name.as_str());
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.key_identifier_method = KeyIdMethod::PreSpecified(Vec::new());
        params.not_before = OffsetDateTime::from(now - SKEW);
        // Certificates hold whole seconds.
        let until = now + VALIDITY;
        params.not_after = OffsetDateTime::from(until);
        let mut serial = [0; 16];
        getrandom::fill(&mut serial).map_err(|error| unusable(&error))?;
        // Positive, and of full length (RFC 5280, 4.1.2.2).
        serial[0] = serial[0] & 0x7f | 0x40;
        params.serial_number = Some(SerialNumber::from(serial.to_vec()));
        let certificate = params.self_signed(&signer).map_err(|error| unusable(&error))?;
        if let Some(directory) = &directory {
            keep(directory, &certificate.pem(), &key, names, until)?;
        }
        let identity = Identity::new(vec![certificate.der().clone()], key.clone_key())
            .map_err(|error| unusable(&error))?;
        Ok(Self { names: names.to_vec(), directory, until, identity, key })
    }
}

/// Signs certificates with a key of rustls's provider.
struct Signer {
    key: Arc<dyn SigningKey>,
    /// The public key as a point (SEC 1, 2.3.3).
    point: Vec<u8>,
}

impl Signer {
    fn new(key: &PrivateKeyDer<'static>) -> Result<Self, rustls::Error> {
        let key = sandquic_rustls::provider().key_provider.load_private_key(key.clone_key())?;
        let spki = key.public_key().unwrap_or_else(|| Vec::new().into());
        // RFC 5480, 2: for P-256 the point is the last 65 bytes of the structure, uncompressed.
        let point = spki.as_ref().last_chunk::<65>().filter(|point| point[0] == 4);
        match (point, key.choose_scheme(&[SignatureScheme::ECDSA_NISTP256_SHA256])) {
            (Some(point), Some(_)) => Ok(Self { point: point.to_vec(), key }),
            _ => Err(rustls::Error::General("the key that is kept is not one for ECDSA with P-256".into())),
        }
    }
}

impl rcgen::PublicKeyData for Signer {
    fn der_bytes(&self) -> &[u8] {
        &self.point
    }

    fn algorithm(&self) -> &'static rcgen::SignatureAlgorithm {
        &rcgen::PKCS_ECDSA_P256_SHA256
    }
}

impl rcgen::SigningKey for Signer {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        let signer = self.key.choose_scheme(&[SignatureScheme::ECDSA_NISTP256_SHA256]);
        signer.and_then(|signer| signer.sign(message).ok()).ok_or(rcgen::Error::RemoteKeyError)
    }
}

fn new_key() -> Result<PrivateKeyDer<'static>, IdentityError> {
    let unusable = |error: &dyn fmt::Display| IdentityError(format!("no key was made: {error}"));
    let mut scalar = [0; 32];
    // All but one of 2^32 numbers are keys (FIPS 186-5, A.2.2).
    let key = loop {
        getrandom::fill(&mut scalar).map_err(|error| unusable(&error))?;
        if let Ok(key) = p256::SecretKey::from_slice(&scalar) {
            break key;
        }
    };
    let der = key.to_pkcs8_der().map_err(|error| unusable(&error))?;
    Ok(PrivateKeyDer::Pkcs8(der.as_bytes().to_vec().into()))
}

fn certificate_path(directory: &Path) -> PathBuf {
    directory.join("certificate.pem")
}

fn key_path(directory: &Path) -> PathBuf {
    directory.join("key.pem")
}

/// What the certificate beside it was made for: its end in seconds since 1970, then its names, a line each.
fn description_path(directory: &Path) -> PathBuf {
    directory.join("certificate.txt")
}

/// The end of the validity of the certificate that is kept, if it has these names and is not soon over.
fn still_good(directory: &Path, names: &[String], now: SystemTime) -> Option<SystemTime> {
    let description = fs::read_to_string(description_path(directory)).ok()?;
    let mut lines = description.lines();
    let until = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(lines.next()?.parse().ok()?))?;
    let same = lines.eq(names.iter());
    let left = until.duration_since(now).ok()?;
    // One that ends later than any made now comes from a clock that was wrong.
    (same && left > RENEWAL && left <= VALIDITY).then_some(until)
}

fn keep(
    directory: &Path,
    certificate: &str,
    key: &PrivateKeyDer<'static>,
    names: &[String],
    until: SystemTime,
) -> Result<(), IdentityError> {
    let key_file = key_path(directory);
    if !key_file.exists() {
        let pem = p256::SecretKey::from_pkcs8_der(key.secret_der())
            .and_then(|key| key.to_pkcs8_pem(LineEnding::LF))
            .map_err(|error| IdentityError(format!("the key was not kept: {error}")))?;
        write_whole(&key_file, pem.as_bytes())?;
    }
    // The description first is missing: one that is cut off here is made again at the next start.
    let _ = fs::remove_file(description_path(directory));
    write_whole(&certificate_path(directory), certificate.as_bytes())?;
    let seconds = until.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let description = format!("{seconds}\n{}\n", names.join("\n"));
    write_whole(&description_path(directory), description.as_bytes())
}

/// Writes a file whole or not at all; natively only its owner may read it.
fn write_whole(path: &Path, content: &[u8]) -> Result<(), IdentityError> {
    let part = path.with_extension("part");
    let mut options = OpenOptions::new();
    options.create(true).truncate(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
        .open(&part)
        .and_then(|mut file| file.write_all(content).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&part, path))
        .map_err(|error| failed("write", path, &error))
}

fn failed(what: &str, path: &Path, error: &io::Error) -> IdentityError {
    IdentityError(format!("cannot {what} {}: {error}", path.display()))
}

fn unreadable(path: &str, what: &str, error: pem::Error) -> IdentityError {
    IdentityError(match error {
        pem::Error::Io(error) => format!("cannot read {path}: {error}"),
        pem::Error::NoItemsFound => format!("there is no {what} in {path}; give a PEM file with one"),
        error => format!("{path} is not a PEM file: {error}"),
    })
}

/// Why a certificate and its key cannot be used: a sentence that names the files.
#[derive(Debug)]
pub struct IdentityError(String);

impl fmt::Display for IdentityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for IdentityError {}
