//! The endpoint in simulated time, over links that lose, reorder, duplicate, corrupt and delay.
//!
//! Runs natively and inside the sandbox alike: nothing here touches the system's sockets or waits.

#[path = "../common/mod.rs"]
mod common;
#[path = "../world/mod.rs"]
mod world;

mod datagrams;
mod early;
mod ending;
mod handshake;
mod path;
mod streams;
mod transfer;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use common::{NAME, client_config, server_config};
use sandquic::{
    ClientConfig, Connection, Endpoint, EndpointConfig, HashedConnectionIdGenerator, RecvStream, SendStream,
    ServerConfig, TransportConfig,
};
use world::{Handle, Link, World};

/// The payload of a UDP datagram in a jumbo frame, or about that.
const JUMBO: u16 = 9_000;

/// Where the server is.
const SERVER: ([u8; 4], u16) = ([192, 0, 2, 1], 443);
/// Where the client is.
const CLIENT: ([u8; 4], u16) = ([198, 51, 100, 7], 50_000);

fn server_addr() -> SocketAddr {
    SERVER.into()
}

fn client_addr() -> SocketAddr {
    CLIENT.into()
}

/// A world with a server and a client.
struct Net {
    world: World,
    server: Endpoint,
    client: Endpoint,
}

/// What an endpoint is made with: its randomness from the seed where quinn-proto lets it, and a key for connection
/// IDs that a restarted endpoint has again.
fn endpoint_config(seed: u64) -> EndpointConfig {
    let mut config = EndpointConfig::default();
    config.rng_seed(Some([seed as u8; 32]));
    config.max_udp_payload_size(JUMBO).unwrap();
    config.cid_generator(move || Box::new(HashedConnectionIdGenerator::from_key(seed)));
    config
}

impl Net {
    fn new(seed: u64, link: Link) -> Self {
        Self::with(seed, link, server_config(), client_config())
    }

    /// With the same transport parameters on both sides.
    fn with_transport(seed: u64, link: Link, transport: TransportConfig) -> Self {
        let transport = Arc::new(transport);
        let (mut server, mut client) = (server_config(), client_config());
        server.transport_config(transport.clone());
        client.transport_config(transport);
        Self::with(seed, link, server, client)
    }

    fn with(seed: u64, link: Link, mut server: ServerConfig, client: ClientConfig) -> Self {
        let world = World::new(seed, link);
        server.time_source(world.time_source());
        let runtime = world.runtime();
        let server = Endpoint::new_with_abstract_socket(
            endpoint_config(seed),
            Some(server),
            world.bind(server_addr()),
            runtime.clone(),
        )
        .unwrap();
        let mut endpoint = Endpoint::new_with_abstract_socket(
            endpoint_config(seed + 1),
            None,
            world.bind(client_addr()),
            runtime,
        )
        .unwrap();
        endpoint.set_default_client_config(client);
        Self { world, server, client: endpoint }
    }

    /// Connect, and return the client's and the server's connection.
    async fn connect(&self) -> (Connection, Connection) {
        let accepting = self.accept();
        let client = self.client.connect(server_addr(), NAME).unwrap().await.expect("the client connects");
        (client, accepting.await)
    }

    /// Accept one connection in the background.
    fn accept(&self) -> Handle<Connection> {
        let server = self.server.clone();
        self.world.spawn(async move {
            loop {
                let incoming = server.accept().await.expect("the endpoint is open");
                // A first packet that the link has damaged fails, and is sent again.
                if let Ok(connection) = incoming.await {
                    return connection;
                }
            }
        })
    }

    /// Send `data` on a new stream from one side to the other, and compare.
    fn send(
        &self,
        from: &Connection,
        to: &Connection,
        data: Vec<u8>,
    ) -> (Handle<SendStream>, Handle<RecvStream>) {
        let expected = data.clone();
        let (from, to) = (from.clone(), to.clone());
        let sender = self.world.spawn(async move {
            let mut stream = from.open_uni().await.unwrap();
            stream.write_all(&data).await.unwrap();
            stream.finish().unwrap();
            assert_eq!(stream.stopped().await, Ok(None), "all is acknowledged");
            stream
        });
        let receiver = self.world.spawn(async move {
            let mut stream = to.accept_uni().await.unwrap();
            let received = stream.read_to_end(expected.len()).await.unwrap();
            assert!(received == expected, "{} bytes arrived differently", expected.len());
            stream
        });
        (sender, receiver)
    }
}

/// The defaults, with one change.
fn transport(change: impl FnOnce(&mut TransportConfig)) -> TransportConfig {
    let mut config = TransportConfig::default();
    change(&mut config);
    config
}

/// A link with one change from a clean one.
fn link(change: impl FnOnce(&mut Link)) -> Link {
    let mut link = Link::CLEAN;
    change(&mut link);
    link
}

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}
