//! A component that tries the sockets of the WASI 0.3 driver alone, without QUIC: what arrives is what was sent, whatever
//! its size, and the driver allocates nothing for a datagram. Exit status 0 if all is well, otherwise a panic says what is
//! not. Built and run as `wasi.rs` beside it.

#![cfg(target_os = "wasi")]
#![allow(missing_docs)]

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use sandquic::udp::{Received, Transmit};
use sandquic::{AsyncUdpSocket, SocketOptions, UdpSocket, sleep};

sandquic::command!(run);

#[allow(clippy::print_stdout)]
async fn run(_arguments: Vec<String>) -> u8 {
    every_size_arrives_whole("127.0.0.1:0").await;
    every_size_arrives_whole("[::1]:0").await;
    println!("every size arrives whole: ok");
    a_datagram_costs_no_allocation().await;
    println!("a datagram costs no allocation: ok");
    kept_datagrams_keep_their_bytes().await;
    println!("kept datagrams keep their bytes: ok");
    segments_become_datagrams().await;
    println!("segments become datagrams: ok");
    too_much_is_an_error_of_that_datagram_alone().await;
    println!("too much is an error of that datagram alone: ok");
    a_socket_that_waits_can_be_dropped().await;
    println!("a socket that waits can be dropped: ok");
    0
}

type Socket = Arc<dyn AsyncUdpSocket>;

fn socket(addr: &str) -> (Socket, SocketAddr) {
    let options = SocketOptions::new().recv_buffer(2 << 20).send_buffer(2 << 20);
    let socket = UdpSocket::bind_with(addr.parse().unwrap(), &options).unwrap();
    let addr = socket.local_addr().unwrap();
    (socket.into_abstract(), addr)
}

/// Sends, and returns how many blocks of memory that took.
async fn send(socket: &Socket, to: SocketAddr, contents: &[u8], segment_size: Option<usize>) -> u64 {
    let transmit = Transmit { destination: to, ecn: None, contents, segment_size, src_ip: None };
    let mut blocks = 0;
    poll_fn(|cx| {
        let mut sent = Poll::Pending;
        blocks += allocation_counter::measure(|| sent = socket.poll_send(cx, &transmit)).count_total;
        sent
    })
    .await
    .unwrap();
    blocks
}

/// Receives what is there, at least one datagram, and returns how many blocks of memory that took, and how often it had to
/// wait.
async fn receive(socket: &Socket, out: &mut Vec<Received>) -> io::Result<(u64, u32)> {
    let (mut blocks, mut waits) = (0, 0);
    poll_fn(|cx| {
        let mut received = Poll::Pending;
        let took = allocation_counter::measure(|| received = socket.poll_recv(cx, 64, out)).count_total;
        match received {
            Poll::Ready(Ok(())) => blocks += took,
            _ => waits += 1,
        }
        received
    })
    .await?;
    Ok((blocks, waits))
}

fn contents(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 + seed * 7 + 1) as u8).collect()
}

async fn every_size_arrives_whole(addr: &str) {
    let (from, sender) = socket(addr);
    let (to, receiver) = socket(addr);
    // Around the room that is left in a block, beyond a block, and the largest there is.
    let sizes = (0..40)
        .map(|i| i * 37 + 1)
        .chain([1_452, 2_047, 2_048, 2_049, 9_000, 32_767, 32_768, 32_769, 65_507]);
    let mut received = Vec::new();
    for (i, size) in sizes.enumerate() {
        let sent = contents(size, i);
        send(&from, receiver, &sent, None).await;
        while received.is_empty() {
            receive(&to, &mut received).await.unwrap();
        }
        assert_eq!(received.len(), 1, "{size} bytes");
        let datagram = received.remove(0);
        assert_eq!(datagram.addr, sender);
        assert!(datagram.contents[..] == sent[..], "{size} bytes came as {}", datagram.contents.len());
    }
}

async fn a_datagram_costs_no_allocation() {
    const BURST: usize = 40;
    let (from, _) = socket("127.0.0.1:0");
    let (to, receiver) = socket("127.0.0.1:0");
    let bursts: Vec<u8> = contents(BURST * 1_452, 3);
    let mut received = Vec::new();
    let (mut datagrams, mut sending, mut receiving, mut waits) = (0, 0, 0, 0);
    for burst in 0..250 {
        let sent = send(&from, receiver, &bursts, Some(1_452)).await;
        let mut arrived = 0;
        while arrived < BURST {
            let (blocks, waited) = receive(&to, &mut received).await.unwrap();
            // The first bursts make the pool, the first wait makes what waits.
            if burst >= 10 {
                receiving += blocks;
                waits += waited;
            }
            arrived += received.len();
            received.clear();
        }
        if burst >= 10 {
            datagrams += BURST;
            sending += sent;
        }
    }
    assert_eq!(sending, 0, "blocks of memory to send {datagrams} datagrams");
    assert_eq!(receiving, 0, "blocks of memory to receive {datagrams} datagrams, with {waits} waits");
}

async fn kept_datagrams_keep_their_bytes() {
    let (from, _) = socket("127.0.0.1:0");
    let (to, receiver) = socket("127.0.0.1:0");
    // More than the pool has blocks for.
    let mut kept = Vec::new();
    for i in 0..3_000 {
        send(&from, receiver, &contents(1_200, i), None).await;
        let before = kept.len();
        while kept.len() == before {
            receive(&to, &mut kept).await.unwrap();
        }
    }
    for (i, datagram) in kept.iter().enumerate() {
        assert!(datagram.contents[..] == contents(1_200, i)[..], "datagram {i} was written over");
    }
}

async fn segments_become_datagrams() {
    let (from, _) = socket("127.0.0.1:0");
    let (to, receiver) = socket("127.0.0.1:0");
    let sent = contents(10_250, 5);
    send(&from, receiver, &sent, Some(1_200)).await;
    let mut received = Vec::new();
    while received.len() < 9 {
        receive(&to, &mut received).await.unwrap();
    }
    let sizes: Vec<usize> = received.iter().map(|datagram| datagram.contents.len()).collect();
    assert_eq!(sizes, [1_200, 1_200, 1_200, 1_200, 1_200, 1_200, 1_200, 1_200, 650]);
    assert_eq!(
        received.iter().flat_map(|datagram| &datagram.contents[..]).copied().collect::<Vec<_>>(),
        sent
    );
}

async fn too_much_is_an_error_of_that_datagram_alone() {
    let (from, _) = socket("127.0.0.1:0");
    let (to, receiver) = socket("127.0.0.1:0");
    // Lost, as on the way.
    send(&from, receiver, &contents(65_508, 0), None).await;
    send(&from, receiver, &contents(100, 1), None).await;
    let mut received = Vec::new();
    receive(&to, &mut received).await.unwrap();
    assert_eq!(received.remove(0).contents[..], contents(100, 1));
}

async fn a_socket_that_waits_can_be_dropped() {
    let (to, receiver) = socket("127.0.0.1:0");
    let mut received = Vec::new();
    // It waits within a task of the component model, and with another waker each time.
    for _ in 0..3 {
        poll_fn(|cx| {
            assert!(to.poll_recv(cx, 1, &mut received).is_pending());
            Poll::Ready(())
        })
        .await;
    }
    drop(to);
    // The port is free again, and what the old socket waited for comes to the new one.
    let (to, _) = socket(&receiver.to_string());
    let (from, _) = socket("127.0.0.1:0");
    send(&from, receiver, b"hello", None).await;
    sleep(Duration::from_millis(5)).await;
    receive(&to, &mut received).await.unwrap();
    assert_eq!(received[0].contents[..], *b"hello");
}
