//! Private keys in every encoding, and what is said of those that cannot be used.

mod common;

use common::*;
use pki_types::pem::PemObject;
use pki_types::{PrivateKeyDer, PrivatePkcs1KeyDer, PrivatePkcs8KeyDer, PrivateSec1KeyDer};
use rustls::{Error, SignatureAlgorithm, SignatureScheme};
use sandquic_rustls::provider;

fn load(key: PrivateKeyDer<'static>) -> Result<std::sync::Arc<dyn rustls::sign::SigningKey>, Error> {
    provider().key_provider.load_private_key(key)
}

fn pem(text: &[u8]) -> PrivateKeyDer<'static> {
    PrivateKeyDer::from_pem_slice(text).unwrap()
}

#[test]
fn every_encoding_loads_and_signs_what_its_certificate_verifies() {
    let p256_sec1: &[u8] = include_bytes!("fixtures/p256.sec1.pem");
    let p384_sec1: &[u8] = include_bytes!("fixtures/p384.sec1.pem");
    let rsa_pkcs1: &[u8] = include_bytes!("fixtures/rsa2048.pkcs1.pem");
    assert!(matches!(pem(p256_sec1), PrivateKeyDer::Sec1(_)));
    assert!(matches!(pem(rsa_pkcs1), PrivateKeyDer::Pkcs1(_)));
    for (identity, key, algorithm) in [
        (P256, P256.key, SignatureAlgorithm::ECDSA),
        (P256, p256_sec1, SignatureAlgorithm::ECDSA),
        (P384, P384.key, SignatureAlgorithm::ECDSA),
        (P384, p384_sec1, SignatureAlgorithm::ECDSA),
        (ED25519, ED25519.key, SignatureAlgorithm::ED25519),
        (RSA2048, RSA2048.key, SignatureAlgorithm::RSA),
        (RSA2048, rsa_pkcs1, SignatureAlgorithm::RSA),
        (RSA3072, RSA3072.key, SignatureAlgorithm::RSA),
    ] {
        let key = load(pem(key)).unwrap();
        assert_eq!(key.algorithm(), algorithm);
        assert!(!format!("{key:?}").is_empty());
        let chain = identity.chain();
        let certificate = webpki::EndEntityCert::try_from(&chain[0]).unwrap();
        assert_eq!(key.public_key().unwrap(), certificate.subject_public_key_info());

        let mapping = provider().signature_verification_algorithms.mapping;
        let mut schemes = 0;
        for (scheme, algorithms) in mapping {
            let Some(signer) = key.choose_scheme(&[*scheme]) else { continue };
            assert_eq!(signer.scheme(), *scheme);
            let mut signature = signer.sign(b"message").unwrap();
            certificate.verify_signature(algorithms[0], b"message", &signature).unwrap();
            assert!(certificate.verify_signature(algorithms[0], b"massage", &signature).is_err());
            let last = signature.len() - 1;
            signature[last] ^= 1;
            assert!(certificate.verify_signature(algorithms[0], b"message", &signature).is_err());
            schemes += 1;
        }
        assert_eq!(schemes, if algorithm == SignatureAlgorithm::RSA { 6 } else { 1 });
        assert!(key.choose_scheme(&[]).is_none());
        assert!(key.choose_scheme(&[SignatureScheme::ECDSA_NISTP521_SHA512]).is_none());
    }
}

#[test]
fn keys_that_cannot_be_used() {
    let says = |key: &[u8], parts: &[&str]| assert_says(&load(pem(key)).unwrap_err(), parts);
    says(include_bytes!("fixtures/refused-p521.key.pem"), &["curve 1.3.132.0.35", "P-256 and P-384"]);
    says(include_bytes!("fixtures/refused-rsa1024.key.pem"), &["1024 bits", "2048 to 8192"]);
    says(include_bytes!("fixtures/refused-x25519.key.pem"), &["algorithm 1.3.101.110", "Ed25519"]);
}

#[test]
fn malformed_keys() {
    for key in [P256.key, P384.key, ED25519.key, RSA2048.key] {
        let der = pem(key).secret_der().to_vec();
        for len in (0..der.len()).step_by(3) {
            let error = load(PrivatePkcs8KeyDer::from(der[..len].to_vec()).into()).unwrap_err();
            assert_says(&error, &["PKCS#8 private key is malformed"]);
        }
        // No changed byte makes it panic; some still load, as in a value.
        for at in (0..der.len()).step_by(if der.len() > 500 { 37 } else { 1 }) {
            let mut changed = der.clone();
            changed[at] ^= 0x55;
            let _ = load(PrivatePkcs8KeyDer::from(changed).into());
        }
        // In an encoding that it is not.
        let error = load(PrivateSec1KeyDer::from(der.clone()).into()).unwrap_err();
        assert_says(&error, &["SEC1 private key is malformed"]);
        let error = load(PrivatePkcs1KeyDer::from(der).into()).unwrap_err();
        assert_says(&error, &["PKCS#1 private key is malformed"]);
    }
}
