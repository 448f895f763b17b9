//! One socket: a ring of what has arrived, a run of what is to be sent.

mod receive;
mod send;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use quinn_udp::UdpSocketState;
use rustix::io::Errno;
use tokio::net::UdpSocket;
use wasmtime_wasi::sockets::SocketAddrUse;

pub(super) use receive::Received;

use super::context::Shared;
use super::ports::SharedPort;
use super::ring::Ring;
use super::run::{Run, errno};
use super::system::{self, Buffer, Family};
use super::turn::Turns;

/// The largest datagram that `wasi:sockets` knows, in bytes; the system may know smaller ones only.
const MAX_DATAGRAM: usize = u16::MAX as usize;

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
    /// That port, where it is shared.
    shared: Option<SharedPort>,
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
                shared: None,
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
        let mut shared = None;
        if self.shared.options.share_ports && addr.port() != 0 {
            shared = Some(SharedPort::claim(self.family, addr)?);
            system::share_port(&self.io)?;
        }
        system::bind(&self.io, addr)?;
        state.shared = shared;
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
