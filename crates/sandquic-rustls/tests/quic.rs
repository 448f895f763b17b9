//! QUIC through rustls's own QUIC interface: keys of every level, key update, and 0-RTT.

mod common;

use std::sync::Arc;

use common::*;
use rustls::quic::{
    ClientConnection, Connection, DirectionalKeys, KeyChange, Keys, PacketKey, Secrets, ServerConnection,
    Version,
};
use rustls::{ClientConfig, HandshakeKind, ServerConfig, SupportedCipherSuite};
use sandquic_rustls::{ALL_CIPHER_SUITES, DefaultCiphers, provider, provider_with};

fn configs(suite: SupportedCipherSuite) -> (Arc<ClientConfig>, Arc<ServerConfig>) {
    let mut client = client_config(with_suite(provider(), suite), CA, None);
    client.alpn_protocols = vec![b"test".to_vec()];
    client.enable_early_data = true;
    let mut server = server_config(provider_with::<DefaultCiphers>(), P256, None);
    server.alpn_protocols = vec![b"test".to_vec()];
    server.max_early_data_size = u32::MAX;
    (client.into(), server.into())
}

fn connect(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> (Connection, Connection) {
    let parameters = b"transport parameters".to_vec();
    let client = ClientConnection::new(client.clone(), Version::V1, localhost(), parameters.clone()).unwrap();
    let server = ServerConnection::new(server.clone(), Version::V1, parameters).unwrap();
    (client.into(), server.into())
}

/// The keys that one side had in a handshake.
#[derive(Default)]
struct Levels {
    handshake: Option<Keys>,
    one_rtt: Option<(Keys, Secrets)>,
}

fn step(from: &mut Connection, to: &mut Connection, levels: &mut Levels) -> bool {
    let mut moved = false;
    loop {
        let mut bytes = vec![];
        let change = from.write_hs(&mut bytes);
        if !bytes.is_empty() {
            to.read_hs(&bytes).unwrap();
        }
        moved |= !bytes.is_empty() || change.is_some();
        match change {
            Some(KeyChange::Handshake { keys }) => levels.handshake = Some(keys),
            Some(KeyChange::OneRtt { keys, next }) => levels.one_rtt = Some((keys, next)),
            None if bytes.is_empty() => return moved,
            None => {}
        }
    }
}

fn shake_hands(client: &mut Connection, server: &mut Connection) -> (Levels, Levels) {
    let (mut at_client, mut at_server) = (Levels::default(), Levels::default());
    while step(client, server, &mut at_client) | step(server, client, &mut at_server) {}
    assert!(!client.is_handshaking() && !server.is_handshaking());
    (at_client, at_server)
}

/// A packet sealed by one and opened by the other, header masked and unmasked, for several sizes.
fn exchange(local: &DirectionalKeys, remote: &DirectionalKeys) {
    for len in [4, 20, 1200, 1452, 65_000] {
        let payload: Vec<u8> = (0..len).map(|i| (i % 253) as u8).collect();
        let plain_header = b"\x43connection\x01\x02\x03\x04".to_vec();
        let mut sealed = payload.clone();
        let number = 0x0102_0304;
        let tag = local.packet.encrypt_in_place(number, &plain_header, &mut sealed).unwrap();
        sealed.extend_from_slice(tag.as_ref());
        let mut header = plain_header.clone();
        let (first, rest) = header.split_at_mut(11);
        local.header.encrypt_in_place(&sealed[..16], &mut first[0], rest).unwrap();
        assert_ne!(header, plain_header);
        let (first, rest) = header.split_at_mut(11);
        remote.header.decrypt_in_place(&sealed[..16], &mut first[0], rest).unwrap();
        assert_eq!(header, plain_header);
        assert_eq!(remote.packet.decrypt_in_place(number, &header, &mut sealed).unwrap(), payload);
    }
}

fn opens(local: &dyn PacketKey, remote: &dyn PacketKey) -> bool {
    let mut sealed = b"payload".to_vec();
    let tag = local.encrypt_in_place(9, b"header", &mut sealed).unwrap();
    sealed.extend_from_slice(tag.as_ref());
    remote.decrypt_in_place(9, b"header", &mut sealed).is_ok()
}

fn quic_suites() -> impl Iterator<Item = SupportedCipherSuite> {
    ALL_CIPHER_SUITES.iter().copied().filter(|suite| suite.tls13().is_some())
}

#[test]
fn keys_of_every_level_and_key_update() {
    let mut suites = 0;
    for suite in quic_suites() {
        suites += 1;
        let (client, server) = configs(suite);
        let (mut client, mut server) = connect(&client, &server);
        let (at_client, at_server) = shake_hands(&mut client, &mut server);
        assert_eq!(client.quic_transport_parameters(), Some(&b"transport parameters"[..]));

        let (client_keys, server_keys) = (at_client.handshake.unwrap(), at_server.handshake.unwrap());
        exchange(&client_keys.local, &server_keys.remote);
        exchange(&server_keys.local, &client_keys.remote);

        let (client_keys, mut client_next) = at_client.one_rtt.unwrap();
        let (server_keys, mut server_next) = at_server.one_rtt.unwrap();
        exchange(&client_keys.local, &server_keys.remote);
        exchange(&server_keys.local, &client_keys.remote);

        // Three updates, each of which only the same generation opens.
        let mut before = (client_keys.local.packet, server_keys.remote.packet);
        for _ in 0..3 {
            let (at_client, at_server) = (client_next.next_packet_keys(), server_next.next_packet_keys());
            assert!(opens(&*at_client.local, &*at_server.remote));
            assert!(opens(&*at_server.local, &*at_client.remote));
            assert!(!opens(&*at_client.local, &*before.1), "an old key opens a new packet");
            assert!(!opens(&*before.0, &*at_server.remote), "a new key opens an old packet");
            before = (at_client.local, at_server.remote);
        }
    }
    assert_eq!(suites, 3);
}

#[test]
fn multipath_nonces_differ_by_path() {
    for suite in quic_suites() {
        let (client, server) = configs(suite);
        let (mut client, mut server) = connect(&client, &server);
        let (at_client, at_server) = shake_hands(&mut client, &mut server);
        let local = at_client.one_rtt.unwrap().0.local.packet;
        let remote = at_server.one_rtt.unwrap().0.remote.packet;
        let seal = |path| {
            let mut sealed = b"payload".to_vec();
            let tag = local.encrypt_in_place_for_path(path, 9, b"header", &mut sealed).unwrap();
            sealed.extend_from_slice(tag.as_ref());
            sealed
        };
        assert_eq!(remote.decrypt_in_place(9, b"header", &mut seal(0)).unwrap(), b"payload");
        assert_eq!(remote.decrypt_in_place_for_path(3, 9, b"header", &mut seal(3)).unwrap(), b"payload");
        assert!(remote.decrypt_in_place_for_path(4, 9, b"header", &mut seal(3)).is_err());
    }
}

#[test]
fn zero_rtt() {
    for suite in quic_suites() {
        let (client_config, server_config) = configs(suite);
        let (mut client, mut server) = connect(&client_config, &server_config);
        shake_hands(&mut client, &mut server);
        assert_eq!(client.handshake_kind(), Some(HandshakeKind::Full));

        let (mut client, mut server) = connect(&client_config, &server_config);
        let mut hello = vec![];
        client.write_hs(&mut hello);
        let early = client.zero_rtt_keys().expect("a resumed client has 0-RTT keys");
        server.read_hs(&hello).unwrap();
        exchange(&early, &server.zero_rtt_keys().expect("the server accepts 0-RTT"));
        shake_hands(&mut client, &mut server);
        assert_eq!(client.handshake_kind(), Some(HandshakeKind::Resumed));
        let Connection::Client(client) = client else { unreachable!() };
        assert!(client.is_early_data_accepted());
    }
}
