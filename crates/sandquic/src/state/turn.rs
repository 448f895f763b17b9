//! The driver: the task that does all input and output of an endpoint, one turn at a time.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use quinn_proto as proto;
use quinn_proto::{ConnectionError, DatagramEvent, TransportError, TransportErrorCode};

use super::{Shared, State, outgoing};
use crate::runtime::AsyncTimer;
use crate::session::keys;
use crate::udp::Received;

/// Datagrams after which a turn goes on to its other work even if there are more.
const RECEIVE_LIMIT: usize = 256;
/// Datagrams to ask a socket for in one call.
const RECEIVE_BATCH: usize = 64;
/// Datagrams that one connection may send before it is the next one's turn.
const SEND_PER_CONNECTION: usize = 40;
/// Segments in one call of the socket, where it takes several.
const SEND_SEGMENTS: usize = 10;
/// Bytes in one call of the socket: segments that are split by the system are one UDP datagram until then (over IPv4).
const SEND_BYTES: usize = 65_507;

/// The driver task of an endpoint. It ends when the application has neither endpoint handles nor live connections.
pub(crate) struct Driver {
    shared: Arc<Shared>,
    timer: Option<Pin<Box<dyn AsyncTimer>>>,
    /// What `timer` is set to, while it has not expired.
    armed: Option<Instant>,
    received: Vec<Received>,
    response: Vec<u8>,
}

impl Driver {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, timer: None, armed: None, received: Vec::new(), response: Vec::new() }
    }

    /// Let the timer wake this task at the earliest deadline. It is set again only to come earlier, or when it has
    /// expired: an expiry that finds nothing to do costs less than moving the timer at every turn. True if the time
    /// has come already.
    fn arm(&mut self, deadline: Option<Instant>, now: Instant, cx: &mut Context<'_>) -> bool {
        let Some(deadline) = deadline else { return false };
        for _ in 0..2 {
            if self.armed.is_none_or(|armed| deadline < armed) {
                match &mut self.timer {
                    Some(timer) => timer.as_mut().reset(deadline),
                    None => self.timer = Some(self.shared.runtime.new_timer(deadline)),
                }
                self.armed = Some(deadline);
            }
            if self.timer.as_mut().is_none_or(|timer| timer.as_mut().poll(cx).is_pending()) {
                return false;
            }
            // It was set for an earlier deadline that has since moved: set it for the present one.
            self.armed = None;
            if deadline <= now {
                return true;
            }
        }
        true
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let shared = this.shared.clone();
        let now = shared.runtime.now();
        let mut state = shared.lock();
        state.driver = None;

        let more_to_receive = match state.receive(cx, now, &mut this.received, &mut this.response) {
            Ok(more) => more,
            Err(e) => {
                tracing::error!("the socket of an endpoint failed: {e}");
                state.lose(internal(format!("the socket failed: {e}")));
                return Poll::Ready(());
            }
        };
        state.expire(now);
        if state.handles == 0 || state.closed.is_some() {
            state.refuse_all(cx, &mut this.response);
        }
        let more_to_send = matches!(state.work(cx, now), Sent::More);

        if state.handles == 0 && state.live() == 0 && state.blocked.is_none() {
            state.lose(ConnectionError::LocallyClosed);
            return Poll::Ready(());
        }
        let deadline = state.deadlines.first().map(|(deadline, _)| *deadline);
        let due = this.arm(deadline, now, cx);
        if more_to_receive || more_to_send || due {
            // The application's tasks get their turn before the next one of this task.
            cx.waker().wake_by_ref();
        } else {
            state.driver = Some(cx.waker().clone());
        }
        Poll::Pending
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.shared.lock().lose(internal("the endpoint's driver was dropped by its executor".into()));
    }
}

/// How a round of sending ended.
enum Sent {
    /// Nobody has anything more to say.
    All,
    /// Somebody has, but used up what one turn may send.
    More,
    /// The socket takes nothing now, and will wake the driver.
    Blocked,
}

impl State {
    /// Take what has arrived and give it to the connections. True if there may be more.
    fn receive(
        &mut self,
        cx: &mut Context<'_>,
        now: Instant,
        received: &mut Vec<Received>,
        response: &mut Vec<u8>,
    ) -> io::Result<bool> {
        let mut more = false;
        if let Some(old) = self.old_socket.clone() {
            // What was under way to the old address. It may fail as it likes.
            match old.poll_recv(cx, RECEIVE_BATCH, received) {
                Poll::Ready(Ok(())) => more = true,
                Poll::Ready(Err(_)) => self.old_socket = None,
                Poll::Pending => {}
            }
            for datagrams in received.drain(..) {
                self.handle(cx, now, datagrams, response);
            }
        }
        let socket = self.socket.clone();
        let mut taken = 0;
        while taken < RECEIVE_LIMIT {
            match socket.poll_recv(cx, RECEIVE_BATCH, received) {
                // One more than it brings: a socket that brings nothing shall not keep this turn going.
                Poll::Ready(Ok(())) => taken += 1,
                // These tell of a datagram sent earlier, and any host on the path can provoke them.
                Poll::Ready(Err(e)) if is_transient(&e) => taken += 1,
                Poll::Ready(Err(e)) => return Err(e),
                Poll::Pending => return Ok(more),
            }
            if received.len() > 1 {
                // Where several come as one they are only a system's with instructions for this.
                keys::expect(received.iter().map(|datagrams| &datagrams.contents[..]));
            }
            for datagrams in received.drain(..) {
                taken += datagrams.contents.len().div_ceil(datagrams.stride.max(1)).max(1);
                if self.handle(cx, now, datagrams, response) {
                    self.old_socket = None;
                }
            }
        }
        Ok(true)
    }

    /// Give datagrams of one sender to quinn-proto. True if one belonged to a connection.
    fn handle(
        &mut self,
        cx: &mut Context<'_>,
        now: Instant,
        datagrams: Received,
        response: &mut Vec<u8>,
    ) -> bool {
        let Received { mut contents, stride, addr, ecn, dst_ip } = datagrams;
        let mut known = false;
        while !contents.is_empty() {
            // The only or last one is taken whole: to split it would cost a block of memory and its counting.
            let datagram = match stride.max(1) {
                stride if stride < contents.len() => contents.split_to(stride),
                _ => std::mem::take(&mut contents),
            };
            response.clear();
            match self.endpoint.handle(now, addr, dst_ip, ecn, datagram, response) {
                None => {}
                Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                    known = true;
                    if let Some(&key) = self.by_handle.get(&handle) {
                        self.conns[key].inner.handle_event(event);
                        self.mark(key);
                    }
                }
                Some(DatagramEvent::NewConnection(incoming)) => {
                    if self.closed.is_some() || self.handles == 0 {
                        let transmit = self.endpoint.refuse(incoming, response);
                        self.respond(cx, &transmit, response);
                    } else {
                        self.incoming.push_back(incoming);
                        self.accepting.notify(&mut self.wakes);
                    }
                }
                Some(DatagramEvent::Response(transmit)) => self.respond(cx, &transmit, response),
            }
        }
        known
    }

    /// Refuse the attempts that nobody can accept any more.
    fn refuse_all(&mut self, cx: &mut Context<'_>, response: &mut Vec<u8>) {
        while let Some(incoming) = self.incoming.pop_front() {
            response.clear();
            let transmit = self.endpoint.refuse(incoming, response);
            self.respond(cx, &transmit, response);
        }
    }

    /// Tell the connections whose time has come.
    fn expire(&mut self, now: Instant) {
        while let Some(&(deadline, key)) = self.deadlines.first()
            && deadline <= now
        {
            self.deadlines.pop_first();
            let conn = &mut self.conns[key];
            conn.deadline = None;
            conn.inner.handle_timeout(now);
            self.mark(key);
        }
    }

    /// For every connection that may have something to say: events, datagrams, next deadline.
    fn work(&mut self, cx: &mut Context<'_>, now: Instant) -> Sent {
        if self.send_blocked(cx).is_pending() {
            self.work_blocked();
            return Sent::Blocked;
        }
        let segments = self.socket.max_transmit_segments().clamp(1, SEND_SEGMENTS);
        let mut more = false;
        // One round over those that are queued now: a connection that queues itself again waits for the next turn.
        for _ in 0..self.dirty.len() {
            let Some(key) = self.dirty.pop_front() else { break };
            self.conns[key].dirty = false;
            self.exchange_events(key);
            let sent = self.transmit(cx, now, key, segments);
            // Sending may have made a connection drained, and always moves its deadline.
            self.exchange_events(key);
            self.settle(key);
            match sent {
                Sent::All => {}
                Sent::More => {
                    more = true;
                    self.mark(key);
                }
                Sent::Blocked => {
                    self.mark(key);
                    self.work_blocked();
                    return Sent::Blocked;
                }
            }
        }
        if more { Sent::More } else { Sent::All }
    }

    /// The part of [`work`](Self::work) that needs no socket. Nothing can leave, but the application shall still
    /// learn what arrived, and time goes on.
    fn work_blocked(&mut self) {
        for at in 0..self.dirty.len() {
            let key = self.dirty[at];
            self.exchange_events(key);
            self.note_deadline(key);
        }
    }

    /// Send the datagram that the socket did not take before, if there is one.
    fn send_blocked(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(transmit) = &self.blocked {
            if let Err(e) = ready!(self.socket.poll_send(cx, &outgoing(transmit, &self.transmit))) {
                tracing::debug!("a datagram could not be sent: {e}");
            }
            self.blocked = None;
        }
        Poll::Ready(())
    }

    /// Build and send the datagrams of one connection.
    fn transmit(&mut self, cx: &mut Context<'_>, now: Instant, key: usize, segments: usize) -> Sent {
        let conn = &mut self.conns[key];
        let mut budget = SEND_PER_CONNECTION;
        let segments = segments.min(SEND_BYTES / usize::from(conn.inner.current_mtu()).max(1)).max(1);
        while budget > 0 {
            self.transmit.clear();
            self.transmit.reserve(usize::from(conn.inner.current_mtu()));
            let Some(transmit) = conn.inner.poll_transmit(now, segments, &mut self.transmit) else {
                return Sent::All;
            };
            let count = transmit.segment_size.map_or(1, |size| transmit.size.div_ceil(size.max(1)));
            match self.socket.poll_send(cx, &outgoing(&transmit, &self.transmit)) {
                Poll::Ready(Ok(())) => {}
                // As good as lost on the way: a probe too large for the path, a route that is gone.
                Poll::Ready(Err(e)) => tracing::debug!("a datagram could not be sent: {e}"),
                Poll::Pending => {
                    self.blocked = Some(transmit);
                    return Sent::Blocked;
                }
            }
            budget = budget.saturating_sub(count);
        }
        Sent::More
    }

    /// Carry events between a connection, the endpoint and the application.
    fn exchange_events(&mut self, key: usize) {
        let conn = &mut self.conns[key];
        while !conn.needs_its_window()
            && let Some(event) = conn.inner.poll_endpoint_events()
        {
            if event.is_drained() {
                conn.drained = true;
                self.by_handle.remove(&conn.handle);
            }
            if let Some(event) = self.endpoint.handle_event(conn.handle, event) {
                conn.inner.handle_event(event);
            }
        }
        conn.take_events(&mut self.wakes);
    }

    /// Note when a connection next wants to be called.
    fn note_deadline(&mut self, key: usize) {
        let conn = &mut self.conns[key];
        let deadline = if conn.drained { None } else { conn.inner.poll_timeout() };
        if deadline == conn.deadline {
            return;
        }
        if let Some(old) = conn.deadline {
            self.deadlines.remove(&(old, key));
        }
        if let Some(new) = deadline {
            self.deadlines.insert((new, key));
        }
        conn.deadline = deadline;
    }

    /// After a connection's part in a turn: note its deadline, or forget it if it is done.
    fn settle(&mut self, key: usize) {
        self.note_deadline(key);
        let conn = &self.conns[key];
        if conn.drained {
            if conn.handles == 0 {
                self.conns.remove(key);
            }
            if self.by_handle.is_empty() {
                self.idle.notify(&mut self.wakes);
            }
        }
    }
}

/// Whether an error of a socket says nothing about the socket itself.
fn is_transient(e: &io::Error) -> bool {
    matches!(
        e.kind(),
        io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::Interrupted
    )
}

fn internal(reason: String) -> ConnectionError {
    ConnectionError::TransportError(TransportError {
        code: TransportErrorCode::INTERNAL_ERROR,
        frame: None,
        reason,
    })
}

// The types of quinn-proto that a driver holds may move between threads.
const _: fn() = || {
    fn assert_send<T: Send>() {}
    assert_send::<State>();
    assert_send::<Driver>();
    assert_send::<proto::Incoming>();
};
