//! Streams: many, reset, stopped, out of order, with priorities and limits.

use std::pin::Pin;
use std::task::Poll;

use bytes::Bytes;
use sandquic::{ConnectionError, Dir, ReadError, ReadExactError, ReadToEndError, Side, VarInt, WriteError};

use super::common::pattern;
use super::*;

#[test]
fn a_thousand_at_once() {
    for link in [Link::CLEAN, Link::BAD] {
        let config = transport(|config| {
            config.max_concurrent_bidi_streams(VarInt::from_u32(1000));
        });
        let net = Net::with_transport(20, link, config);
        net.world.run(async {
            let (client, server) = net.connect().await;
            let world = net.world.clone();
            net.world.spawn(async move {
                while let Ok((mut send, mut recv)) = server.accept_bi().await {
                    world.spawn(async move {
                        let data = recv.read_to_end(10_000).await.unwrap();
                        send.write_all(&data).await.unwrap();
                    });
                }
            });
            // All are open before any is used.
            let mut streams = Vec::new();
            for _ in 0..1000 {
                streams.push(client.open_bi().await.unwrap());
            }
            let full = std::future::poll_fn(|cx| {
                let mut open = client.open_bi();
                Poll::Ready(Pin::new(&mut open).poll(cx).is_pending())
            });
            assert!(full.await, "the limit is reached");
            let exchanges: Vec<_> = streams
                .into_iter()
                .enumerate()
                .map(|(index, (mut send, mut recv))| {
                    net.world.spawn(async move {
                        let data = pattern(500 + index);
                        send.write_all(&data).await.unwrap();
                        send.finish().unwrap();
                        assert!(recv.read_to_end(10_000).await.unwrap() == data);
                    })
                })
                .collect();
            for exchange in exchanges {
                exchange.await;
            }
            // Their places are given back.
            client.open_bi().await.unwrap();
        });
    }
}

#[test]
fn more_than_the_limit_wait_their_turn() {
    let config = transport(|config| {
        config.max_concurrent_uni_streams(VarInt::from_u32(3));
    });
    let net = Net::with_transport(21, Link::CLEAN, config);
    net.world.run(async {
        let (client, server) = net.connect().await;
        let transfers: Vec<_> =
            (0..20).map(|index| net.send(&client, &server, vec![9; 100 + index])).collect();
        // Streams are accepted in the order in which they were opened, by tasks that may each expect another one.
        drop(transfers);
        let (client, server) = net.connect().await;
        let sender = client.clone();
        let senders: Vec<_> = (0..20u8)
            .map(|index| {
                let client = sender.clone();
                net.world.spawn(async move { client.open_uni().await.unwrap().write_all(&[index; 50]).await })
            })
            .collect();
        let mut sum = 0;
        for _ in 0..20 {
            let data = server.accept_uni().await.unwrap().read_to_end(50).await.unwrap();
            assert_eq!(data.len(), 50);
            sum += u32::from(data[0]);
        }
        assert_eq!(sum, (0..20).sum::<u32>());
        for sender in senders {
            sender.await.unwrap();
        }
        // A higher limit is granted at once.
        client.set_max_concurrent_uni_streams(VarInt::from_u32(10));
        net.world.sleep(ms(50)).await;
        for _ in 0..10 {
            server.open_uni().await.unwrap();
        }
    });
}

#[test]
fn numbers_and_sides() {
    let net = Net::new(22, Link::CLEAN);
    net.world.run(async {
        let (client, server) = net.connect().await;
        assert_eq!((client.side(), server.side()), (Side::Client, Side::Server));
        let mut uni = client.open_uni().await.unwrap();
        let (mut bi, recv) = client.open_bi().await.unwrap();
        assert_eq!((uni.id().dir(), uni.id().initiator(), uni.id().index()), (Dir::Uni, Side::Client, 0));
        assert_eq!(bi.id(), recv.id());
        uni.write_all(b"u").await.unwrap();
        bi.write_all(b"b").await.unwrap();
        assert_eq!(server.accept_uni().await.unwrap().id(), uni.id());
        let (_, at_server) = server.accept_bi().await.unwrap();
        assert_eq!(at_server.id(), bi.id());
        assert!(!at_server.is_0rtt());
    });
}

#[test]
fn reset_is_seen_with_its_code() {
    let net = Net::new(23, Link::BAD);
    net.world.run(async {
        let (client, server) = net.connect().await;
        let mut send = client.open_uni().await.unwrap();
        send.write_all(&[1; 5000]).await.unwrap();
        let mut recv = server.accept_uni().await.unwrap();
        assert_eq!(recv.read(&mut [0; 100]).await, Ok(Some(100)));
        send.reset(VarInt::from_u32(77)).unwrap();
        send.reset(VarInt::from_u32(78)).unwrap_err();
        assert_eq!(send.write(b"more").await, Err(WriteError::ClosedStream));
        assert_eq!(recv.received_reset().await, Ok(Some(VarInt::from_u32(77))));
        assert_eq!(recv.read(&mut [0; 100]).await, Err(ReadError::Reset(VarInt::from_u32(77))));
        assert_eq!(send.stopped().await, Ok(None));

        // A reader that waits is woken by it.
        let mut send = client.open_uni().await.unwrap();
        send.write_all(b"x").await.unwrap();
        let mut recv = server.accept_uni().await.unwrap();
        let reading = net.world.spawn(async move { recv.read_to_end(100).await });
        net.world.sleep(ms(100)).await;
        send.reset(VarInt::from_u32(1)).unwrap();
        assert_eq!(reading.await, Err(ReadToEndError::Read(ReadError::Reset(VarInt::from_u32(1)))));
    });
}

#[test]
fn reset_ends_the_wait_for_the_end() {
    let net = Net::new(37, Link::CLEAN);
    net.world.run(async {
        let (client, _server) = net.connect().await;
        let mut send = client.open_uni().await.unwrap();
        send.write_all(b"x").await.unwrap();
        let (one, other) = (net.world.spawn(send.stopped()), net.world.spawn(send.stopped()));
        net.world.sleep(ms(100)).await;
        let start = net.world.now();
        send.reset(VarInt::from_u32(1)).unwrap();
        // Neither now nor later does it wait for the peer to acknowledge that.
        assert_eq!((one.await, other.await, send.stopped().await), (Ok(None), Ok(None), Ok(None)));
        assert_eq!(net.world.now(), start);
    });
}

#[test]
fn stop_is_seen_with_its_code() {
    let net = Net::new(24, Link::BAD);
    net.world.run(async {
        let (client, server) = net.connect().await;
        let mut send = client.open_uni().await.unwrap();
        send.write_all(b"begin").await.unwrap();
        let mut recv = server.accept_uni().await.unwrap();
        // A writer that waits for flow control is woken by it.
        let stopped = send.stopped();
        let writing = net.world.spawn(async move { (send.write_all(&vec![0; 50 << 20]).await, send) });
        net.world.sleep(ms(500)).await;
        recv.stop(VarInt::from_u32(5)).unwrap();
        recv.stop(VarInt::from_u32(6)).unwrap_err();
        assert_eq!(recv.read(&mut [0; 1]).await, Ok(None));
        let (result, mut send) = writing.await;
        assert_eq!(result, Err(WriteError::Stopped(VarInt::from_u32(5))));
        assert_eq!(stopped.await, Ok(Some(VarInt::from_u32(5))));
        send.finish().unwrap();

        // Dropping the receiving half stops it with code 0.
        let mut send = client.open_uni().await.unwrap();
        send.write_all(b"begin").await.unwrap();
        drop(server.accept_uni().await.unwrap());
        assert_eq!(send.stopped().await, Ok(Some(VarInt::from_u32(0))));
    });
}

#[test]
fn flow_control_holds_the_sender_back() {
    const STREAM: u64 = 20_000;
    let config = transport(|config| {
        config.stream_receive_window(VarInt::from_u64(STREAM).unwrap());
        config.receive_window(VarInt::from_u64(3 * STREAM).unwrap());
    });
    let net = Net::with_transport(25, Link::BAD, config);
    net.world.run(async {
        let (client, server) = net.connect().await;
        let total = 1 << 20;
        let data = pattern(total);
        let mut writers = Vec::new();
        for _ in 0..5 {
            let (client, data) = (client.clone(), data.clone());
            writers.push(net.world.spawn(async move {
                let mut stream = client.open_uni().await.unwrap();
                stream.write_all(&data).await.unwrap();
            }));
        }
        net.world.sleep(Duration::from_secs(5)).await;
        // Nobody reads: each stream's window is full, or the connection's is.
        let (sent, _) = net.world.sent(client_addr());
        assert!(sent < 3 * STREAM + 40_000, "{sent} bytes were sent into windows of {}", 3 * STREAM);
        let mut readers = Vec::new();
        for _ in 0..5 {
            let mut stream = server.accept_uni().await.unwrap();
            let data = data.clone();
            readers.push(net.world.spawn(async move {
                let mut received = Vec::new();
                let mut buffer = [0; 4096];
                while let Some(read) = stream.read(&mut buffer).await.unwrap() {
                    received.extend_from_slice(&buffer[..read]);
                }
                assert!(received == data);
            }));
        }
        for task in writers.into_iter().chain(readers) {
            task.await;
        }
    });
}

#[test]
fn out_of_order_pieces_cover_the_stream() {
    let net = Net::new(26, link(|link| (link.loss, link.jitter) = (100, ms(5))));
    net.world.run(async {
        let (client, server) = net.connect().await;
        let data = pattern(2 << 20);
        let mut send = client.open_uni().await.unwrap();
        let sent = data.clone();
        let sending = net.world.spawn(async move {
            send.write_chunk(Bytes::from(sent)).await.unwrap();
            send.finish().unwrap();
            send
        });
        let mut recv = server.accept_uni().await.unwrap();
        let mut received = vec![0; data.len()];
        let (mut next, mut out_of_order) = (0, 0);
        while let Some(chunk) = recv.read_chunk(usize::MAX, false).await.unwrap() {
            out_of_order += u32::from(chunk.offset != next);
            next = chunk.offset + chunk.bytes.len() as u64;
            received[chunk.offset as usize..next as usize].copy_from_slice(&chunk.bytes);
        }
        assert!(received == data);
        assert!(out_of_order > 0, "with such loss something comes early");
        sending.await;
    });
}

#[test]
fn order_cannot_be_had_back() {
    let net = Net::new(27, Link::CLEAN);
    net.world.run(async {
        let (client, server) = net.connect().await;
        let mut send = client.open_uni().await.unwrap();
        send.write_all(b"hello").await.unwrap();
        let mut recv = server.accept_uni().await.unwrap();
        assert_eq!(recv.read_chunk(2, false).await.unwrap().unwrap().bytes, "he");
        assert_eq!(recv.read(&mut [0; 2]).await, Err(ReadError::IllegalOrderedRead));
    });
}

#[test]
fn every_way_to_read_and_write() {
    let net = Net::new(28, Link::BAD);
    net.world.run(async {
        let (client, server) = net.connect().await;
        let mut send = client.open_uni().await.unwrap();
        assert_eq!(send.write(b"").await, Ok(0));
        assert_eq!(send.write(b"one").await, Ok(3));
        let mut pieces = [Bytes::from_static(b"two"), Bytes::from_static(b"three")];
        let written = send.write_chunks(&mut pieces).await.unwrap();
        assert_eq!((written.bytes, written.chunks), (8, 2));
        send.write_chunk(Bytes::from_static(b"four")).await.unwrap();
        let mut pieces = [Bytes::from_static(b"five"), Bytes::from_static(b"six")];
        send.write_all_chunks(&mut pieces).await.unwrap();
        send.finish().unwrap();
        send.finish().unwrap_err();

        let mut recv = server.accept_uni().await.unwrap();
        assert_eq!(recv.read(&mut []).await, Ok(Some(0)));
        let mut three = [0; 3];
        recv.read_exact(&mut three).await.unwrap();
        assert_eq!(&three, b"one");
        let chunk = recv.read_chunk(3, true).await.unwrap().unwrap();
        assert_eq!((chunk.offset, &chunk.bytes[..]), (3, &b"two"[..]));
        let mut pieces = vec![Bytes::new(); 10];
        let mut rest = Vec::new();
        while let Some(count) = recv.read_chunks(&mut pieces).await.unwrap() {
            pieces[..count].iter().for_each(|piece| rest.extend_from_slice(piece));
        }
        assert_eq!(rest, b"threefourfivesix");
        assert_eq!(recv.read(&mut three).await, Ok(None));
        assert_eq!(recv.read_exact(&mut three).await, Err(ReadExactError::FinishedEarly(0)));

        let mut send = client.open_uni().await.unwrap();
        send.write_all(&[0; 101]).await.unwrap();
        send.finish().unwrap();
        let mut recv = server.accept_uni().await.unwrap();
        assert_eq!(recv.read_to_end(100).await, Err(ReadToEndError::TooLong));
    });
}

#[cfg(feature = "futures-io")]
#[test]
fn as_futures_io() {
    use futures_io::{AsyncRead, AsyncWrite};

    let net = Net::new(29, Link::CLEAN);
    net.world.run(async {
        let (client, server) = net.connect().await;
        let mut send = client.open_uni().await.unwrap();
        let written =
            std::future::poll_fn(|cx| AsyncWrite::poll_write(Pin::new(&mut send), cx, b"bytes")).await;
        assert_eq!(written.unwrap(), 5);
        std::future::poll_fn(|cx| Pin::new(&mut send).poll_flush(cx)).await.unwrap();
        std::future::poll_fn(|cx| Pin::new(&mut send).poll_close(cx)).await.unwrap();
        let mut recv = server.accept_uni().await.unwrap();
        let mut buffer = [0; 10];
        let read =
            std::future::poll_fn(|cx| AsyncRead::poll_read(Pin::new(&mut recv), cx, &mut buffer)).await;
        assert_eq!(&buffer[..read.unwrap()], b"bytes");
        let end = std::future::poll_fn(|cx| AsyncRead::poll_read(Pin::new(&mut recv), cx, &mut buffer)).await;
        assert_eq!(end.unwrap(), 0);
    });
}

#[test]
fn priority_goes_first() {
    let net = Net::new(30, Link::CLEAN);
    net.world.run(async {
        let (client, server) = net.connect().await;
        let mut low = client.open_uni().await.unwrap();
        let mut high = client.open_uni().await.unwrap();
        assert_eq!(low.priority(), Ok(0));
        low.set_priority(-1).unwrap();
        high.set_priority(5).unwrap();
        assert_eq!(high.priority(), Ok(5));
        let data = pattern(400_000);
        low.write_all(&data).await.unwrap();
        high.write_all(&data).await.unwrap();
        low.finish().unwrap();
        high.finish().unwrap();
        let (low_id, mut finished) = (low.id(), Vec::new());
        let mut readers = Vec::new();
        for _ in 0..2 {
            let mut recv = server.accept_uni().await.unwrap();
            let world = net.world.clone();
            readers.push(net.world.spawn(async move {
                recv.read_to_end(1 << 20).await.unwrap();
                (world.now(), recv.id())
            }));
        }
        for reader in readers {
            finished.push(reader.await);
        }
        finished.sort_unstable();
        assert_eq!(finished[1].1, low_id, "the other one was done first");
        assert!(finished[0].0 < finished[1].0);
    });
}

#[test]
fn wait_for_streams_ends_with_the_connection() {
    let net = Net::new(31, Link::CLEAN);
    net.world.run(async {
        let (client, server) = net.connect().await;
        let accepting = net.world.spawn({
            let server = server.clone();
            async move { server.accept_bi().await.map(drop) }
        });
        let mut send = client.open_uni().await.unwrap();
        send.write_all(b"x").await.unwrap();
        let mut recv = server.accept_uni().await.unwrap();
        let reading = net.world.spawn(async move { recv.read_to_end(10).await });
        net.world.sleep(ms(50)).await;
        client.close(VarInt::from_u32(3), b"enough");
        assert!(matches!(accepting.await, Err(ConnectionError::ApplicationClosed(_))));
        assert!(matches!(reading.await, Err(ReadToEndError::Read(ReadError::ConnectionLost(_)))));
        assert!(matches!(
            send.write(b"y").await,
            Err(WriteError::ConnectionLost(ConnectionError::LocallyClosed))
        ));
        assert!(send.stopped().await.is_err());
        assert!(client.open_uni().await.is_err());
    });
}
