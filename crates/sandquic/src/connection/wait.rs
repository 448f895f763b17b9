//! The futures that wait for something of a connection.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use quinn_proto as proto;
use quinn_proto::{ConnectionError, Dir, StreamId};

use super::{ConnRef, Connection, LockedConn, SendDatagramError};
use crate::recv_stream::RecvStream;
use crate::send_stream::SendStream;
use crate::state::{Conn, Shared};
use crate::waiters::{Ticket, Waiters};

/// The common part of the futures that wait for something of a connection.
#[derive(Debug)]
pub(super) struct Wait<'a> {
    conn: &'a ConnRef,
    /// The event last waited for, and the place among those who wait.
    waiters: Option<WaitersOf>,
    ticket: Ticket,
}

/// Those who wait for one kind of event of a connection.
type WaitersOf = fn(&mut Conn) -> &mut Waiters;

impl<'a> Wait<'a> {
    pub(super) fn new(conn: &'a Connection) -> Self {
        Self { conn: &conn.0, waiters: None, ticket: None }
    }

    /// Try `attempt`; wait for `waiters` if it gives nothing.
    pub(super) fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        waiters: WaitersOf,
        attempt: impl FnOnce(&mut LockedConn<'a>, &'a Arc<Shared>) -> Option<Result<T, ConnectionError>>,
    ) -> Poll<Result<T, ConnectionError>> {
        self.waiters = Some(waiters);
        poll(self.conn, &mut self.ticket, cx, waiters, attempt)
    }

    fn poll_open(&mut self, cx: &mut Context<'_>, dir: Dir) -> Poll<Result<Opened, ConnectionError>> {
        self.poll(cx, available(dir), |locked, shared| open(locked, shared, dir))
    }

    fn poll_accept(&mut self, cx: &mut Context<'_>, dir: Dir) -> Poll<Result<Opened, ConnectionError>> {
        self.poll(cx, opened(dir), |locked, shared| accept(locked, shared, dir))
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        if let Some(waiters) = self.waiters {
            waiters(self.conn.lock().conn()).leave(self.ticket);
        }
    }
}

/// Try `attempt`; wait for `waiters` with `ticket` if it gives nothing.
fn poll<'a, T>(
    conn: &'a ConnRef,
    ticket: &mut Ticket,
    cx: &mut Context<'_>,
    waiters: WaitersOf,
    attempt: impl FnOnce(&mut LockedConn<'a>, &'a Arc<Shared>) -> Option<Result<T, ConnectionError>>,
) -> Poll<Result<T, ConnectionError>> {
    let mut locked = conn.lock();
    if let Some(result) = attempt(&mut locked, &conn.shared) {
        return Poll::Ready(result);
    }
    if let Some(error) = &locked.conn().error {
        return Poll::Ready(Err(error.clone()));
    }
    waiters(locked.conn()).wait(ticket, cx);
    Poll::Pending
}

fn available(dir: Dir) -> WaitersOf {
    match dir {
        Dir::Bi => |conn| &mut conn.available[Dir::Bi as usize],
        Dir::Uni => |conn| &mut conn.available[Dir::Uni as usize],
    }
}

fn opened(dir: Dir) -> WaitersOf {
    match dir {
        Dir::Bi => |conn| &mut conn.opened[Dir::Bi as usize],
        Dir::Uni => |conn| &mut conn.opened[Dir::Uni as usize],
    }
}

fn open(
    locked: &mut LockedConn<'_>,
    shared: &Arc<Shared>,
    dir: Dir,
) -> Option<Result<Opened, ConnectionError>> {
    let conn = locked.conn();
    if let Some(error) = &conn.error {
        return Some(Err(error.clone()));
    }
    let early = conn.inner.side().is_client() && conn.inner.is_handshaking();
    let id = conn.inner.streams().open(dir)?;
    Some(Ok(Opened::new(locked, shared, id, early)))
}

fn accept(
    locked: &mut LockedConn<'_>,
    shared: &Arc<Shared>,
    dir: Dir,
) -> Option<Result<Opened, ConnectionError>> {
    let conn = locked.conn();
    // Streams that arrived before the connection ended can still be taken.
    let id = conn.inner.streams().accept(dir)?;
    let early = conn.inner.is_handshaking();
    // The peer may be granted another stream in this one's place.
    locked.mark();
    Some(Ok(Opened::new(locked, shared, id, early)))
}

/// Opens and accepts streams for a caller that polls: a handle to a connection with its places among those who wait.
#[cfg(feature = "h3")]
#[derive(Debug)]
pub(crate) struct Streams {
    conn: Connection,
    available: [Ticket; 2],
    opened: [Ticket; 2],
}

#[cfg(feature = "h3")]
impl Streams {
    pub(crate) fn new(conn: Connection) -> Self {
        Self { conn, available: [None; 2], opened: [None; 2] }
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.conn
    }

    pub(crate) fn poll_open_uni(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<SendStream, ConnectionError>> {
        self.poll_open(cx, Dir::Uni).map_ok(Opened::send)
    }

    pub(crate) fn poll_open_bi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(SendStream, RecvStream), ConnectionError>> {
        self.poll_open(cx, Dir::Bi).map_ok(Opened::both)
    }

    pub(crate) fn poll_accept_uni(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<RecvStream, ConnectionError>> {
        self.poll_accept(cx, Dir::Uni).map_ok(Opened::recv)
    }

    pub(crate) fn poll_accept_bi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(SendStream, RecvStream), ConnectionError>> {
        self.poll_accept(cx, Dir::Bi).map_ok(Opened::both)
    }

    fn poll_open(&mut self, cx: &mut Context<'_>, dir: Dir) -> Poll<Result<Opened, ConnectionError>> {
        let ticket = &mut self.available[dir as usize];
        poll(&self.conn.0, ticket, cx, available(dir), |locked, shared| open(locked, shared, dir))
    }

    fn poll_accept(&mut self, cx: &mut Context<'_>, dir: Dir) -> Poll<Result<Opened, ConnectionError>> {
        let ticket = &mut self.opened[dir as usize];
        poll(&self.conn.0, ticket, cx, opened(dir), |locked, shared| accept(locked, shared, dir))
    }
}

#[cfg(feature = "h3")]
impl Drop for Streams {
    fn drop(&mut self) {
        let mut locked = self.conn.0.lock();
        let conn = locked.conn();
        for dir in [Dir::Bi, Dir::Uni] {
            available(dir)(conn).leave(self.available[dir as usize]);
            opened(dir)(conn).leave(self.opened[dir as usize]);
        }
    }
}

/// A stream just opened or accepted, with two counted handles for its two halves.
struct Opened {
    send: ConnRef,
    recv: ConnRef,
    id: StreamId,
    early: bool,
}

impl Opened {
    fn new(locked: &mut LockedConn<'_>, shared: &Arc<Shared>, id: StreamId, early: bool) -> Self {
        Self { send: locked.handle(shared), recv: locked.handle(shared), id, early }
    }

    fn send(self) -> SendStream {
        SendStream::new(self.send, self.id, self.early)
    }

    fn recv(self) -> RecvStream {
        RecvStream::new(self.recv, self.id, self.early)
    }

    fn both(self) -> (SendStream, RecvStream) {
        (SendStream::new(self.send, self.id, self.early), RecvStream::new(self.recv, self.id, self.early))
    }
}

macro_rules! stream_future {
    ($(#[$doc:meta])* $name:ident, $output:ty, $poll:ident, $dir:ident, $take:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        #[must_use = "futures do nothing unless awaited"]
        pub struct $name<'a>(pub(super) Wait<'a>);

        impl Future for $name<'_> {
            type Output = Result<$output, ConnectionError>;

            fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
                self.0.$poll(cx, Dir::$dir).map_ok(Opened::$take)
            }
        }
    };
}

stream_future!(
    /// The future of [`Connection::open_uni`].
    OpenUni, SendStream, poll_open, Uni, send
);
stream_future!(
    /// The future of [`Connection::open_bi`].
    OpenBi, (SendStream, RecvStream), poll_open, Bi, both
);
stream_future!(
    /// The future of [`Connection::accept_uni`].
    AcceptUni, RecvStream, poll_accept, Uni, recv
);
stream_future!(
    /// The future of [`Connection::accept_bi`].
    AcceptBi, (SendStream, RecvStream), poll_accept, Bi, both
);

/// The future of [`Connection::read_datagram`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct ReadDatagram<'a>(pub(super) Wait<'a>);

impl Future for ReadDatagram<'_> {
    type Output = Result<Bytes, ConnectionError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll(cx, |conn| &mut conn.datagram, |locked, _| locked.conn().inner.datagrams().recv().map(Ok))
    }
}

/// The future of [`Connection::send_datagram_wait`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct SendDatagram<'a> {
    wait: Wait<'a>,
    /// `None` once it has yielded.
    data: Option<Bytes>,
}

impl<'a> SendDatagram<'a> {
    pub(super) fn new(conn: &'a Connection, data: Bytes) -> Self {
        Self { wait: Wait::new(conn), data: Some(data) }
    }
}

impl Future for SendDatagram<'_> {
    type Output = Result<(), SendDatagramError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let data = &mut this.data;
        let sent = this.wait.poll(
            cx,
            |conn| &mut conn.datagram_space,
            |locked, _| {
                let conn = locked.conn();
                if let Some(error) = &conn.error {
                    return Some(Err(error.clone()));
                }
                match conn.inner.datagrams().send(data.take().expect("not polled after it yielded"), false) {
                    Ok(()) => {
                        locked.mark();
                        Some(Ok(Ok(())))
                    }
                    Err(proto::SendDatagramError::Blocked(back)) => {
                        *data = Some(back);
                        None
                    }
                    Err(e) => Some(Ok(Err(e.into()))),
                }
            },
        );
        sent.map(|result| result?)
    }
}
