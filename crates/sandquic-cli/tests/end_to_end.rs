//! Files over QUIC between processes, with one end or both in the sandbox, over real sockets on loopback.

mod support;

use std::fs;

use support::End::{Sandbox, SandboxP2, Stock, Wasmtime, WasmtimeP2};
use support::{End, Serve, client, client_with_file, finish, random_file, server};

/// Client and server, with the sandbox at one end at least.
const PAIRS: [(End, End); 5] =
    [(Sandbox, Stock), (Stock, Sandbox), (Sandbox, Sandbox), (SandboxP2, Stock), (Stock, SandboxP2)];

/// Socket buffers that hold what the sender has on the way.
const BUFFERS: [&str; 4] = ["--recv-buffer", "4194304", "--send-buffer", "4194304"];

fn get_of_size(client_end: End, server_end: End, size: u64) {
    let work = tempfile::tempdir().unwrap();
    let more: Vec<&str> = ["--once"].into_iter().chain(BUFFERS).collect();
    let server = server(server_end, work.path(), Serve::Size(size), &more);
    let output = finish(client(client_end, work.path(), &server.address, &BUFFERS));
    output.check_reports(1, size);
    assert_eq!(server.process.finish().status, Some(0));
}

#[test]
fn nothing_arrives_whole() {
    for (client, server) in PAIRS {
        get_of_size(client, server, 0);
    }
}

#[test]
fn one_byte_arrives() {
    for (client, server) in PAIRS {
        get_of_size(client, server, 1);
    }
}

#[test]
fn a_sandboxed_client_gets_100_mib_from_stock_quinn() {
    get_of_size(Sandbox, Stock, 100 << 20);
}

#[test]
fn a_stock_client_gets_100_mib_from_the_sandbox() {
    get_of_size(Stock, Sandbox, 100 << 20);
}

#[test]
fn sandbox_gets_100_mib_from_sandbox() {
    get_of_size(Sandbox, Sandbox, 100 << 20);
}

#[test]
fn wasi_0_2_gets_100_mib_from_wasi_0_2() {
    get_of_size(SandboxP2, SandboxP2, 100 << 20);
}

#[test]
fn a_file_is_the_same_at_the_other_end() {
    for (client_end, server_end) in PAIRS {
        let work = tempfile::tempdir().unwrap();
        let content = random_file(&work.path().join("served"), 3_000_017);
        let server = server(server_end, work.path(), Serve::File("served"), &["--once"]);
        let output =
            finish(client_with_file(client_end, work.path(), &server.address, "--out", "received", &[]));
        output.check_reports(1, content.len() as u64);
        assert!(fs::read(work.path().join("received")).unwrap() == content, "{client_end:?} {server_end:?}");
        assert_eq!(server.process.finish().status, Some(0));
    }
}

#[test]
fn a_file_is_uploaded() {
    for (client_end, server_end) in PAIRS {
        let work = tempfile::tempdir().unwrap();
        let content = random_file(&work.path().join("file"), 3_000_017);
        let server = server(server_end, work.path(), Serve::Size(0), &["--once"]);
        let output = finish(client_with_file(client_end, work.path(), &server.address, "--put", "file", &[]));
        output.check_reports(1, content.len() as u64);
        assert_eq!(server.process.finish().status, Some(0));
    }
}

#[test]
fn a_pattern_is_uploaded() {
    for (client_end, server_end) in PAIRS {
        let work = tempfile::tempdir().unwrap();
        let server = server(server_end, work.path(), Serve::Size(0), &["--once"]);
        let output = finish(client(client_end, work.path(), &server.address, &["--put-size", "3000017"]));
        output.check_reports(1, 3_000_017);
        assert_eq!(server.process.finish().status, Some(0));
    }
}

#[test]
fn packets_have_the_size_asked_for() {
    for (client_end, server_end) in PAIRS {
        for mtu in [1_200, 9_000] {
            let work = tempfile::tempdir().unwrap();
            let size = mtu.to_string();
            let flags = ["--mtu", &size, "--connections", "2"];
            let server = server(server_end, work.path(), Serve::Size(3_000_000), &flags);
            let get = ["--mtu", &size];
            finish(client(client_end, work.path(), &server.address, &get)).check_reports(1, 3_000_000);
            let put = ["--mtu", &size, "--put-size", "3000000"];
            let output = finish(client(client_end, work.path(), &server.address, &put));
            output.check_reports(1, 3_000_000);
            // All that was sent is content: so many packets, and a few more.
            let packets = &output.reports()[0]["packets"];
            let arrived = packets["sent"].as_u64().unwrap() - packets["lost"].as_u64().unwrap();
            let least = 3_000_000 / mtu;
            assert!(
                (least..2 * least + 100).contains(&arrived),
                "{client_end:?} {server_end:?} {mtu}: {packets}"
            );
            assert_eq!(server.process.finish().status, Some(0));
        }
    }
}

#[test]
fn short_connections_take_over_what_their_mode_says() {
    for (client_end, server_end) in PAIRS {
        for (mode, connections, resumed, early) in
            [("full", "10", 0, 0), ("resumed", "11", 10, 0), ("early-data", "11", 10, 10)]
        {
            let work = tempfile::tempdir().unwrap();
            // Where there is something to take over, one connection more comes first.
            let server = server(server_end, work.path(), Serve::Size(1_000), &["--connections", connections]);
            let flags = ["--handshakes", "10", "--mode", mode];
            let reports = finish(client(client_end, work.path(), &server.address, &flags)).reports();
            let [report] = &reports[..] else { panic!("{reports:?}") };
            let counted = ["connections", "resumed", "early_data_accepted"].map(|name| report[name].as_u64());
            let expected = [10, resumed, early].map(Some);
            assert_eq!(counted, expected, "{client_end:?} {server_end:?} {mode}: {report}");
            for time in ["seconds", "handshake_median_s", "first_byte_median_s"] {
                assert!(report[time].as_f64().unwrap() > 0.0, "{report}");
            }
            assert_eq!(server.process.finish().status, Some(0));
        }
    }
}

#[test]
fn every_cipher_works_each_way() {
    for (client_end, server_end) in PAIRS {
        let work = tempfile::tempdir().unwrap();
        let server = server(server_end, work.path(), Serve::Size(500_000), &["--connections", "3"]);
        for cipher in ["aes-128-gcm", "aes-256-gcm", "chacha20-poly1305"] {
            let output = finish(client(client_end, work.path(), &server.address, &["--cipher", cipher]));
            output.check_reports(1, 500_000);
        }
        assert_eq!(server.process.finish().status, Some(0));
    }
}

#[test]
fn fifty_connections_at_once() {
    for (client_end, server_end) in PAIRS {
        let work = tempfile::tempdir().unwrap();
        let server = server(server_end, work.path(), Serve::Size(200_000), &["--connections", "50"]);
        let output = finish(client(client_end, work.path(), &server.address, &["--connections", "50"]));
        output.check_reports(50, 200_000);
        assert_eq!(server.process.finish().status, Some(0));
    }
}

#[test]
fn a_server_can_ask_for_proof_of_the_address() {
    for (client_end, server_end) in PAIRS {
        let work = tempfile::tempdir().unwrap();
        let server = server(server_end, work.path(), Serve::Size(10_000), &["--once", "--retry"]);
        finish(client(client_end, work.path(), &server.address, &[])).check_reports(1, 10_000);
        assert_eq!(server.process.finish().status, Some(0));
    }
}

#[test]
fn progress_is_told_on_standard_error() {
    let work = tempfile::tempdir().unwrap();
    let server = server(Stock, work.path(), Serve::Size(5 << 20), &["--once"]);
    let output = finish(client(Sandbox, work.path(), &server.address, &["--progress"]));
    output.check_reports(1, 5 << 20);
    let last = output.stderr.lines().last();
    assert_eq!(last, Some("progress 5242880"), "{output:?}");
}

/// Nothing in the components needs this project's host. `cargo xtask test` sets `WASMTIME_BIN`.
#[test]
#[expect(clippy::print_stderr, reason = "says why nothing was tested")]
fn the_components_run_under_the_stock_wasmtime_command() {
    if std::env::var_os("WASMTIME_BIN").is_none() {
        eprintln!("skipped: WASMTIME_BIN names no wasmtime");
        return;
    }
    for (client, server) in [
        (Wasmtime, Stock),
        (Stock, Wasmtime),
        (Wasmtime, Wasmtime),
        (Wasmtime, Sandbox),
        (WasmtimeP2, WasmtimeP2),
    ] {
        get_of_size(client, server, 10 << 20);
    }
}
