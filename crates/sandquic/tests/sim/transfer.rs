//! Much data, key updates on the way, and what a driver costs when nothing happens.

use super::common::pattern;
use super::*;

const MIB: usize = 1 << 20;

#[test]
fn sixty_four_mebibytes_both_ways() {
    let net = Net::new(40, link(|link| (link.loss, link.jitter) = (2, ms(1))));
    net.world.run(async {
        let (client, server) = net.connect().await;
        let up = net.send(&client, &server, pattern(64 * MIB));
        let down = net.send(&server, &client, pattern(64 * MIB + 1));
        up.1.await;
        down.1.await;
        up.0.await;
        down.0.await;
        let stats = client.stats();
        assert!(stats.path.lost_packets > 0, "the link loses");
        assert!(client.rtt() >= ms(20) && client.min_rtt() >= ms(20), "the link is as long as it is");
    });
}

#[test]
fn every_kind_of_damage() {
    let kinds: [fn(&mut Link); 5] = [
        |link| link.loss = 50,
        |link| link.duplication = 300,
        |link| link.corruption = 50,
        |link| link.jitter = ms(20),
        |link| *link = Link::BAD,
    ];
    for (kind, change) in kinds.into_iter().enumerate() {
        let net = Net::new(50 + kind as u64, link(change));
        net.world.run(async {
            let (client, server) = net.connect().await;
            let up = net.send(&client, &server, pattern(MIB));
            let down = net.send(&server, &client, pattern(MIB + 7));
            up.1.await;
            down.1.await;
        });
    }
}

#[test]
fn keys_are_updated_on_the_way() {
    for link in [Link::CLEAN, Link::BAD] {
        let net = Net::new(60, link);
        net.world.run(async {
            let (client, server) = net.connect().await;
            let up = net.send(&client, &server, pattern(8 * MIB));
            let down = net.send(&server, &client, pattern(8 * MIB));
            for round in 0..10 {
                net.world.sleep(ms(70)).await;
                // By either side, and by both at once.
                if round % 3 != 1 {
                    client.force_key_update();
                }
                if round % 3 != 0 {
                    server.force_key_update();
                }
            }
            up.1.await;
            down.1.await;
        });
    }
}

#[test]
fn an_idle_connection_costs_nothing() {
    let config = transport(|config| {
        config.max_idle_timeout(None);
    });
    let net = Net::with_transport(61, Link::CLEAN, config);
    net.world.run(async {
        let (_client, _server) = net.connect().await;
        net.world.sleep(Duration::from_secs(10)).await;
        let (before, sent) = (net.world.polls(), net.world.sent(client_addr()));
        net.world.sleep(Duration::from_secs(100_000)).await;
        assert!(net.world.polls() - before < 10, "{} polls", net.world.polls() - before);
        assert_eq!(net.world.sent(client_addr()), sent);
    });
}

#[test]
fn few_polls_and_acknowledgements_a_datagram() {
    let net = Net::new(62, Link::CLEAN);
    net.world.run(async {
        let (client, server) = net.connect().await;
        let before = net.world.polls();
        let (sender, receiver) = net.send(&client, &server, pattern(16 * MIB));
        receiver.await;
        sender.await;
        let (_, data) = net.world.sent(client_addr());
        let (_, acks) = net.world.sent(server_addr());
        let polls = net.world.polls() - before;
        // Datagrams that arrive together are handled together.
        assert!(polls < data, "{polls} polls for {data} datagrams");
        assert!(acks < data / 2, "{acks} acknowledgements for {data} datagrams");
    });
}

#[test]
fn a_full_socket_is_waited_for() {
    let net = Net::new(63, Link::CLEAN);
    net.world.run(async {
        let (client, server) = net.connect().await;
        let up = net.send(&client, &server, pattern(4 * MIB));
        let down = net.send(&server, &client, pattern(4 * MIB));
        for _ in 0..20 {
            net.world.sleep(ms(13)).await;
            net.world.jam(client_addr(), true);
            net.world.sleep(ms(7)).await;
            net.world.jam(client_addr(), false);
        }
        up.1.await;
        down.1.await;
    });
}

#[test]
fn time_goes_on_while_a_socket_is_full() {
    let config = transport(|config| {
        config.max_idle_timeout(Some(Duration::from_secs(5).try_into().unwrap()));
    });
    let net = Net::with_transport(64, Link::CLEAN, config);
    net.world.run(async {
        let (client, _server) = net.connect().await;
        net.world.jam(client_addr(), true);
        let before = net.world.polls();
        let mut stream = client.open_uni().await.unwrap();
        stream.write_all(&pattern(100_000)).await.unwrap();
        assert_eq!(client.closed().await, sandquic::ConnectionError::TimedOut);
        assert!(net.world.polls() - before < 100, "it waits without spinning");
    });
}

#[test]
fn what_arrives_is_read_while_a_socket_is_full() {
    let net = Net::new(65, Link::CLEAN);
    net.world.run(async {
        let (one, from_one) = net.connect().await;
        let (other, from_other) = net.connect().await;
        net.world.sleep(ms(100)).await;
        net.world.jam(client_addr(), true);
        let start = net.world.now();
        // The acknowledgement of the first does not get through, and the second arrives at the same time.
        let mut streams = Vec::new();
        for server in [&from_one, &from_other] {
            let mut stream = server.open_uni().await.unwrap();
            stream.write_all(&pattern(5000)).await.unwrap();
            stream.finish().unwrap();
            streams.push(stream);
        }
        for client in [other, one] {
            let world = net.world.clone();
            // In a task of its own, which is polled only when it is woken.
            let reading = net.world.spawn(async move {
                let mut stream = client.accept_uni().await.unwrap();
                assert!(stream.read_to_end(5000).await.unwrap() == pattern(5000));
                world.now()
            });
            assert_eq!(reading.await - start, ms(10));
        }
    });
}
