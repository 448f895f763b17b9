//! The batched sockets where the system has no room: full buffers, a slow device, no memory for a datagram.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use crate::support::{Guest, PATIENCE, RELEASES, network, number, socket};
use sandquic_host::Error;

/// A loopback that carries half a megabyte a second and makes all others wait, in the sender's buffer.
const SLOW: &str = "tc qdisc add dev lo root tbf rate 4mbit burst 16kb limit 10mb";

/// One that takes longer than the host waits for any progress to carry what it merges into one call.
const SLOWER: &str = "tc qdisc add dev lo root tbf rate 400kbit burst 16kb limit 10mb";

/// One that carries a first burst, and then a kilobyte a second.
const STUCK: &str = "tc qdisc add dev lo root tbf rate 8kbit burst 70kb limit 10mb";

/// One whose packets are those of Ethernet.
const SMALL: &str = "ip link set lo mtu 1500";

/// Receives datagrams of 1,000 bytes with the numbers from 0 to `count`, in order.
fn expect(peer: &UdpSocket, count: u32, what: &str) {
    peer.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut buffer = [0; 2000];
    for expected in 0..count {
        let len = peer.recv(&mut buffer).unwrap_or_else(|error| panic!("{what}: {expected}: {error}"));
        assert_eq!((len, number(&buffer[..len])), (1000, Some(expected)), "{what}");
    }
}

#[test]
fn what_was_sent_arrives_though_the_guest_ends_at_once() {
    let test = "room::what_was_sent_arrives_though_the_guest_ends_at_once";
    network::inside(test, SLOW, || {
        let ends = [&[][..], &["close"], &["trap"], &["close", "sleep=1500", "bind=127.0.0.1:7001"]];
        for (release, end) in RELEASES.iter().flat_map(|release| ends.map(|end| (release, end))) {
            let peer = socket();
            let what = format!("{release} {end:?}");
            // The guest waits for room; at its end the system's buffer is full, and the host holds more.
            let steps = ["bind=127.0.0.1:7001", &format!("send={}/1000/500", peer.local_addr().unwrap())];
            let guest =
                steps.iter().chain(end).fold(Guest::new(release), |guest, step| guest.step(*step)).start();
            expect(&peer, 500, &what);
            let (status, output, counts) = guest.end();
            match end {
                ["trap"] => assert!(matches!(status, Err(Error::Trap { .. })), "{what}: {status:?}"),
                _ => assert_eq!(status.unwrap(), 0, "{what}: {output}"),
            }
            assert_eq!((counts.sent, counts.dropped, counts.late_errors), (500, 0, 0), "{what}");
            // The port of a socket that has sent all is free again.
            if end.len() == 3 {
                assert_eq!(output.matches("bound 127.0.0.1:7001").count(), 2, "{what}: {output}");
            }
        }
    });
}

#[test]
fn a_slow_link_is_waited_for_as_long_as_it_takes_something() {
    let test = "room::a_slow_link_is_waited_for_as_long_as_it_takes_something";
    network::inside(test, SLOWER, || {
        let peer = socket();
        let guest = Guest::new("0.3")
            .step("bind=127.0.0.1:7001")
            .step(format!("send={}/1000/500", peer.local_addr().unwrap()))
            .start();
        expect(&peer, 500, "400 kbit/s");
        let (status, output, counts) = guest.end();
        assert_eq!(status.unwrap(), 0, "{output}");
        assert_eq!((counts.sent, counts.dropped), (500, 0), "{output}");
    });
}

#[test]
fn what_there_is_no_room_for_is_dropped_after_a_while_and_counted() {
    let test = "room::what_there_is_no_room_for_is_dropped_after_a_while_and_counted";
    network::inside(test, STUCK, || {
        for release in RELEASES {
            for end in [&[][..], &["close", "sleep=4000", "bind=127.0.0.1:7001"]] {
                // Nobody needs to receive: what is there never leaves the sender's buffer.
                let mut guest = Guest::new(release).step("bind=127.0.0.1:7001").step("fill=127.0.0.1:9/1400");
                for step in end {
                    guest = guest.step(*step);
                }
                let started = Instant::now();
                let (status, output, counts) = guest.start().end();
                let what = format!("{release} {end:?}: {output} {counts:?}");
                assert_eq!(status.unwrap(), 0, "{what}");
                assert!(started.elapsed() < PATIENCE, "{what}");
                let filled =
                    output.lines().find_map(|line| line.strip_prefix("filled ")?.parse::<u64>().ok());
                assert!(counts.dropped > 0, "{what}");
                assert_eq!(Some(counts.sent + counts.dropped), filled, "{what}");
                if !end.is_empty() {
                    assert_eq!(output.matches("bound 127.0.0.1:7001").count(), 2, "{what}");
                }
            }
        }
    });
}

#[test]
fn no_memory_for_a_datagram_is_its_error_and_no_others() {
    let test = "room::no_memory_for_a_datagram_is_its_error_and_no_others";
    // A datagram in fragments that do not fit into twice the buffer gives ENOBUFS.
    network::inside(test, SMALL, || {
        let peer = socket();
        let to = peer.local_addr().unwrap();
        let guest = Guest::new("0.3")
            .step("bind=127.0.0.1:0")
            .step("send-buffer=4096")
            // Alone, and so told by its own call.
            .step(format!("sizes={to}/100+60000+100"))
            .step("sleep=1")
            // In one run: refused together, then each, and told by the next call, which sends nothing itself.
            .step(format!("sizes={to}/20000+20000+20000"))
            .step("sleep=1")
            .step(format!("sizes={to}/100+100"))
            .start();
        let (status, output, counts) = guest.end();
        assert_eq!(status.unwrap(), 0, "{output}");
        let errors: Vec<&str> = output.lines().filter(|line| line.starts_with("send: error ")).collect();
        assert_eq!(errors.len(), 2, "{output} {counts:?}");
        assert_eq!(errors, ["send: error OutOfMemory"; 2]);
        assert_eq!((counts.sent, counts.late_errors, counts.dropped), (3, 3, 0), "{counts:?}");
        let mut buffer = [0; 200];
        for expected in [0, 2, 7] {
            let len = peer.recv(&mut buffer).unwrap();
            assert_eq!((len, number(&buffer[..len])), (100, Some(expected)));
        }
    });
}

#[test]
fn what_the_device_cannot_merge_goes_one_by_one_in_order() {
    let test = "room::what_the_device_cannot_merge_goes_one_by_one_in_order";
    network::inside(test, SMALL, || {
        for release in RELEASES {
            let peer = socket();
            let to = peer.local_addr().unwrap();
            // Larger than a packet, so that each is in fragments, which no offload makes; one that is larger than any
            // datagram (EMSGSIZE); and some that can be merged.
            let guest = Guest::new(release)
                .step("bind=127.0.0.1:0")
                .step(format!("sizes={to}/2000+2000+2000+1000+65508+1400+1400+1400"))
                .step("sleep=1")
                .step(format!("sizes={to}/1600+1600+1473+1472+1472"))
                .start();
            let (status, output, counts) = guest.end();
            assert_eq!(status.unwrap(), 0, "{output}");
            assert_eq!(output.matches("send: error").count(), 1, "{output}");
            assert_eq!((counts.sent, counts.late_errors, counts.dropped), (12, 0, 0), "{counts:?}");
            let mut buffer = [0; 3000];
            let sizes = [2000, 2000, 2000, 1000, 0, 1400, 1400, 1400, 1600, 1600, 1473, 1472, 1472];
            for (expected, size) in (0..).zip(sizes).filter(|(_, size)| *size > 0) {
                let len = peer.recv(&mut buffer).unwrap();
                assert_eq!((len, number(&buffer[..len])), (size, Some(expected)), "{release}");
            }
        }
    });
}
