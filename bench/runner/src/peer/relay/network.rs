//! What a network does to datagrams beside losing a share of them and delaying all.

use std::net::{IpAddr, SocketAddr};

/// Which way a datagram goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Way {
    /// From a client to the server.
    Up,
    /// From the server to a client.
    Down,
}

/// Where a client's datagrams seem to come from. When it changes, the client's next datagram leaves from a new socket, as
/// behind a translator of addresses that forgot about it; what comes to the former one is lost from then on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Origin {
    /// Counts the changes of the port.
    pub generation: u32,
    /// The source address; without one that which reaches the server.
    pub address: Option<IpAddr>,
}

/// What happens to every datagram that the relay's loss has spared.
pub trait Network: Send + 'static {
    /// Sees a datagram of this client and may change it. `false`: it is lost.
    fn carry(&mut self, way: Way, client: SocketAddr, datagram: &mut [u8]) -> bool;

    /// Where the datagrams of this client come from now.
    fn origin(&mut self, client: SocketAddr) -> Origin {
        let _ = client;
        Origin::default()
    }
}

/// A network that does nothing else.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plain;

impl Network for Plain {
    fn carry(&mut self, _: Way, _: SocketAddr, _: &mut [u8]) -> bool {
        true
    }
}
