//! One socket: a ring of what has arrived, a run of what is to be sent.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use quinn_udp::{Transmit, UdpSockRef, UdpSocketState};
use rustix::io::Errno;
use tokio::io::Interest;
use tokio::net::UdpSocket;
use tokio::time::timeout;
use wasmtime_wasi::sockets::SocketAddrUse;

use super::context::Shared;
use super::ring::Ring;
use super::run::{Batch, Run, errno};
use super::system::{self, Buffer, Family};
use super::turn::Turns;

/// The largest datagram that `wasi:sockets` knows, in bytes; the system may know smaller ones only.
const MAX_DATAGRAM: usize = u16::MAX as usize;

/// How long a socket that its guest has no more waits for the system to take anything.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often it is asked for room. The system tells of room by itself only when half of the buffer is free.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// A datagram and its peer, or why there is none.
pub(super) type Received = Result<(Bytes, SocketAddr), Errno>;

/// How a call went.
pub(super) enum Now<T, W = ()> {
    /// It is done.
    Done(T),
    /// It is done, but its guest must be made to wait for the end of its turn.
    Pause(T, Arc<Turns>),
    /// It has to wait, with what that needs.
    Wait(W),
}

impl<T> Now<T> {
    /// Adds what waiting needs.
    pub(super) fn or_wait<W>(self, with: impl FnOnce() -> W) -> Now<T, W> {
        match self {
            Self::Done(done) => Now::Done(done),
            Self::Pause(done, turns) => Now::Pause(done, turns),
            Self::Wait(()) => Now::Wait(with()),
        }
    }
}

/// A socket. The table of a store and its tasks hold it.
pub(super) struct Socket {
    io: UdpSocket,
    offloads: UdpSocketState,
    family: Family,
    shared: Arc<Shared>,
    state: Mutex<State>,
}

struct State {
    /// The local port, once there is one.
    port: Option<u16>,
    remote: Option<SocketAddr>,
    ring: Ring,
    /// A datagram that another instance's socket received.
    steered: Option<(Bytes, SocketAddr)>,
    /// An error that nobody has received yet.
    failed: Option<Errno>,
    run: Run,
    /// Whether the system had no room for all of it.
    blocked: bool,
    /// Whether somebody sees to it that the run is sent.
    scheduled: bool,
    /// The largest datagram that is merged with others; the system refused larger ones.
    max_segment: usize,
    /// The error of a datagram whose `send` has returned.
    late: Option<Errno>,
    /// The peer that was sent to last: it is permitted.
    last: Option<SocketAddr>,
    /// When the guest dropped it.
    closed: Option<Instant>,
}

impl State {
    /// The next datagram that has been received.
    fn pop(&mut self) -> Option<(Bytes, SocketAddr)> {
        self.ring.pop().or_else(|| self.steered.take())
    }

    fn is_empty(&self) -> bool {
        self.ring.is_empty() && self.steered.is_none()
    }
}

impl Socket {
    /// A socket without an address.
    ///
    /// # Errors
    /// The system's, or [`Errno::ACCESS`]; a text if it cannot be used on this thread.
    pub(super) fn new(
        shared: &Arc<Shared>,
        family: Family,
    ) -> Result<Result<Arc<Self>, Errno>, &'static str> {
        if let Err(denied) = shared.allowed() {
            return Ok(Err(denied));
        }
        shared.turns.start()?;
        Ok(system::create(family).and_then(|(socket, offloads)| {
            let io = UdpSocket::from_std(socket).map_err(|error| errno(&error))?;
            let state = Mutex::new(State {
                port: None,
                remote: None,
                ring: Ring::default(),
                steered: None,
                failed: None,
                run: Run::default(),
                blocked: false,
                scheduled: false,
                max_segment: MAX_DATAGRAM,
                late: None,
                last: None,
                closed: None,
            });
            Ok(Arc::new(Self { io, offloads, family, shared: shared.clone(), state }))
        }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call that did not wait.
    fn done<T>(&self, result: T) -> Now<T> {
        if !self.shared.turns.call() {
            return Now::Done(result);
        }
        self.shared.cells().yields.add(1);
        Now::Pause(result, self.shared.turns.clone())
    }

    pub(super) fn family(&self) -> Family {
        self.family
    }

    pub(super) fn is_bound(&self) -> bool {
        self.lock().port.is_some()
    }

    pub(super) fn bind(&self, addr: SocketAddr) -> Result<(), Errno> {
        let mut state = self.lock();
        if state.port.is_some() {
            return Err(Errno::NOTCONN);
        }
        if !self.family.has(addr.ip()) {
            return Err(Errno::INVAL);
        }
        self.shared.check(addr, SocketAddrUse::UdpBind)?;
        if self.shared.options.share_ports && addr.port() != 0 {
            system::share_port(&self.io)?;
        }
        system::bind(&self.io, addr)?;
        self.note_port(&mut state);
        Ok(())
    }

    pub(super) fn connect(&self, addr: SocketAddr) -> Result<(), Errno> {
        if !self.family.reaches(addr) {
            return Err(Errno::INVAL);
        }
        let mut state = self.lock();
        if state.port.is_none() {
            self.shared.check(self.family.unspecified(), SocketAddrUse::UdpBind)?;
        }
        self.shared.check_peer(addr, true)?;
        self.shared.check_peer(addr, false)?;
        // They were sent to whom the socket was connected to.
        let _ = self.flush(&mut state, true);
        let result = system::connect(&self.io, addr);
        self.note_port(&mut state);
        state.remote = self.io.peer_addr().ok();
        result
    }

    pub(super) fn disconnect(&self) -> Result<(), Errno> {
        let mut state = self.lock();
        if state.remote.is_none() {
            return Err(Errno::NOTCONN);
        }
        let _ = self.flush(&mut state, true);
        let result = system::disconnect(&self.io);
        state.remote = self.io.peer_addr().ok();
        result
    }

    /// Keeps the port that the socket has, if it has one. What was bound once stays bound.
    fn note_port(&self, state: &mut State) {
        if state.port.is_none()
            && let Ok(local) = self.io.local_addr()
            && local != self.family.unspecified()
        {
            state.port = Some(local.port());
        }
    }

    pub(super) fn local(&self) -> Result<SocketAddr, Errno> {
        if !self.is_bound() {
            return Err(Errno::NOTCONN);
        }
        self.io.local_addr().map_err(|error| errno(&error))
    }

    pub(super) fn remote(&self) -> Result<SocketAddr, Errno> {
        self.lock().remote.ok_or(Errno::NOTCONN)
    }

    pub(super) fn hop_limit(&self) -> Result<u8, Errno> {
        system::hop_limit(&self.io, self.family)
    }

    pub(super) fn set_hop_limit(&self, value: u8) -> Result<(), Errno> {
        // What was sent before has the limit of before.
        let _ = self.flush(&mut self.lock(), true);
        system::set_hop_limit(&self.io, self.family, value)
    }

    pub(super) fn buffer_size(&self, buffer: Buffer) -> Result<u64, Errno> {
        system::buffer_size(&self.io, buffer)
    }

    pub(super) fn set_buffer_size(&self, buffer: Buffer, bytes: u64) -> Result<(), Errno> {
        system::set_buffer_size(&self.io, buffer, bytes)
    }
}

/// Receiving.
impl Socket {
    /// A datagram, if there is one.
    pub(super) fn try_receive(&self) -> Now<Received> {
        let mut state = self.lock();
        let mut sent = false;
        let received = loop {
            if let Some(datagram) = state.pop() {
                break Ok(datagram);
            }
            match self.refill(&mut state) {
                Ok(true) => {}
                // Whoever asks for an answer has said what it had to say, and the answer may come while it is sent.
                Ok(false) if !sent => {
                    sent = true;
                    drop(state);
                    if !self.shared.turns.send() {
                        return Now::Wait(());
                    }
                    state = self.lock();
                }
                Ok(false) => return Now::Wait(()),
                Err(error) => break Err(error),
            }
        };
        drop(state);
        self.done(received)
    }

    /// Waits for a datagram.
    pub(super) async fn receive(&self) -> Received {
        self.wait(|| match self.try_receive() {
            Now::Done(received) | Now::Pause(received, _) => Some(received),
            Now::Wait(()) => None,
        })
        .await
    }

    /// Whether nothing is left of what the system has handed over.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Waits until there is a datagram or an error to be received.
    pub(super) async fn readable(&self) {
        self.wait(|| {
            let mut state = self.lock();
            if !state.is_empty() || state.failed.is_some() {
                return Some(());
            }
            match self.refill(&mut state) {
                Ok(false) => None,
                Ok(true) => Some(()),
                Err(error) => {
                    state.failed = Some(error);
                    Some(())
                }
            }
        })
        .await;
    }

    /// Tries until there is something, whenever something may have come.
    async fn wait<R>(&self, mut attempt: impl FnMut() -> Option<R>) -> R {
        loop {
            let mut readable = pin!(self.io.readable());
            let mut arrived = pin!(async {
                match &self.shared.options.inbox {
                    Some(inbox) => inbox.arrived().await,
                    None => std::future::pending().await,
                }
            });
            // Both are asked before looking, lest something be missed that comes in between.
            let mut ask = |cx: &mut Context<'_>| {
                readable.as_mut().poll(cx).is_ready() | arrived.as_mut().poll(cx).is_ready()
            };
            let woken = poll_fn(|cx| Poll::Ready(ask(cx))).await;
            if let Some(received) = attempt() {
                return received;
            }
            if !woken {
                poll_fn(|cx| if ask(cx) { Poll::Ready(()) } else { Poll::Pending }).await;
            }
        }
    }

    /// Gets more for an empty ring, and says whether there was any.
    fn refill(&self, state: &mut State) -> Result<bool, Errno> {
        if let Some(error) = state.failed.take() {
            return Err(error);
        }
        let Some(port) = state.port else { return Err(Errno::NOTCONN) };
        let shared = &*self.shared;
        if let Some(inbox) = &shared.options.inbox {
            while let Some((datagram, from)) = inbox.pop(port) {
                shared.cells().steered_in.add(1);
                if shared.check_peer(from, false).is_ok() {
                    state.steered = Some((datagram, from));
                    return Ok(true);
                }
                shared.cells().refused.add(1);
            }
        }
        // What the guest has sent may be what is answered, perhaps by itself.
        let _ = self.flush(state, true);
        loop {
            let mut receive = || {
                shared.cells().receive_calls.add(1);
                state.ring.fill(&shared.spare, |slots, metas| {
                    self.offloads.recv(UdpSockRef::from(&self.io), slots, metas)
                })
            };
            let mut asked = false;
            let received = self.io.try_io(Interest::READABLE, || {
                asked = true;
                receive()
            });
            // The runtime may not have heard of what has come meanwhile: to ask costs less than to wait for that.
            match if asked { received } else { receive() } {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    state.ring.rest(&shared.spare);
                    return Ok(false);
                }
                Err(error) => return Err(errno(&error)),
            }
            self.admit(&mut state.ring, port);
            if !state.ring.is_empty() {
                return Ok(true);
            }
        }
    }

    /// Counts a batch, drops what is not permitted, and hands on what is for others.
    fn admit(&self, ring: &mut Ring, port: u16) {
        let shared = &*self.shared;
        let cells = shared.cells();
        ring.retain(|message| {
            let datagrams = message.datagrams() as u64;
            cells.received.add(datagrams);
            if datagrams > 1 {
                cells.gro_batches.add(1);
            }
            let permitted = shared.check_peer(message.from, false).is_ok();
            if !permitted {
                cells.refused.add(datagrams);
            }
            permitted
        });
        if let Some(steer) = &shared.options.steer {
            ring.divert(|datagram, from| {
                let Some(inbox) = steer.elsewhere(datagram, from) else { return false };
                cells.steered_out.add(1);
                if !inbox.push(port, datagram, from) {
                    cells.steered_lost.add(1);
                }
                true
            });
        }
    }
}

/// Sending.
impl Socket {
    /// Takes a datagram to be sent, if there is room. `to` may be left out if the socket is connected.
    pub(super) fn try_send(
        self: &Arc<Self>,
        datagram: &[u8],
        to: Option<SocketAddr>,
    ) -> Now<Result<(), Errno>> {
        let mut state = self.lock();
        let sent = match self.accept(&mut state, datagram, to) {
            Ok(true) => Ok(()),
            Ok(false) => return Now::Wait(()),
            Err(error) => Err(error),
        };
        if !state.run.is_empty() && !state.scheduled {
            state.scheduled = true;
            self.shared.turns.send_later(self);
        }
        drop(state);
        self.done(sent)
    }

    /// Waits until there is room for a datagram.
    pub(super) async fn send(self: &Arc<Self>, datagram: &[u8], to: Option<SocketAddr>) -> Result<(), Errno> {
        loop {
            match self.try_send(datagram, to) {
                Now::Done(sent) | Now::Pause(sent, _) => return sent,
                Now::Wait(()) => self.drain().await,
            }
        }
    }

    /// Whether there is no room for more.
    pub(super) fn is_blocked(&self) -> bool {
        self.lock().blocked
    }

    /// Whether an error waits for the next `send`.
    pub(super) fn has_error(&self) -> bool {
        self.lock().late.is_some()
    }

    /// Adds a datagram to the run, and sends what must go first. Says whether there was room.
    fn accept(&self, state: &mut State, datagram: &[u8], to: Option<SocketAddr>) -> Result<bool, Errno> {
        if datagram.len() > MAX_DATAGRAM {
            return Err(Errno::MSGSIZE);
        }
        let to = match (to, state.remote) {
            (Some(to), None) if state.last == Some(to) => to,
            (Some(to), remote) if self.family.reaches(to) && remote.is_none_or(|remote| remote == to) => to,
            (None, Some(remote)) => remote,
            _ => return Err(Errno::INVAL),
        };
        if state.last != Some(to) {
            if state.port.is_none() {
                self.shared.check(self.family.unspecified(), SocketAddrUse::UdpBind)?;
            }
            self.shared.check_peer(to, true)?;
            state.last = Some(to);
        }
        if let Some(late) = state.late.take() {
            return Err(late);
        }
        let max_segments = self.offloads.max_gso_segments();
        if !state.run.accepts(datagram, to, max_segments) && self.flush(state, true).is_err() {
            return Ok(false);
        }
        let first = state.run.is_empty();
        state.run.push(datagram, to);
        // One that nothing can join is sent at once, and its error is its own; so is the first of a socket, which
        // gets its address by it.
        let alone = first && (datagram.len() > state.max_segment || state.run.is_full(max_segments));
        if alone || state.port.is_none() {
            let sent = self.flush(state, false);
            self.note_port(state);
            return match sent {
                Ok(()) | Err(Errno::AGAIN) => Ok(true),
                Err(error) => Err(error),
            };
        }
        if state.run.is_full(max_segments) {
            let _ = self.flush(state, true);
        }
        Ok(true)
    }

    /// Sends the run. An error is kept for a later `send` if `late`, else returned.
    ///
    /// # Errors
    /// [`Errno::AGAIN`] if there was no room for all.
    fn flush(&self, state: &mut State, late: bool) -> Result<(), Errno> {
        if state.run.is_empty() {
            return Ok(());
        }
        let connected = state.remote.is_some();
        let flushed = state.run.flush(|batch| self.send_batch(batch, connected));
        state.blocked = flushed.blocked;
        let cells = self.shared.cells();
        cells.send_calls.add(flushed.calls);
        cells.sent.add(flushed.sent);
        if flushed.merged {
            cells.gso_batches.add(1);
        }
        if flushed.unmergeable {
            state.max_segment = state.run.segment().saturating_sub(1).min(state.max_segment);
        }
        match flushed.error {
            Some(error) if late => {
                cells.late_errors.add(flushed.failed.max(1));
                state.late = Some(error);
            }
            Some(error) => return Err(error),
            None => {}
        }
        if flushed.blocked { Err(Errno::AGAIN) } else { Ok(()) }
    }

    fn send_batch(&self, batch: Batch<'_>, connected: bool) -> io::Result<()> {
        if batch.segment.is_some() {
            let transmit = Transmit {
                destination: batch.to,
                ecn: None,
                contents: batch.bytes,
                segment_size: batch.segment,
                src_ip: None,
            };
            return self.offloads.try_send(UdpSockRef::from(&self.io), &transmit);
        }
        let flags = rustix::net::SendFlags::empty();
        loop {
            let sent = match connected {
                true => rustix::net::send(&self.io, batch.bytes, flags),
                false => rustix::net::sendto(&self.io, batch.bytes, flags, &batch.to),
            };
            match sent {
                Err(Errno::INTR) => {}
                result => return result.map(drop).map_err(Into::into),
            }
        }
    }

    /// Sends what is there after the guest's turn.
    ///
    /// # Errors
    /// [`Errno::AGAIN`] if there was no room for all: then [`drain`](Self::drain).
    pub(super) fn flush_late(&self) -> Result<(), Errno> {
        let mut state = self.lock();
        let flushed = self.flush(&mut state, true);
        state.scheduled = flushed.is_err();
        flushed
    }

    /// Sends what is there, and waits for room until it is; not for ever once the guest has closed the socket or ended.
    pub(super) async fn drain(&self) {
        let (mut held, mut since) = (usize::MAX, Instant::now());
        while timeout(ASK_EVERY, self.drained()).await.is_err() && self.flush_late().is_err() {
            let mut state = self.lock();
            let left = state.run.datagrams();
            if left < held {
                (held, since) = (left, Instant::now());
            }
            let closed = state.closed.or(self.shared.turns.finished());
            if closed.is_some_and(|closed| since.max(closed).elapsed() >= PATIENCE) {
                self.give_up(&mut state);
                return;
            }
        }
    }

    async fn drained(&self) {
        loop {
            let sent = self.io.try_io(Interest::WRITABLE, || self.flush_late().map_err(Into::into));
            // An error of the socket itself will be told by its next call.
            if !matches!(&sent, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
                || self.io.writable().await.is_err()
            {
                return;
            }
        }
    }

    /// Drops what there was no room for.
    fn give_up(&self, state: &mut State) {
        self.shared.cells().dropped.add(state.run.datagrams() as u64);
        state.run.clear();
        state.blocked = false;
    }
}

impl Socket {
    /// Sends what is there, since the guest drops its socket, whose port is free then. Only where the system has no room
    /// is it kept until there is, or until that takes too long.
    pub(super) fn close(self: Arc<Self>) {
        if self.flush_late().is_ok() {
            self.shared.turns.forget(&self);
        } else {
            self.lock().closed = Some(Instant::now());
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = self.flush_late();
        let mut state = self.lock();
        self.give_up(&mut state);
    }
}
