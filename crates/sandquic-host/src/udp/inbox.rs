//! Datagrams that one instance's socket received and another's guest is to have.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;

/// Bytes that one port of an inbox holds at most; what comes then is lost, as in a socket's full buffer.
const MAX_BYTES: usize = 1 << 20;
/// What a datagram counts for beside its bytes.
const OVERHEAD: usize = 256;

/// Says which instance a datagram is for, where several share a port.
pub trait Steer: Send + Sync {
    /// The inbox of the instance that this datagram is for; `None` if it is for the one that received it.
    fn elsewhere(&self, datagram: &[u8], from: SocketAddr) -> Option<&Inbox>;
}

/// A queue by which datagrams reach an instance that another's socket received. Clones are the same queue; any thread
/// may add to it.
#[derive(Clone, Default)]
pub struct Inbox(Arc<Queue>);

#[derive(Default)]
struct Queue {
    ports: Mutex<HashMap<u16, Waiting>>,
    arrived: Notify,
}

#[derive(Default)]
struct Waiting {
    datagrams: VecDeque<(Bytes, SocketAddr)>,
    bytes: usize,
}

impl Inbox {
    /// An empty inbox.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a datagram that arrived at a local port, and says whether there was room for it.
    pub fn push(&self, port: u16, datagram: &[u8], from: SocketAddr) -> bool {
        let mut ports = self.0.ports.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = ports.entry(port).or_default();
        let bytes = datagram.len() + OVERHEAD;
        if waiting.bytes + bytes > MAX_BYTES {
            return false;
        }
        waiting.bytes += bytes;
        waiting.datagrams.push_back((Bytes::copy_from_slice(datagram), from));
        drop(ports);
        self.0.arrived.notify_waiters();
        true
    }

    /// The next datagram of a port.
    pub(crate) fn pop(&self, port: u16) -> Option<(Bytes, SocketAddr)> {
        let mut ports = self.0.ports.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = ports.get_mut(&port)?;
        let (datagram, from) = waiting.datagrams.pop_front()?;
        waiting.bytes -= datagram.len() + OVERHEAD;
        Some((datagram, from))
    }

    /// Ends when a datagram has come since it was made.
    pub(super) fn arrived(&self) -> impl Future<Output = ()> + Send + '_ {
        self.0.arrived.notified()
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_apart_and_bounded() {
        let inbox = Inbox::new();
        let from = SocketAddr::from(([127, 0, 0, 1], 9));
        assert!(inbox.push(1, b"one", from));
        assert!(inbox.push(2, b"two", from));
        assert_eq!(inbox.pop(2), Some((Bytes::from_static(b"two"), from)));
        assert_eq!(inbox.pop(2), None);
        assert_eq!(inbox.pop(3), None);
        let large = vec![0; 60_000];
        let pushed = (0..1000).take_while(|_| inbox.push(1, &large, from)).count();
        assert_eq!(pushed, (MAX_BYTES - 3 - OVERHEAD) / (60_000 + OVERHEAD));
        assert_eq!(inbox.pop(1).unwrap().0, b"one"[..]);
        assert!(inbox.push(2, &large, from), "another port has room of its own");
    }
}
