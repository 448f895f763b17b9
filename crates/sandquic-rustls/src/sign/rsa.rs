//! RSA of 2048 to 8192 bits: PSS (RFC 8017, 8.1) for TLS 1.3, PKCS#1 v1.5 (8.2) besides for TLS 1.2.

use std::sync::Arc;

use getrandom::SysRng;
use p256::pkcs8::PrivateKeyInfoRef;
use pki_types::{SubjectPublicKeyInfoDer, alg_id};
use rsa::pkcs1::{DecodeRsaPrivateKey, EncodeRsaPublicKey};
use rsa::traits::PublicKeyParts;
use rsa::{Pkcs1v15Sign, PrivateKey};
use rustls::sign::{Signer, SigningKey, public_key_to_spki};
use rustls::{Error, SignatureAlgorithm, SignatureScheme};
use sha2::{Digest, Sha256, Sha384, Sha512};

use super::malformed;

/// What the key signs with, the preferred first: the shortest hash suffices for every size.
const SCHEMES: [SignatureScheme; 6] = [
    SignatureScheme::RSA_PSS_SHA256,
    SignatureScheme::RSA_PSS_SHA384,
    SignatureScheme::RSA_PSS_SHA512,
    SignatureScheme::RSA_PKCS1_SHA256,
    SignatureScheme::RSA_PKCS1_SHA384,
    SignatureScheme::RSA_PKCS1_SHA512,
];

pub(super) fn from_pkcs8(info: PrivateKeyInfoRef<'_>) -> Result<Arc<dyn SigningKey>, Error> {
    checked(PrivateKey::try_from(info).map_err(|error| malformed("PKCS#8", error))?)
}

pub(super) fn from_pkcs1(der: &[u8]) -> Result<Arc<dyn SigningKey>, Error> {
    checked(PrivateKey::from_pkcs1_der(der).map_err(|error| malformed("PKCS#1", error))?)
}

fn checked(key: PrivateKey) -> Result<Arc<dyn SigningKey>, Error> {
    match key.n().bit_width() {
        2048..=8192 => Ok(Arc::new(RsaKey(Arc::new(key)))),
        bits => {
            Err(Error::General(format!("the RSA private key has {bits} bits: 2048 to 8192 are supported")))
        }
    }
}

/// A private key. It is wiped when its last user drops it.
struct RsaKey(Arc<PrivateKey>);

impl SigningKey for RsaKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let scheme = SCHEMES.into_iter().find(|scheme| offered.contains(scheme))?;
        Some(Box::new(RsaSigner { key: self.0.clone(), scheme }))
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        let key = self.0.as_public_key().to_pkcs1_der().ok()?;
        Some(public_key_to_spki(&alg_id::RSA_ENCRYPTION, key.as_bytes()))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::RSA
    }
}

impl core::fmt::Debug for RsaKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("RsaKey").finish_non_exhaustive()
    }
}

struct RsaSigner {
    key: Arc<PrivateKey>,
    scheme: SignatureScheme,
}

impl Signer for RsaSigner {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let (key, rng) = (&*self.key, &mut SysRng);
        // The generator salts PSS and blinds the private operation of both.
        let signed = match self.scheme {
            SignatureScheme::RSA_PSS_SHA256 => key.pss_sign_with_rng::<Sha256, _>(rng, message),
            SignatureScheme::RSA_PSS_SHA384 => key.pss_sign_with_rng::<Sha384, _>(rng, message),
            SignatureScheme::RSA_PSS_SHA512 => key.pss_sign_with_rng::<Sha512, _>(rng, message),
            SignatureScheme::RSA_PKCS1_SHA256 => {
                key.sign_with_rng(rng, Pkcs1v15Sign::new::<Sha256>(), &Sha256::digest(message))
            }
            SignatureScheme::RSA_PKCS1_SHA384 => {
                key.sign_with_rng(rng, Pkcs1v15Sign::new::<Sha384>(), &Sha384::digest(message))
            }
            SignatureScheme::RSA_PKCS1_SHA512 => {
                key.sign_with_rng(rng, Pkcs1v15Sign::new::<Sha512>(), &Sha512::digest(message))
            }
            other => return Err(Error::General(format!("an RSA key does not sign with {other:?}"))),
        };
        signed.map_err(|error| Error::General(format!("signing with the RSA key failed: {error}")))
    }

    fn scheme(&self) -> SignatureScheme {
        self.scheme
    }
}

impl core::fmt::Debug for RsaSigner {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("RsaSigner").field("scheme", &self.scheme).finish_non_exhaustive()
    }
}
