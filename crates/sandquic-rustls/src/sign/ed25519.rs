//! Ed25519 (RFC 8032).

use std::sync::Arc;

use ed25519_dalek::Signer as _;
use p256::pkcs8::PrivateKeyInfoRef;
use pki_types::{SubjectPublicKeyInfoDer, alg_id};
use rustls::sign::{Signer, SigningKey, public_key_to_spki};
use rustls::{Error, SignatureAlgorithm, SignatureScheme};

use super::malformed;

pub(super) fn from_pkcs8(info: PrivateKeyInfoRef<'_>) -> Result<Arc<dyn SigningKey>, Error> {
    let key = ed25519_dalek::SigningKey::try_from(info).map_err(|error| malformed("PKCS#8", error))?;
    Ok(Arc::new(Ed25519Key(Arc::new(key))))
}

/// A private key. It is wiped when its last user drops it.
#[derive(Clone)]
struct Ed25519Key(Arc<ed25519_dalek::SigningKey>);

impl SigningKey for Ed25519Key {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        offered.contains(&SignatureScheme::ED25519).then(|| Box::new(self.clone()) as _)
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        Some(public_key_to_spki(&alg_id::ED25519, self.0.verifying_key()))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ED25519
    }
}

impl Signer for Ed25519Key {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        Ok(self.0.sign(message).to_vec())
    }

    fn scheme(&self) -> SignatureScheme {
        SignatureScheme::ED25519
    }
}

impl core::fmt::Debug for Ed25519Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Ed25519Key").finish_non_exhaustive()
    }
}
