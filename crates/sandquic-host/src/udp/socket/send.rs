//! Sending: into the run, and out of it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quinn_udp::{Transmit, UdpSockRef};
use rustix::io::Errno;
use tokio::io::Interest;
use tokio::time::timeout;
use wasmtime_wasi::sockets::SocketAddrUse;

use super::{MAX_DATAGRAM, Now, Socket, State};
use crate::udp::run::Batch;

/// How long a socket that its guest has no more waits for the system to take anything: at least until the last call's
/// 64 datagrams have gone over a link of 256 kbit/s.
const PATIENCE: Duration = Duration::from_secs(3);

/// How often it is asked for room. The system tells of room by itself only when half of the buffer is free.
const ASK_EVERY: Duration = Duration::from_millis(50);

impl Socket {
    /// Takes a datagram to be sent, if there is room. `to` may be left out if the socket is connected.
    pub(in crate::udp) fn try_send(
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
    pub(in crate::udp) async fn send(
        self: &Arc<Self>,
        datagram: &[u8],
        to: Option<SocketAddr>,
    ) -> Result<(), Errno> {
        loop {
            match self.try_send(datagram, to) {
                Now::Done(sent) | Now::Pause(sent, _) => return sent,
                Now::Wait(()) => self.drain().await,
            }
        }
    }

    /// Whether there is no room for more.
    pub(in crate::udp) fn is_blocked(&self) -> bool {
        self.lock().blocked
    }

    /// Whether an error waits for the next `send`.
    pub(in crate::udp) fn has_error(&self) -> bool {
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
    pub(super) fn flush(&self, state: &mut State, late: bool) -> Result<(), Errno> {
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
    pub(in crate::udp) fn flush_late(&self) -> Result<(), Errno> {
        let mut state = self.lock();
        let flushed = self.flush(&mut state, true);
        state.scheduled = flushed.is_err();
        flushed
    }

    /// Sends what is there, and waits for room until it is; not for ever once the guest has closed the socket or ended.
    pub(in crate::udp) async fn drain(&self) {
        let (mut held, mut since) = (usize::MAX, Instant::now());
        while timeout(ASK_EVERY, self.drained()).await.is_err() && self.flush_late().is_err() {
            let mut state = self.lock();
            let left = state.run.datagrams();
            if left < held {
                (held, since) = (left, Instant::now());
            }
            let Some(closed) = state.closed.or(self.shared.turns.finished()) else { continue };
            if since.max(closed).elapsed() >= PATIENCE {
                self.give_up(&mut state);
                return;
            }
            // A whole run may need more room than a slow link makes in that time.
            state.run.part();
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
    pub(super) fn give_up(&self, state: &mut State) {
        self.shared.cells().dropped.add(state.run.datagrams() as u64);
        state.run.clear();
        state.blocked = false;
    }
}
