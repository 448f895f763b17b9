//! Signing with the application's private keys.

mod ecdsa;
mod ed25519;
mod rsa;

use std::sync::Arc;

use p256::pkcs8::{ObjectIdentifier, PrivateKeyInfoRef};
use pki_types::PrivateKeyDer;
use rustls::Error;
use rustls::crypto::KeyProvider;
use rustls::sign::SigningKey;
use zeroize::Zeroizing;

/// id-ecPublicKey (RFC 5480).
const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
/// secp256r1 (RFC 5480).
const P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
/// secp384r1 (RFC 5480).
const P384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");
/// rsaEncryption (RFC 8017).
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
/// id-Ed25519 (RFC 8410).
const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");

/// Loads private keys: PKCS#8 (RFC 5958) of ECDSA P-256 and P-384, Ed25519 and RSA, SEC1 (RFC 5915) of the two
/// curves, PKCS#1 (RFC 8017) of RSA.
#[derive(Debug)]
pub(crate) struct Keys;

impl KeyProvider for Keys {
    fn load_private_key(&self, key_der: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, Error> {
        // Wipes the encoding whatever comes of it.
        let der = Zeroizing::new(key_der);
        match &*der {
            PrivateKeyDer::Pkcs8(der) => pkcs8(der.secret_pkcs8_der()),
            PrivateKeyDer::Sec1(der) => sec1(der.secret_sec1_der()),
            PrivateKeyDer::Pkcs1(der) => rsa::from_pkcs1(der.secret_pkcs1_der()),
            _ => Err(Error::General(
                "the private key has an encoding that is not known: use PKCS#8, SEC1 or PKCS#1".into(),
            )),
        }
    }
}

fn pkcs8(der: &[u8]) -> Result<Arc<dyn SigningKey>, Error> {
    let info = PrivateKeyInfoRef::try_from(der).map_err(|error| malformed("PKCS#8", error))?;
    match info.algorithm.oid {
        RSA => rsa::from_pkcs8(info),
        ED25519 => ed25519::from_pkcs8(info),
        EC => match info.algorithm.parameters_oid() {
            Ok(P256) => ecdsa::p256_from_pkcs8(info),
            Ok(P384) => ecdsa::p384_from_pkcs8(info),
            Ok(curve) => Err(Error::General(format!(
                "the private key is on the curve {curve}: the supported ones are P-256 and P-384"
            ))),
            Err(error) => Err(malformed("PKCS#8", error)),
        },
        other => Err(Error::General(format!(
            "the private key is of algorithm {other}: the supported ones are ECDSA, Ed25519 and RSA"
        ))),
    }
}

fn sec1(der: &[u8]) -> Result<Arc<dyn SigningKey>, Error> {
    // The curve may be missing from this form; then the length of the key tells.
    ecdsa::p256_from_sec1(der).or_else(|_| ecdsa::p384_from_sec1(der)).map_err(|_| {
        Error::General("the SEC1 private key is malformed or on a curve other than P-256 and P-384".into())
    })
}

/// A key of encoding `form` that cannot be read.
fn malformed(form: &str, error: impl core::fmt::Display) -> Error {
    Error::General(format!("the {form} private key is malformed: {error}"))
}
