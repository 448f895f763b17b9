//! Against rustls with ring, both ways, and over TCP. Natively: ring is C and assembly.

#![cfg(not(target_arch = "wasm32"))]

mod common;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use common::*;
use rustls::crypto::{CryptoProvider, ring};
use rustls::{ClientConnection, HandshakeKind, ServerConnection, StreamOwned};
use sandquic_rustls::provider;

const IDENTITIES: [Identity; 5] = [P256, P384, ED25519, RSA2048, RSA3072];

/// What makes a provider.
type Provider = fn() -> CryptoProvider;

/// The client's provider and the server's.
fn both_ways() -> [(&'static str, Provider, Provider); 2] {
    [("ours to ring", provider, ring::default_provider), ("ring to ours", ring::default_provider, provider)]
}

#[test]
fn every_suite_group_and_certificate() {
    let mut count = 0;
    for (way, client_provider, server_provider) in both_ways() {
        for &suite in ring::ALL_CIPHER_SUITES {
            let suite = suite.suite();
            for group in ring::ALL_KX_GROUPS {
                for identity in IDENTITIES {
                    let name = format!("{suite:?}");
                    let is_rsa = identity.key.len() > 1000;
                    if !name.starts_with("TLS13") && name.contains("_RSA_") != is_rsa {
                        continue;
                    }
                    let mut client = client_provider();
                    client.cipher_suites.retain(|known| known.suite() == suite);
                    client.kx_groups.retain(|known| known.name() == group.name());
                    let client = client_config(client, CA, Some(CLIENT));
                    let server = server_config(server_provider(), identity, Some(CA));
                    let mut pair = Pair::new(client.into(), server.into());
                    pair.run().unwrap_or_else(|failure| panic!("{way}: {suite:?} {group:?}: {failure:?}"));
                    assert_eq!(pair.server.negotiated_cipher_suite().unwrap().suite(), suite);
                    count += 1;
                }
            }
        }
    }
    // TLS 1.3: 3 suites with 5 certificates. TLS 1.2: 3 suites with 3, 3 with 2. 3 groups each, both ways.
    assert_eq!(count, 2 * 3 * (3 * 5 + if cfg!(feature = "tls12") { 3 * 3 + 3 * 2 } else { 0 }));
}

#[test]
fn every_scheme() {
    for (way, client_provider, server_provider) in both_ways() {
        for (scheme, _) in client_provider().signature_verification_algorithms.mapping {
            let name = format!("{scheme:?}");
            let identity = match name.as_str() {
                "ECDSA_NISTP256_SHA256" => P256,
                "ECDSA_NISTP384_SHA384" => P384,
                "ED25519" => ED25519,
                _ => RSA2048,
            };
            let mut client = with_scheme(client_provider(), *scheme);
            if name.contains("PKCS1") {
                // Signs handshakes in TLS 1.2 alone.
                client.cipher_suites.retain(|suite| suite.tls13().is_none());
                if client.cipher_suites.is_empty() {
                    continue;
                }
            }
            let client = client_config(client, CA, None);
            let server = server_config(server_provider(), identity, None);
            let ran = Pair::new(client.into(), server.into()).run();
            ran.unwrap_or_else(|failure| panic!("{way}: {scheme:?}: {failure:?}"));
        }
    }
}

#[test]
fn authorities_of_every_kind() {
    for (_, client_provider, server_provider) in both_ways() {
        for (authority, identity) in [
            (CA_P384, UNDER_P384),
            (CA_ED25519, UNDER_ED25519),
            (CA_RSA2048, UNDER_RSA2048),
            (CA_RSA2048, UNDER_RSA_PSS),
            (CA_RSA8192, UNDER_RSA8192),
        ] {
            let client = client_config(client_provider(), authority, None);
            let server = server_config(server_provider(), identity, None);
            Pair::new(client.into(), server.into()).run().unwrap();
        }
    }
}

#[test]
fn quic_initial_keys_are_the_same() {
    use rustls::Side;
    use rustls::quic::{Keys, Version};
    let keys = |provider: CryptoProvider, side| {
        let suite = provider.cipher_suites.iter().find_map(|suite| {
            suite.tls13().filter(|suite| suite.common.suite == rustls::CipherSuite::TLS13_AES_128_GCM_SHA256)
        });
        let suite = suite.unwrap();
        Keys::initial(Version::V1, suite, suite.quic.unwrap(), b"connection id", side)
    };
    let ours = keys(provider(), Side::Client);
    let theirs = keys(ring::default_provider(), Side::Server);
    for len in 0..200 {
        let payload: Vec<u8> = (0..len).collect();
        let mut sealed = payload.clone();
        let tag = ours.local.packet.encrypt_in_place(len.into(), b"header", &mut sealed).unwrap();
        sealed.extend_from_slice(tag.as_ref());
        let opened = theirs.remote.packet.decrypt_in_place(len.into(), b"header", &mut sealed).unwrap();
        assert_eq!(opened, payload);
    }
}

/// Ordinary rustls over TCP: a request and an answer of a megabyte, then the same resumed.
#[test]
fn over_tcp() {
    for (_, client_provider, server_provider) in both_ways() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut server = server_config(server_provider(), P256, None);
        server.ticketer = sandquic_rustls::ticketer().unwrap();
        let server = Arc::new(server);
        let content: Vec<u8> = (0..1 << 20).map(|i: u32| (i % 249) as u8).collect();
        let expected = content.clone();
        let serving = thread::spawn(move || {
            for _ in 0..2 {
                let (socket, _) = listener.accept().unwrap();
                let mut stream = StreamOwned::new(ServerConnection::new(server.clone()).unwrap(), socket);
                let mut request = [0; 7];
                stream.read_exact(&mut request).unwrap();
                assert_eq!(&request, b"request");
                stream.write_all(&content).unwrap();
                stream.conn.send_close_notify();
                stream.flush().unwrap();
                let mut rest = vec![];
                stream.read_to_end(&mut rest).unwrap();
                assert!(rest.is_empty());
            }
        });
        let client = Arc::new(client_config(client_provider(), CA, None));
        let mut kinds = vec![];
        for _ in 0..2 {
            let connection = ClientConnection::new(client.clone(), localhost()).unwrap();
            let mut stream = StreamOwned::new(connection, TcpStream::connect(address).unwrap());
            stream.write_all(b"request").unwrap();
            let mut answer = vec![];
            stream.read_to_end(&mut answer).unwrap();
            assert!(answer == expected);
            kinds.push(stream.conn.handshake_kind().unwrap());
            stream.conn.send_close_notify();
            stream.flush().unwrap();
        }
        serving.join().unwrap();
        assert_eq!(kinds, [HandshakeKind::Full, HandshakeKind::Resumed]);
    }
}
