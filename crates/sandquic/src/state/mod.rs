//! The one state of an endpoint and the lock around it.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Instant;

use bytes::Bytes;
use quinn_proto as proto;
use quinn_proto::{ConnectionError, ConnectionHandle, VarInt};
use rustc_hash::FxHashMap;
use slab::Slab;

use crate::endpoint::EndpointStats;
use crate::runtime::{AsyncUdpSocket, Runtime};
use crate::waiters::Waiters;

mod conn;
mod turn;

pub(crate) use conn::Conn;
pub(crate) use turn::Driver;

/// What all handles of an endpoint share.
pub(crate) struct Shared {
    state: Mutex<State>,
    pub(crate) runtime: Arc<dyn Runtime>,
}

impl Shared {
    pub(crate) fn new(
        endpoint: proto::Endpoint,
        socket: Arc<dyn AsyncUdpSocket>,
        local: SocketAddr,
        runtime: Arc<dyn Runtime>,
    ) -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(State::new(endpoint, socket, local)), runtime })
    }

    /// Lock the state. The tasks that something in the locked section wants to wake are woken after it is unlocked.
    pub(crate) fn lock(&self) -> Locked<'_> {
        // A panic in a locked section is a bug of this crate; the state is still the best there is.
        Locked { state: Some(self.state.lock().unwrap_or_else(PoisonError::into_inner)) }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("runtime", &self.runtime).finish_non_exhaustive()
    }
}

/// The locked state of an endpoint.
pub(crate) struct Locked<'a> {
    /// `None` only while being dropped.
    state: Option<MutexGuard<'a, State>>,
}

impl Deref for Locked<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        self.state.as_deref().expect("held until dropped")
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut State {
        self.state.as_deref_mut().expect("held until dropped")
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // Waking may run code of the executor's, so never under the lock. One waker, the usual case, leaves the
        // vector's memory where it is.
        let Some(mut state) = self.state.take() else { return };
        match state.wakes.len() {
            0 => {}
            1 => {
                let waker = state.wakes.pop();
                drop(state);
                waker.into_iter().for_each(Waker::wake);
            }
            _ => {
                let wakers = std::mem::take(&mut state.wakes);
                drop(state);
                wakers.into_iter().for_each(Waker::wake);
            }
        }
    }
}

/// Everything an endpoint knows.
pub(crate) struct State {
    pub(crate) endpoint: proto::Endpoint,
    pub(crate) socket: Arc<dyn AsyncUdpSocket>,
    /// The socket before the last rebind, from which datagrams are still taken until one arrives on the new one.
    pub(crate) old_socket: Option<Arc<dyn AsyncUdpSocket>>,
    /// Whether the socket is an IPv6 one, which IPv4 destinations are mapped for.
    pub(crate) ipv6: bool,
    pub(crate) conns: Slab<Conn>,
    /// From quinn-proto's handle to the key in `conns`, while the connection is not drained.
    by_handle: FxHashMap<ConnectionHandle, usize>,
    /// The next stable id.
    next_id: usize,
    /// Keys of connections that may have something to say.
    dirty: VecDeque<usize>,
    /// When which connection wants to be called.
    deadlines: BTreeSet<(Instant, usize)>,
    /// Connection attempts that the application has not taken yet.
    pub(crate) incoming: VecDeque<proto::Incoming>,
    pub(crate) accepting: Waiters,
    pub(crate) idle: Waiters,
    pub(crate) stats: EndpointStats,
    /// Set once the application closed the endpoint: what connections accepted later are closed with.
    pub(crate) closed: Option<(VarInt, Bytes)>,
    /// Set once the driver has ended because the socket failed or its executor went away.
    pub(crate) lost: Option<ConnectionError>,
    /// Live handles of the application to the endpoint itself.
    pub(crate) handles: usize,
    /// The driver's task, when it sleeps.
    driver: Option<Waker>,
    /// Whom to wake when the lock is released.
    pub(crate) wakes: Vec<Waker>,
    /// Datagrams built but not yet taken by the socket, and the buffer that all are built in.
    transmit: Vec<u8>,
    blocked: Option<proto::Transmit>,
}

impl State {
    fn new(endpoint: proto::Endpoint, socket: Arc<dyn AsyncUdpSocket>, local: SocketAddr) -> Self {
        Self {
            endpoint,
            socket,
            old_socket: None,
            ipv6: local.is_ipv6(),
            conns: Slab::new(),
            by_handle: FxHashMap::default(),
            next_id: 0,
            dirty: VecDeque::new(),
            deadlines: BTreeSet::new(),
            incoming: VecDeque::new(),
            accepting: Waiters::default(),
            idle: Waiters::default(),
            stats: EndpointStats::default(),
            closed: None,
            lost: None,
            handles: 0,
            driver: None,
            wakes: Vec::new(),
            transmit: Vec::new(),
            blocked: None,
        }
    }

    /// Wake the driver's task, if it sleeps, once the lock is released.
    pub(crate) fn wake_driver(&mut self) {
        self.wakes.extend(self.driver.take());
    }

    /// Note that a connection may have something to say.
    pub(crate) fn mark(&mut self, key: usize) {
        if let Some(conn) = self.conns.get_mut(key)
            && !conn.dirty
            && !conn.drained
        {
            conn.dirty = true;
            self.dirty.push_back(key);
        }
        self.wake_driver();
    }

    /// Take up a new connection, with one handle of the application to it, and return its key.
    pub(crate) fn insert(&mut self, handle: ConnectionHandle, inner: proto::Connection) -> usize {
        let id = self.next_id;
        self.next_id += 1;
        let key = self.conns.insert(Conn::new(id, handle, inner));
        self.by_handle.insert(handle, key);
        self.mark(key);
        key
    }

    /// The connection with the given key.
    ///
    /// Keys are held by counted handles, and a connection stays until the last is gone.
    pub(crate) fn conn(&mut self, key: usize) -> &mut Conn {
        &mut self.conns[key]
    }

    /// Connections that are not yet drained.
    pub(crate) fn live(&self) -> usize {
        self.by_handle.len()
    }

    /// Close a connection at `now` for a reason given by the local application.
    pub(crate) fn close(&mut self, now: Instant, key: usize, code: VarInt, reason: Bytes) {
        let conn = &mut self.conns[key];
        conn.inner.close(now, code, reason);
        conn.terminate(ConnectionError::LocallyClosed, &mut self.wakes);
        self.mark(key);
    }

    /// One more handle of the application to a connection.
    pub(crate) fn retain(&mut self, key: usize) {
        self.conns[key].handles += 1;
    }

    /// One handle less. The last closes the connection, with code 0, unless it is closed already.
    pub(crate) fn release(&mut self, now: impl FnOnce() -> Instant, key: usize) {
        let conn = &mut self.conns[key];
        conn.handles -= 1;
        if conn.handles > 0 {
            return;
        }
        if self.lost.is_some() || (conn.drained && !conn.dirty) {
            self.conns.remove(key);
        } else if !conn.inner.is_closed() {
            self.close(now(), key, VarInt::from_u32(0), Bytes::new());
        }
    }

    /// Send what quinn-proto's endpoint itself had to say: a datagram that may get lost.
    fn respond(&self, cx: &mut std::task::Context<'_>, transmit: &proto::Transmit, buffer: &[u8]) {
        if let std::task::Poll::Ready(Err(e)) = self.socket.poll_send(cx, &outgoing(transmit, buffer)) {
            tracing::debug!("a datagram could not be sent: {e}");
        }
    }

    /// As [`respond`](Self::respond), from a call of the application. If the socket takes nothing now then the
    /// datagram is lost, as it may be on its way, and the peer asks again.
    pub(crate) fn respond_now(&self, transmit: &proto::Transmit, buffer: &[u8]) {
        let waker = self.driver.clone().unwrap_or_else(|| Waker::noop().clone());
        self.respond(&mut std::task::Context::from_waker(&waker), transmit, buffer);
    }

    /// End everything because the driver cannot go on.
    fn lose(&mut self, error: ConnectionError) {
        if self.lost.is_some() {
            return;
        }
        self.lost = Some(error.clone());
        let mut unused = Vec::new();
        for (key, conn) in &mut self.conns {
            conn.terminate(error.clone(), &mut self.wakes);
            conn.drained = true;
            if conn.handles == 0 {
                unused.push(key);
            }
        }
        unused.into_iter().for_each(|key| drop(self.conns.remove(key)));
        self.by_handle.clear();
        self.dirty.clear();
        self.deadlines.clear();
        for incoming in self.incoming.drain(..) {
            self.endpoint.ignore(incoming);
        }
        self.accepting.notify(&mut self.wakes);
        self.idle.notify(&mut self.wakes);
    }
}

impl Drop for State {
    fn drop(&mut self) {
        for incoming in self.incoming.drain(..) {
            self.endpoint.ignore(incoming);
        }
    }
}

/// The form in which the socket takes a datagram that quinn-proto built at the start of `buffer`.
fn outgoing<'a>(transmit: &proto::Transmit, buffer: &'a [u8]) -> crate::udp::Transmit<'a> {
    crate::udp::Transmit {
        destination: transmit.destination,
        ecn: transmit.ecn,
        contents: &buffer[..transmit.size],
        segment_size: transmit.segment_size,
        src_ip: transmit.src_ip,
    }
}
