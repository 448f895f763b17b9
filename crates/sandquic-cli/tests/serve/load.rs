//! Many clients, slow ones, silent ones, and those that mean harm.

use std::fs::{self, File};
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Buf;
use futures_util::future::join_all;
use sandquic::udp::{Received, Transmit};
use sandquic::{AsyncUdpSocket, Endpoint, EndpointConfig, default_runtime};

use crate::client::{Client, config, endpoint};
use crate::running::pki;
use crate::{at_both, pattern, site};

#[test]
fn a_thousand_connections_at_once() {
    at_both(async |place| {
        let site = site();
        let server = site.serve(place, &["--max-connections=1000", "--log=connections"]);
        let endpoint = endpoint(b"h3");
        let mut clients = Vec::new();
        while clients.len() < 1000 {
            let next = (0..50).map(|_| async {
                let client = Client::with(endpoint.clone(), server.address).await;
                assert_eq!(client.get("/page.txt").await.text(), "0123456789");
                client
            });
            clients.extend(join_all(next).await);
        }
        // All of them are still there.
        for client in &clients {
            assert!(client.quic.close_reason().is_none());
        }
        let answers = join_all(clients.iter().step_by(10).map(|client| client.get("/"))).await;
        assert!(answers.iter().all(|answer| answer.status == 200));
        // One more is refused, and told so.
        let refused = endpoint.connect(server.address, "localhost").unwrap().await.unwrap_err();
        assert!(matches!(refused, sandquic::ConnectionError::ConnectionClosed(_)), "{refused}");
        server.logged("refused: as many connections as there may be").await;
        // When some have gone others are served.
        for client in clients.drain(..20) {
            client.quic.close(0x100_u32.into(), b"");
        }
        let started = Instant::now();
        loop {
            match endpoint.connect(server.address, "localhost").unwrap().await {
                Ok(_) => break,
                Err(error) => assert!(started.elapsed() < Duration::from_secs(20), "{error}"),
            }
            sandquic::sleep(Duration::from_millis(50)).await;
        }
    });
}

/// A socket that keeps what is sent and sends nothing.
#[derive(Debug, Default)]
struct Silent(Mutex<Vec<Vec<u8>>>);

impl AsyncUdpSocket for Silent {
    fn poll_send(&self, _: &mut Context<'_>, transmit: &Transmit<'_>) -> Poll<std::io::Result<()>> {
        self.0.lock().unwrap().push(transmit.contents.to_vec());
        Poll::Ready(Ok(()))
    }

    fn poll_recv(&self, _: &mut Context<'_>, _: usize, _: &mut Vec<Received>) -> Poll<std::io::Result<()>> {
        Poll::Pending
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        Ok("127.0.0.1:1".parse().unwrap())
    }
}

/// The first datagrams of `count` connections.
async fn first_datagrams(count: usize, address: SocketAddr) -> Vec<Vec<u8>> {
    let socket = Arc::new(Silent::default());
    let runtime = default_runtime().unwrap();
    let mut endpoint =
        Endpoint::new_with_abstract_socket(EndpointConfig::default(), None, socket.clone(), runtime).unwrap();
    endpoint.set_default_client_config(config(&pki().join("ca.pem"), b"h3"));
    let attempts: Vec<_> = (0..count).map(|_| endpoint.connect(address, "localhost").unwrap()).collect();
    while socket.0.lock().unwrap().len() < count {
        sandquic::sleep(Duration::from_millis(5)).await;
    }
    let datagrams = std::mem::take(&mut *socket.0.lock().unwrap());
    drop(attempts);
    datagrams
}

#[test]
fn handshakes_that_nobody_completes() {
    at_both(async |place| {
        let site = site();
        let server = site.serve(place, &["--log=connections", "--max-connections-per-client=200"]);
        let patient = Client::connect(&server).await;
        let attacker = UdpSocket::bind("127.0.0.2:0").unwrap();
        attacker.connect(server.address).unwrap();
        for (n, datagram) in first_datagrams(3000, server.address).await.iter().enumerate() {
            let _ = attacker.send(datagram);
            if n % 100 == 0 {
                assert_eq!(patient.get("/page.txt").await.status, 200);
            }
        }
        // Newcomers must prove their address, and are served.
        for _ in 0..3 {
            assert_eq!(Client::connect(&server).await.get("/page.txt").await.text(), "0123456789");
        }
        let retries = patient.get("/").await;
        assert_eq!(retries.status, 200);
        let open = server.log().matches("connected, h3").count();
        assert!(open < 300, "{open} connections were begun for one who does not answer");
    });
}

#[test]
fn slow_readers_and_clients_that_vanish_hold_up_nobody() {
    at_both(async |place| {
        let site = site();
        fs::write(site.root().join("huge.bin"), pattern(24 << 20)).unwrap();
        let memory = if place == crate::Place::Sandbox { &["--max-memory=64MiB"][..] } else { &[] };
        let server = site.serve(place, &[&["--idle-timeout=2", "--client-memory=1MiB"][..], memory].concat());
        // Forty that ask for 24 MiB each and read nothing: without a bound this would be 960 MiB.
        let slow: Vec<Client> = join_all((0..4).map(|_| Client::connect(&server))).await;
        let mut stalled = Vec::new();
        for client in &slow {
            for _ in 0..10 {
                let mut stream = client.begin("GET", "/huge.bin", &[]).await.unwrap();
                stream.recv_response().await.unwrap();
                stalled.push(stream);
            }
        }
        let vanishing = Client::connect(&server).await;
        let mut stream = vanishing.begin("GET", "/huge.bin", &[]).await.unwrap();
        stream.recv_response().await.unwrap();
        let port = vanishing.endpoint.local_addr().unwrap();
        // Its endpoint goes over to a socket that says nothing more.
        vanishing.endpoint.rebind_abstract(Arc::new(Silent::default())).unwrap();

        let quick = Client::connect(&server).await;
        for _ in 0..5 {
            assert!(quick.get("/big.bin").await.content == pattern(3_000_000));
        }
        server.logged(&format!("{port} ended: ")).await;
        assert!(quick.get("/page.txt").await.status == 200);
        // A slow one that reads at last gets the whole.
        let mut length = 0;
        if let Some(stream) = stalled.first_mut() {
            while let Some(data) = stream.recv_data().await.unwrap() {
                length += data.remaining();
            }
        }
        assert_eq!(length, 24 << 20);
    });
}

#[test]
fn a_file_of_4_gib_in_little_memory() {
    at_both(async |place| {
        let site = site();
        let file = File::create(site.root().join("sparse")).unwrap();
        file.set_len((4 << 30) + 10).unwrap();
        let memory = if place == crate::Place::Sandbox { &["--max-memory=64MiB"][..] } else { &[] };
        let server = site.serve(place, memory);
        let client = Client::connect(&server).await;
        let head = client.ask("HEAD", "/sparse", &[], b"").await;
        assert_eq!(head.field("content-length"), "4294967306");
        let end = client.get_with("/sparse", &[("range", "bytes=4294967290-")]).await;
        assert_eq!((end.status.as_u16(), &end.content[..]), (206, &[0; 16][..]));
        assert_eq!(end.field("content-range"), "bytes 4294967290-4294967305/4294967306");
        // More of it than there is memory.
        let mut stream = client.begin("GET", "/sparse", &[]).await.unwrap();
        stream.recv_response().await.unwrap();
        let mut length = 0;
        while length < 200 << 20 {
            length += stream.recv_data().await.unwrap().unwrap().remaining();
        }
        drop(stream);
        server.logged("GET /sparse broken off").await;
        assert_eq!(client.get("/page.txt").await.status, 200);
    });
}

#[test]
fn retry_key_log_and_qlog() {
    at_both(async |place| {
        let site = site();
        let keys = site.outside().join("keys");
        let qlogs = site.outside().join("qlogs");
        let words = ["--retry=always", "--keylog", keys.to_str().unwrap(), "--qlog", qlogs.to_str().unwrap()];
        let mut server = site.serve(place, &words);
        let client = Client::connect(&server).await;
        assert_eq!(client.get("/page.txt").await.status, 200);
        client.quic.close(0x100_u32.into(), b"");
        server.logged(" ended: ").await;
        server.signal("TERM");
        assert_eq!(server.ended().await.code(), Some(0));
        let keys = fs::read_to_string(keys).unwrap();
        for label in ["CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_TRAFFIC_SECRET_0", "CLIENT_TRAFFIC_SECRET_0"]
        {
            let line = keys.lines().find_map(|line| line.strip_prefix(label)).expect(label);
            let mut words = line.split_ascii_whitespace().map(str::len);
            assert_eq!(words.next(), Some(64));
            assert!(matches!(words.next(), Some(64 | 96)), "{line}");
        }
        let logs: Vec<_> = fs::read_dir(qlogs).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(logs.len(), 1, "one connection");
        let log = fs::read_to_string(&logs[0]).unwrap();
        // RFC 7464: records of JSON, each after a separator.
        let records: Vec<serde_json::Value> = log
            .split('\x1e')
            .filter(|r| !r.trim().is_empty())
            .map(|r| serde_json::from_str(r).unwrap())
            .collect();
        assert!(records[0].get("qlog_version").is_some());
        let sent = records.iter().filter(|record| record["name"] == "transport:packet_sent").count();
        assert!(sent > 3, "{sent} packets are told of");
    });
}
