//! The transport of HTTP/3 (RFC 9114) for the [`h3`] crate, on both sides and every driver.
//!
//! [`Connection`] implements [`h3::quic::Connection`]: hand it to `h3::server::builder()` or
//! `h3::client::builder()`.
//!
//! ```no_run
//! # async fn f(connection: sandquic::Connection) -> Result<(), Box<dyn std::error::Error>> {
//! let transport = sandquic::h3::Connection::new(connection);
//! let mut server = h3::server::builder()
//!     .max_field_section_size(64 * 1024)
//!     .build::<_, bytes::Bytes>(transport)
//!     .await?;
//! while let Some(request) = server.accept().await? {
//!     let (request, mut stream) = request.resolve_request().await?;
//!     let response = http::Response::builder().status(200).body(())?;
//!     stream.send_response(response).await?;
//!     stream.send_data(format!("you asked for {}", request.uri()).into()).await?;
//!     stream.finish().await?;
//! }
//! # Ok(()) }
//! ```
//!
//! # What the transport adds
//!
//! - **Bounded frames.** h3 keeps every frame but DATA in memory until it is whole, however long it says it is. Here a
//!   longer one than [`Connection::max_frame_size`] allows ends its request, or on a control stream its connection, with
//!   H3_EXCESSIVE_LOAD (RFC 9114, 8.1).
//! - **Long DATA frames.** h3 counts what is left of a frame in a `usize`, so that one of 4 GiB and more would be
//!   misread in WebAssembly: they are handed over as several.
//! - **Codes.** A stream that is dropped before its end is stopped with H3_REQUEST_CANCELLED by a client and with
//!   H3_NO_ERROR by a server (RFC 9114, 4.1); one that is dropped in the middle of a frame, or before the
//!   first, is reset with H3_REQUEST_CANCELLED. A stream that is dropped between frames is finished, as h3 expects.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use ::h3::error::Code;
use ::h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming};
use bytes::Buf;
use quinn_proto::{ConnectionError, VarInt};

use crate::connection::Streams;

mod framing;
mod streams;

pub use streams::{BidiStream, RecvStream, SendStream};

/// The bytes of a frame, other than DATA, that are taken unless [`Connection::max_frame_size`] says otherwise: 1 MiB.
pub const DEFAULT_MAX_FRAME_SIZE: u64 = 1 << 20;

/// A QUIC connection as the h3 crate wants it.
pub struct Connection {
    streams: Streams,
    max_frame_size: u64,
}

impl Connection {
    /// For HTTP/3 over `connection`, whose handshake chose the ALPN name `h3`.
    pub fn new(connection: crate::Connection) -> Self {
        Self { streams: Streams::new(connection), max_frame_size: DEFAULT_MAX_FRAME_SIZE }
    }

    /// Takes frames other than DATA of at most `bytes`, before decompression. A server sets a little more than the
    /// largest section of fields that it takes, so that one just above that can still be answered.
    #[must_use]
    pub fn max_frame_size(mut self, bytes: u64) -> Self {
        self.max_frame_size = bytes;
        self
    }

    /// The connection below.
    pub fn quic(&self) -> &crate::Connection {
        self.streams.connection()
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("quic", self.quic()).finish_non_exhaustive()
    }
}

impl<B: Buf> quic::Connection<B> for Connection {
    type RecvStream = RecvStream;
    type OpenStreams = OpenStreams;

    fn poll_accept_recv(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Self::RecvStream, ConnectionErrorIncoming>> {
        let stream = ready!(self.streams.poll_accept_uni(cx)).map_err(connection_error)?;
        Poll::Ready(Ok(RecvStream::unidirectional(stream, self.quic(), self.max_frame_size)))
    }

    fn poll_accept_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Self::BidiStream, ConnectionErrorIncoming>> {
        let (send, recv) = ready!(self.streams.poll_accept_bi(cx)).map_err(connection_error)?;
        Poll::Ready(Ok(BidiStream::new(send, recv, self.quic(), self.max_frame_size)))
    }

    fn opener(&self) -> Self::OpenStreams {
        OpenStreams { streams: Streams::new(self.quic().clone()), max_frame_size: self.max_frame_size }
    }
}

impl<B: Buf> quic::OpenStreams<B> for Connection {
    type BidiStream = BidiStream<B>;
    type SendStream = SendStream<B>;

    fn poll_open_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Self::BidiStream, StreamErrorIncoming>> {
        poll_open_bidi(&mut self.streams, cx, self.max_frame_size)
    }

    fn poll_open_send(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Self::SendStream, StreamErrorIncoming>> {
        poll_open_send(&mut self.streams, cx)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.quic().close(code_of(code.value()), reason);
    }
}

/// Opens streams of a connection, independently of the [`Connection`].
pub struct OpenStreams {
    streams: Streams,
    max_frame_size: u64,
}

impl<B: Buf> quic::OpenStreams<B> for OpenStreams {
    type BidiStream = BidiStream<B>;
    type SendStream = SendStream<B>;

    fn poll_open_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Self::BidiStream, StreamErrorIncoming>> {
        poll_open_bidi(&mut self.streams, cx, self.max_frame_size)
    }

    fn poll_open_send(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Self::SendStream, StreamErrorIncoming>> {
        poll_open_send(&mut self.streams, cx)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.streams.connection().close(code_of(code.value()), reason);
    }
}

impl Clone for OpenStreams {
    fn clone(&self) -> Self {
        let streams = Streams::new(self.streams.connection().clone());
        Self { streams, max_frame_size: self.max_frame_size }
    }
}

impl fmt::Debug for OpenStreams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenStreams").field("quic", self.streams.connection()).finish_non_exhaustive()
    }
}

fn poll_open_bidi<B: Buf>(
    streams: &mut Streams,
    cx: &mut Context<'_>,
    max_frame_size: u64,
) -> Poll<Result<BidiStream<B>, StreamErrorIncoming>> {
    let (send, recv) = ready!(streams.poll_open_bi(cx)).map_err(lost)?;
    Poll::Ready(Ok(BidiStream::new(send, recv, streams.connection(), max_frame_size)))
}

fn poll_open_send<B: Buf>(
    streams: &mut Streams,
    cx: &mut Context<'_>,
) -> Poll<Result<SendStream<B>, StreamErrorIncoming>> {
    streams.poll_open_uni(cx).map_ok(SendStream::new).map_err(lost)
}

/// A code of HTTP/3 as QUIC carries it. One that does not fit is no code of RFC 9114.
fn code_of(code: u64) -> VarInt {
    VarInt::from_u64(code).unwrap_or(VarInt::MAX)
}

/// A stream's error for the end of its connection.
fn lost(error: ConnectionError) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming { connection_error: connection_error(error) }
}

fn connection_error(error: ConnectionError) -> ConnectionErrorIncoming {
    match error {
        ConnectionError::ApplicationClosed(close) => {
            ConnectionErrorIncoming::ApplicationClose { error_code: close.error_code.into_inner() }
        }
        ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        error => ConnectionErrorIncoming::Undefined(Arc::new(error)),
    }
}
