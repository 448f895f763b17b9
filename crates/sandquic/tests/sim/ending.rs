//! How connections end: closed, idle, reset, dropped, and with their endpoint.

use sandquic::{ConnectionError, TransportErrorCode, VarInt};

use super::common::{self, NAME, server_config};
use super::*;

#[test]
fn close_carries_code_and_reason() {
    let net = Net::new(90, Link::BAD);
    net.world.run(async {
        let (client, server) = net.connect().await;
        assert_eq!(server.close_reason(), None);
        client.close(VarInt::from_u32(4711), b"the reason");
        let error = server.closed().await;
        let ConnectionError::ApplicationClosed(close) = &error else { panic!("{error:?}") };
        assert_eq!((close.error_code, &close.reason[..]), (VarInt::from_u32(4711), &b"the reason"[..]));
        assert_eq!(server.close_reason(), Some(error));
        assert_eq!(client.closed().await, ConnectionError::LocallyClosed);
        client.close(VarInt::from_u32(1), b"again");
        net.client.wait_idle().await;
        net.server.wait_idle().await;
        assert_eq!((net.client.open_connections(), net.server.open_connections()), (0, 0));
        // The handles remain usable.
        assert_eq!(client.remote_address(), server_addr());
        assert!(client.stats().udp_tx.datagrams > 0);
    });
}

#[test]
fn dropping_every_handle_closes() {
    let net = Net::new(91, Link::CLEAN);
    net.world.run(async {
        let (client, server) = net.connect().await;
        let stream = client.open_uni().await.unwrap();
        drop(client);
        net.world.sleep(ms(100)).await;
        assert_eq!(server.close_reason(), None, "a stream is a handle too");
        drop(stream);
        let error = server.closed().await;
        let ConnectionError::ApplicationClosed(close) = error else { panic!("{error:?}") };
        assert_eq!(close.error_code, VarInt::from_u32(0));
        net.client.wait_idle().await;
    });
}

#[test]
fn dropping_an_attempt_gives_it_up() {
    let net = Net::new(92, Link::CLEAN);
    net.world.run(async {
        drop(net.client.connect(server_addr(), NAME).unwrap());
        net.client.wait_idle().await;
        assert_eq!(net.client.open_connections(), 0);
    });
}

#[test]
fn idle_connections_time_out_unless_kept_alive() {
    for keep_alive in [false, true] {
        let config = transport(|config| {
            config.max_idle_timeout(Some(Duration::from_secs(10).try_into().unwrap()));
            config.keep_alive_interval(keep_alive.then_some(Duration::from_secs(3)));
        });
        let net = Net::with_transport(93, Link::CLEAN, config);
        net.world.run(async {
            let (client, server) = net.connect().await;
            net.world.sleep(Duration::from_secs(9)).await;
            assert_eq!(client.close_reason(), None);
            net.world.sleep(Duration::from_secs(11)).await;
            let expected = (!keep_alive).then_some(ConnectionError::TimedOut);
            assert_eq!(client.close_reason(), expected);
            assert_eq!(server.close_reason(), expected);
        });
    }
}

#[test]
fn a_peer_that_disappears_is_noticed() {
    let config = transport(|config| {
        config.max_idle_timeout(Some(Duration::from_secs(10).try_into().unwrap()));
    });
    let net = Net::with_transport(94, Link::CLEAN, config);
    net.world.run(async {
        let (client, server) = net.connect().await;
        let sending = net.send(&client, &server, common::pattern(100));
        sending.1.await;
        net.world.set_link(Link::CUT);
        let mut stream = client.open_uni().await.unwrap();
        stream.write_all(&common::pattern(1000)).await.unwrap();
        let start = net.world.now();
        assert_eq!(client.closed().await, ConnectionError::TimedOut);
        let took = net.world.now() - start;
        assert!(took >= Duration::from_secs(9) && took < Duration::from_secs(40), "{took:?}");
        net.client.wait_idle().await;
    });
}

#[test]
fn nobody_there_times_out() {
    let net = Net::new(95, Link::CUT);
    net.world.run(async {
        let error = net.client.connect(server_addr(), NAME).unwrap().await.unwrap_err();
        assert_eq!(error, ConnectionError::TimedOut);
        // The default idle timeout of 30 s.
        assert!(net.world.now() >= Duration::from_secs(30) && net.world.now() < Duration::from_secs(120));
    });
}

#[test]
fn a_restarted_server_resets_statelessly() {
    let world = World::new(96, Link::CLEAN);
    let runtime = world.runtime();
    let config = endpoint_config(96);
    let serve = || {
        let socket = world.bind(server_addr());
        Endpoint::new_with_abstract_socket(config.clone(), Some(server_config()), socket, runtime.clone())
            .unwrap()
    };
    let server = serve();
    let mut client = Endpoint::new_with_abstract_socket(
        endpoint_config(97),
        None,
        world.bind(client_addr()),
        runtime.clone(),
    )
    .unwrap();
    client.set_default_client_config(client_config());
    let net = Net { world: world.clone(), server, client };
    net.world.run(async {
        let (client, server) = net.connect().await;
        // A second exchange confirms the handshake to both sides.
        net.send(&client, &server, common::pattern(100)).1.await;
        // The old server is cut off from the network, and the new one knows nothing but the reset key.
        let restarted = serve();
        let mut stream = client.open_uni().await.unwrap();
        stream.write_all(b"still there?").await.unwrap();
        assert_eq!(client.closed().await, ConnectionError::Reset);
        // A forged one has no effect.
        drop(stream);
        drop(restarted);
    });
}

#[test]
fn a_forged_reset_is_ignored() {
    let net = Net::new(98, Link::CLEAN);
    net.world.run(async {
        let (client, server) = net.connect().await;
        for byte in 0..=255 {
            let mut forged = vec![byte; 60];
            forged[0] = 0x40 | (byte & 0x3f);
            net.world.inject(server_addr(), client_addr(), forged);
        }
        net.send(&client, &server, common::pattern(1000)).1.await;
        assert_eq!(client.close_reason(), None);
    });
}

#[test]
fn closing_the_endpoint_closes_its_connections() {
    let net = Net::new(99, Link::CLEAN);
    net.world.run(async {
        let (first, _first) = net.connect().await;
        let (second, _second) = net.connect().await;
        let server = net.server.clone();
        let accepting = net.world.spawn(async move { server.accept().await.is_none() });
        net.server.close(VarInt::from_u32(9), b"shutting down");
        for client in [first, second] {
            let error = client.closed().await;
            let ConnectionError::ApplicationClosed(close) = error else { panic!("{error:?}") };
            assert_eq!((close.error_code, &close.reason[..]), (VarInt::from_u32(9), &b"shutting down"[..]));
        }
        assert!(accepting.await, "nothing more is accepted");
        net.server.wait_idle().await;
        let error = net.client.connect(server_addr(), NAME).unwrap().await.unwrap_err();
        let ConnectionError::ConnectionClosed(close) = error else { panic!("{error:?}") };
        assert_eq!(close.error_code, TransportErrorCode::CONNECTION_REFUSED);
    });
}

#[test]
fn closing_the_endpoint_ends_the_attempts() {
    let net = Net::new(103, Link::CLEAN);
    net.world.run(async {
        let taken = net.client.connect(server_addr(), NAME).unwrap();
        let incoming = net.server.accept().await.unwrap();
        let waiting = net.client.connect(server_addr(), NAME).unwrap();
        net.world.sleep(ms(15)).await;
        net.server.close(VarInt::from_u32(9), b"shutting down");
        // Nobody takes this one, not even to refuse it.
        let error = waiting.await.unwrap_err();
        let ConnectionError::ConnectionClosed(close) = error else { panic!("{error:?}") };
        assert_eq!(close.error_code, TransportErrorCode::CONNECTION_REFUSED);
        assert_eq!(incoming.await.unwrap_err(), ConnectionError::LocallyClosed);
        let error = taken.await.unwrap_err();
        assert!(matches!(error, ConnectionError::ConnectionClosed(_)), "{error:?}");
        net.server.wait_idle().await;
    });
}

#[test]
fn a_dropped_endpoint_lets_its_connections_end_in_peace() {
    let net = Net::new(100, Link::CLEAN);
    let Net { world, server, client } = net;
    world.run(async {
        let accepting = world.spawn(async move {
            let connection = server.accept().await.unwrap().await.unwrap();
            drop(server);
            connection
        });
        let at_client = client.connect(server_addr(), NAME).unwrap().await.unwrap();
        let at_server = accepting.await;
        let mut send = at_server.open_uni().await.unwrap();
        send.write_all(&common::pattern(100_000)).await.unwrap();
        send.finish().unwrap();
        let mut recv = at_client.accept_uni().await.unwrap();
        assert_eq!(recv.read_to_end(1 << 20).await.unwrap(), common::pattern(100_000));
        // But it takes no new ones.
        let error = client.connect(server_addr(), NAME).unwrap().await.unwrap_err();
        assert!(matches!(error, ConnectionError::ConnectionClosed(_)), "{error:?}");
    });
}
