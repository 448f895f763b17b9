//! Several instances of a server, in the sandbox, on one port.

mod support;

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

use sandquic::{Connection, VarInt};
use support::quic::{config, endpoint};
use support::{Process, finish, guest, mapping, pki, sandquic};

/// What a request brings: length, checksum, content.
const SIZE: usize = 10_000;

struct Server {
    process: Process,
    address: SocketAddr,
}

/// Starts instances of the transfer server and waits until all listen.
fn server(instances: u32, more: &[&str]) -> Server {
    // A port that was free just now: they share one that they are told.
    let address = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let mut command = sandquic();
    command.args(["run", "--inherit-network", "--instances", &instances.to_string()]);
    command.arg("--dir-ro").arg(mapping(&pki(), "/pki"));
    command.arg(guest("transfer-server")).arg("--");
    command.args(["--listen", &address.to_string(), "--size", &SIZE.to_string()]);
    command.args(["--cert", "/pki/p256.pem", "--key", "/pki/p256.key.pem"]);
    command.args(more);
    let mut process = Process::start(command);
    for _ in 0..instances {
        process.line(|line| line.starts_with(&format!("listening {address} (instance ")));
    }
    Server { process, address }
}

impl Server {
    /// The instance that answered a request of this client's port, or of any.
    fn answered_by(&mut self, port: Option<u16>) -> usize {
        let part = port.map_or("sent ".into(), |port| format!(":{port} (instance "));
        let line = self.process.line(|line| line.starts_with("sent ") && line.contains(&part));
        let (_, position) = line.split_once("(instance ").expect("it is one of several");
        position.split('/').next().and_then(|index| index.parse().ok()).expect("an index")
    }
}

async fn fetch(connection: &Connection) {
    let (mut send, mut recv) = connection.open_bi().await.unwrap();
    send.write_all(&[0]).await.unwrap();
    send.finish().unwrap();
    assert_eq!(recv.read_to_end(1 << 20).await.unwrap().len(), 16 + SIZE);
}

#[test]
fn a_port_of_another_server_is_not_shared() {
    let server = server(2, &[]);
    let mut command = sandquic();
    command.args(["run", "--inherit-network", "--instances", "2"]);
    command.arg("--dir-ro").arg(mapping(&pki(), "/pki")).arg(guest("transfer-server")).arg("--");
    command.args(["--listen", &server.address.to_string(), "--size", "1"]);
    command.args(["--cert", "/pki/p256.pem", "--key", "/pki/p256.key.pem"]);
    let output = finish(command);
    assert_eq!(output.status, Some(1), "{output:?}");
    assert_eq!(output.stderr.matches("in use").count(), 2, "{output:?}");
}

#[test]
fn new_clients_are_spread_over_the_instances() {
    // Each has to prove its address first: what it proves it with goes to the instance that asked for it.
    let mut server = server(2, &["--retry"]);
    let config = config();
    let mut answered = [0; 2];
    // The system spreads them by a hash of addresses. That all of 24 fall to one happens once in eight million times.
    for _ in 0..24 {
        sandquic::block_on(async {
            let endpoint = endpoint(&config);
            let connection = endpoint.connect(server.address, "localhost").unwrap().await.unwrap();
            fetch(&connection).await;
            connection.close(VarInt::from_u32(0), b"done");
            endpoint.wait_idle().await;
        });
        answered[server.answered_by(None)] += 1;
        if answered.iter().all(|count| *count > 0) {
            return;
        }
    }
    panic!("{answered:?}");
}

#[test]
fn a_client_that_moves_keeps_its_connection_and_its_instance() {
    let mut server = server(2, &[]);
    sandquic::block_on(async {
        let endpoint = endpoint(&config());
        let connection = endpoint.connect(server.address, "localhost").unwrap().await.unwrap();
        fetch(&connection).await;
        let first = server.answered_by(None);
        // Each move has its new port fall to the other instance's socket as often as not.
        for _ in 0..10 {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let port = socket.local_addr().unwrap().port();
            endpoint.rebind(socket).unwrap();
            fetch(&connection).await;
            assert_eq!(server.answered_by(None), first);
            // And back to its own connection ID's path: it answers there too once it knows the address.
            fetch(&connection).await;
            assert_eq!(server.answered_by(Some(port)), first);
        }
        connection.close(VarInt::from_u32(0), b"done");
        endpoint.wait_idle().await;
    });
}

#[test]
fn idle_connections_are_held_and_still_answered() {
    let mut command = sandquic();
    command.args(["bench", "connections", "--connections", "300", "--instances", "2", "--idle", "1"]);
    command.args(["--json", "-", "--component"]).arg(guest("transfer-server"));
    let output = Process::start(command).finish();
    assert_eq!(output.status, Some(0), "{output:?}");
    let record: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    let row = &record["rows"][0];
    assert_eq!(row["answered"], 300, "{record}");
    let by: Vec<u64> = row["answered_by"].as_array().unwrap().iter().filter_map(|n| n.as_u64()).collect();
    assert_eq!((by.len(), by.iter().sum::<u64>()), (2, 300), "{record}");
    // 64 sockets are spread: none of them falls to one instance once in 2^63 times.
    assert!(by.iter().all(|count| *count > 0), "{record}");
    // What is kept of each is about 30 KiB; growth of the components' memory comes in larger steps.
    assert!(row["bytes_per_connection"].as_f64().unwrap() < 128.0 * 1024.0, "{record}");
}

#[test]
fn instances_that_end_end_the_command_with_the_worst_status() {
    let mut command = sandquic();
    command.args(["run", "--instances", "2"]).arg(guest("transfer-server")).args(["--", "--no-such-flag"]);
    let output = Process::start(command).finish();
    assert_eq!(output.status, Some(2), "{output:?}");
    assert_eq!(output.stderr.lines().count(), 2, "each says so: {output:?}");

    let mut command = sandquic();
    command.args(["run", "--instances", "2"]).arg(guest("transfer-server")).args(["--", "--help"]);
    assert_eq!(Process::start(command).finish().status, Some(0));

    for count in ["0", "257", "x"] {
        let mut command = sandquic();
        command.args(["run", "--instances", count, "@transfer-server"]);
        Process::start(command).finish().check_failure(2, "sandquic: ", &["a number from 1 to 256"]);
    }
}

#[test]
fn instances_need_sockets_that_can_share_a_port() {
    let mut command = sandquic();
    command.args(["run", "--stock-udp", "--instances", "2"]).arg(guest("transfer-server")).arg("--help");
    Process::start(command).finish().check_failure(1, "sandquic: ", &["cannot share a port"]);
}
