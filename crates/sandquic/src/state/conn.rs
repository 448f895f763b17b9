//! One connection in the state of its endpoint.

use std::task::{Context, Waker};
use std::time::Instant;

use quinn_proto as proto;
use quinn_proto::{ConnectionError, ConnectionHandle, Dir, Event, StreamEvent, StreamId};
use rustc_hash::FxHashMap;

use crate::waiters::Waiters;

/// A connection and the tasks that wait for it.
pub(crate) struct Conn {
    pub(crate) inner: proto::Connection,
    pub(crate) handle: ConnectionHandle,
    /// Never used again while the endpoint lives.
    pub(crate) id: usize,
    /// Handles of the application: connections, streams and attempts.
    pub(crate) handles: usize,
    /// Whether it is queued for the driver's next turn.
    pub(crate) dirty: bool,
    /// Whether quinn-proto has forgotten it.
    pub(crate) drained: bool,
    /// Whether the handshake is complete.
    pub(crate) connected: bool,
    /// Why it ended, once it has.
    pub(crate) error: Option<ConnectionError>,
    /// Where it is in the endpoint's list of deadlines.
    pub(super) deadline: Option<Instant>,
    /// At most one task waits for each half of a stream.
    pub(crate) writers: FxHashMap<StreamId, Waker>,
    pub(crate) readers: FxHashMap<StreamId, Waker>,
    pub(crate) stopped: FxHashMap<StreamId, Waiters>,
    /// By direction: the peer opened a stream; the peer allows another stream.
    pub(crate) opened: [Waiters; 2],
    pub(crate) available: [Waiters; 2],
    pub(crate) datagram: Waiters,
    pub(crate) datagram_space: Waiters,
    /// The handshake's data is known; the handshake is complete; the connection has ended.
    pub(crate) handshake_data: Waiters,
    pub(crate) handshake: Waiters,
    pub(crate) ended: Waiters,
}

impl Conn {
    pub(super) fn new(id: usize, handle: ConnectionHandle, inner: proto::Connection) -> Self {
        Self {
            inner,
            handle,
            id,
            handles: 1,
            dirty: false,
            drained: false,
            connected: false,
            error: None,
            deadline: None,
            writers: FxHashMap::default(),
            readers: FxHashMap::default(),
            stopped: FxHashMap::default(),
            opened: Default::default(),
            available: Default::default(),
            datagram: Waiters::default(),
            datagram_space: Waiters::default(),
            handshake_data: Waiters::default(),
            handshake: Waiters::default(),
            ended: Waiters::default(),
        }
    }

    /// Whether a stream that was opened before the handshake completed can still be used: not once a server has
    /// rejected the client's 0-RTT data.
    pub(crate) fn early_data_usable(&self) -> bool {
        self.inner.is_handshaking() || self.inner.accepted_0rtt() || self.inner.side().is_server()
    }

    /// Whether its window has no room for anything beside the handshake: it holds only one packet, and what a server
    /// puts into one before the handshake is complete stays in it. quinn-proto starts no probe timeout for such a
    /// packet, so that nothing more would ever be sent if the client had as little room for its acknowledgement.
    pub(super) fn needs_its_window(&self) -> bool {
        self.inner.is_handshaking()
            && self.inner.congestion_state().window() < 2 * u64::from(self.inner.current_mtu())
    }

    /// Have the task of `cx` woken when the stream can be written to.
    pub(crate) fn wait_writable(&mut self, id: StreamId, cx: &Context<'_>) {
        wait(&mut self.writers, id, cx);
    }

    /// Have the task of `cx` woken when the stream can be read.
    pub(crate) fn wait_readable(&mut self, id: StreamId, cx: &Context<'_>) {
        wait(&mut self.readers, id, cx);
    }

    /// Take what quinn-proto has to tell the application, and collect the tasks to wake.
    pub(super) fn take_events(&mut self, wakes: &mut Vec<Waker>) {
        while let Some(event) = self.inner.poll() {
            match event {
                Event::HandshakeDataReady => self.handshake_data.notify(wakes),
                Event::Connected => {
                    self.connected = true;
                    self.handshake.notify(wakes);
                    if !self.early_data_usable() {
                        // Operations on 0-RTT streams shall see at once that they are rejected.
                        self.wake_streams(wakes);
                    }
                }
                Event::ConnectionLost { reason } => self.terminate(reason, wakes),
                Event::Stream(StreamEvent::Opened { dir }) => self.opened[dir as usize].notify(wakes),
                Event::Stream(StreamEvent::Available { dir }) => self.available[dir as usize].notify(wakes),
                Event::Stream(StreamEvent::Readable { id }) => wakes.extend(self.readers.remove(&id)),
                Event::Stream(StreamEvent::Writable { id }) => wakes.extend(self.writers.remove(&id)),
                Event::Stream(StreamEvent::Finished { id }) => self.wake_stopped(id, wakes),
                Event::Stream(StreamEvent::Stopped { id, .. }) => {
                    self.wake_stopped(id, wakes);
                    wakes.extend(self.writers.remove(&id));
                }
                Event::DatagramReceived => self.datagram.notify(wakes),
                Event::DatagramsUnblocked => self.datagram_space.notify(wakes),
            }
        }
    }

    /// The connection has ended: every task that waits for anything of it learns so. The first reason counts.
    pub(super) fn terminate(&mut self, reason: ConnectionError, wakes: &mut Vec<Waker>) {
        if self.error.is_some() {
            return;
        }
        self.error = Some(reason);
        self.wake_streams(wakes);
        for dir in [Dir::Bi, Dir::Uni] {
            self.opened[dir as usize].notify(wakes);
            self.available[dir as usize].notify(wakes);
        }
        for waiters in [
            &mut self.datagram,
            &mut self.datagram_space,
            &mut self.handshake_data,
            &mut self.handshake,
            &mut self.ended,
        ] {
            waiters.notify(wakes);
        }
    }

    fn wake_streams(&mut self, wakes: &mut Vec<Waker>) {
        wakes.extend(self.writers.drain().map(|(_, waker)| waker));
        wakes.extend(self.readers.drain().map(|(_, waker)| waker));
        self.stopped.values_mut().for_each(|waiters| waiters.notify(wakes));
        self.stopped.clear();
    }

    /// Wake those who wait for the end of a stream to be sent on.
    pub(crate) fn wake_stopped(&mut self, id: StreamId, wakes: &mut Vec<Waker>) {
        if let Some(mut waiters) = self.stopped.remove(&id) {
            waiters.notify(wakes);
        }
    }
}

fn wait(wakers: &mut FxHashMap<StreamId, Waker>, id: StreamId, cx: &Context<'_>) {
    match wakers.get_mut(&id) {
        Some(waker) => waker.clone_from(cx.waker()),
        None => {
            wakers.insert(id, cx.waker().clone());
        }
    }
}
