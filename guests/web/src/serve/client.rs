//! What is known of a connection's client, and its bounds.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use super::server::Server;

/// The largest piece that a file is read in, in bytes.
const LARGEST_PIECE: usize = 64 * 1024;
/// The smallest.
const SMALLEST_PIECE: usize = 4 * 1024;

/// A client with its connection.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) server: Arc<Server>,
    pub(super) address: SocketAddr,
    active: watch::Sender<usize>,
    /// How the handshake ended, once it has.
    handshake: watch::Sender<Option<bool>>,
    requests: AtomicUsize,
    broken: AtomicUsize,
    sent: AtomicU64,
}

impl Client {
    pub(super) fn new(server: Arc<Server>, address: SocketAddr) -> Arc<Self> {
        Arc::new(Self {
            server,
            address,
            active: watch::Sender::new(0),
            handshake: watch::Sender::new(None),
            requests: AtomicUsize::new(0),
            broken: AtomicUsize::new(0),
            sent: AtomicU64::new(0),
        })
    }

    /// A request begins; it ends when the value is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> Active {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.active.send_modify(|active| *active += 1);
        Active(self.clone())
    }

    /// Waits until no request is being served.
    pub(super) async fn idle(&self) {
        // The sender is here, so that the wait cannot fail.
        let _ = self.active.subscribe().wait_for(|active| *active == 0).await;
    }

    /// The handshake is complete, or has failed.
    pub(super) fn set_handshake(&self, complete: bool) {
        self.handshake.send_if_modified(|state| {
            let first = state.is_none();
            *state = Some(state.unwrap_or(complete));
            first
        });
    }

    /// Waits for the end of the handshake, and tells whether it is complete.
    pub(super) async fn handshake_complete(&self) -> bool {
        let mut handshake = self.handshake.subscribe();
        let ended = handshake.wait_for(Option::is_some).await;
        ended.is_ok_and(|state| *state == Some(true))
    }

    /// The size in which files are read: such that all requests together keep no more than the connection may.
    pub(super) fn piece(&self) -> usize {
        let active = (*self.active.borrow()).max(1);
        (self.server.client_memory / active).clamp(SMALLEST_PIECE, LARGEST_PIECE)
    }

    pub(super) fn count_sent(&self, bytes: u64) {
        self.sent.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn count_broken(&self) {
        self.broken.fetch_add(1, Ordering::Relaxed);
    }

    /// Streams that ended before they were requests.
    pub(super) fn broken(&self) -> usize {
        self.broken.load(Ordering::Relaxed)
    }

    /// Requests so far, and the bytes of their answers.
    pub(super) fn counts(&self) -> (usize, u64) {
        (self.requests.load(Ordering::Relaxed), self.sent.load(Ordering::Relaxed))
    }
}

/// A request that is being served.
#[derive(Debug)]
pub(super) struct Active(Arc<Client>);

impl Drop for Active {
    fn drop(&mut self) {
        self.0.active.send_modify(|active| *active -= 1);
    }
}

/// How many connections there are, in all and of each client.
#[derive(Debug, Default)]
pub(super) struct Connections(Mutex<HashMap<IpAddr, usize>>, AtomicUsize, AtomicUsize);

impl Connections {
    /// One more, unless there are too many.
    ///
    /// # Errors
    /// With what there are too many of.
    pub(super) fn admit(
        self: &Arc<Self>,
        address: SocketAddr,
        most: usize,
        most_of_one: usize,
    ) -> Result<Slot, &'static str> {
        let network = network(address.ip());
        let mut of = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if self.all() >= most {
            return Err("as many connections as there may be");
        }
        let count = of.entry(network).or_default();
        if *count >= most_of_one {
            return Err("as many connections as one client may have");
        }
        *count += 1;
        self.1.fetch_add(1, Ordering::Relaxed);
        self.2.fetch_add(1, Ordering::Relaxed);
        Ok(Slot { connections: self.clone(), network, handshaking: true })
    }

    /// All of them.
    pub(super) fn all(&self) -> usize {
        self.1.load(Ordering::Relaxed)
    }

    /// Those whose handshake is not complete.
    pub(super) fn handshaking(&self) -> usize {
        self.2.load(Ordering::Relaxed)
    }
}

/// The place of one connection.
#[derive(Debug)]
pub(super) struct Slot {
    connections: Arc<Connections>,
    network: IpAddr,
    handshaking: bool,
}

impl Slot {
    /// The handshake is complete.
    pub(super) fn established(&mut self) {
        if std::mem::take(&mut self.handshaking) {
            self.connections.2.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.established();
        let mut of = self.connections.0.lock().unwrap_or_else(PoisonError::into_inner);
        self.connections.1.fetch_sub(1, Ordering::Relaxed);
        if let Some(count) = of.get_mut(&self.network) {
            *count -= 1;
            if *count == 0 {
                of.remove(&self.network);
            }
        }
    }
}

/// Whom an address stands for: one with IPv6 has a network of 64 bits to choose addresses from.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let bits = u128::from(address) & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from(bits))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_counted_and_given_back() {
        let connections = Arc::new(Connections::default());
        let admit = |address: &str| connections.admit(address.parse().unwrap(), 4, 2);
        let mut first = admit("127.0.0.1:1").unwrap();
        let second = admit("[::ffff:127.0.0.1]:2").unwrap();
        assert!(admit("127.0.0.1:3").unwrap_err().contains("one client"));
        let _third = admit("[2001:db8::1]:1").unwrap();
        let _fourth = admit("[2001:db8::ffff]:1").unwrap();
        assert!(admit("[2001:db8:0:1::1]:1").unwrap_err().contains("there may be"));
        assert_eq!((connections.all(), connections.handshaking()), (4, 4));
        first.established();
        assert_eq!(connections.handshaking(), 3);
        drop((first, second));
        assert_eq!((connections.all(), connections.handshaking()), (2, 2));
        admit("127.0.0.1:3").unwrap();
    }
}
