//! A certificate for the sender, made anew for each measurement.

use std::fs;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use tempfile::TempDir;

use crate::Error;

/// Certificate of the issuer that the receiver trusts.
pub(crate) const CA: &str = "ca.pem";
/// The sender's certificate.
pub(crate) const CERTIFICATE: &str = "server.pem";
/// The sender's private key.
pub(crate) const KEY: &str = "server.key";
/// The name in the sender's certificate.
pub(crate) const SERVER_NAME: &str = "localhost";

/// Makes an issuer and a certificate for [`SERVER_NAME`] (ECDSA over P-256) and writes [`CA`] and, in a directory of
/// its own that a receiver need not see, [`CERTIFICATE`] and [`KEY`].
pub(crate) fn issue() -> Result<Directory, Error> {
    let failed = |error: &dyn std::fmt::Display| Error::failed(format!("cannot make a certificate: {error}"));
    let directory = Directory {
        public: tempfile::Builder::new()
            .prefix("sandquic-bench-")
            .tempdir()
            .map_err(|error| failed(&error))?,
        private: tempfile::Builder::new()
            .prefix("sandquic-bench-")
            .tempdir()
            .map_err(|error| failed(&error))?,
    };
    let pem = certificates().map_err(|error| failed(&error))?;
    for (path, text) in [
        (directory.public.path().join(CA), pem.ca),
        (directory.private.path().join(CERTIFICATE), pem.certificate),
        (directory.private.path().join(KEY), pem.key),
    ] {
        fs::write(path, text).map_err(|error| failed(&error))?;
    }
    Ok(directory)
}

/// The files of a measurement, removed when dropped.
pub(crate) struct Directory {
    public: TempDir,
    private: TempDir,
}

impl Directory {
    /// What the receiver may see: [`CA`].
    pub(crate) fn public(&self) -> &Path {
        self.public.path()
    }

    /// What the sender needs: [`CERTIFICATE`] and [`KEY`].
    pub(crate) fn private(&self) -> &Path {
        self.private.path()
    }
}

struct Pem {
    ca: String,
    certificate: String,
    key: String,
}

fn certificates() -> Result<Pem, rcgen::Error> {
    let mut ca = CertificateParams::default();
    ca.distinguished_name.push(DnType::CommonName, "sandquic bench issuer");
    ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let ca_key = KeyPair::generate()?;
    let ca_certificate = ca.self_signed(&ca_key)?;
    let issuer = Issuer::from_params(&ca, &ca_key);

    let mut server = CertificateParams::new([SERVER_NAME.to_owned()])?;
    server.distinguished_name.push(DnType::CommonName, "sandquic bench sender");
    server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    server.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate()?;
    let certificate = server.signed_by(&key, &issuer)?;
    Ok(Pem { ca: ca_certificate.pem(), certificate: certificate.pem(), key: key.serialize_pem() })
}
