//! Application datagrams (RFC 9221).

use bytes::Bytes;
use sandquic::{SendDatagramError, VarInt};

use super::*;

#[test]
fn arrive_whole() {
    let net = Net::new(70, Link::CLEAN);
    net.world.run(async {
        let (client, server) = net.connect().await;
        let most = client.max_datagram_size().unwrap();
        for size in [0, 1, 1000, most] {
            client.send_datagram(vec![size as u8; size].into()).unwrap();
            assert_eq!(server.read_datagram().await.unwrap(), vec![size as u8; size]);
        }
        let too_large = Bytes::from(vec![0; 3000]);
        assert_eq!(client.send_datagram(too_large.clone()), Err(SendDatagramError::TooLarge));
        assert_eq!(client.send_datagram_wait(too_large).await, Err(SendDatagramError::TooLarge));
        client.close(VarInt::from_u32(0), b"");
        assert!(matches!(client.send_datagram(Bytes::new()), Err(SendDatagramError::ConnectionLost(_))));
        server.read_datagram().await.unwrap_err();
    });
}

#[test]
fn wait_for_room() {
    let config = transport(|config| {
        config.datagram_send_buffer_size(5000);
        config.datagram_receive_buffer_size(Some(10 << 20));
    });
    let net = Net::with_transport(71, Link::CLEAN, config);
    net.world.run(async {
        let (client, server) = net.connect().await;
        let sender = client.clone();
        let sending = net.world.spawn(async move {
            for index in 0..500_u32 {
                let mut data = vec![0; 1000];
                data[..4].copy_from_slice(&index.to_be_bytes());
                sender.send_datagram_wait(data.into()).await.unwrap();
            }
        });
        for index in 0..500_u32 {
            assert_eq!(server.read_datagram().await.unwrap()[..4], index.to_be_bytes());
        }
        sending.await;
        assert!(client.datagram_send_buffer_space() > 3000);
    });
}

#[test]
fn may_be_switched_off() {
    let mut server = server_config();
    server.transport_config(Arc::new(transport(|config| {
        config.datagram_receive_buffer_size(None);
    })));
    let net = Net::with(72, Link::CLEAN, server, client_config());
    net.world.run(async {
        let (client, server) = net.connect().await;
        assert_eq!(client.max_datagram_size(), None);
        assert_eq!(client.send_datagram(Bytes::new()), Err(SendDatagramError::UnsupportedByPeer));
        assert_eq!(server.send_datagram(Bytes::new()), Err(SendDatagramError::Disabled));
    });
}
