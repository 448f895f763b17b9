//! A client whose address changes.

use std::sync::Mutex;

use sandquic::congestion::CubicConfig;

use super::common;
use super::*;

#[test]
fn the_client_migrates_to_another_port() {
    for link in [Link::CLEAN, Link::BAD] {
        let net = Net::new(110, link);
        net.world.run(async {
            let (client, server) = net.connect().await;
            let up = net.send(&client, &server, common::pattern(4 << 20));
            let down = net.send(&server, &client, common::pattern(4 << 20));
            net.world.sleep(ms(100)).await;
            let elsewhere = SocketAddr::new(client_addr().ip(), 50_001);
            net.client.rebind_abstract(net.world.bind(elsewhere)).unwrap();
            assert_eq!(net.client.local_addr().unwrap(), elsewhere);
            up.1.await;
            down.1.await;
            assert_eq!(server.remote_address(), elsewhere);
        });
    }
}

#[test]
fn a_rewritten_port_is_followed() {
    // An address translator forgets its mapping: the client does not know that its port has changed.
    let net = Net::new(111, Link::CLEAN);
    let outside = SocketAddr::new(client_addr().ip(), 61_000);
    let mapped = Arc::new(Mutex::new(false));
    let (world, active) = (net.world.clone(), mapped.clone());
    let translated = net.world.bind(outside);
    let back = net.world.clone();
    net.world.spawn(async move {
        // What arrives at the outside is handed in.
        let mut received = Vec::new();
        loop {
            std::future::poll_fn(|cx| translated.poll_recv(cx, 64, &mut received)).await.unwrap();
            for datagram in received.drain(..) {
                back.inject(server_addr(), client_addr(), datagram.contents.to_vec());
            }
        }
    });
    let (outgoing, relay) = (Arc::new(Mutex::new(Vec::new())), net.world.clone());
    let queue = outgoing.clone();
    net.world.set_filter(move |datagram| {
        if datagram.from == client_addr() && *active.lock().unwrap() {
            queue.lock().unwrap().push(datagram.bytes.clone());
            return false;
        }
        true
    });
    net.world.spawn(async move {
        loop {
            relay.sleep(ms(1)).await;
            for bytes in std::mem::take(&mut *outgoing.lock().unwrap()) {
                relay.inject(outside, server_addr(), bytes);
            }
        }
    });
    world.run(async {
        let (client, server) = net.connect().await;
        net.send(&client, &server, common::pattern(10_000)).1.await;
        *mapped.lock().unwrap() = true;
        net.send(&client, &server, common::pattern(100_000)).1.await;
        net.send(&server, &client, common::pattern(100_000)).1.await;
        assert_eq!(server.remote_address(), outside);
        assert_eq!(client.remote_address(), server_addr());
    });
}

#[test]
fn the_largest_datagram_of_the_path_is_found() {
    let net = Net::new(112, Link::CLEAN);
    net.world.run(async {
        let (client, server) = net.connect().await;
        net.send(&client, &server, common::pattern(1 << 20)).1.await;
        assert_eq!(client.stats().path.current_mtu, 1452);
    });
    // Over a link that drops what is longer than 1,300 bytes.
    let net = Net::new(113, Link::CLEAN);
    net.world.set_filter(|datagram| datagram.bytes.len() <= 1300);
    net.world.run(async {
        let (client, server) = net.connect().await;
        net.send(&client, &server, common::pattern(1 << 20)).1.await;
        let mtu = client.stats().path.current_mtu;
        assert!((1200..=1300).contains(&mtu), "{mtu}");
    });
}

/// Packets of a size that the initial window of quinn-proto, 12,000 bytes, holds only one of.
fn jumbo() -> TransportConfig {
    transport(|t| {
        t.min_mtu(JUMBO).initial_mtu(JUMBO).mtu_discovery_config(None);
    })
}

#[test]
fn packets_larger_than_half_the_initial_window_are_exchanged() {
    let net = Net::with_transport(114, link(|link| link.mtu = JUMBO.into()), jumbo());
    net.world.run(async {
        let (client, server) = net.connect().await;
        net.send(&client, &server, common::pattern(1 << 20)).1.await;
        net.send(&server, &client, common::pattern(1 << 20)).1.await;
        assert_eq!(server.stats().path.current_mtu, JUMBO);
        // Not by waiting for something to time out.
        assert!(net.world.now() < ms(1_000), "{:?}", net.world.now());
    });
}

#[test]
fn such_packets_may_come_before_the_handshake_ends() {
    // Here the window has to be that of RFC 9002, 7.2, which is larger for them.
    let mut cubic = CubicConfig::default();
    cubic.initial_window(2 * u64::from(JUMBO));
    let mut transport = jumbo();
    transport.congestion_controller_factory(Arc::new(cubic));
    let net = Net::with_transport(115, link(|link| link.mtu = JUMBO.into()), transport);
    net.world.run(async {
        let server = net.server.clone();
        net.world.spawn(async move {
            let incoming = server.accept().await.unwrap().accept().unwrap();
            let (connection, accepted) = incoming.into_0rtt().expect("a server can always send");
            let mut early = connection.open_uni().await.unwrap();
            early.write_all(&common::pattern(100_000)).await.unwrap();
            early.finish().unwrap();
            accepted.await;
            connection.closed().await;
        });
        let client = net.client.connect(server_addr(), NAME).unwrap().await.unwrap();
        let mut request = client.open_uni().await.unwrap();
        request.write_all(&common::pattern(100_000)).await.unwrap();
        let mut stream = client.accept_uni().await.unwrap();
        assert!(stream.read_to_end(100_000).await.unwrap() == common::pattern(100_000));
        assert!(net.world.now() < ms(1_000), "{:?}", net.world.now());
    });
}
