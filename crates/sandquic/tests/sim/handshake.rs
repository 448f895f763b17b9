//! Handshakes: over every kind of link, with Retry, tokens, key export, ALPN, and what the server may send before
//! it knows the client's address.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use sandquic::crypto::rustls::{HandshakeData, QuicClientConfig, QuicServerConfig};
use sandquic::{ClientConfig, ConnectError, ConnectionError, ServerConfig, TransportErrorCode, VarInt};

use super::common::{self, ALPN, NAME, client_config, server_config};
use super::*;

#[test]
fn takes_one_round_trip() {
    let net = Net::new(1, Link::CLEAN);
    net.world.run(async {
        let (client, server) = net.connect().await;
        // The client is done after one round trip; the server after the client's last flight.
        assert_eq!(net.world.now(), ms(30));
        assert_eq!(client.remote_address(), server_addr());
        assert_eq!(server.remote_address(), client_addr());
        assert_eq!(net.client.open_connections(), 1);
        assert_eq!(net.server.stats().accepted_handshakes, 1);
        assert_eq!(net.client.stats().outgoing_handshakes, 1);
    });
}

#[test]
fn succeeds_over_bad_links() {
    let kinds: [fn(&mut Link); 5] = [
        |link| link.loss = 250,
        |link| link.duplication = 500,
        |link| link.corruption = 200,
        |link| link.jitter = ms(60),
        |link| *link = Link::BAD,
    ];
    for (kind, change) in kinds.into_iter().enumerate() {
        for seed in 0..10 {
            let net = Net::new(100 * kind as u64 + seed, link(change));
            net.world.run(async {
                let (client, server) = net.connect().await;
                let (sender, receiver) = net.send(&client, &server, common::pattern(3000));
                receiver.await;
                sender.await;
            });
        }
    }
}

#[test]
fn tells_what_was_negotiated() {
    let net = Net::new(2, Link::CLEAN);
    net.world.run(async {
        let server = net.server.clone();
        let accepting = net.world.spawn(async move {
            let mut connecting = server.accept().await.unwrap().accept().unwrap();
            let data = *connecting.handshake_data().await.unwrap().downcast::<HandshakeData>().unwrap();
            (data, connecting.await.unwrap())
        });
        let mut connecting = net.client.connect(server_addr(), NAME).unwrap();
        let data = *connecting.handshake_data().await.unwrap().downcast::<HandshakeData>().unwrap();
        let client = connecting.await.unwrap();
        let (at_server, server) = accepting.await;
        assert_eq!(data, HandshakeData { protocol: Some(ALPN.to_vec()), server_name: None });
        assert_eq!(at_server.server_name.as_deref(), Some(NAME));
        assert_eq!(at_server.protocol.as_deref(), Some(ALPN));

        let identity = client.peer_identity().unwrap();
        let chain = identity.downcast::<Vec<rustls::pki_types::CertificateDer<'static>>>().unwrap();
        assert_eq!(*chain, common::chain());
        assert!(server.peer_identity().is_none());

        let (mut ours, mut theirs, mut other) = ([0; 48], [0; 48], [0; 48]);
        client.export_keying_material(&mut ours, b"label", b"context").unwrap();
        server.export_keying_material(&mut theirs, b"label", b"context").unwrap();
        server.export_keying_material(&mut other, b"label", b"another").unwrap();
        assert_eq!(ours, theirs);
        assert_ne!(ours, other);
        client.export_keying_material(&mut vec![0; 255 * 64], b"label", b"").unwrap_err();
        assert_ne!(client.stable_id(), net.connect().await.0.stable_id());
    });
}

#[test]
fn without_a_common_protocol_fails() {
    let mut tls = common::client_tls(sandquic_rustls::provider());
    tls.alpn_protocols = vec![b"another".to_vec()];
    let net = Net::with(3, Link::CLEAN, server_config(), ClientConfig::try_from(tls).unwrap());
    net.world.run(async {
        let server = net.server.clone();
        let accepting = net.world.spawn(async move { server.accept().await.unwrap().await.unwrap_err() });
        let error = net.client.connect(server_addr(), NAME).unwrap().await.unwrap_err();
        // RFC 9001, 4.8: CRYPTO_ERROR with the alert no_application_protocol (120).
        let ConnectionError::ConnectionClosed(close) = error else { panic!("{error:?}") };
        assert_eq!(close.error_code, TransportErrorCode::crypto(120));
        let error = accepting.await;
        let ConnectionError::TransportError(at_server) = error else { panic!("{error:?}") };
        assert_eq!(at_server.code, TransportErrorCode::crypto(120));
    });
}

#[test]
fn with_the_wrong_name_fails_on_both_sides() {
    let net = Net::new(4, Link::CLEAN);
    net.world.run(async {
        let server = net.server.clone();
        let accepting = net.world.spawn(async move { server.accept().await.unwrap().await.unwrap_err() });
        let error = net.client.connect(server_addr(), "elsewhere.example").unwrap().await.unwrap_err();
        assert!(error.to_string().contains("not valid for name"), "{error}");
        assert!(matches!(accepting.await, ConnectionError::ConnectionClosed(_)));
    });
}

#[test]
fn wrong_arguments_are_refused() {
    let net = Net::new(5, Link::CLEAN);
    net.world.run(async {
        let connect = |addr: SocketAddr, name: &str| net.client.connect(addr, name).map(drop).unwrap_err();
        assert!(matches!(connect(server_addr(), "not a name"), ConnectError::InvalidServerName(_)));
        assert!(matches!(
            connect("192.0.2.1:0".parse().unwrap(), NAME),
            ConnectError::InvalidRemoteAddress(_)
        ));
        assert!(matches!(
            connect("[2001:db8::1]:443".parse().unwrap(), NAME),
            ConnectError::InvalidRemoteAddress(_)
        ));
        let missing = net.server.connect(client_addr(), NAME).map(drop).unwrap_err();
        assert_eq!(missing, ConnectError::NoDefaultClientConfig);
        let mut odd = client_config();
        odd.version(0x1234_5678);
        let version = net.client.connect_with(odd, server_addr(), NAME).map(drop).unwrap_err();
        assert_eq!(version, ConnectError::UnsupportedVersion);
        net.client.close(VarInt::from_u32(0), b"");
        assert_eq!(connect(server_addr(), NAME), ConnectError::EndpointStopping);
    });
}

#[test]
fn needs_aes_128_gcm_for_initial_packets() {
    let mut provider = sandquic_rustls::provider();
    provider.cipher_suites.retain(|suite| suite.suite() != rustls::CipherSuite::TLS13_AES_128_GCM_SHA256);
    let error = QuicClientConfig::try_from(common::client_tls(provider.clone())).map(drop).unwrap_err();
    assert!(error.to_string().contains("TLS13_AES_128_GCM_SHA256"), "{error}");
    QuicServerConfig::try_from(common::server_tls(provider.clone())).map(drop).unwrap_err();

    // Given apart, it serves for Initial packets only.
    let of = |index: usize| sandquic_rustls::ALL_CIPHER_SUITES[index].tls13().unwrap().quic_suite().unwrap();
    let aes_128 = (0..3)
        .map(of)
        .find(|suite| suite.suite.common.suite == rustls::CipherSuite::TLS13_AES_128_GCM_SHA256);
    let other = (0..3)
        .map(of)
        .find(|suite| suite.suite.common.suite != rustls::CipherSuite::TLS13_AES_128_GCM_SHA256);
    let tls = Arc::new(common::client_tls(provider));
    QuicClientConfig::with_initial(tls.clone(), other.unwrap()).map(drop).unwrap_err();
    let client = QuicClientConfig::with_initial(tls, aes_128.unwrap()).unwrap();
    let net = Net::with(6, Link::CLEAN, server_config(), ClientConfig::new(Arc::new(client)));
    net.world.run(async {
        let (client, server) = net.connect().await;
        net.send(&client, &server, common::pattern(10_000)).1.await;
    });
}

#[test]
fn retry_proves_the_address() {
    for link in [Link::CLEAN, Link::BAD] {
        let net = Net::new(7, link);
        net.world.run(async {
            let server = net.server.clone();
            let accepting = net.world.spawn(async move {
                let mut retries = 0;
                loop {
                    let incoming = server.accept().await.unwrap();
                    if incoming.remote_address_validated() {
                        assert!(!incoming.may_retry(), "a client is asked once");
                        let incoming = incoming.retry().unwrap_err().into_incoming();
                        return (retries, incoming.await.unwrap());
                    }
                    retries += 1;
                    incoming.retry().unwrap();
                }
            });
            let client = net.client.connect(server_addr(), NAME).unwrap().await.unwrap();
            let (retries, server) = accepting.await;
            assert!(retries >= 1);
            net.send(&client, &server, common::pattern(10_000)).1.await;
        });
    }
}

#[test]
fn a_token_from_before_proves_the_address() {
    let net = Net::new(8, Link::CLEAN);
    net.world.run(async {
        let (client, server) = net.connect().await;
        net.send(&server, &client, vec![1]).1.await;
        let server = net.server.clone();
        let accepting = net.world.spawn(async move {
            let incoming = server.accept().await.unwrap();
            let validated = incoming.remote_address_validated();
            (validated, incoming.await.unwrap())
        });
        let _client = net.client.connect(server_addr(), NAME).unwrap().await.unwrap();
        assert!(accepting.await.0, "the server recognises its NEW_TOKEN");
    });
}

#[test]
fn refused_and_ignored() {
    let net = Net::new(9, Link::CLEAN);
    net.world.run(async {
        let server = net.server.clone();
        net.world.spawn(async move {
            server.accept().await.unwrap().refuse();
            drop(server.accept().await.unwrap());
            server.accept().await.unwrap().ignore();
            server.set_server_config(None);
        });
        for _ in 0..2 {
            let error = net.client.connect(server_addr(), NAME).unwrap().await.unwrap_err();
            let ConnectionError::ConnectionClosed(close) = error else { panic!("{error:?}") };
            assert_eq!(close.error_code, TransportErrorCode::CONNECTION_REFUSED);
        }
        assert_eq!(net.server.stats().refused_handshakes, 2);
        let error = net.client.connect(server_addr(), NAME).unwrap().await.unwrap_err();
        assert_eq!(error, ConnectionError::TimedOut);
        assert_eq!(net.server.stats().ignored_handshakes, 1);
        assert_eq!(net.server.open_connections(), 0);
    });
}

/// A server whose first flight is longer than it may send at once.
fn long_chain() -> ServerConfig {
    ServerConfig::with_single_cert(common::long_chain(), common::key()).unwrap()
}

fn client_without_alpn() -> ClientConfig {
    ClientConfig::with_root_certificates(Arc::new(common::roots())).unwrap()
}

#[test]
fn the_server_does_not_amplify() {
    let net = Net::with(10, Link::CLEAN, long_chain(), client_without_alpn());
    // Two datagrams, the ClientHello, reach the server: the client's repetitions would allow more. Nothing that
    // the server says reaches the client.
    let received = Arc::new(AtomicU64::new(0));
    let (count, mut datagrams) = (received.clone(), 0);
    net.world.set_filter(move |datagram| {
        if datagram.to != server_addr() || datagrams == 2 {
            return false;
        }
        datagrams += 1;
        count.fetch_add(datagram.bytes.len() as u64, Ordering::Relaxed);
        true
    });
    net.world.run(async {
        let server = net.server.clone();
        let accepting = net.world.spawn(async move { server.accept().await.unwrap().await.map(drop) });
        let connecting = net.client.connect(server_addr(), NAME).unwrap();
        assert_eq!(accepting.await, Err(ConnectionError::TimedOut));
        drop(connecting);
    });
    let received = received.load(Ordering::Relaxed);
    let (sent, _) = net.world.sent(server_addr());
    assert!(sent > 2 * received, "the flight is long enough to tell: {sent}");
    assert!(sent <= 3 * received, "RFC 9000, 8.1 allows three times {received} bytes, not {sent}");
}

#[test]
fn a_long_chain_arrives_nevertheless() {
    for link in [Link::CLEAN, Link::BAD] {
        let net = Net::with(11, link, long_chain(), client_without_alpn());
        net.world.run(async {
            let (client, server) = net.connect().await;
            net.send(&server, &client, common::pattern(5000)).1.await;
        });
    }
}

#[test]
fn an_unknown_version_is_negotiated() {
    let net = Net::new(12, Link::CLEAN);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let answers = seen.clone();
    net.world.set_filter(move |datagram| {
        if datagram.from == server_addr() {
            answers.lock().unwrap().push(datagram.bytes.clone());
        }
        true
    });
    net.world.run(async {
        // RFC 9000, 17.2: a long header of version 0x1a2a3a4a with connection IDs 1 2 3 and 4 5.
        let mut long = vec![0xc0, 0x1a, 0x2a, 0x3a, 0x4a, 3, 1, 2, 3, 2, 4, 5];
        net.world.inject(client_addr(), server_addr(), long.clone());
        net.world.sleep(ms(100)).await;
        assert!(seen.lock().unwrap().is_empty(), "a packet too small for an Initial gets no answer");
        long.resize(1200, 0);
        net.world.inject(client_addr(), server_addr(), long);
        net.world.sleep(ms(100)).await;
    });
    let seen = seen.lock().unwrap();
    let [answer] = &seen[..] else { panic!("{} answers", seen.len()) };
    // RFC 9000, 17.2.1: version 0, the connection IDs exchanged, then the versions.
    assert_eq!(answer[0] & 0x80, 0x80);
    assert_eq!(answer[1..12], [0, 0, 0, 0, 2, 4, 5, 3, 1, 2, 3]);
    assert!(answer[12..].chunks(4).any(|version| version == [0, 0, 0, 1]));
}

#[test]
fn a_client_that_finds_no_common_version_says_so() {
    let net = Net::new(13, Link::CLEAN);
    let world = net.world.clone();
    net.world.set_filter(move |_| true);
    net.world.record();
    net.world.run(async {
        let connecting = net.client.connect(server_addr(), NAME).unwrap();
        world.set_link(Link::CUT);
        world.sleep(ms(1)).await;
        let initial = world.recorded().swap_remove(0).bytes;
        let (dcid, rest) = initial[6..].split_at(usize::from(initial[5]));
        let scid = &rest[1..=usize::from(rest[0])];
        let mut answer = vec![0x80, 0, 0, 0, 0, scid.len() as u8];
        answer.extend_from_slice(scid);
        answer.push(dcid.len() as u8);
        answer.extend_from_slice(dcid);
        answer.extend_from_slice(&[0x0a, 0x1a, 0x2a, 0x3a]);
        world.inject(server_addr(), client_addr(), answer);
        assert_eq!(connecting.await.unwrap_err(), ConnectionError::VersionMismatch);
    });
}
