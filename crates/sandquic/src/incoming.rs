//! Connection attempts of clients.

use std::future::{Future, IntoFuture};
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use quinn_proto as proto;
use quinn_proto::{ConnectionError, ConnectionId};

use crate::config::ServerConfig;
use crate::connection::{Connecting, Connection};
use crate::endpoint::Endpoint;

/// A client's connection attempt that the server has not answered yet.
///
/// Awaiting it accepts it; dropping it refuses it.
#[derive(Debug)]
pub struct Incoming {
    /// `None` once it has been dealt with.
    inner: Option<proto::Incoming>,
    endpoint: Endpoint,
}

impl Incoming {
    pub(crate) fn new(inner: proto::Incoming, endpoint: Endpoint) -> Self {
        Self { inner: Some(inner), endpoint }
    }

    /// Accept the attempt and begin the handshake.
    ///
    /// # Errors
    ///
    /// If the first packet is invalid or the endpoint is at its end.
    pub fn accept(mut self) -> Result<Connecting, ConnectionError> {
        let inner = self.take();
        self.endpoint.accept_incoming(inner, None)
    }

    /// Accept the attempt with another configuration than the endpoint's.
    ///
    /// # Errors
    ///
    /// As [`accept`](Self::accept).
    pub fn accept_with(mut self, server_config: Arc<ServerConfig>) -> Result<Connecting, ConnectionError> {
        let inner = self.take();
        self.endpoint.accept_incoming(inner, Some(Arc::new(server_config.0.clone())))
    }

    /// Refuse the attempt: the client is told.
    pub fn refuse(mut self) {
        let inner = self.take();
        self.endpoint.refuse_incoming(inner);
    }

    /// Ask the client to try again with a token that proves its address (RFC 9000, 8.1.2).
    ///
    /// # Errors
    ///
    /// If [`may_retry`](Self::may_retry) is false; the error gives the attempt back.
    pub fn retry(mut self) -> Result<(), RetryError> {
        let inner = self.take();
        self.endpoint.retry_incoming(inner)
    }

    /// Do not answer at all.
    pub fn ignore(mut self) {
        let inner = self.take();
        self.endpoint.ignore_incoming(inner);
    }

    /// The address that the client sent to, where the socket tells.
    pub fn local_ip(&self) -> Option<IpAddr> {
        self.inner().local_ip()
    }

    /// The client's address.
    pub fn remote_address(&self) -> SocketAddr {
        self.inner().remote_address()
    }

    /// Whether the client has proved, by a token, that it receives at its address.
    ///
    /// If not, then [`may_retry`](Self::may_retry) is true.
    pub fn remote_address_validated(&self) -> bool {
        self.inner().remote_address_validated()
    }

    /// Whether [`retry`](Self::retry) is allowed: a client is asked at most once.
    pub fn may_retry(&self) -> bool {
        self.inner().may_retry()
    }

    /// The destination connection ID of the client's first Initial packet.
    pub fn orig_dst_cid(&self) -> ConnectionId {
        *self.inner().orig_dst_cid()
    }

    fn inner(&self) -> &proto::Incoming {
        self.inner.as_ref().expect("taken only by methods that consume it")
    }

    fn take(&mut self) -> proto::Incoming {
        self.inner.take().expect("taken only by methods that consume it")
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if let Some(inner) = self.inner.take() {
            self.endpoint.refuse_incoming(inner);
        }
    }
}

impl IntoFuture for Incoming {
    type Output = Result<Connection, ConnectionError>;
    type IntoFuture = IncomingFuture;

    fn into_future(self) -> IncomingFuture {
        IncomingFuture(self.accept())
    }
}

/// The future of an [`Incoming`] that is accepted by being awaited.
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct IncomingFuture(Result<Connecting, ConnectionError>);

impl Future for IncomingFuture {
    type Output = Result<Connection, ConnectionError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Ok(connecting) => Pin::new(connecting).poll(cx),
            Err(e) => Poll::Ready(Err(e.clone())),
        }
    }
}

/// [`Incoming::retry`] was asked for a client that has been asked already.
#[derive(Debug, thiserror::Error)]
#[error("the client already answered a Retry: accept, refuse or ignore it")]
pub struct RetryError(Box<Incoming>);

impl RetryError {
    pub(crate) fn new(incoming: Incoming) -> Self {
        Self(Box::new(incoming))
    }

    /// The attempt, to be dealt with in another way.
    pub fn into_incoming(self) -> Incoming {
        *self.0
    }
}
