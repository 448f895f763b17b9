//! What goes wrong between two ends: a peer that disappears, a certificate that does not fit, a network that is not
//! granted. Every one ends in one line that says what and what to do, and in the right status.

mod support;

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use support::End::{Sandbox, SandboxP2, Stock};
use support::quic::{config, endpoint};
use support::{Process, Serve, client, client_with_file, finish, guest, pki, sandquic, server};

/// Far more than can arrive before a process is killed.
const ENDLESS: u64 = 2 << 30;

/// Frees a test of a second client or server still busy with the last of its packets.
const SOON: Duration = Duration::from_secs(30);

#[test]
fn a_server_that_disappears_is_noticed() {
    let work = tempfile::tempdir().unwrap();
    let mut server = server(Stock, work.path(), Serve::Size(ENDLESS), &["--once"]);
    let mut client =
        Process::start(client(Sandbox, work.path(), &server.address, &["--progress", "--idle-timeout", "2"]));
    client.line(|line| line.starts_with("progress "));
    server.process.kill();
    let killed = Instant::now();
    client.line(|line| line.starts_with("transfer-client: "));
    assert!(killed.elapsed() < SOON, "{:?}", killed.elapsed());
    let output = client.finish();
    assert_eq!(output.status, Some(1), "{output:?}");
    let last = output.stderr.lines().last().unwrap();
    assert!(
        last.ends_with("has not answered for 2 s: it or the network between is gone; try again"),
        "{last}"
    );
    assert_eq!(output.stdout, "");
}

#[test]
fn a_client_that_disappears_does_not_hold_the_server() {
    let work = tempfile::tempdir().unwrap();
    let mut server = server(Sandbox, work.path(), Serve::Size(300 << 20), &["--once", "--idle-timeout", "2"]);
    let mut first = Process::start(client(Stock, work.path(), &server.address, &["--progress"]));
    first.line(|line| line.starts_with("progress "));
    first.kill();
    let killed = Instant::now();
    let line = server.process.line(|line| line.starts_with("transfer-server: connection from 127.0.0.1:"));
    assert!(line.contains("timed out"), "{line}");
    assert!(killed.elapsed() < SOON, "{:?}", killed.elapsed());
    // It was not served, so the one connection is still to come.
    finish(client(Stock, work.path(), &server.address, &[])).check_reports(1, 300 << 20);
    assert_eq!(server.process.finish().status, Some(0));
}

#[test]
fn a_client_that_is_gone_has_been_served_if_it_has_said_that_it_has_all() {
    const SIZE: usize = 20_000;
    for (end, says_so) in [(Sandbox, true), (Sandbox, false), (SandboxP2, true), (SandboxP2, false)] {
        let work = tempfile::tempdir().unwrap();
        let flags = ["--once", "--idle-timeout", "2"];
        let mut server = server(end, work.path(), Serve::Size(SIZE as u64), &flags);
        let address = server.address.parse().unwrap();
        let gone = sandquic::block_on(async {
            let endpoint = endpoint(&config());
            let connection = endpoint.connect(address, "localhost").unwrap().await.unwrap();
            let (mut send, mut recv) = connection.open_bi().await.unwrap();
            send.write_all(&[0]).await.unwrap();
            if says_so {
                assert_eq!(recv.read_to_end(1 << 20).await.unwrap().len(), 16 + SIZE);
                send.finish().unwrap();
                assert_eq!(send.stopped().await.unwrap(), None);
            }
            (endpoint, connection, send, recv)
        });
        // From now on nobody drives its socket: its close is not sent.
        std::mem::forget(gone);
        server.process.line(|line| line.starts_with("transfer-server: ") && line.ends_with(": timed out"));
        if !says_so {
            finish(client(Stock, work.path(), &server.address, &[])).check_reports(1, SIZE as u64);
        }
        assert_eq!(server.process.finish().status, Some(0), "{end:?} {says_so}");
    }
}

#[test]
fn garbage_does_not_disturb_a_server() {
    let work = tempfile::tempdir().unwrap();
    let server = server(Sandbox, work.path(), Serve::Size(1_000_000), &["--once"]);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for length in 0..1_500_usize {
        let datagram: Vec<u8> = (0..length).map(|at| (at * 31 + length * 7) as u8 | 0xc0).collect();
        socket.send_to(&datagram, &server.address).unwrap();
    }
    finish(client(Stock, work.path(), &server.address, &[])).check_reports(1, 1_000_000);
    assert_eq!(server.process.finish().status, Some(0));
}

#[test]
fn a_port_where_nobody_listens_is_told() {
    let work = tempfile::tempdir().unwrap();
    // Bound and never read: no other process can take the port meanwhile.
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    finish(client(Sandbox, work.path(), &address, &["--idle-timeout", "1"])).check_failure(
        1,
        "transfer-client: no answer from 127.0.0.1:",
        &["within 1 s", "is a server listening there"],
    );
}

#[test]
fn a_network_that_is_not_granted_is_told() {
    for (role, flags) in [
        ("client", &["--connect", "127.0.0.1:9", "--server-name", "localhost", "--ca", "/pki/ca.pem"][..]),
        (
            "server",
            &[
                "--listen",
                "127.0.0.1:0",
                "--cert",
                "/pki/p256.pem",
                "--key",
                "/pki/p256.key.pem",
                "--size",
                "1",
            ],
        ),
    ] {
        let mut command = sandquic();
        command.args(["run", "--dir-ro", &format!("{}::/pki", pki().display())]);
        command.arg(guest(&format!("transfer-{role}"))).arg("--").args(flags);
        finish(command).check_failure(
            1,
            &format!("transfer-{role}: cannot open a UDP socket on "),
            &["does not allow", "inherit-network"],
        );
    }
}

#[test]
fn a_port_that_is_taken_is_told() {
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut command = sandquic();
    command.args(["run", "--inherit-network", "--dir-ro", &format!("{}::/pki", pki().display())]);
    command.arg(guest("transfer-server"));
    command.args(["--", "--listen", &address, "--cert", "/pki/p256.pem", "--key", "/pki/p256.key.pem"]);
    command.args(["--size", "1"]);
    finish(command).check_failure(
        1,
        &format!("transfer-server: cannot open a UDP socket on {address}: "),
        &["in use", "choose another port"],
    );
}

#[test]
fn certificates_that_do_not_fit_are_told() {
    let work = tempfile::tempdir().unwrap();
    let server = server(Stock, work.path(), Serve::Size(1), &[]);
    for (flags, reason) in [
        (["--server-name", "example.org"], "not valid for name \"example.org\""),
        (["--ca", "/pki/stranger.pem"], "invalid peer certificate"),
    ] {
        finish(client(Sandbox, work.path(), &server.address, &flags)).check_failure(
            1,
            "transfer-client: the handshake with 127.0.0.1:",
            &[reason, "check --server-name, --ca"],
        );
    }
}

#[test]
fn files_that_are_missing_or_wrong_are_told() {
    let work = tempfile::tempdir().unwrap();
    let address = "127.0.0.1:9";
    let run = |flags: &[&str]| finish(client(Sandbox, work.path(), address, flags));
    run(&["--ca", "/pki/none.pem"]).check_failure(
        1,
        "transfer-client: cannot read /pki/none.pem (--ca)",
        &["directories that its host opens"],
    );
    run(&["--ca", "/pki/p256.key.pem"]).check_failure(1, "transfer-client: --ca", &["no certificate in it"]);
    // The certificates' directory is granted for reading.
    run(&["--out", "/pki/new"]).check_failure(1, "transfer-client: cannot write /pki/new", &["reading only"]);
    let server = server(Stock, work.path(), Serve::Size(1), &[]);
    finish(client_with_file(Sandbox, work.path(), &server.address, "--put", "none", &[])).check_failure(
        1,
        "transfer-client: cannot read /files/none",
        &[],
    );
}

#[test]
fn wrong_usage_of_a_component_has_status_2() {
    let work = tempfile::tempdir().unwrap();
    for (flags, message) in [
        (
            &["--cipher", "rot13"][..],
            "no cipher rot13; there are: aes-128-gcm, aes-256-gcm, chacha20-poly1305",
        ),
        (&["--frob"], "no option --frob; usage: "),
        (&["--connections", "0"], "--connections 0: not a number from 1 to 10000"),
        (&["--connect", "localhost"], "--connect localhost: not an address"),
        (&["--ciphers", "rustcrypto"], "this build has only its own ciphers"),
    ] {
        finish(client(Sandbox, work.path(), "127.0.0.1:9", flags)).check_failure(
            2,
            "transfer-client: ",
            &[message],
        );
    }
}
