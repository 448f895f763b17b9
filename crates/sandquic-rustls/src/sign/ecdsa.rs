//! ECDSA on P-256 with SHA-256 and on P-384 with SHA-384.

use std::sync::Arc;

use getrandom::SysRng;
use p256::ecdsa::signature::RandomizedSigner;
use p256::pkcs8::PrivateKeyInfoRef;
use pki_types::{SubjectPublicKeyInfoDer, alg_id};
use rustls::sign::{Signer, SigningKey, public_key_to_spki};
use rustls::{Error, SignatureAlgorithm, SignatureScheme};

use super::malformed;

macro_rules! curve {
    ($curve:ident, $key:ident, $from_pkcs8:ident, $from_sec1:ident, $scheme:ident, $id:ident) => {
        pub(super) fn $from_pkcs8(info: PrivateKeyInfoRef<'_>) -> Result<Arc<dyn SigningKey>, Error> {
            let key = $curve::SecretKey::try_from(info).map_err(|error| malformed("PKCS#8", error))?;
            Ok(Arc::new($key(Arc::new(key.into()))))
        }

        pub(super) fn $from_sec1(der: &[u8]) -> Result<Arc<dyn SigningKey>, Error> {
            let key = $curve::SecretKey::from_sec1_der(der).map_err(|error| malformed("SEC1", error))?;
            Ok(Arc::new($key(Arc::new(key.into()))))
        }

        /// A private key. It is wiped when its last user drops it.
        #[derive(Clone)]
        struct $key(Arc<$curve::ecdsa::SigningKey>);

        impl SigningKey for $key {
            fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
                offered.contains(&SignatureScheme::$scheme).then(|| Box::new(self.clone()) as _)
            }

            fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
                let point = self.0.verifying_key().to_sec1_point(false);
                Some(public_key_to_spki(&alg_id::$id, point))
            }

            fn algorithm(&self) -> SignatureAlgorithm {
                SignatureAlgorithm::ECDSA
            }
        }

        impl Signer for $key {
            fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
                // RFC 6979 with randomness mixed in: neither a fault nor a bad generator alone gives the key away.
                let signature: $curve::ecdsa::Signature = self
                    .0
                    .try_sign_with_rng(&mut SysRng, message)
                    .map_err(|error| Error::General(format!("signing with the ECDSA key failed: {error}")))?;
                Ok(signature.to_der().as_bytes().to_vec())
            }

            fn scheme(&self) -> SignatureScheme {
                SignatureScheme::$scheme
            }
        }

        impl core::fmt::Debug for $key {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_struct(stringify!($key)).finish_non_exhaustive()
            }
        }
    };
}

curve!(p256, P256Key, p256_from_pkcs8, p256_from_sec1, ECDSA_NISTP256_SHA256, ECDSA_P256);
curve!(p384, P384Key, p384_from_pkcs8, p384_from_sec1, ECDSA_NISTP384_SHA384, ECDSA_P384);
