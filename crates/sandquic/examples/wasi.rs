//! A component that tries a driver for WASI: sockets over loopback, timers and tasks. Exit status 0 if all is
//! well, otherwise a panic says what is not.
//!
//! A program of its own, since the harness of `cargo test` is a synchronous WASI 0.2 command, which may not wait.
//! `cargo xtask test --only sandbox` runs it, among others. By hand:
//! `cargo build --release -p sandquic --example wasi --target wasm32-wasip2` makes it, and
//! `sandquic run --inherit-network target/wasm32-wasip2/release/examples/wasi.wasm` runs it. It is of WASI 0.3, or with
//! `--features wasip2` of 0.2.

#![cfg(target_os = "wasi")]
#![allow(missing_docs)]

#[path = "../tests/common/mod.rs"]
mod common;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use common::{NAME, client_config, pattern, server_config};
use sandquic::{
    Connection, ConnectionError, Endpoint, SocketOptions, TransportConfig, UdpSocket, VarInt, sleep, spawn,
};

sandquic::command!(run);

#[allow(clippy::print_stdout)]
async fn run(_arguments: Vec<String>) -> u8 {
    two_endpoints_in_one_component().await;
    println!("two endpoints in one component: ok");
    fifty_connections_at_once().await;
    println!("fifty connections at once: ok");
    sleep_takes_its_time().await;
    println!("sleep takes its time: ok");
    nobody_there_times_out().await;
    println!("nobody there times out: ok");
    the_client_moves_to_another_socket().await;
    println!("the client moves to another socket: ok");
    0
}

fn loopback() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

/// A server that answers each stream with what it brings, on any number of connections.
fn serve(options: &SocketOptions) -> Endpoint {
    let server = Endpoint::server_with(server_config(), loopback(), options).unwrap();
    let accepting = server.clone();
    spawn(async move {
        while let Some(incoming) = accepting.accept().await {
            spawn(async move {
                let Ok(connection) = incoming.await else { return };
                while let Ok((mut send, mut recv)) = connection.accept_bi().await {
                    let data = recv.read_to_end(8 << 20).await.unwrap();
                    send.write_all(&data).await.unwrap();
                }
            });
        }
    });
    server
}

fn connect(options: &SocketOptions) -> Endpoint {
    let mut client = Endpoint::client_with(loopback(), options).unwrap();
    client.set_default_client_config(client_config());
    client
}

async fn exchange(connection: &Connection, size: usize) {
    let data = pattern(size);
    let (mut send, mut recv) = connection.open_bi().await.unwrap();
    send.write_all(&data).await.unwrap();
    send.finish().unwrap();
    assert!(recv.read_to_end(size).await.unwrap() == data, "{size} bytes came back differently");
}

async fn two_endpoints_in_one_component() {
    let options = SocketOptions::new().recv_buffer(1 << 20).send_buffer(1 << 20);
    let server = serve(&options);
    let addr = server.local_addr().unwrap();
    assert_ne!(addr.port(), 0);
    assert!(server.socket_buffers().unwrap().recv > 0);
    let client = connect(&options);
    let connection = client.connect(addr, NAME).unwrap().await.unwrap();
    for size in [0, 1, 4 << 20] {
        exchange(&connection, size).await;
    }
    connection.close(VarInt::from_u32(1), b"done");
    client.wait_idle().await;
    server.wait_idle().await;
}

async fn fifty_connections_at_once() {
    let options = SocketOptions::new().recv_buffer(1 << 20);
    let server = serve(&options);
    let client = connect(&options);
    let mut tasks = Vec::new();
    for _ in 0..50 {
        let connecting = client.connect(server.local_addr().unwrap(), NAME).unwrap();
        tasks.push(spawn(async move { exchange(&connecting.await.unwrap(), 50_000).await }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

async fn sleep_takes_its_time() {
    let start = Instant::now();
    let longer = spawn(async {
        sleep(Duration::from_millis(60)).await;
        2
    });
    sleep(Duration::from_millis(30)).await;
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(30), "{took:?}");
    assert_eq!(longer.await.unwrap(), 2);
    assert!(start.elapsed() >= Duration::from_millis(60));
}

async fn nobody_there_times_out() {
    // Bound, so that nothing refuses, but nobody reads.
    let silent = UdpSocket::bind(loopback()).unwrap();
    let mut config = client_config();
    let mut transport = TransportConfig::default();
    transport.max_idle_timeout(Some(Duration::from_millis(300).try_into().unwrap()));
    config.transport_config(transport.into());
    let client = Endpoint::client(loopback()).unwrap();
    let start = Instant::now();
    let connecting = client.connect_with(config, silent.local_addr().unwrap(), NAME).unwrap();
    assert_eq!(connecting.await.unwrap_err(), ConnectionError::TimedOut);
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(300) && took < Duration::from_secs(20), "{took:?}");
}

async fn the_client_moves_to_another_socket() {
    let options = SocketOptions::new();
    let server = serve(&options);
    let client = connect(&options);
    let connection = client.connect(server.local_addr().unwrap(), NAME).unwrap().await.unwrap();
    exchange(&connection, 100_000).await;
    let before = client.local_addr().unwrap();
    client.rebind(UdpSocket::bind(loopback()).unwrap()).unwrap();
    assert_ne!(client.local_addr().unwrap(), before);
    exchange(&connection, 100_000).await;
}
