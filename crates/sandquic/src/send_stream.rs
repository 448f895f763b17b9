//! The sending half of a stream.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use quinn_proto as proto;
use quinn_proto::{ClosedStream, ConnectionError, FinishError, StreamId, VarInt, Written};

use crate::connection::ConnRef;

/// A stream to send on.
///
/// Dropping it finishes it, as [`finish`](Self::finish) does; a stream that was stopped by the peer is reset.
///
/// A method is called cancel-safe if dropping its future loses no data: those that succeed as soon as something is
/// written are; those that write all of several pieces are not.
#[derive(Debug)]
pub struct SendStream {
    conn: ConnRef,
    id: StreamId,
    /// Opened by a client before the handshake was complete. Once the server has rejected the early data, another
    /// stream may have the same number.
    early: bool,
    /// Given up by the application.
    reset: bool,
}

impl SendStream {
    pub(crate) fn new(conn: ConnRef, id: StreamId, early: bool) -> Self {
        Self { conn, id, early, reset: false }
    }

    /// Write some of `buf`, at least one byte unless it is empty, and return how many. Waits for flow control.
    /// Cancel-safe.
    ///
    /// # Errors
    ///
    /// See [`WriteError`].
    pub async fn write(&mut self, buf: &[u8]) -> Result<usize, WriteError> {
        poll_fn(|cx| self.poll_with(cx, |stream| stream.write(buf))).await
    }

    /// Write all of `buf`. Not cancel-safe.
    ///
    /// # Errors
    ///
    /// See [`WriteError`]; some of `buf` may have been written.
    pub async fn write_all(&mut self, mut buf: &[u8]) -> Result<(), WriteError> {
        while !buf.is_empty() {
            let written = self.write(buf).await?;
            buf = &buf[written..];
        }
        Ok(())
    }

    /// Write some of `bufs` without copying, and return how many bytes and how many whole pieces. A piece written
    /// in part is advanced past what was written. Cancel-safe.
    ///
    /// # Errors
    ///
    /// See [`WriteError`].
    pub async fn write_chunks(&mut self, bufs: &mut [Bytes]) -> Result<Written, WriteError> {
        poll_fn(|cx| self.poll_with(cx, |stream| stream.write_chunks(bufs))).await
    }

    /// Write all of `buf` without copying. Not cancel-safe.
    ///
    /// # Errors
    ///
    /// See [`WriteError`].
    pub async fn write_chunk(&mut self, buf: Bytes) -> Result<(), WriteError> {
        self.write_all_chunks(&mut [buf]).await
    }

    /// Write all of `bufs` without copying. Not cancel-safe.
    ///
    /// # Errors
    ///
    /// See [`WriteError`].
    pub async fn write_all_chunks(&mut self, mut bufs: &mut [Bytes]) -> Result<(), WriteError> {
        while !bufs.is_empty() {
            let written = self.write_chunks(bufs).await?;
            bufs = &mut bufs[written.chunks..];
        }
        Ok(())
    }

    /// No more will be written. Does not wait for the data to arrive: see [`stopped`](Self::stopped).
    ///
    /// # Errors
    ///
    /// If the stream was finished or reset before.
    pub fn finish(&mut self) -> Result<(), ClosedStream> {
        let mut locked = self.conn.lock();
        let conn = locked.conn();
        if self.early && !conn.early_data_usable() {
            return Ok(());
        }
        match conn.inner.send_stream(self.id).finish() {
            Ok(()) => {
                locked.mark();
                Ok(())
            }
            Err(FinishError::ClosedStream) => Err(ClosedStream::default()),
            // The peer wants no more, so nothing is lost by finishing.
            Err(FinishError::Stopped(_)) => Ok(()),
        }
    }

    /// Give up what was written and tell the peer so, with a code.
    ///
    /// # Errors
    ///
    /// If the stream was finished and acknowledged, or reset before.
    pub fn reset(&mut self, error_code: VarInt) -> Result<(), ClosedStream> {
        let mut locked = self.conn.lock();
        let conn = locked.conn();
        if self.early && !conn.early_data_usable() {
            return Ok(());
        }
        conn.inner.send_stream(self.id).reset(error_code)?;
        self.reset = true;
        locked.wake_stopped(self.id);
        locked.mark();
        Ok(())
    }

    /// Send this stream's data before that of streams with a lower priority. All begin with 0.
    ///
    /// # Errors
    ///
    /// If the stream is at its end.
    pub fn set_priority(&self, priority: i32) -> Result<(), ClosedStream> {
        self.with_stream(|mut stream| stream.set_priority(priority))
    }

    /// The priority last set.
    ///
    /// # Errors
    ///
    /// If the stream is at its end.
    pub fn priority(&self) -> Result<i32, ClosedStream> {
        self.with_stream(|stream| stream.priority())
    }

    fn with_stream<T>(
        &self,
        f: impl FnOnce(proto::SendStream<'_>) -> Result<T, ClosedStream>,
    ) -> Result<T, ClosedStream> {
        let mut locked = self.conn.lock();
        let conn = locked.conn();
        if self.early && !conn.early_data_usable() {
            return Err(ClosedStream::default());
        }
        f(conn.inner.send_stream(self.id))
    }

    /// Wait until the stream is over: `Some` with a code if the peer wants no more, `None` once all data of a
    /// finished stream is acknowledged, or the stream was reset.
    ///
    /// # Errors
    ///
    /// If the connection ends first, or the 0-RTT data was rejected.
    pub fn stopped(
        &self,
    ) -> impl Future<Output = Result<Option<VarInt>, StoppedError>> + Send + Sync + 'static + use<> {
        Stopped { conn: self.conn.clone(), id: self.id, early: self.early, over: self.reset, ticket: None }
    }

    /// The stream's number.
    pub fn id(&self) -> StreamId {
        self.id
    }

    /// The polling form of [`write`](Self::write).
    pub fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<Result<usize, WriteError>> {
        self.get_mut().poll_with(cx, |stream| stream.write(buf))
    }

    fn poll_with<T>(
        &mut self,
        cx: &mut Context<'_>,
        write: impl FnOnce(&mut proto::SendStream<'_>) -> Result<T, proto::WriteError>,
    ) -> Poll<Result<T, WriteError>> {
        let mut locked = self.conn.lock();
        let conn = locked.conn();
        if self.early && !conn.early_data_usable() {
            return Poll::Ready(Err(WriteError::ZeroRttRejected));
        }
        if let Some(error) = &conn.error {
            return Poll::Ready(Err(WriteError::ConnectionLost(error.clone())));
        }
        match write(&mut conn.inner.send_stream(self.id)) {
            Ok(result) => {
                locked.mark();
                Poll::Ready(Ok(result))
            }
            Err(proto::WriteError::Blocked) => {
                conn.wait_writable(self.id, cx);
                Poll::Pending
            }
            Err(proto::WriteError::Stopped(code)) => Poll::Ready(Err(WriteError::Stopped(code))),
            Err(proto::WriteError::ClosedStream) => Poll::Ready(Err(WriteError::ClosedStream)),
        }
    }
}

impl Drop for SendStream {
    fn drop(&mut self) {
        let mut locked = self.conn.lock();
        let conn = locked.conn();
        if conn.error.is_some() || (self.early && !conn.early_data_usable()) {
            return;
        }
        conn.writers.remove(&self.id);
        let mut stream = conn.inner.send_stream(self.id);
        let said = match stream.finish() {
            Ok(()) => true,
            Err(FinishError::Stopped(code)) => stream.reset(code).is_ok(),
            Err(FinishError::ClosedStream) => false,
        };
        if said {
            locked.mark();
        }
    }
}

struct Stopped {
    conn: ConnRef,
    id: StreamId,
    early: bool,
    /// The application has given the stream up.
    over: bool,
    ticket: crate::waiters::Ticket,
}

impl Future for Stopped {
    type Output = Result<Option<VarInt>, StoppedError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let mut locked = this.conn.lock();
        let conn = locked.conn();
        if this.early && !conn.early_data_usable() {
            return Poll::Ready(Err(StoppedError::ZeroRttRejected));
        }
        match conn.inner.send_stream(this.id).stopped() {
            Err(_) => return Poll::Ready(Ok(None)),
            Ok(Some(code)) => return Poll::Ready(Ok(Some(code))),
            Ok(None) => {}
        }
        if let Some(error) = &conn.error {
            return Poll::Ready(Err(StoppedError::ConnectionLost(error.clone())));
        }
        let waiters = conn.stopped.entry(this.id).or_default();
        // Woken for nothing of the above: the stream was reset, which quinn-proto remembers until it is acknowledged.
        this.over |= this.ticket.is_some() && !waiters.has(this.ticket);
        if this.over {
            if waiters.is_empty() {
                conn.stopped.remove(&this.id);
            }
            return Poll::Ready(Ok(None));
        }
        waiters.wait(&mut this.ticket, cx);
        Poll::Pending
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let mut locked = self.conn.lock();
        let stopped = &mut locked.conn().stopped;
        if let Some(waiters) = stopped.get_mut(&self.id) {
            waiters.leave(self.ticket);
            if waiters.is_empty() {
                stopped.remove(&self.id);
            }
        }
    }
}

#[cfg(feature = "futures-io")]
impl futures_io::AsyncWrite for SendStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        SendStream::poll_write(self, cx, buf).map_err(Into::into)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.get_mut().finish().map_err(Into::into))
    }
}

#[cfg(feature = "tokio")]
impl tokio::io::AsyncWrite for SendStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        SendStream::poll_write(self, cx, buf).map_err(Into::into)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.get_mut().finish().map_err(Into::into))
    }
}

/// Why a stream cannot be written to.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
pub enum WriteError {
    /// The peer wants no more, with this code.
    #[error("sending stopped by peer: error {0}")]
    Stopped(VarInt),
    /// The connection has ended.
    #[error("connection lost")]
    ConnectionLost(#[from] ConnectionError),
    /// The stream was finished or reset.
    #[error("closed stream")]
    ClosedStream,
    /// The stream was opened for 0-RTT data, which the server rejected.
    #[error("0-RTT rejected")]
    ZeroRttRejected,
}

impl From<ClosedStream> for WriteError {
    fn from(_: ClosedStream) -> Self {
        Self::ClosedStream
    }
}

impl From<StoppedError> for WriteError {
    fn from(e: StoppedError) -> Self {
        match e {
            StoppedError::ConnectionLost(e) => Self::ConnectionLost(e),
            StoppedError::ZeroRttRejected => Self::ZeroRttRejected,
        }
    }
}

impl From<WriteError> for io::Error {
    fn from(e: WriteError) -> Self {
        let kind = match e {
            WriteError::Stopped(_) | WriteError::ZeroRttRejected => io::ErrorKind::ConnectionReset,
            WriteError::ConnectionLost(_) | WriteError::ClosedStream => io::ErrorKind::NotConnected,
        };
        Self::new(kind, e)
    }
}

/// Why it is not known how a stream ended.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
pub enum StoppedError {
    /// The connection has ended.
    #[error("connection lost")]
    ConnectionLost(#[from] ConnectionError),
    /// The stream was opened for 0-RTT data, which the server rejected.
    #[error("0-RTT rejected")]
    ZeroRttRejected,
}

impl From<StoppedError> for io::Error {
    fn from(e: StoppedError) -> Self {
        let kind = match e {
            StoppedError::ZeroRttRejected => io::ErrorKind::ConnectionReset,
            StoppedError::ConnectionLost(_) => io::ErrorKind::NotConnected,
        };
        Self::new(kind, e)
    }
}
