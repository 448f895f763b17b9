//! The relay as a process, over real sockets on loopback.

mod common;

use std::io::{BufRead, BufReader, Read};
use std::net::UdpSocket;
use std::process::{Child, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use common::{Server, certificates, stderr};
use sandquic_bench::peer::{RelayReport, Report};

struct Relay {
    child: Child,
    out: BufReader<ChildStdout>,
    address: String,
}

impl Relay {
    fn start(to: &str, args: &[&str]) -> Self {
        let mut child = common::program()
            .args(["bench-peer", "relay", "--to", to, "--until-stdin-closes"])
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening ").expect("an address").to_owned();
        Self { child, out, address }
    }

    fn end(mut self) -> RelayReport {
        drop(self.child.stdin.take());
        let mut text = String::new();
        self.out.read_to_string(&mut text).unwrap();
        assert!(self.child.wait().unwrap().success());
        serde_json::from_str(&text).unwrap()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn transfers_go_through_it_whole() {
    let directory = tempfile::tempdir().unwrap();
    certificates(directory.path());
    for (args, lossy, least) in [
        (&[][..], false, 0.0),
        (&["--loss-percent", "1"], true, 0.0),
        (&["--delay-ms", "10"], false, 0.020),
        (&["--delay-ms", "5", "--loss-percent", "0.5", "--seed", "9"], true, 0.010),
    ] {
        let server = Server::start(directory.path(), &["--size", "4MiB"]);
        let relay = Relay::start(&server.address, args);
        for client in ["client", "sandquic-client"] {
            for more in [&["--json"][..], &["--json", "--put-size", "4M"]] {
                let output = common::client(client, &relay.address, directory.path(), more);
                assert!(output.status.success(), "{}", stderr(&output));
                let report: Report = serde_json::from_slice(&output.stdout).unwrap();
                assert!(report.matches() && report.bytes == 4 << 20, "{report:?}");
                // There and back.
                assert!(report.handshake_seconds >= least, "{report:?}");
            }
        }
        let report = relay.end();
        assert_eq!((report.clients, report.refused), (4, 0));
        for counts in [report.up, report.down] {
            assert_eq!(
                (counts.lost > 0, counts.overflowed, counts.failed),
                (lossy, 0, 0),
                "{args:?} {report:?}"
            );
            assert!(counts.sent > 1_000 && counts.sent + counts.lost <= counts.received, "{report:?}");
        }
    }
}

#[test]
fn datagrams_keep_their_borders_and_their_order_and_take_their_time() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    server.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let relay = Relay::start(&server.local_addr().unwrap().to_string(), &["--delay-ms", "30"]);
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    client.connect(&relay.address).unwrap();
    let started = Instant::now();
    for n in 1..=100_usize {
        client.send(&vec![n as u8; n * 7]).unwrap();
    }
    let mut buffer = vec![0; 65_536];
    let mut back = None;
    for n in 1..=100_usize {
        let (size, from) = server.recv_from(&mut buffer).unwrap();
        assert!(started.elapsed() >= Duration::from_millis(30));
        assert_eq!((size, buffer[0], buffer[size - 1]), (n * 7, n as u8, n as u8));
        back = Some(from);
    }
    let started = Instant::now();
    server.send_to(b"answer", back.unwrap()).unwrap();
    // Nobody but the server is heard.
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    stranger.send_to(b"stranger", back.unwrap()).unwrap();
    let size = client.recv(&mut buffer).unwrap();
    assert_eq!(&buffer[..size], b"answer");
    assert!(started.elapsed() >= Duration::from_millis(30));
    client.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    assert!(client.recv(&mut buffer).is_err());
    let report = relay.end();
    assert_eq!((report.up.received, report.up.sent, report.down.sent), (100, 100, 1));
}

#[test]
fn too_many_clients_are_refused_and_the_others_go_on() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    server.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let relay = Relay::start(&server.local_addr().unwrap().to_string(), &[]);
    let clients: Vec<UdpSocket> = (0..70).map(|_| UdpSocket::bind("127.0.0.1:0").unwrap()).collect();
    let mut buffer = [0; 16];
    for (n, client) in clients.iter().enumerate() {
        client.send_to(&[n as u8], &relay.address).unwrap();
        if n < 64 {
            assert_eq!((server.recv(&mut buffer).unwrap(), usize::from(buffer[0])), (1, n));
        }
    }
    clients[0].send_to(&[99], &relay.address).unwrap();
    assert_eq!((server.recv(&mut buffer).unwrap(), buffer[0]), (1, 99));
    let report = relay.end();
    assert_eq!((report.clients, report.refused, report.up.received), (64, 6, 65));
}
