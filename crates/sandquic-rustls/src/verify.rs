//! Verification of signatures, as webpki and rustls ask for it.

use p256::ecdsa::signature::hazmat::PrehashVerifier;
use pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm, alg_id};
use rsa::pkcs1::DecodeRsaPublicKey;
use rsa::traits::PublicKeyParts;
use rsa::{Pkcs1v15Sign, PublicKey};
use rustls::SignatureScheme;
use rustls::crypto::WebPkiSupportedAlgorithms;
use sha2::{Digest, Sha256, Sha384, Sha512};

// Fuzzing is native, and of what WebAssembly takes.
#[cfg(any(fuzzing, target_family = "wasm"))]
use crate::p256_vartime::PublicKey as P256Key;
#[cfg(not(any(fuzzing, target_family = "wasm")))]
use crrl::p256::PublicKey as P256Key;

/// Every algorithm that certificates and handshakes are verified with: ECDSA on P-256 and P-384 with SHA-256,
/// SHA-384 and SHA-512, Ed25519, and RSA of 2048 to 8192 bits with PKCS#1 v1.5 and PSS.
pub static SUPPORTED_ALGORITHMS: WebPkiSupportedAlgorithms = WebPkiSupportedAlgorithms {
    all: &[
        &ECDSA_P256_SHA256,
        &ECDSA_P256_SHA384,
        &ECDSA_P256_SHA512,
        &ECDSA_P384_SHA256,
        &ECDSA_P384_SHA384,
        &ECDSA_P384_SHA512,
        &ED25519,
        &RSA_PSS_SHA256,
        &RSA_PSS_SHA384,
        &RSA_PSS_SHA512,
        &RSA_PKCS1_SHA256,
        &RSA_PKCS1_SHA384,
        &RSA_PKCS1_SHA512,
        &RSA_PKCS1_SHA256_ABSENT_PARAMS,
        &RSA_PKCS1_SHA384_ABSENT_PARAMS,
        &RSA_PKCS1_SHA512_ABSENT_PARAMS,
    ],
    // In TLS 1.2 a scheme names the hash alone; TLS 1.3 takes the first entry, which is the curve it names.
    mapping: &[
        (SignatureScheme::ECDSA_NISTP256_SHA256, &[&ECDSA_P256_SHA256, &ECDSA_P384_SHA256]),
        (SignatureScheme::ECDSA_NISTP384_SHA384, &[&ECDSA_P384_SHA384, &ECDSA_P256_SHA384]),
        (SignatureScheme::ED25519, &[&ED25519]),
        (SignatureScheme::RSA_PSS_SHA256, &[&RSA_PSS_SHA256]),
        (SignatureScheme::RSA_PSS_SHA384, &[&RSA_PSS_SHA384]),
        (SignatureScheme::RSA_PSS_SHA512, &[&RSA_PSS_SHA512]),
        (SignatureScheme::RSA_PKCS1_SHA256, &[&RSA_PKCS1_SHA256]),
        (SignatureScheme::RSA_PKCS1_SHA384, &[&RSA_PKCS1_SHA384]),
        (SignatureScheme::RSA_PKCS1_SHA512, &[&RSA_PKCS1_SHA512]),
    ],
};

/// An algorithm: its two identifiers and its function.
struct Algorithm {
    name: &'static str,
    public_key: AlgorithmIdentifier,
    signature: AlgorithmIdentifier,
    verify: Verify,
}

/// Checks a signature by a key over a message.
type Verify = fn(key: &[u8], message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature>;

impl SignatureVerificationAlgorithm for Algorithm {
    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        (self.verify)(public_key, message, signature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.public_key
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.signature
    }
}

impl core::fmt::Debug for Algorithm {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name)
    }
}

macro_rules! algorithms {
    ($($name:ident: $public_key:ident, $signature:expr, $verify:expr;)*) => {
        $(static $name: Algorithm = Algorithm {
            name: stringify!($name),
            public_key: alg_id::$public_key,
            signature: $signature,
            verify: $verify,
        };)*
    };
}

algorithms! {
    ECDSA_P256_SHA256: ECDSA_P256, alg_id::ECDSA_SHA256, ecdsa_p256::<Sha256>;
    ECDSA_P256_SHA384: ECDSA_P256, alg_id::ECDSA_SHA384, ecdsa_p256::<Sha384>;
    ECDSA_P256_SHA512: ECDSA_P256, alg_id::ECDSA_SHA512, ecdsa_p256::<Sha512>;
    ECDSA_P384_SHA256: ECDSA_P384, alg_id::ECDSA_SHA256, ecdsa_p384::<Sha256>;
    ECDSA_P384_SHA384: ECDSA_P384, alg_id::ECDSA_SHA384, ecdsa_p384::<Sha384>;
    ECDSA_P384_SHA512: ECDSA_P384, alg_id::ECDSA_SHA512, ecdsa_p384::<Sha512>;
    ED25519: ED25519, alg_id::ED25519, ed25519;
    RSA_PSS_SHA256: RSA_ENCRYPTION, alg_id::RSA_PSS_SHA256, |key, message, signature| {
        let verified = rsa_key(key)?.pss_verify::<Sha256>(message, signature);
        verified.map_err(|_| InvalidSignature)
    };
    RSA_PSS_SHA384: RSA_ENCRYPTION, alg_id::RSA_PSS_SHA384, |key, message, signature| {
        let verified = rsa_key(key)?.pss_verify::<Sha384>(message, signature);
        verified.map_err(|_| InvalidSignature)
    };
    RSA_PSS_SHA512: RSA_ENCRYPTION, alg_id::RSA_PSS_SHA512, |key, message, signature| {
        let verified = rsa_key(key)?.pss_verify::<Sha512>(message, signature);
        verified.map_err(|_| InvalidSignature)
    };
    RSA_PKCS1_SHA256: RSA_ENCRYPTION, alg_id::RSA_PKCS1_SHA256, rsa_pkcs1_sha256;
    RSA_PKCS1_SHA384: RSA_ENCRYPTION, alg_id::RSA_PKCS1_SHA384, rsa_pkcs1_sha384;
    RSA_PKCS1_SHA512: RSA_ENCRYPTION, alg_id::RSA_PKCS1_SHA512, rsa_pkcs1_sha512;
    RSA_PKCS1_SHA256_ABSENT_PARAMS: RSA_ENCRYPTION, absent_params(&RSA_SHA256_OID), rsa_pkcs1_sha256;
    RSA_PKCS1_SHA384_ABSENT_PARAMS: RSA_ENCRYPTION, absent_params(&RSA_SHA384_OID), rsa_pkcs1_sha384;
    RSA_PKCS1_SHA512_ABSENT_PARAMS: RSA_ENCRYPTION, absent_params(&RSA_SHA512_OID), rsa_pkcs1_sha512;
}

/// Some certificates leave out the NULL that RFC 4055, section 5 puts behind these identifiers; it says to take
/// them all the same.
const fn absent_params(der: &'static [u8]) -> AlgorithmIdentifier {
    AlgorithmIdentifier::from_slice(der)
}

/// DER of 1.2.840.113549.1.1.11, without parameters.
static RSA_SHA256_OID: [u8; 11] = [6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11];
/// DER of 1.2.840.113549.1.1.12, without parameters.
static RSA_SHA384_OID: [u8; 11] = [6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 12];
/// DER of 1.2.840.113549.1.1.13, without parameters.
static RSA_SHA512_OID: [u8; 11] = [6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 13];

/// The key is an uncompressed point (RFC 8446, 4.2.8.2), the signature DER (RFC 3279, 2.2.3).
fn ecdsa_p256<D: Digest>(key: &[u8], message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
    if key.first() != Some(&0x04) {
        return Err(InvalidSignature);
    }
    let key = P256Key::decode(key).ok_or(InvalidSignature)?;
    let signature = p256::ecdsa::Signature::from_der(signature).map_err(|_| InvalidSignature)?;
    match key.verify_hash(&<[u8; 64]>::from(signature.to_bytes()), &D::digest(message)) {
        true => Ok(()),
        false => Err(InvalidSignature),
    }
}

/// As [`ecdsa_p256`], on the other curve.
fn ecdsa_p384<D: Digest>(key: &[u8], message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
    if key.first() != Some(&0x04) {
        return Err(InvalidSignature);
    }
    let key = p384::ecdsa::VerifyingKey::from_sec1_bytes(key).map_err(|_| InvalidSignature)?;
    let signature = p384::ecdsa::Signature::from_der(signature).map_err(|_| InvalidSignature)?;
    key.verify_prehash(&D::digest(message), &signature).map_err(|_| InvalidSignature)
}

/// RFC 8032. Keys and nonces of small order are refused too.
fn ed25519(key: &[u8], message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
    let key = ed25519_dalek::VerifyingKey::try_from(key).map_err(|_| InvalidSignature)?;
    let signature = ed25519_dalek::Signature::from_slice(signature).map_err(|_| InvalidSignature)?;
    key.verify_strict(message, &signature).map_err(|_| InvalidSignature)
}

fn rsa_pkcs1_sha256(key: &[u8], message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
    rsa_pkcs1(key, &Sha256::digest(message), signature, Pkcs1v15Sign::new::<Sha256>())
}

fn rsa_pkcs1_sha384(key: &[u8], message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
    rsa_pkcs1(key, &Sha384::digest(message), signature, Pkcs1v15Sign::new::<Sha384>())
}

fn rsa_pkcs1_sha512(key: &[u8], message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
    rsa_pkcs1(key, &Sha512::digest(message), signature, Pkcs1v15Sign::new::<Sha512>())
}

/// RSASSA-PKCS1-v1_5 (RFC 8017, 8.2.2).
fn rsa_pkcs1(
    key: &[u8],
    digest: &[u8],
    signature: &[u8],
    padding: Pkcs1v15Sign,
) -> Result<(), InvalidSignature> {
    rsa_key(key)?.verify(padding, digest, signature).map_err(|_| InvalidSignature)
}

/// Reads an `RSAPublicKey` (RFC 8017, A.1.1) of 2048 to 8192 bits: less is weak, more costs too much to check.
fn rsa_key(der: &[u8]) -> Result<PublicKey, InvalidSignature> {
    let key = PublicKey::from_pkcs1_der(der).map_err(|_| InvalidSignature)?;
    match key.n().bit_width() {
        2048..=8192 => Ok(key),
        _ => Err(InvalidSignature),
    }
}

#[cfg(test)]
mod tests {
    use p256::ecdsa::signature::hazmat::PrehashSigner;

    use super::*;

    /// Bytes that look random, other ones for every `which`.
    fn bytes(which: u32) -> [u8; 32] {
        Sha256::digest(which.to_be_bytes()).into()
    }

    /// `crrl` against `p256`, which signs: any hash, and one changed bit anywhere.
    #[test]
    fn p256_agrees_with_another_implementation() {
        type Hash = fn(&[u8]) -> Vec<u8>;
        let verify: [(Verify, Hash); 3] = [
            (ecdsa_p256::<Sha256>, |message| Sha256::digest(message).to_vec()),
            (ecdsa_p256::<Sha384>, |message| Sha384::digest(message).to_vec()),
            (ecdsa_p256::<Sha512>, |message| Sha512::digest(message).to_vec()),
        ];
        for which in 0..24 {
            let (verify, hash) = verify[which as usize % verify.len()];
            let key = p256::ecdsa::SigningKey::from_slice(&bytes(which)).expect("a hash is a scalar");
            let message = bytes(which + 1_000);
            let signature: p256::ecdsa::Signature = key.sign_prehash(&hash(&message)).expect("it signs");
            let public = key.verifying_key().to_sec1_point(false);
            let (public, signature) = (public.as_bytes(), signature.to_der());
            assert!(verify(public, &message, signature.as_bytes()).is_ok(), "{which}");

            let place = which as usize;
            let mut other = message;
            other[place] ^= 1;
            assert!(verify(public, &other, signature.as_bytes()).is_err(), "{which}: another message");
            let mut other = signature.as_bytes().to_vec();
            let last = other.len() - 1 - place;
            other[last] ^= 0x10;
            assert!(verify(public, &message, &other).is_err(), "{which}: another signature");
            let mut other = public.to_vec();
            other[1 + place] ^= 0x80;
            assert!(verify(&other, &message, signature.as_bytes()).is_err(), "{which}: another key");
            let negated = p256::ecdsa::SigningKey::from(-*key.as_nonzero_scalar());
            let negated = negated.verifying_key().to_sec1_point(false);
            assert!(verify(negated.as_bytes(), &message, signature.as_bytes()).is_err(), "{which}: -key");
        }
    }

    #[test]
    fn p256_keys_have_one_form() {
        let key = p256::ecdsa::SigningKey::from_slice(&bytes(1)).expect("a hash is a scalar");
        let signature: p256::ecdsa::Signature = key.sign_prehash(&Sha256::digest(b"m")).expect("it signs");
        let (der, verify) = (signature.to_der(), ecdsa_p256::<Sha256>);
        let public = key.verifying_key().to_sec1_point(false);
        assert!(verify(public.as_bytes(), b"m", der.as_bytes()).is_ok());
        let compressed = key.verifying_key().to_sec1_point(true);
        let long = [public.as_bytes(), &[0]].concat();
        for key in [&[][..], &[0], &[4], compressed.as_bytes(), &public.as_bytes()[..64], &long, &[4; 65]] {
            assert!(verify(key, b"m", der.as_bytes()).is_err(), "{key:02x?}");
        }
        // DER, and not the two integers side by side.
        assert!(verify(public.as_bytes(), b"m", &signature.to_bytes()).is_err());
    }
}
