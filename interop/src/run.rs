//! One case between two peers, from the start of the server to the verdict.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sandquic_bench::peer::relay::{Running, Settings};

use crate::case::{Case, Evidence};
use crate::files::Site;
use crate::job::{ClientJob, ServerJob};
use crate::network::Link;
use crate::peer::{Peer, Refusal};
use crate::process::{Process, read, tail};
use crate::tshark::{Capture, join_keys};

/// How a case ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// What was seen.
    Passed(String),
    /// What was not.
    Failed(String),
    /// The peer cannot, in its words.
    Refused(String),
}

/// Runs a case in a folder of its own, on a tokio runtime.
pub(crate) fn run(case: &Case, server: &dyn Peer, client: &dyn Peer, site: &Site, dir: &Path) -> Outcome {
    match attempt(case, server, client, site, dir) {
        Ok(Ok(seen)) => Outcome::Passed(seen),
        Ok(Err(Refusal(words))) => Outcome::Refused(words),
        Err(why) => Outcome::Failed(why),
    }
}

type Attempt = Result<Result<String, Refusal>, String>;

fn attempt(case: &Case, server: &dyn Peer, client: &dyn Peer, site: &Site, dir: &Path) -> Attempt {
    let _ = fs::remove_dir_all(dir);
    let made = ["fetched", "uploads"].iter().try_for_each(|name| fs::create_dir_all(dir.join(name)));
    made.map_err(|error| format!("cannot make {}: {error}", dir.display()))?;
    let loopback = if case.ipv6 { IpAddr::V6(Ipv6Addr::LOCALHOST) } else { Ipv4Addr::LOCALHOST.into() };

    let listen = free(loopback)?;
    let server_job = ServerJob {
        listen,
        site,
        protocol: case.protocol,
        large_certificate: case.large_certificate,
        retry: case.retry,
        act: case.act,
        dir,
    };
    let mut command = match server.server(&server_job) {
        Ok(command) => command,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let paths = case.files.paths();
    let file = dir.join("capture.pcap");
    let link = Link::new(case.weather, case.delay, seed(case.name), listen, &file)
        .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    let observer = link.observer();
    let settings = Settings {
        to: listen,
        listen: SocketAddr::new(loopback, 0),
        loss: case.loss,
        delay: case.delay,
        seed: seed(case.name),
    };
    let relay = Running::start(settings, link).map_err(|error| format!("cannot start the relay: {error}"))?;
    let job = ClientJob {
        server: relay.address(),
        site,
        protocol: case.protocol,
        paths: &paths,
        cipher: case.cipher,
        act: case.act,
        dir,
    };
    let commands = match client.client(&job) {
        Ok(commands) => commands,
        Err(refusal) => return Ok(Err(refusal)),
    };

    let mut running = Process::start(&mut command, &dir.join("server.log"))?;
    wait_for(&mut running, listen, case.patience)?;
    let started = Instant::now();
    let mut logs = Vec::new();
    for (number, mut command) in commands.into_iter().enumerate() {
        let log = dir.join(format!("client-{number}.log"));
        let mut process = Process::start(&mut command, &log)?;
        logs.push(log);
        let left = case.patience.saturating_sub(started.elapsed());
        let ended = match process.wait(left)? {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(format!("the client ended with {status}")),
            None => Err(format!("the client had not finished after {} s", case.patience.as_secs())),
        };
        ended.map_err(|why| told(&why, &running, &logs))?;
    }
    let took = started.elapsed();
    let server_said = running.said();
    let report = relay.report();

    let keys = dir.join("keys");
    join_keys(&[server_job.keylog(), job.keylog()], &keys)?;
    let evidence = Evidence {
        case,
        job: &job,
        seen: observer.look(),
        lost: report.up.lost + report.down.lost,
        addresses: report.clients,
        took,
        capture: Capture { file, keys, port: listen.port() },
        client_said: logs.iter().map(|log| read(log)).collect(),
        server_said,
        uploads: server_job.uploads(),
    };
    let verdict = evidence.files().and_then(|files| {
        let more = (case.check)(&evidence)?;
        Ok([files, more].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", "))
    });
    let seen = verdict.map_err(|why| told(&why, &running, &logs))?;
    // How it ends is the server's own tests' business.
    let _ = running.stop();
    Ok(Ok(seen))
}

/// A failure with what both ends said last.
fn told(why: &str, server: &Process, clients: &[PathBuf]) -> String {
    let client = clients.last().map(|log| read(log)).unwrap_or_default();
    format!("{why}\nclient: {}\nserver: {}", tail(&client, 6), tail(&server.said(), 6))
}

/// Where the random numbers of a case start: the same in every run.
fn seed(name: &str) -> u64 {
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A port that nobody has at the moment.
pub(crate) fn free(ip: IpAddr) -> Result<SocketAddr, String> {
    let socket = UdpSocket::bind((ip, 0)).and_then(|socket| socket.local_addr());
    socket.map_err(|error| format!("no port of {ip} is free: {error}"))
}

/// Waits until a server has its port.
pub(crate) fn wait_for(server: &mut Process, address: SocketAddr, patience: Duration) -> Result<(), String> {
    let until = Instant::now() + patience;
    while Instant::now() < until {
        if bound(address) {
            return Ok(());
        }
        if let Some(status) = server.wait(Duration::from_millis(10))? {
            return Err(format!("the server ended with {status}: {}", tail(&server.said(), 6)));
        }
    }
    Err(format!(
        "the server does not listen on {address} after {} s: {}",
        patience.as_secs(),
        tail(&server.said(), 6)
    ))
}

/// Whether a UDP socket has this port, by the system's table: to bind it oneself would take it from the server.
fn bound(address: SocketAddr) -> bool {
    let port = format!(":{:04X}", address.port());
    ["/proc/net/udp", "/proc/net/udp6"].iter().any(|table| {
        fs::read_to_string(table).is_ok_and(|text| {
            text.lines().filter_map(|line| line.split_whitespace().nth(1)).any(|local| local.ends_with(&port))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_seen_to_be_bound() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        assert!(bound(address));
        drop(socket);
        assert!(!bound(address));
    }
}
