//! The batched sockets with a real component (`guests/udp`), against sockets of this process, and beside Wasmtime's own.

mod faults;
mod room;
mod support;

use std::collections::HashMap;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use sandquic_host::{Error, Udp};
use support::{Guest, PATIENCE, RELEASES, datagram, number, socket};

#[test]
fn order_and_boundaries_are_kept_for_every_mix_of_sizes() {
    for release in RELEASES {
        let peer = socket();
        // The smallest and the largest, lengths one more and one less than a merged run's; then a random mix. After each
        // group the guest waits, so that none is lost to a full buffer.
        let groups = [
            &[1, 2, 1, 1350, 1350, 1350, 1349, 1350, 1351, 1351, 9, 9][..],
            &[65_507, 1],
            &[32_743, 32_744],
            &[32_744, 32_744],
            &[65_507],
        ];
        let to = peer.local_addr().unwrap();
        let mut guest = Guest::new(release).step("bind=127.0.0.1:0");
        for group in groups {
            let sizes: Vec<String> = group.iter().map(usize::to_string).collect();
            guest = guest.step(format!("sizes={to}/{}", sizes.join("+"))).step("receive=1");
        }
        let guest = guest.step(format!("random={to}/{}/119/65507", release.len())).start();
        let mut buffer = vec![0; 65_536];
        let mut next = 0;
        for group in groups {
            let mut from = None;
            for &expected in group {
                let (len, addr) = peer.recv_from(&mut buffer).unwrap();
                assert_eq!(
                    (len, number(&buffer[..len])),
                    (expected, Some(next & mask(len))),
                    "release {release}"
                );
                from = Some(addr);
                next += 1;
            }
            peer.send_to(&datagram(0, 1), from.unwrap()).unwrap();
        }
        // The receiver's buffer may overflow; what comes is whole and in order.
        let mut came = 0;
        while let Ok((len, _)) = peer.recv_from(&mut buffer) {
            let number = number(&buffer[..len]).expect("a datagram is whole");
            if len >= 4 {
                assert!(number >= next, "{number} came after {next}");
                next = number + 1;
            }
            came += 1;
        }
        assert!(came >= 3, "{came}");
        let (status, output, counts) = guest.end();
        assert_eq!(status.unwrap(), 0, "{output}");
        assert_eq!(counts.sent, 138, "{counts:?}");
        assert_eq!(counts.late_errors, 0);
        if release == "0.3" {
            assert!(counts.gso_batches > 2 && counts.send_calls < counts.sent, "{counts:?}");
        }
    }
}

/// What a short datagram can say of its number.
fn mask(len: usize) -> u32 {
    if len >= 4 { u32::MAX } else { (1 << (8 * len)) - 1 }
}

#[test]
fn what_is_received_in_batches_comes_apart_as_it_was_sent() {
    for release in RELEASES {
        let guest = Guest::new(release).step("bind=127.0.0.1:0").step("receive=300").start();
        let to = guest.bound();
        // The system's own offload merges these; without it they are many messages.
        let peer = socket();
        let state = quinn_udp::UdpSocketState::new((&peer).into()).unwrap();
        let mut sent = Vec::new();
        for burst in 0..30u32 {
            let segment = 1 + (burst as usize * 97) % 1400;
            let mut contents = Vec::new();
            for at in 0..10 {
                // The last of each burst is short.
                let len = if at == 9 { segment.div_ceil(3) } else { segment };
                let number = burst * 10 + at;
                contents.extend(datagram(number, len));
                sent.push((len, number & mask(len)));
            }
            let transmit = quinn_udp::Transmit {
                destination: to,
                ecn: None,
                contents: &contents,
                segment_size: Some(segment),
                src_ip: None,
            };
            if state.max_gso_segments() >= 10 {
                state.try_send((&peer).into(), &transmit).unwrap();
            } else {
                for one in contents.chunks(segment) {
                    peer.send_to(one, to).unwrap();
                }
            }
            // The default buffer holds some hundred small datagrams.
            if burst % 5 == 4 {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        let (status, output, counts) = guest.end();
        assert_eq!(status.unwrap(), 0, "{output}");
        let port = peer.local_addr().unwrap().port();
        let expected: Vec<String> =
            sent.iter().map(|(len, number)| format!("received {len} {number} {port}")).collect();
        let received: Vec<&str> = output.lines().skip(1).collect();
        assert_eq!(received, expected, "release {release}");
        assert_eq!(counts.received, 300);
        assert!(counts.receive_calls < 150, "{counts:?}");
        if state.max_gso_segments() >= 10 {
            assert!(counts.gro_batches > 0, "{counts:?}");
        }
    }
}

#[test]
fn two_destinations_in_turn_get_each_its_own() {
    for release in RELEASES {
        let peers = [socket(), socket()];
        let [one, other] = [0, 1].map(|at: usize| peers[at].local_addr().unwrap());
        let guest =
            Guest::new(release).step("bind=127.0.0.1:0").step(format!("both={one}/{other}/500/40")).start();
        let (status, output, counts) = guest.end();
        assert_eq!(status.unwrap(), 0, "{output}");
        assert_eq!(counts.sent, 80);
        for (at, peer) in peers.iter().enumerate() {
            let mut buffer = [0; 2000];
            for round in 0..40 {
                let len = peer.recv(&mut buffer).unwrap();
                assert_eq!((len, number(&buffer[..len])), (500, Some(round * 2 + at as u32)));
            }
        }
    }
}

#[test]
fn what_is_sent_leaves_before_the_guest_waits_for_anything() {
    // For a datagram, for a timer, for its end, by dropping the socket.
    let waits = [&["receive=1"][..], &["sleep=3000"], &[], &["close", "sleep=3000"]];
    for (release, wait) in RELEASES.iter().flat_map(|release| waits.map(|wait| (release, wait))) {
        let peer = socket();
        let mut guest = Guest::new(release)
            .step("bind=127.0.0.1:0")
            .step(format!("send={}/1000/5", peer.local_addr().unwrap()));
        for step in wait {
            guest = guest.step(*step);
        }
        let guest = guest.start();
        let started = Instant::now();
        let mut buffer = [0; 2000];
        for _ in 0..5 {
            let (len, from) = peer.recv_from(&mut buffer).unwrap();
            assert_eq!(len, 1000);
            peer.send_to(&buffer[..len], from).unwrap();
        }
        assert!(started.elapsed() < Duration::from_millis(2500), "{wait:?}");
        if wait.last() != Some(&"sleep=3000") {
            assert_eq!(guest.end().0.unwrap(), 0);
        }
    }
}

#[test]
fn a_trap_with_datagrams_on_their_way_loses_none() {
    for release in RELEASES {
        let peer = socket();
        let guest = Guest::new(release)
            .step("bind=127.0.0.1:0")
            .step(format!("send={}/700/9", peer.local_addr().unwrap()))
            .step("trap")
            .start();
        let (status, _, counts) = guest.end();
        assert!(matches!(status, Err(Error::Trap { .. })), "{status:?}");
        assert_eq!(counts.sent, 9);
        let mut buffer = [0; 2000];
        for expected in 0..9 {
            let len = peer.recv(&mut buffer).unwrap();
            assert_eq!(number(&buffer[..len]), Some(expected));
        }
    }
}

#[test]
fn errors_of_the_system_reach_the_guest() {
    // Nobody listens there: the system says so after the first datagram.
    let closed = {
        let socket = socket();
        socket.local_addr().unwrap()
    };
    for release in RELEASES {
        let steps = [
            "bind=127.0.0.1:0".to_owned(),
            format!("connect={closed}"),
            "send=-/100/1".into(),
            "sleep=50".into(),
            "send=-/100/1".into(),
            "sleep=50".into(),
            "send=-/100/1".into(),
        ];
        let guest = steps.iter().fold(Guest::new(release), |guest, step| guest.step(step)).start();
        let (status, output, counts) = guest.end();
        assert_eq!(status.unwrap(), 0, "{output}");
        assert!(output.contains("send: error ConnectionRefused"), "{release}: {output} {counts:?}");
    }
    // Larger than any datagram: its own error, and the others are sent.
    for release in RELEASES {
        let peer = socket();
        let guest = Guest::new(release)
            .step("bind=127.0.0.1:0")
            .step(format!("sizes={}/10+65508+70000+10", peer.local_addr().unwrap()))
            .start();
        let (status, output, counts) = guest.end();
        assert_eq!(status.unwrap(), 0, "{output}");
        assert_eq!(output.matches("send: error").count(), 2, "{output}");
        assert_eq!((counts.sent, counts.late_errors), (2, 0), "{counts:?}");
        let mut buffer = [0; 100];
        for expected in [0, 3] {
            let len = peer.recv(&mut buffer).unwrap();
            assert_eq!(number(&buffer[..len]), Some(expected));
        }
    }
}

#[test]
fn a_guest_that_never_waits_starves_nobody() {
    // Its own timer, which it looks at only when it is made to wait.
    let started = Instant::now();
    let guest = Guest::new("0.3").step("bind=127.0.0.1:0").step("fair=100").start();
    let (status, output, counts) = guest.end();
    assert_eq!(status.unwrap(), 0, "{output}");
    assert!(started.elapsed() < PATIENCE);
    assert!(counts.yields > 0, "{counts:?}");
    // Another guest on the same thread.
    for release in RELEASES {
        let flood = Guest::new(release).step("bind=127.0.0.1:0").step("flood=1500");
        let echo = Guest::new("0.3").step("bind=127.0.0.1:0").step("echo=20");
        let both = Guest::start_together(vec![flood, echo]);
        let to = both[1].bound();
        let (peer, started) = (socket(), Instant::now());
        let mut buffer = [0; 100];
        for _ in 0..20 {
            peer.send_to(b"knock", to).unwrap();
            assert_eq!(peer.recv(&mut buffer).unwrap(), 5, "{release}");
        }
        assert!(started.elapsed() < Duration::from_millis(1200), "{release}: {:?}", started.elapsed());
        for guest in both {
            assert_eq!(guest.end().0.unwrap(), 0);
        }
    }
}

#[test]
fn both_kinds_of_sockets_do_the_same() {
    let mut outputs: HashMap<&str, Vec<String>> = HashMap::new();
    for (release, udp) in
        RELEASES.iter().flat_map(|&release| [(release, Udp::Batched), (release, Udp::Stock)])
    {
        let peer: UdpSocket = socket();
        let to = peer.local_addr().unwrap();
        let guest = Guest::new(release)
            .on(udp)
            .step("bind=127.0.0.1:0")
            .step("bind=[::1]:0")
            .step("bind=192.0.2.1:0")
            .step("bind=127.0.0.1:0")
            .step("connect=0.0.0.0:0")
            .step("connect=[::1]:9")
            .step("send=-/10/1")
            .step("send=127.0.0.1:0/10/1")
            .step(format!("connect={to}"))
            .step("send=127.0.0.1:9/10/1")
            .step("send=-/10/1")
            .step("receive=1")
            .start();
        let mut buffer = [0; 100];
        let (len, from) = peer.recv_from(&mut buffer).unwrap();
        peer.send_to(&buffer[..len], from).unwrap();
        let (status, output, counts) = guest.end();
        assert_eq!(status.unwrap(), 0, "{output}");
        assert_eq!(counts.sent, if udp == Udp::Batched { 1 } else { 0 }, "whose sockets they are");
        // Ports differ.
        let output = output
            .lines()
            .map(|line| line.rsplit_once([':', ' ']).map_or(line, |(head, _)| head).to_owned())
            .collect::<Vec<_>>()
            .join("\n");
        outputs.entry(release).or_default().push(output);
    }
    for (release, pair) in outputs {
        assert_eq!(pair[0], pair[1], "release {release}");
    }
}

#[test]
fn without_a_grant_there_are_no_sockets() {
    for (release, error) in [("0.3", "AccessDenied"), ("0.2", "PermissionDenied")] {
        let (status, output, _) = Guest::new(release).denied().step("bind=127.0.0.1:0").start().end();
        assert_eq!((status.unwrap(), output.trim()), (0, format!("bind: error {error}").as_str()));
    }
}
