//! Our endpoint and stock quinn, on *ring* and tokio, over real sockets, each as client and as server.
//!
//! Ours is used from tokio too: its driver runs in this crate's own thread, its futures in tokio's.

#![cfg(not(target_family = "wasm"))]

mod common;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use common::{NAME, client_config, client_tls, pattern, server_config, server_tls};
use rustls::crypto::CryptoProvider;
use sandquic::crypto::rustls::{QuicClientConfig, QuicServerConfig};

const MIB: usize = 1 << 20;

fn loopback() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

fn ring() -> CryptoProvider {
    rustls::crypto::ring::default_provider()
}

fn ours(mut provider: CryptoProvider, suite: rustls::CipherSuite) -> CryptoProvider {
    // Initial packets need the first suite, so it stays at the end of the preferences.
    provider.cipher_suites.sort_by_key(|offered| offered.suite() != suite);
    provider
}

fn stock_client_config(provider: CryptoProvider) -> quinn::ClientConfig {
    let crypto = quinn::crypto::rustls::QuicClientConfig::try_from(client_tls(provider)).unwrap();
    quinn::ClientConfig::new(Arc::new(crypto))
}

fn stock_server_config(provider: CryptoProvider) -> quinn::ServerConfig {
    let crypto = quinn::crypto::rustls::QuicServerConfig::try_from(server_tls(provider)).unwrap();
    quinn::ServerConfig::with_crypto(Arc::new(crypto))
}

fn stock_server() -> (quinn::Endpoint, SocketAddr) {
    let endpoint = quinn::Endpoint::server(stock_server_config(ring()), loopback()).unwrap();
    let addr = endpoint.local_addr().unwrap();
    tokio::spawn({
        let endpoint = endpoint.clone();
        async move {
            while let Some(incoming) = endpoint.accept().await {
                tokio::spawn(async move {
                    let Ok(connection) = incoming.await else { return };
                    while let Ok((mut send, mut recv)) = connection.accept_bi().await {
                        tokio::spawn(async move {
                            while let Ok(Some(chunk)) = recv.read_chunk(usize::MAX, true).await {
                                if send.write_chunk(chunk.bytes).await.is_err() {
                                    return;
                                }
                            }
                        });
                    }
                });
            }
        }
    });
    (endpoint, addr)
}

fn our_server() -> (sandquic::Endpoint, SocketAddr) {
    let endpoint = sandquic::Endpoint::server(server_config(), loopback()).unwrap();
    let addr = endpoint.local_addr().unwrap();
    tokio::spawn({
        let endpoint = endpoint.clone();
        async move {
            while let Some(incoming) = endpoint.accept().await {
                tokio::spawn(async move {
                    let Ok(connection) = incoming.await else { return };
                    while let Ok((mut send, mut recv)) = connection.accept_bi().await {
                        tokio::spawn(async move {
                            while let Ok(Some(chunk)) = recv.read_chunk(usize::MAX, true).await {
                                if send.write_chunk(chunk.bytes).await.is_err() {
                                    return;
                                }
                            }
                        });
                    }
                });
            }
        }
    });
    (endpoint, addr)
}

/// Send on a new stream and check that the same comes back; for quinn's types and ours alike.
macro_rules! exchange {
    ($connection:expr, $size:expr) => {{
        let data = pattern($size);
        let (mut send, mut recv) = $connection.open_bi().await.unwrap();
        let sent = data.clone();
        let sender = tokio::spawn(async move {
            send.write_all(&sent).await.unwrap();
            send.finish().unwrap();
            send
        });
        let back = recv.read_to_end(data.len()).await.unwrap();
        assert!(back == data, "{} bytes came back as {} others", data.len(), back.len());
        sender.await.unwrap();
    }};
}

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(300), future).await.expect("in time") })
}

#[test]
fn our_client_at_a_stock_server() {
    run(async {
        let (_server, addr) = stock_server();
        let mut client = sandquic::Endpoint::client(loopback()).unwrap();
        client.set_default_client_config(client_config());
        let connection = client.connect(addr, NAME).unwrap().await.unwrap();
        for size in [0, 1, 100 * MIB] {
            exchange!(connection, size);
        }
        connection.close(sandquic::VarInt::from_u32(0), b"done");
        client.wait_idle().await;
    });
}

#[test]
fn a_stock_client_at_our_server() {
    run(async {
        let (server, addr) = our_server();
        let mut client = quinn::Endpoint::client(loopback()).unwrap();
        client.set_default_client_config(stock_client_config(ring()));
        let connection = client.connect(addr, NAME).unwrap().await.unwrap();
        for size in [0, 1, 100 * MIB] {
            exchange!(connection, size);
        }
        connection.close(quinn::VarInt::from_u32(0), b"done");
        client.wait_idle().await;
        server.close(sandquic::VarInt::from_u32(0), b"");
        server.wait_idle().await;
    });
}

#[test]
fn every_suite() {
    run(async {
        let (_stock, stock) = stock_server();
        let (_ours, our) = our_server();
        for suite in [
            rustls::CipherSuite::TLS13_AES_128_GCM_SHA256,
            rustls::CipherSuite::TLS13_AES_256_GCM_SHA384,
            rustls::CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
        ] {
            let tls = client_tls(ours(sandquic_rustls::provider(), suite));
            let config = sandquic::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()));
            let client = sandquic::Endpoint::client(loopback()).unwrap();
            let connection = client.connect_with(config, stock, NAME).unwrap().await.unwrap();
            exchange!(connection, MIB);
            connection.force_key_update();
            exchange!(connection, MIB);

            let client = quinn::Endpoint::client(loopback()).unwrap();
            let config = stock_client_config(ours(ring(), suite));
            let connection = client.connect_with(config, our, NAME).unwrap().await.unwrap();
            exchange!(connection, MIB);
            connection.force_key_update();
            exchange!(connection, MIB);
        }
    });
}

#[test]
fn fifty_connections_at_once_each_way() {
    run(async {
        let (_stock, stock) = stock_server();
        let (_ours, our) = our_server();
        let client = sandquic::Endpoint::client(loopback()).unwrap();
        let stock_client = quinn::Endpoint::client(loopback()).unwrap();
        let (config, stock_config) = (client_config(), stock_client_config(ring()));
        let mut tasks = Vec::new();
        for _ in 0..50 {
            let connecting = client.connect_with(config.clone(), stock, NAME).unwrap();
            tasks.push(tokio::spawn(async move {
                let connection = connecting.await.unwrap();
                exchange!(connection, 200_000);
            }));
            let connecting = stock_client.connect_with(stock_config.clone(), our, NAME).unwrap();
            tasks.push(tokio::spawn(async move {
                let connection = connecting.await.unwrap();
                exchange!(connection, 200_000);
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
    });
}

#[test]
fn retry_each_way() {
    run(async {
        let stock = quinn::Endpoint::server(stock_server_config(ring()), loopback()).unwrap();
        let addr = stock.local_addr().unwrap();
        let accepting = tokio::spawn(async move {
            stock.accept().await.unwrap().retry().unwrap();
            let connection = stock.accept().await.unwrap().await.unwrap();
            connection.closed().await
        });
        let client = sandquic::Endpoint::client(loopback()).unwrap();
        let connection = client.connect_with(client_config(), addr, NAME).unwrap().await.unwrap();
        connection.close(sandquic::VarInt::from_u32(42), b"bye");
        let quinn::ConnectionError::ApplicationClosed(close) = accepting.await.unwrap() else { panic!() };
        assert_eq!((close.error_code.into_inner(), &close.reason[..]), (42, &b"bye"[..]));

        let ours = sandquic::Endpoint::server(server_config(), loopback()).unwrap();
        let addr = ours.local_addr().unwrap();
        let accepting = tokio::spawn(async move {
            ours.accept().await.unwrap().retry().unwrap();
            let connection = ours.accept().await.unwrap().await.unwrap();
            connection.closed().await
        });
        let client = quinn::Endpoint::client(loopback()).unwrap();
        let connection = client.connect_with(stock_client_config(ring()), addr, NAME).unwrap().await.unwrap();
        connection.close(quinn::VarInt::from_u32(43), b"bye");
        let sandquic::ConnectionError::ApplicationClosed(close) = accepting.await.unwrap() else { panic!() };
        assert_eq!(close.error_code.into_inner(), 43);
    });
}

#[test]
fn early_data_each_way() {
    run(async {
        let (_stock, addr) = stock_server();
        let client = sandquic::Endpoint::client(loopback()).unwrap();
        let config = client_config();
        let connection = client.connect_with(config.clone(), addr, NAME).unwrap().await.unwrap();
        exchange!(connection, 10);
        let (connection, accepted) = client.connect_with(config, addr, NAME).unwrap().into_0rtt().unwrap();
        exchange!(connection, 1000);
        assert!(accepted.await);

        let (_ours, addr) = our_server();
        let client = quinn::Endpoint::client(loopback()).unwrap();
        let config = stock_client_config(ring());
        let connection = client.connect_with(config.clone(), addr, NAME).unwrap().await.unwrap();
        exchange!(connection, 10);
        let Ok((connection, accepted)) = client.connect_with(config, addr, NAME).unwrap().into_0rtt() else {
            panic!("quinn has a ticket of ours");
        };
        exchange!(connection, 1000);
        assert!(accepted.await);
    });
}

#[test]
fn datagrams_and_keying_material_agree() {
    run(async {
        let stock = quinn::Endpoint::server(stock_server_config(ring()), loopback()).unwrap();
        let addr = stock.local_addr().unwrap();
        let accepting = tokio::spawn(async move {
            let connection = stock.accept().await.unwrap().await.unwrap();
            let datagram = connection.read_datagram().await.unwrap();
            connection.send_datagram(datagram).unwrap();
            let mut material = [0; 32];
            connection.export_keying_material(&mut material, b"label", b"context").unwrap();
            connection.closed().await;
            material
        });
        let client = sandquic::Endpoint::client(loopback()).unwrap();
        let connection = client.connect_with(client_config(), addr, NAME).unwrap().await.unwrap();
        connection.send_datagram(b"one".as_slice().into()).unwrap();
        assert_eq!(connection.read_datagram().await.unwrap(), "one");
        let mut material = [0; 32];
        connection.export_keying_material(&mut material, b"label", b"context").unwrap();
        connection.close(sandquic::VarInt::from_u32(0), b"");
        assert_eq!(accepting.await.unwrap(), material);
    });
}

#[test]
fn a_stock_peer_that_disappears() {
    // Its runtime is torn down, so nothing is said any more.
    let gone = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (endpoint, addr) = gone.block_on(async { stock_server() });
    run(async move {
        let mut config = client_config();
        let mut transport = sandquic::TransportConfig::default();
        transport.max_idle_timeout(Some(Duration::from_millis(500).try_into().unwrap()));
        config.transport_config(Arc::new(transport));
        let client = sandquic::Endpoint::client(loopback()).unwrap();
        let connection = client.connect_with(config, addr, NAME).unwrap().await.unwrap();
        exchange!(connection, 1000);
        gone.shutdown_background();
        std::mem::forget(endpoint);
        let (mut send, mut recv) = connection.open_bi().await.unwrap();
        let _ = send.write_all(&pattern(5000)).await;
        let error = recv.read_to_end(5000).await.unwrap_err();
        let lost = sandquic::ReadError::ConnectionLost(sandquic::ConnectionError::TimedOut);
        assert_eq!(error, sandquic::ReadToEndError::Read(lost));
        assert_eq!(connection.closed().await, sandquic::ConnectionError::TimedOut);
    });
}

#[test]
fn the_client_moves_to_another_socket() {
    run(async {
        let (_stock, addr) = stock_server();
        let client = sandquic::Endpoint::client(loopback()).unwrap();
        let connection = client.connect_with(client_config(), addr, NAME).unwrap().await.unwrap();
        exchange!(connection, MIB);
        let before = client.local_addr().unwrap();
        client.rebind(std::net::UdpSocket::bind(loopback()).unwrap()).unwrap();
        assert_ne!(client.local_addr().unwrap(), before);
        exchange!(connection, MIB);
    });
}

#[test]
fn our_server_takes_any_provider() {
    run(async {
        let tls = server_tls(ring());
        let config = sandquic::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls).unwrap()));
        let server = sandquic::Endpoint::server(config, loopback()).unwrap();
        let addr = server.local_addr().unwrap();
        let accepting = tokio::spawn(async move { server.accept().await.unwrap().await.unwrap() });
        let client = sandquic::Endpoint::client(loopback()).unwrap();
        let connection = client.connect_with(client_config(), addr, NAME).unwrap().await.unwrap();
        assert_eq!(accepting.await.unwrap().remote_address().ip(), connection.remote_address().ip());
    });
}
