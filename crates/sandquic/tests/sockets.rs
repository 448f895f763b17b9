//! Real sockets over loopback, among ourselves: natively, and inside the sandbox with the driver for WASI 0.2. The
//! harness is a synchronous program, in which WASI 0.3 may not wait; `examples/wasi.rs` is for both.

#![cfg(any(not(target_family = "wasm"), feature = "wasip2"))]

mod common;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use common::{NAME, client_config, pattern, server_config};
use sandquic::{Connection, Endpoint, SocketOptions, VarInt, block_on, sleep, spawn};

const LOOPBACK: &str = "127.0.0.1:0";

fn loopback() -> SocketAddr {
    LOOPBACK.parse().unwrap()
}

/// A server that answers each bidirectional stream with what it read.
async fn echo(endpoint: Endpoint) {
    while let Some(incoming) = endpoint.accept().await {
        spawn(async move {
            let Ok(connection) = incoming.await else { return };
            while let Ok((mut send, mut recv)) = connection.accept_bi().await {
                spawn(async move {
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

/// Send `data` and check that it comes back.
async fn exchange(connection: &Connection, data: &[u8]) {
    let (mut send, mut recv) = connection.open_bi().await.unwrap();
    let sent = data.to_vec();
    let sender = spawn(async move {
        send.write_all(&sent).await.unwrap();
        send.finish().unwrap();
    });
    let back = recv.read_to_end(data.len()).await.unwrap();
    assert!(back == data, "{} bytes came back as {} others", data.len(), back.len());
    sender.await.unwrap();
}

fn transfer(options: &SocketOptions, sizes: &[usize]) {
    block_on(async {
        let server = Endpoint::server_with(server_config(), loopback(), options).unwrap();
        let addr = server.local_addr().unwrap();
        spawn(echo(server.clone()));
        let mut client = Endpoint::client_with(loopback(), options).unwrap();
        client.set_default_client_config(client_config());
        let connection = client.connect(addr, NAME).unwrap().await.unwrap();
        for &size in sizes {
            exchange(&connection, &pattern(size)).await;
        }
        connection.close(VarInt::from_u32(7), b"done");
        client.wait_idle().await;
        server.close(VarInt::from_u32(0), b"");
        server.wait_idle().await;
    });
}

#[test]
fn with_offloads() {
    transfer(&SocketOptions::new(), &[0, 1, 65_536, 16 << 20]);
}

#[test]
fn with_plain_datagrams() {
    let options = SocketOptions::new().offloads(false).recv_buffer(1 << 20).send_buffer(1 << 20);
    transfer(&options, &[0, 1, 65_536, 16 << 20]);
}

#[test]
fn buffers_are_raised_and_reported() {
    let options = SocketOptions::new().recv_buffer(150_000).send_buffer(140_000);
    let endpoint = Endpoint::client_with(loopback(), &options).unwrap();
    let buffers = endpoint.socket_buffers().unwrap();
    assert!(buffers.recv >= 150_000, "{buffers:?}");
    assert!(buffers.send >= 140_000, "{buffers:?}");
}

#[test]
fn a_peer_that_never_answers_times_out() {
    // Bound, so nothing refuses, but nobody reads.
    let silent = std::net::UdpSocket::bind(LOOPBACK).unwrap();
    let addr = silent.local_addr().unwrap();
    let error = block_on(async move {
        let endpoint = Endpoint::client(loopback()).unwrap();
        let mut config = client_config();
        let mut transport = sandquic::TransportConfig::default();
        transport.max_idle_timeout(Some(Duration::from_millis(300).try_into().unwrap()));
        config.transport_config(transport.into());
        endpoint.connect_with(config, addr, NAME).unwrap().await.unwrap_err()
    });
    assert_eq!(error, sandquic::ConnectionError::TimedOut);
}

#[test]
fn a_busy_task_makes_nobody_late() {
    let turns = block_on(async {
        let turns = Arc::new(AtomicU32::new(0));
        let counter = turns.clone();
        spawn(std::future::poll_fn::<(), _>(move |cx| {
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(1) {}
            counter.fetch_add(1, Ordering::Relaxed);
            cx.waker().wake_by_ref();
            Poll::Pending
        }));
        sleep(Duration::from_millis(5)).await;
        turns.load(Ordering::Relaxed)
    });
    assert!(turns < 100, "{turns} turns of a millisecond in a sleep of five");
}
