//! Handshakes through memory: every suite with every group and signature scheme, client certificates, and what
//! goes wrong.

mod common;

use std::sync::Arc;

use common::*;
use pki_types::ServerName;
use rustls::crypto::{CryptoProvider, SupportedKxGroup};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{
    CertificateError, Error, InconsistentKeys, ProtocolVersion, ServerConfig, SignatureScheme,
    SupportedCipherSuite,
};
use sandquic_rustls::{ALL_CIPHER_SUITES, ALL_KX_GROUPS, kx_group, provider};

/// Each scheme with a certificate whose key signs with it.
const SCHEMES: [(SignatureScheme, Identity); 9] = [
    (SignatureScheme::ECDSA_NISTP256_SHA256, P256),
    (SignatureScheme::ECDSA_NISTP384_SHA384, P384),
    (SignatureScheme::ED25519, ED25519),
    (SignatureScheme::RSA_PSS_SHA256, RSA2048),
    (SignatureScheme::RSA_PSS_SHA384, RSA2048),
    (SignatureScheme::RSA_PSS_SHA512, RSA2048),
    (SignatureScheme::RSA_PKCS1_SHA256, RSA2048),
    (SignatureScheme::RSA_PKCS1_SHA384, RSA2048),
    (SignatureScheme::RSA_PKCS1_SHA512, RSA2048),
];

fn one_of_each(
    suite: SupportedCipherSuite,
    group: &'static dyn SupportedKxGroup,
    scheme: SignatureScheme,
) -> CryptoProvider {
    with_scheme(with_group(with_suite(provider(), suite), group), scheme)
}

/// True if TLS knows the combination.
fn possible(suite: SupportedCipherSuite, group: &dyn SupportedKxGroup, scheme: SignatureScheme) -> bool {
    let name = format!("{:?}", suite.suite());
    let scheme_name = format!("{scheme:?}");
    let version = suite.version().version;
    group.usable_for_version(version)
        && match version {
            // RFC 8446, 4.2.3: PKCS#1 v1.5 signs certificates only.
            ProtocolVersion::TLSv1_3 => !scheme_name.contains("PKCS1"),
            _ => name.contains("_RSA_") == scheme_name.contains("RSA"),
        }
}

#[test]
fn every_suite_group_and_scheme() {
    let mut count = 0;
    for &suite in ALL_CIPHER_SUITES {
        for &group in ALL_KX_GROUPS {
            for (scheme, identity) in SCHEMES {
                if !possible(suite, group, scheme) {
                    continue;
                }
                let client = client_config(one_of_each(suite, group, scheme), CA, None);
                let server = server_config(provider(), identity, None);
                let mut pair = Pair::new(client.into(), server.into());
                pair.run().unwrap_or_else(|failure| panic!("{suite:?} {group:?} {scheme:?}: {failure:?}"));
                assert_eq!(pair.server.negotiated_cipher_suite(), Some(suite));
                let negotiated = pair.server.negotiated_key_exchange_group().unwrap();
                assert_eq!(negotiated.name(), group.name());
                count += 1;
            }
        }
    }
    // TLS 1.3: 3 suites, 4 groups, 6 schemes. TLS 1.2: 3 groups, 3 suites each with 3 and 6 schemes.
    let tls12 = if cfg!(feature = "tls12") { 3 * 3 * (3 + 6) } else { 0 };
    assert_eq!(count, 3 * 4 * 6 + tls12);
}

#[test]
fn larger_rsa_keys_and_client_certificates() {
    for identity in [RSA3072, RSA4096] {
        let client = client_config(provider(), CA, Some(identity));
        // The certificates are for servers, so a client that shows one is refused, and says why.
        let server = server_config(provider(), identity, Some(CA));
        let failure = Pair::new(client.into(), server.into()).run().unwrap_err();
        let Failure::Server(error) = failure else { panic!("{failure:?}") };
        assert_says(&error, &["invalid peer certificate", "extended key usage"]);

        let client = client_config(provider(), CA, None);
        let server = server_config(provider(), identity, None);
        Pair::new(client.into(), server.into()).run().unwrap();
    }
}

#[test]
fn authorities_of_every_kind() {
    for (authority, identity) in [
        (CA_P384, UNDER_P384),
        (CA_ED25519, UNDER_ED25519),
        (CA_RSA2048, UNDER_RSA2048),
        (CA_RSA2048, UNDER_RSA_PSS),
        (CA_RSA8192, UNDER_RSA8192),
    ] {
        let client = client_config(provider(), authority, None);
        let server = server_config(provider(), identity, None);
        Pair::new(client.into(), server.into()).run().unwrap();
    }
}

#[test]
fn the_post_quantum_hybrid_is_the_default_and_its_half_serves_others() {
    let client = Arc::new(client_config(provider(), CA, None));
    let server = server_config(provider(), P256, None);
    let mut pair = Pair::new(client.clone(), server.into());
    pair.run().unwrap();
    let group = pair.client.negotiated_key_exchange_group().unwrap().name();
    assert_eq!(group, rustls::NamedGroup::X25519MLKEM768);
    assert_eq!(pair.client.handshake_kind(), Some(rustls::HandshakeKind::Full));

    // A server that knows X25519 alone takes that half of the offer: no second round.
    let server = server_config(with_group(provider(), kx_group::X25519), P256, None);
    let mut pair = Pair::new(client.clone(), server.into());
    pair.run().unwrap();
    let group = pair.client.negotiated_key_exchange_group().unwrap().name();
    assert_eq!(group, rustls::NamedGroup::X25519);
    assert_eq!(pair.client.handshake_kind(), Some(rustls::HandshakeKind::Full));

    // One that knows P-384 alone asks for it.
    let server = server_config(with_group(provider(), kx_group::SECP384R1), P256, None);
    let mut pair = Pair::new(client, server.into());
    pair.run().unwrap();
    assert_eq!(pair.client.handshake_kind(), Some(rustls::HandshakeKind::FullWithHelloRetryRequest));
}

#[test]
fn mutual_authentication() {
    for &suite in ALL_CIPHER_SUITES {
        let identity = if format!("{:?}", suite.suite()).contains("_RSA_") { RSA2048 } else { P256 };
        let client = client_config(with_suite(provider(), suite), CA, Some(CLIENT));
        let server = server_config(provider(), identity, Some(CA));
        let mut pair = Pair::new(client.into(), server.into());
        pair.run().unwrap();
        assert_eq!(pair.server.peer_certificates().unwrap(), CLIENT.chain());
        assert_eq!(pair.client.peer_certificates().unwrap(), identity.chain());
    }
}

/// One suite of each version.
fn versions() -> Vec<SupportedCipherSuite> {
    let of = |version| ALL_CIPHER_SUITES.iter().copied().find(|suite| suite.version().version == version);
    [of(ProtocolVersion::TLSv1_3), of(ProtocolVersion::TLSv1_2)].into_iter().flatten().collect()
}

#[test]
fn no_client_certificate() {
    for suite in versions() {
        let client = client_config(with_suite(provider(), suite), CA, None);
        let server = server_config(provider(), P256, Some(CA));
        let failure = Pair::new(client.into(), server.into()).run().unwrap_err();
        let Failure::Server(error) = failure else { panic!("{failure:?}") };
        assert_eq!(error, Error::NoCertificatesPresented);
        assert_says(&error, &["peer sent no certificates"]);
    }
}

#[test]
fn unknown_issuer() {
    for suite in versions() {
        let client = client_config(with_suite(provider(), suite), STRANGER, None);
        let server = server_config(provider(), P256, None);
        let failure = Pair::new(client.into(), server.into()).run().unwrap_err();
        let Failure::Client(error) = failure else { panic!("{failure:?}") };
        assert_eq!(error, Error::InvalidCertificate(CertificateError::UnknownIssuer));
        assert_says(&error, &["invalid peer certificate", "UnknownIssuer"]);

        let client = client_config(with_suite(provider(), suite), CA, Some(STRANGE_CLIENT));
        let server = server_config(provider(), P256, Some(CA));
        let failure = Pair::new(client.into(), server.into()).run().unwrap_err();
        let Failure::Server(error) = failure else { panic!("{failure:?}") };
        assert_eq!(error, Error::InvalidCertificate(CertificateError::UnknownIssuer));
    }
}

#[test]
fn wrong_name() {
    for suite in versions() {
        for (name, good) in [
            ("localhost", true),
            ("127.0.0.1", true),
            ("::1", true),
            ("elsewhere.test", false),
            ("127.0.0.2", false),
        ] {
            let client = client_config(with_suite(provider(), suite), CA, None);
            let server = server_config(provider(), P256, None);
            let mut pair = Pair::to(client.into(), server.into(), ServerName::try_from(name).unwrap());
            match (pair.run(), good) {
                (Ok(()), true) => {}
                (Err(Failure::Client(error)), false) => {
                    assert_says(&error, &["not valid for name", name, "localhost"]);
                }
                (result, _) => panic!("{name}: {result:?}"),
            }
        }
    }
}

#[test]
fn expired_certificate() {
    for suite in versions() {
        let client = client_config(with_suite(provider(), suite), CA, None);
        let server = server_config(provider(), EXPIRED, None);
        let failure = Pair::new(client.into(), server.into()).run().unwrap_err();
        let Failure::Client(error) = failure else { panic!("{failure:?}") };
        assert_says(&error, &["invalid peer certificate", "expired"]);
    }
}

/// A key that is not the certificate's: refused when configured, and by the client if a server has it all the same.
#[test]
fn wrong_key() {
    for (certificate, key) in
        [(P256, CLIENT), (P384, P256), (ED25519, P256), (RSA2048, RSA3072), (P256, RSA2048)]
    {
        let error = ServerConfig::builder_with_provider(provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(certificate.chain(), key.key())
            .unwrap_err();
        assert_eq!(error, Error::InconsistentKeys(InconsistentKeys::KeyMismatch));
        assert_says(&error, &["keys may not be consistent", "KeyMismatch"]);
    }

    for suite in versions() {
        for (certificate, key) in [(P256, CLIENT), (RSA2048, RSA3072)] {
            if suite.version().version == ProtocolVersion::TLSv1_2
                && format!("{:?}", suite.suite()).contains("ECDSA") != (certificate.key == P256.key)
            {
                continue;
            }
            let key = provider().key_provider.load_private_key(key.key()).unwrap();
            let certified = SingleCertAndKey::from(CertifiedKey::new(certificate.chain(), key));
            let server = ServerConfig::builder_with_provider(provider().into())
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_no_client_auth()
                .with_cert_resolver(Arc::new(certified));
            let client = client_config(with_suite(provider(), suite), CA, None);
            let failure = Pair::new(client.into(), server.into()).run().unwrap_err();
            let Failure::Client(error) = failure else { panic!("{failure:?}") };
            assert_eq!(error, Error::InvalidCertificate(CertificateError::BadSignature));
            assert_says(&error, &["invalid peer certificate", "BadSignature"]);
        }
    }
}

#[test]
fn nothing_in_common() {
    let suites = provider().cipher_suites;
    let client = client_config(with_suite(provider(), suites[0]), CA, None);
    let server = server_config(with_suite(provider(), suites[1]), P256, None);
    let failure = Pair::new(client.into(), server.into()).run().unwrap_err();
    let Failure::Server(error) = failure else { panic!("{failure:?}") };
    assert_says(&error, &["peer is incompatible", "NoCipherSuitesInCommon"]);

    let client = client_config(with_group(provider(), kx_group::SECP256R1), CA, None);
    let server = server_config(with_group(provider(), kx_group::SECP384R1), P256, None);
    let failure = Pair::new(client.into(), server.into()).run().unwrap_err();
    let Failure::Server(error) = failure else { panic!("{failure:?}") };
    assert_says(&error, &["peer is incompatible", "NoKxGroupsInCommon"]);
}

/// A record changed on the way is a decryption error, in every suite.
#[test]
fn changed_record() {
    use std::io::Write;
    for &suite in ALL_CIPHER_SUITES {
        let identity = if format!("{:?}", suite.suite()).contains("_RSA_") { RSA2048 } else { P256 };
        let client = client_config(with_suite(provider(), suite), CA, None);
        let server = server_config(provider(), identity, None);
        for at in [5, 12, 30, -1] {
            let mut pair = Pair::new(Arc::new(client.clone()), Arc::new(server.clone()));
            pair.run().unwrap();
            pair.client.writer().write_all(&[7; 100]).unwrap();
            let mut record = vec![];
            pair.client.write_tls(&mut record).unwrap();
            let at = if at < 0 { record.len() - 1 } else { at as usize };
            record[at] ^= 0x10;
            pair.server.read_tls(&mut &record[..]).unwrap();
            assert_eq!(pair.server.process_new_packets().unwrap_err(), Error::DecryptError, "{suite:?} {at}");
        }
    }
}

/// A record too short for its nonce and tag, or with nothing between them but no valid tag, is a decryption error.
#[test]
fn truncated_records() {
    use std::io::Write;
    for &suite in ALL_CIPHER_SUITES {
        let identity = if format!("{:?}", suite.suite()).contains("_RSA_") { RSA2048 } else { P256 };
        let client = Arc::new(client_config(with_suite(provider(), suite), CA, None));
        let server = Arc::new(server_config(provider(), identity, None));
        for len in [1, 7, 8, 9, 15, 16, 17, 23, 24, 25] {
            let mut pair = Pair::new(client.clone(), server.clone());
            pair.run().unwrap();
            pair.client.writer().write_all(&[7; 100]).unwrap();
            let mut record = vec![];
            pair.client.write_tls(&mut record).unwrap();
            record[3..5].copy_from_slice(&u16::to_be_bytes(len));
            record.truncate(5 + usize::from(len));
            pair.server.read_tls(&mut &record[..]).unwrap();
            let error = pair.server.process_new_packets().unwrap_err();
            assert_eq!(error, Error::DecryptError, "{suite:?} {len} bytes");
        }
    }
}

/// RFC 5288, 3: with AES-GCM in TLS 1.2 the nonce of a record is its own, and not a plain counter of records.
#[cfg(feature = "tls12")]
#[test]
fn explicit_nonces() {
    use std::io::Write;
    for &suite in ALL_CIPHER_SUITES {
        let name = format!("{:?}", suite.suite());
        if suite.tls13().is_some() || !name.contains("GCM") {
            continue;
        }
        let identity = if name.contains("_RSA_") { RSA2048 } else { P256 };
        let client = client_config(with_suite(provider(), suite), CA, None);
        let mut pair = Pair::new(client.into(), server_config(provider(), identity, None).into());
        pair.run().unwrap();
        let mut nonces = vec![];
        for _ in 0..40 {
            pair.client.writer().write_all(b"same").unwrap();
            let mut record = vec![];
            pair.client.write_tls(&mut record).unwrap();
            assert_eq!(record.len(), 5 + 8 + 4 + 16, "{name}");
            nonces.push(record[5..13].to_vec());
        }
        assert!(nonces[0][..4] != [0; 4], "{name}: the nonce shows the number of the record");
        nonces.sort();
        nonces.dedup();
        assert_eq!(nonces.len(), 40, "{name}");
    }
}
