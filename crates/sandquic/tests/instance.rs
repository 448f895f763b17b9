//! Endpoints that are instances of one server.

#![cfg(not(target_family = "wasm"))]

mod common;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use common::{NAME, client_config, server_tls};
use sandquic::crypto::rustls::QuicServerConfig;
use sandquic::instance::{Instance, Key, Position};
use sandquic::{Endpoint, EndpointConfig, ServerConfig, UdpSocket, VarInt};

/// An instance's endpoint, on a port of its own here: which port takes no part in what is shared.
fn server(instance: Instance) -> (Endpoint, SocketAddr) {
    let mut config = EndpointConfig::new(instance.reset_key());
    config.cid_generator(move || Box::new(instance.connection_ids()));
    let crypto = QuicServerConfig::try_from(server_tls(sandquic_rustls::provider())).unwrap();
    let server = ServerConfig::new(Arc::new(crypto), instance.token_key());
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let address = socket.local_addr().unwrap();
    let runtime = sandquic::default_runtime().unwrap();
    (Endpoint::new(config, Some(server), socket, runtime).unwrap(), address)
}

fn instance(index: u16, key: u8) -> Instance {
    Instance::new(Position::new(index, 2).unwrap(), Key::new([key; 32]))
}

/// Connects, and says whether the server knew already that the client has its address.
async fn was_validated(client: &Endpoint, (server, address): &(Endpoint, SocketAddr)) -> bool {
    let server = server.clone();
    let connect = async {
        let connection = client.connect(*address, NAME).unwrap().await.unwrap();
        let mut stream = connection.accept_uni().await.unwrap();
        assert_eq!(stream.read_to_end(9).await.unwrap(), b"hello");
        sandquic::sleep(Duration::from_millis(20)).await;
        connection.close(VarInt::from_u32(0), b"");
    };
    let accept = async move {
        let incoming = server.accept().await.unwrap();
        let validated = incoming.remote_address_validated();
        let connection = incoming.await.unwrap();
        let mut stream = connection.open_uni().await.unwrap();
        stream.write_all(b"hello").await.unwrap();
        stream.finish().unwrap();
        connection.closed().await;
        validated
    };
    let accept = sandquic::spawn(accept);
    connect.await;
    accept.await.unwrap()
}

#[test]
fn a_token_of_one_instance_is_good_for_another_with_the_same_key() {
    sandquic::block_on(async {
        let servers = [server(instance(0, 1)), server(instance(1, 1)), server(instance(0, 2))];
        let mut client = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        client.set_default_client_config(client_config());
        assert!(!was_validated(&client, &servers[0]).await, "the first brings no token");
        assert!(was_validated(&client, &servers[1]).await);
        assert!(was_validated(&client, &servers[0]).await);
        assert!(!was_validated(&client, &servers[2]).await, "another key");
    });
}
