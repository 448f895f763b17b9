//! Resumption, 0-RTT and 0.5-RTT.

use sandquic::crypto::rustls::QuicServerConfig;
use sandquic::{ClientConfig, ReadError, ServerConfig, StoppedError, WriteError};

use super::common::{self, NAME, client_config, server_config};
use super::*;

/// Connect once, so that the client has a ticket.
async fn get_ticket(net: &Net) {
    let (client, server) = net.connect().await;
    // What follows the handshake has brought the ticket.
    net.send(&server, &client, vec![1]).1.await;
}

#[test]
fn without_a_ticket_there_is_no_early_data() {
    let net = Net::new(80, Link::CLEAN);
    net.world.run(async {
        let accepting = net.accept();
        let connecting = net.client.connect(server_addr(), NAME).unwrap().into_0rtt().map(drop).unwrap_err();
        connecting.await.unwrap();
        accepting.await;
    });
}

#[test]
fn accepted_early_data_arrives_before_the_handshake_is_complete() {
    for link in [Link::CLEAN, Link::BAD] {
        let net = Net::new(81, link);
        net.world.run(async {
            get_ticket(&net).await;
            let start = net.world.now();
            let (client, accepted) = net.client.connect(server_addr(), NAME).unwrap().into_0rtt().unwrap();
            let (mut send, mut recv) = client.open_bi().await.unwrap();
            send.write_all(b"early").await.unwrap();
            send.finish().unwrap();

            let (server, _) = net.server.accept().await.unwrap().accept().unwrap().into_0rtt().unwrap();
            let (mut answer, mut question) = server.accept_bi().await.unwrap();
            let replayable = question.is_0rtt();
            assert_eq!(question.read_to_end(10).await.unwrap(), b"early");
            if link.loss == 0 {
                assert!(replayable);
                assert_eq!(net.world.now() - start, ms(10), "half a round trip");
            }
            answer.write_all(b"soon").await.unwrap();
            answer.finish().unwrap();
            assert_eq!(recv.read_to_end(10).await.unwrap(), b"soon");
            assert!(accepted.await);
            net.send(&client, &server, common::pattern(10_000)).1.await;
        });
    }
}

#[test]
fn rejected_early_data_is_reported_and_the_connection_goes_on() {
    let net = Net::new(82, Link::CLEAN);
    net.world.run(async {
        get_ticket(&net).await;
        // The server has forgotten all tickets.
        net.server.set_server_config(Some(server_config()));
        let accepting = net.accept();
        let (client, accepted) = net.client.connect(server_addr(), NAME).unwrap().into_0rtt().unwrap();
        let mut send = client.open_uni().await.unwrap();
        send.write_all(b"early").await.unwrap();
        let (mut other, mut recv) = client.open_bi().await.unwrap();
        other.write_all(b"early").await.unwrap();
        let stopped = net.world.spawn(send.stopped());
        let reading =
            net.world.spawn(async move { (recv.read(&mut [0; 1]).await, recv.received_reset().await) });
        assert!(!accepted.await);
        assert_eq!(send.write(b"more").await, Err(WriteError::ZeroRttRejected));
        assert_eq!(stopped.await, Err(StoppedError::ZeroRttRejected));
        let (read, reset) = reading.await;
        assert_eq!(read, Err(ReadError::ZeroRttRejected));
        reset.unwrap_err();

        // Another stream has the number of the first one now, and nothing done to the first one touches it.
        let server = accepting.await;
        let mut again = client.open_uni().await.unwrap();
        assert_eq!(again.id(), send.id());
        let data = common::pattern(5_000_000);
        let expected = data.clone();
        let writing = net.world.spawn(async move {
            again.write_all(&data).await.unwrap();
            again
        });
        net.world.sleep(ms(1)).await;
        send.finish().unwrap();
        send.set_priority(1).unwrap_err();
        drop((send, other));
        let mut recv = server.accept_uni().await.unwrap();
        let mut received = vec![0; expected.len()];
        recv.read_exact(&mut received).await.unwrap();
        assert!(received == expected);
        writing.await.finish().unwrap();
        assert_eq!(recv.read(&mut [0; 1]).await, Ok(None));

        net.send(&client, &server, common::pattern(10_000)).1.await;
    });
}

#[test]
fn a_server_speaks_before_the_client_has_finished() {
    let net = Net::new(83, Link::CLEAN);
    net.world.run(async {
        let server = net.server.clone();
        let world = net.world.clone();
        let accepting = net.world.spawn(async move {
            let (server, complete) = server.accept().await.unwrap().accept().unwrap().into_0rtt().unwrap();
            let mut send = server.open_uni().await.unwrap();
            send.write_all(b"welcome").await.unwrap();
            assert_eq!(world.now(), ms(10));
            assert!(complete.await);
            assert_eq!(world.now(), ms(30));
            (server, send)
        });
        let client = net.client.connect(server_addr(), NAME).unwrap().await.unwrap();
        let mut recv = client.accept_uni().await.unwrap();
        let mut hello = [0; 7];
        recv.read_exact(&mut hello).await.unwrap();
        assert_eq!((&hello, net.world.now()), (b"welcome", ms(20)));
        accepting.await;
    });
}

#[test]
fn tickets_of_the_ticketer_resume() {
    let mut tls = rustls::ServerConfig::builder_with_provider(Arc::new(sandquic_rustls::provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(common::long_chain(), common::key())
        .unwrap();
    tls.alpn_protocols = vec![common::ALPN.to_vec()];
    tls.ticketer = sandquic_rustls::ticketer().unwrap();
    // rustls accepts early data only with stored sessions.
    tls.max_early_data_size = 0;
    let server = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls).unwrap()));
    let net = Net::with(84, Link::CLEAN, server, client_config());
    net.world.run(async {
        get_ticket(&net).await;
        let (first, _) = net.world.sent(server_addr());
        get_ticket(&net).await;
        let (both, _) = net.world.sent(server_addr());
        // A resumed handshake brings no certificates.
        assert!(both - first < first / 2, "{first} bytes, then {}", both - first);
    });
}

#[test]
fn early_data_of_a_broken_configuration_is_refused() {
    let mut tls = common::server_tls(sandquic_rustls::provider());
    tls.max_early_data_size = 1000;
    let error = ServerConfig::try_from(tls).unwrap_err();
    assert!(error.to_string().contains("cannot be used for QUIC"), "{error}");
    ClientConfig::try_from(common::client_tls(sandquic_rustls::provider())).unwrap();
}
