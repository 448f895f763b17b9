//! Attempts to make a connection.

use std::any::Any;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use quinn_proto::ConnectionError;

use super::{ConnRef, Connection};
use crate::waiters::Ticket;

/// A connection whose handshake is not complete. Awaiting it waits for the handshake.
#[derive(Debug)]
#[must_use = "a connection attempt is given up when it is dropped"]
pub struct Connecting {
    /// `None` once it has yielded.
    conn: Option<ConnRef>,
    ticket: Ticket,
    data_ticket: Ticket,
}

impl Connecting {
    pub(crate) fn new(conn: ConnRef) -> Self {
        Self { conn: Some(conn), ticket: None, data_ticket: None }
    }

    /// Use the connection before its handshake is complete, with weaker protection.
    ///
    /// - A client can do so if it has a ticket of an earlier connection that allows 0-RTT. What it sends until then
    ///   can be replayed by anyone who recorded it, so it must not change anything; and the server may reject it:
    ///   then [`ZeroRttAccepted`] yields false and the streams opened so far report `ZeroRttRejected`.
    /// - A server always can: what it sends (0.5-RTT) is protected, but the client is not authenticated yet.
    ///
    /// # Errors
    ///
    /// A client without such a ticket gets the attempt back.
    pub fn into_0rtt(mut self) -> Result<(Connection, ZeroRttAccepted), Self> {
        let Some(conn) = self.conn.take() else { return Err(self) };
        let usable = {
            let mut locked = conn.lock();
            let inner = &locked.conn().inner;
            inner.has_0rtt() || inner.side().is_server()
        };
        if usable {
            let accepted = ZeroRttAccepted { conn: conn.clone(), ticket: None };
            Ok((Connection(conn), accepted))
        } else {
            self.conn = Some(conn);
            Err(self)
        }
    }

    /// Wait for what the handshake has negotiated so far: with the session of this crate a
    /// [`HandshakeData`](crate::crypto::rustls::HandshakeData), to be downcast.
    ///
    /// # Errors
    ///
    /// If the connection fails first.
    ///
    /// # Panics
    ///
    /// If called after the attempt has yielded its result.
    pub async fn handshake_data(&mut self) -> Result<Box<dyn Any>, ConnectionError> {
        let conn = self.conn.as_ref().expect("not used after it yielded");
        let ticket = &mut self.data_ticket;
        std::future::poll_fn(|cx| {
            let mut locked = conn.lock();
            let conn = locked.conn();
            if let Some(data) = conn.inner.crypto_session().handshake_data() {
                return Poll::Ready(Ok(data));
            }
            if let Some(error) = &conn.error {
                return Poll::Ready(Err(error.clone()));
            }
            conn.handshake_data.wait(ticket, cx);
            Poll::Pending
        })
        .await
    }

    /// The local address that the peer sent to, where the socket tells; `None` for clients.
    ///
    /// # Panics
    ///
    /// If called after the attempt has yielded its result.
    pub fn local_ip(&self) -> Option<IpAddr> {
        self.conn.as_ref().expect("not used after it yielded").lock().conn().inner.local_ip()
    }

    /// The peer's address.
    ///
    /// # Panics
    ///
    /// If called after the attempt has yielded its result.
    pub fn remote_address(&self) -> SocketAddr {
        self.conn.as_ref().expect("not used after it yielded").lock().conn().inner.remote_address()
    }
}

impl Future for Connecting {
    type Output = Result<Connection, ConnectionError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let conn = this.conn.take().expect("not polled after it yielded");
        let mut locked = conn.lock();
        let state = locked.conn();
        if let Some(error) = &state.error
            && !state.connected
        {
            let error = error.clone();
            drop(locked);
            return Poll::Ready(Err(error));
        }
        if state.connected {
            drop(locked);
            return Poll::Ready(Ok(Connection(conn)));
        }
        state.handshake.wait(&mut this.ticket, cx);
        drop(locked);
        this.conn = Some(conn);
        Poll::Pending
    }
}

impl Drop for Connecting {
    fn drop(&mut self) {
        if let Some(conn) = &self.conn {
            let mut locked = conn.lock();
            let conn = locked.conn();
            conn.handshake.leave(self.ticket);
            conn.handshake_data.leave(self.data_ticket);
        }
    }
}

/// Tells, when the handshake is complete, whether the server accepted the client's 0-RTT data. False if the
/// connection failed; true for servers.
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct ZeroRttAccepted {
    conn: ConnRef,
    ticket: Ticket,
}

impl Future for ZeroRttAccepted {
    type Output = bool;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<bool> {
        let this = &mut *self;
        let mut locked = this.conn.lock();
        let conn = locked.conn();
        if conn.connected {
            return Poll::Ready(conn.inner.side().is_server() || conn.inner.accepted_0rtt());
        }
        if conn.error.is_some() {
            return Poll::Ready(false);
        }
        conn.handshake.wait(&mut this.ticket, cx);
        Poll::Pending
    }
}

impl Drop for ZeroRttAccepted {
    fn drop(&mut self) {
        self.conn.lock().conn().handshake.leave(self.ticket);
    }
}
