//! The native peers, as processes, over real sockets on loopback.

mod common;

use std::fs;
use std::net::UdpSocket;
use std::process::Output;

use common::{Server, certificates, stderr};
use sandquic_bench::peer::{HandshakesReport, Report};
use xxhash_rust::xxh64::xxh64;

fn reports(output: &Output) -> Vec<Report> {
    assert!(output.status.success(), "{}", stderr(output));
    String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_file_arrives_whatever_its_length_and_the_cipher() {
    let directory = tempfile::tempdir().unwrap();
    certificates(directory.path());
    let file = directory.path().join("content");
    let out = directory.path().join("arrived");
    for (length, cipher) in
        [(0, "aes-128-gcm"), (1, "aes-256-gcm"), (65_537, "chacha20-poly1305"), (5_000_000, "aes-128-gcm")]
    {
        let content: Vec<u8> =
            (0..length).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        fs::write(&file, &content).unwrap();
        let server = Server::start(directory.path(), &["--once", "--file", file.to_str().unwrap()]);
        let output =
            server.client(directory.path(), &["--json", "--cipher", cipher, "--out", out.to_str().unwrap()]);
        let [report] = &reports(&output)[..] else { panic!("{output:?}") };
        assert!(report.matches());
        assert_eq!(report.bytes, u64::from(length));
        assert_eq!(report.xxh64, format!("{:016x}", xxh64(&content, 0)));
        assert!(
            report.seconds > 0.0 && report.handshake_seconds > 0.0 && report.packets.sent > 0,
            "{report:?}"
        );
        assert_eq!(fs::read(&out).unwrap(), content);
        assert_eq!(server.wait(), Some(0));
    }
}

#[test]
fn a_file_is_uploaded() {
    let directory = tempfile::tempdir().unwrap();
    certificates(directory.path());
    let file = directory.path().join("content");
    for length in [0, 1, 3_000_000] {
        let content = vec![7_u8; length];
        fs::write(&file, &content).unwrap();
        let server = Server::start(directory.path(), &["--once", "--size", "5"]);
        let output = server.client(directory.path(), &["--json", "--put", file.to_str().unwrap()]);
        let [report] = &reports(&output)[..] else { panic!("{output:?}") };
        assert_eq!((report.bytes, report.matches()), (length as u64, true));
        assert_eq!(report.xxh64, format!("{:016x}", xxh64(&content, 0)));
        assert_eq!(server.wait(), Some(0));
    }
}

#[test]
fn a_pattern_is_uploaded_by_both_clients() {
    let directory = tempfile::tempdir().unwrap();
    certificates(directory.path());
    for client in ["client", "sandquic-client"] {
        for size in [0, 1, 3_000_017] {
            let server = Server::start(directory.path(), &["--once", "--size", "5"]);
            let size_text = size.to_string();
            let args = ["--json", "--put-size", &size_text];
            let output = common::client(client, &server.address, directory.path(), &args);
            let [report] = &reports(&output)[..] else { panic!("{output:?}") };
            assert_eq!((report.bytes, report.matches()), (size, true), "{client}");
            assert_eq!(server.wait(), Some(0));
        }
    }
}

#[test]
fn packets_have_the_size_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    certificates(directory.path());
    // 9,000 bytes ten times are more than one send may carry.
    for mtu in [1_200, 1_452, 4_000, 9_000] {
        for client in ["client", "sandquic-client"] {
            let mtu_text = mtu.to_string();
            let server = Server::start(directory.path(), &["--mtu", &mtu_text, "--size", "5000000"]);
            for args in
                [&["--json", "--mtu", &mtu_text][..], &["--json", "--mtu", &mtu_text, "--put-size", "5M"]]
            {
                let output = common::client(client, &server.address, directory.path(), args);
                let [report] = &reports(&output)[..] else { panic!("{output:?}") };
                assert!(report.matches(), "{client} {mtu}");
                if args.len() > 3 {
                    // All that was sent is content: so many packets and a few more.
                    let least = report.bytes / mtu;
                    let lost = report.packets.lost;
                    let sent = report.packets.sent - lost;
                    assert!(
                        (least..2 * least + 100).contains(&sent),
                        "{client} {mtu}: {sent} packets, {lost} lost"
                    );
                }
            }
        }
    }
}

fn handshakes(output: &Output) -> HandshakesReport {
    assert!(output.status.success(), "{}", stderr(output));
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text.lines().count(), 1, "{text}");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn short_connections_take_over_what_their_mode_says() {
    let directory = tempfile::tempdir().unwrap();
    certificates(directory.path());
    for client in ["client", "sandquic-client"] {
        for (mode, more, resumed, early) in
            [("full", 0, 0, 0), ("resumed", 1, 20, 0), ("early-data", 1, 20, 20)]
        {
            // One connection more where there is something to take over; the server ends after them.
            let connections = (20 + more).to_string();
            let server = Server::start(directory.path(), &["--size", "1KiB", "--connections", &connections]);
            let args = ["--json", "--handshakes", "20", "--mode", mode];
            let report = handshakes(&common::client(client, &server.address, directory.path(), &args));
            assert_eq!(
                (report.connections, report.resumed, report.early_data_accepted),
                (20, resumed, early),
                "{client} {mode}"
            );
            assert!(report.seconds > 0.0 && report.first_byte_median_s > 0.0, "{report:?}");
            assert!(report.handshake_median_s > 0.0, "{report:?}");
            assert_eq!(server.wait(), Some(0));
        }
    }
}

#[test]
fn many_connections_at_once_and_address_validation() {
    let directory = tempfile::tempdir().unwrap();
    certificates(directory.path());
    let server = Server::start(directory.path(), &["--size", "300KiB", "--connections", "20", "--retry"]);
    let output = server.client(directory.path(), &["--json", "--connections", "20"]);
    let reports = reports(&output);
    assert_eq!(reports.len(), 20);
    assert!(reports.iter().all(|report| report.matches() && report.bytes == 300 << 10));
    assert_eq!(server.wait(), Some(0));
}

#[test]
fn the_readable_line_says_what_arrived() {
    let directory = tempfile::tempdir().unwrap();
    certificates(directory.path());
    let server = Server::start(directory.path(), &["--size", "64KiB"]);
    let output = server.client(directory.path(), &[]);
    let line = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(line.starts_with("64 KiB in ") && line.trim_end().ends_with(", as sent"), "{line}");
}

#[test]
fn a_server_ends_when_its_starter_does() {
    let directory = tempfile::tempdir().unwrap();
    certificates(directory.path());
    let mut server = Server::start(directory.path(), &["--size", "1", "--until-stdin-closes"]);
    server.close_stdin();
    assert_eq!(server.wait(), Some(0));
}

#[test]
fn what_fails_is_said_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let other = tempfile::tempdir().unwrap();
    certificates(directory.path());
    certificates(other.path());
    let server = Server::start(directory.path(), &["--size", "10"]);
    // Bound but silent: nothing answers there.
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let silent = silent.local_addr().unwrap().to_string();
    let ca = directory.path().join("ca.pem");
    let ca = ca.to_str().unwrap();
    let failed = |output: Output, words: &[&str]| {
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
        for word in words {
            assert!(text.contains(word), "no {word:?} in {text}");
        }
    };
    failed(server.client(other.path(), &[]), &["cannot connect to", "invalid peer certificate"]);
    failed(server.client(directory.path(), &["--server-name", "elsewhere.test"]), &["elsewhere.test"]);
    failed(server.client(directory.path(), &["--put", "/no/such/file"]), &["/no/such/file"]);
    failed(
        server.client(directory.path(), &["--out", "/no/such/directory/file"]),
        &["/no/such/directory/file"],
    );
    failed(
        common::run(&["bench-peer", "client", "--connect", &silent, "--ca", ca, "--idle-timeout", "1"]),
        &["cannot connect to", &silent, "timed out"],
    );
    failed(
        common::run(&["bench-peer", "client", "--connect", &silent, "--ca", "/no/such/ca"]),
        &["certificates", "/no/such/ca"],
    );
    failed(
        common::run(&[
            "bench-peer",
            "server",
            "--listen",
            &server.address,
            "--cert",
            ca,
            "--key",
            ca,
            "--size",
            "1",
        ]),
        &["private key", "ca.pem"],
    );
    let cert = directory.path().join("cert.pem");
    let key = directory.path().join("key.pem");
    failed(
        common::run(&[
            "bench-peer",
            "server",
            "--listen",
            &server.address,
            "--cert",
            cert.to_str().unwrap(),
            "--key",
            key.to_str().unwrap(),
            "--size",
            "1",
        ]),
        &["cannot listen on", &server.address, "in use"],
    );
    // The server survived all of it.
    assert!(server.client(directory.path(), &[]).status.success());
}

#[test]
fn usage_errors_have_their_own_status() {
    for args in [
        &["bench-peer"][..],
        &["bench-peer", "client", "--connect", "nowhere", "--ca", "x"],
        &["bench-peer", "client", "--connect", "127.0.0.1:1", "--ca", "x", "--cipher", "rot13"],
        &[
            "bench-peer",
            "client",
            "--connect",
            "127.0.0.1:1",
            "--ca",
            "x",
            "--out",
            "y",
            "--connections",
            "2",
        ],
        &["bench-peer", "client", "--connect", "127.0.0.1:1", "--ca", "x", "--put", "y", "--put-size", "2"],
        &["bench-peer", "client", "--connect", "127.0.0.1:1", "--ca", "x", "--mtu", "1199"],
        &["bench-peer", "client", "--connect", "127.0.0.1:1", "--ca", "x", "--mode", "resumed"],
        &[
            "bench-peer",
            "client",
            "--connect",
            "127.0.0.1:1",
            "--ca",
            "x",
            "--handshakes",
            "2",
            "--put-size",
            "2",
        ],
        &["bench-peer", "relay", "--to", "nowhere"],
        &["bench-peer", "relay", "--to", "127.0.0.1:1", "--loss-percent", "101"],
        &["bench-peer", "relay", "--to", "127.0.0.1:1", "--delay-ms", "-1"],
        &["bench-peer", "server", "--listen", "127.0.0.1:0", "--cert", "x", "--key", "y"],
        &["bench-peer", "server", "--listen", "127.0.0.1:0", "--cert", "x", "--key", "y", "--size", "1e9"],
    ] {
        let output = common::run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
    }
}
