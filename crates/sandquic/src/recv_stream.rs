//! The receiving half of a stream.

use std::future::poll_fn;
use std::io;
#[cfg(any(feature = "futures-io", feature = "tokio"))]
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use quinn_proto as proto;
use quinn_proto::{Chunk, Chunks, ClosedStream, ConnectionError, ReadableError, StreamId, VarInt};

use crate::connection::ConnRef;

/// Pieces below this many bytes are copied if they are to be kept, since each holds the whole datagram that it arrived
/// in: a peer that sends single bytes shall not fill the memory far beyond what the application allowed.
pub(crate) const SMALL: usize = 512;

/// A stream to receive on.
///
/// Dropping it before its end stops it with code 0, as [`stop`](Self::stop) does.
///
/// A method is called cancel-safe if dropping its future loses no data: those that succeed as soon as something is
/// read are; those that read several times are not.
#[derive(Debug)]
pub struct RecvStream {
    conn: ConnRef,
    id: StreamId,
    /// Opened before the handshake was complete.
    early: bool,
    /// The application knows all there is: the end was read, or a reset, or it stopped the stream itself.
    done: bool,
    /// The code of a reset that quinn-proto has reported.
    reset: Option<VarInt>,
}

impl RecvStream {
    pub(crate) fn new(conn: ConnRef, id: StreamId, early: bool) -> Self {
        Self { conn, id, early, done: false, reset: None }
    }

    /// Read what comes next into `buf` and return how many bytes; `None` at the end of the stream. Cancel-safe.
    ///
    /// # Errors
    ///
    /// See [`ReadError`].
    pub async fn read(&mut self, buf: &mut [u8]) -> Result<Option<usize>, ReadError> {
        if buf.is_empty() {
            return Ok(Some(0));
        }
        let read = poll_fn(|cx| self.poll_read(cx, buf)).await?;
        Ok((read > 0).then_some(read))
    }

    /// Read exactly as many bytes as `buf` holds. Not cancel-safe.
    ///
    /// # Errors
    ///
    /// See [`ReadExactError`].
    pub async fn read_exact(&mut self, buf: &mut [u8]) -> Result<(), ReadExactError> {
        let mut filled = 0;
        while filled < buf.len() {
            match self.read(&mut buf[filled..]).await? {
                Some(read) => filled += read,
                None => return Err(ReadExactError::FinishedEarly(filled)),
            }
        }
        Ok(())
    }

    /// The polling form of [`read`](Self::read): 0 bytes into a buffer that has room mean the end of the stream.
    pub fn poll_read(&mut self, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<Result<usize, ReadError>> {
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let read = self.poll_with(cx, true, |chunks| {
            let mut filled = 0;
            while filled < buf.len() {
                match chunks.next(buf.len() - filled) {
                    Ok(Some(chunk)) => {
                        buf[filled..filled + chunk.bytes.len()].copy_from_slice(&chunk.bytes);
                        filled += chunk.bytes.len();
                    }
                    Ok(None) => return Status::finished((filled > 0).then_some(filled)),
                    Err(e) => return Status::failed((filled > 0).then_some(filled), e),
                }
            }
            Status { read: Some(filled), end: None }
        });
        read.map_ok(|read| read.unwrap_or(0))
    }

    /// As [`poll_read`](Self::poll_read), into tokio's buffer.
    #[cfg(feature = "tokio")]
    pub fn poll_read_buf(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<Result<(), ReadError>> {
        if buf.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        let read = self.poll_with(cx, true, |chunks| {
            let mut read = None;
            while buf.remaining() > 0 {
                match chunks.next(buf.remaining()) {
                    Ok(Some(chunk)) => {
                        buf.put_slice(&chunk.bytes);
                        read = Some(());
                    }
                    Ok(None) => return Status::finished(read),
                    Err(e) => return Status::failed(read, e),
                }
            }
            Status { read, end: None }
        });
        read.map_ok(|_| ())
    }

    /// Take the next piece of at most `max_length` bytes without copying, with its offset in the stream; `None` at
    /// the end. With `ordered` the pieces come in order, without gaps; otherwise as they arrive, which avoids
    /// waiting for what was lost. Once read without order, a stream cannot be read in order. Where pieces begin and
    /// end means nothing. Cancel-safe.
    ///
    /// # Errors
    ///
    /// See [`ReadError`].
    pub async fn read_chunk(&mut self, max_length: usize, ordered: bool) -> Result<Option<Chunk>, ReadError> {
        poll_fn(|cx| self.poll_read_chunk(cx, max_length, ordered)).await
    }

    pub(crate) fn poll_read_chunk(
        &mut self,
        cx: &mut Context<'_>,
        max_length: usize,
        ordered: bool,
    ) -> Poll<Result<Option<Chunk>, ReadError>> {
        self.poll_with(cx, ordered, |chunks| match chunks.next(max_length) {
            Ok(Some(chunk)) => Status { read: Some(chunk), end: None },
            Ok(None) => Status::finished(None),
            Err(e) => Status::failed(None, e),
        })
    }

    /// Fill `bufs` with the next pieces, in order and without copying, and return how many; `None` at the end.
    /// Cancel-safe.
    ///
    /// # Errors
    ///
    /// See [`ReadError`].
    pub async fn read_chunks(&mut self, bufs: &mut [Bytes]) -> Result<Option<usize>, ReadError> {
        if bufs.is_empty() {
            return Ok(Some(0));
        }
        poll_fn(|cx| {
            self.poll_with(cx, true, |chunks| {
                let mut filled = 0;
                while filled < bufs.len() {
                    match chunks.next(usize::MAX) {
                        Ok(Some(chunk)) => {
                            bufs[filled] = chunk.bytes;
                            filled += 1;
                        }
                        Ok(None) => return Status::finished((filled > 0).then_some(filled)),
                        Err(e) => return Status::failed((filled > 0).then_some(filled), e),
                    }
                }
                Status { read: Some(filled), end: None }
            })
        })
        .await
    }

    /// Read all that remains. If the stream was read without order before, then what was read then is zero in the
    /// result. Not cancel-safe.
    ///
    /// # Errors
    ///
    /// [`ReadToEndError::TooLong`] if more than `size_limit` bytes come; what was read until then is lost.
    pub async fn read_to_end(&mut self, size_limit: usize) -> Result<Vec<u8>, ReadToEndError> {
        let mut pieces = Vec::new();
        let (mut start, mut end) = (u64::MAX, 0);
        while let Some(mut chunk) = self.read_chunk(usize::MAX, false).await? {
            if chunk.bytes.len() < SMALL {
                chunk.bytes = Bytes::copy_from_slice(&chunk.bytes);
            }
            start = start.min(chunk.offset);
            end = end.max(chunk.offset + chunk.bytes.len() as u64);
            if end - start > size_limit as u64 {
                return Err(ReadToEndError::TooLong);
            }
            pieces.push(chunk);
        }
        let mut all = vec![0; end.saturating_sub(start) as usize];
        for chunk in pieces {
            let at = (chunk.offset - start) as usize;
            all[at..at + chunk.bytes.len()].copy_from_slice(&chunk.bytes);
        }
        Ok(all)
    }

    /// Tell the peer, with a code, that no more is wanted, and discard what was not read.
    ///
    /// # Errors
    ///
    /// If the stream was read to its end or stopped before.
    pub fn stop(&mut self, error_code: VarInt) -> Result<(), ClosedStream> {
        let mut locked = self.conn.lock();
        let conn = locked.conn();
        if self.early && !conn.early_data_usable() {
            return Ok(());
        }
        conn.inner.recv_stream(self.id).stop(error_code)?;
        conn.readers.remove(&self.id);
        locked.mark();
        self.done = true;
        Ok(())
    }

    /// Wait until the peer resets the stream, and return its code; `None` if it cannot any more, because all data
    /// has arrived or the stream was stopped. Cancel-safe.
    ///
    /// # Errors
    ///
    /// If the connection ends first, or the 0-RTT data was rejected.
    pub async fn received_reset(&mut self) -> Result<Option<VarInt>, ResetError> {
        poll_fn(|cx| {
            let mut locked = self.conn.lock();
            let conn = locked.conn();
            if self.early && !conn.early_data_usable() {
                return Poll::Ready(Err(ResetError::ZeroRttRejected));
            }
            if self.reset.is_some() {
                return Poll::Ready(Ok(self.reset));
            }
            match conn.inner.recv_stream(self.id).received_reset() {
                Err(_) => Poll::Ready(Ok(None)),
                Ok(Some(code)) => {
                    // The peer may be granted another stream in this one's place.
                    locked.mark();
                    self.reset = Some(code);
                    self.done = true;
                    Poll::Ready(Ok(Some(code)))
                }
                Ok(None) => {
                    if let Some(error) = &conn.error {
                        return Poll::Ready(Err(ResetError::ConnectionLost(error.clone())));
                    }
                    // A reset wakes whoever reads.
                    conn.wait_readable(self.id, cx);
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// Whether the stream was opened before the handshake was complete, so that its data may be a replay.
    pub fn is_0rtt(&self) -> bool {
        self.early
    }

    /// The stream's number.
    pub fn id(&self) -> StreamId {
        self.id
    }

    /// Read with `read`, which reports what it got and how it ended.
    fn poll_with<T>(
        &mut self,
        cx: &mut Context<'_>,
        ordered: bool,
        read: impl FnOnce(&mut Chunks<'_>) -> Status<T>,
    ) -> Poll<Result<Option<T>, ReadError>> {
        // What a read got together with data is reported by the read after it.
        if let Some(code) = self.reset {
            self.done = true;
            return Poll::Ready(Err(ReadError::Reset(code)));
        }
        if self.done {
            return Poll::Ready(Ok(None));
        }
        let mut locked = self.conn.lock();
        let conn = locked.conn();
        if self.early && !conn.early_data_usable() {
            return Poll::Ready(Err(ReadError::ZeroRttRejected));
        }
        let mut stream = conn.inner.recv_stream(self.id);
        let mut chunks = stream.read(ordered)?;
        let status = read(&mut chunks);
        let credit = chunks.finalize().should_transmit();
        let result = match (status.read, status.end) {
            (read, Some(End::Finished)) => {
                self.done = true;
                Poll::Ready(Ok(read))
            }
            (Some(read), Some(End::Failed(proto::ReadError::Reset(code)))) => {
                self.reset = Some(code);
                Poll::Ready(Ok(Some(read)))
            }
            (None, Some(End::Failed(proto::ReadError::Reset(code)))) => {
                self.reset = Some(code);
                self.done = true;
                Poll::Ready(Err(ReadError::Reset(code)))
            }
            (Some(read), _) => Poll::Ready(Ok(Some(read))),
            (None, _) => match &conn.error {
                Some(error) => Poll::Ready(Err(ReadError::ConnectionLost(error.clone()))),
                None => {
                    conn.wait_readable(self.id, cx);
                    Poll::Pending
                }
            },
        };
        if credit {
            locked.mark();
        }
        result
    }
}

impl Drop for RecvStream {
    fn drop(&mut self) {
        let mut locked = self.conn.lock();
        let conn = locked.conn();
        if conn.error.is_some() || (self.early && !conn.early_data_usable()) {
            // Once early data is rejected, another stream may have the same number.
            return;
        }
        conn.readers.remove(&self.id);
        if self.done {
            return;
        }
        // A stream that is over already needs no stopping.
        if conn.inner.recv_stream(self.id).stop(VarInt::from_u32(0)).is_ok() {
            locked.mark();
        }
    }
}

/// What a read got, and how it ended if not because it had enough.
struct Status<T> {
    read: Option<T>,
    end: Option<End>,
}

enum End {
    Finished,
    Failed(proto::ReadError),
}

impl<T> Status<T> {
    fn finished(read: Option<T>) -> Self {
        Self { read, end: Some(End::Finished) }
    }

    fn failed(read: Option<T>, error: proto::ReadError) -> Self {
        Self { read, end: Some(End::Failed(error)) }
    }
}

#[cfg(feature = "futures-io")]
impl futures_io::AsyncRead for RecvStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(ready!(RecvStream::poll_read(self.get_mut(), cx, buf))?))
    }
}

#[cfg(feature = "tokio")]
impl tokio::io::AsyncRead for RecvStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.get_mut().poll_read_buf(cx, buf))?;
        Poll::Ready(Ok(()))
    }
}

/// Why a stream cannot be read.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
pub enum ReadError {
    /// The peer gave the stream up, with this code.
    #[error("stream reset by peer: error {0}")]
    Reset(VarInt),
    /// The connection has ended.
    #[error("connection lost")]
    ConnectionLost(#[from] ConnectionError),
    /// The stream was stopped, or read to its end or reset, before.
    #[error("closed stream")]
    ClosedStream,
    /// The stream was read without order before, so it cannot be read in order.
    #[error("ordered read after unordered read")]
    IllegalOrderedRead,
    /// The stream was opened for 0-RTT data, which the server rejected.
    #[error("0-RTT rejected")]
    ZeroRttRejected,
}

impl From<ReadableError> for ReadError {
    fn from(e: ReadableError) -> Self {
        match e {
            ReadableError::ClosedStream => Self::ClosedStream,
            ReadableError::IllegalOrderedRead => Self::IllegalOrderedRead,
        }
    }
}

impl From<ResetError> for ReadError {
    fn from(e: ResetError) -> Self {
        match e {
            ResetError::ConnectionLost(e) => Self::ConnectionLost(e),
            ResetError::ZeroRttRejected => Self::ZeroRttRejected,
        }
    }
}

impl From<ReadError> for io::Error {
    fn from(e: ReadError) -> Self {
        let kind = match e {
            ReadError::Reset(_) | ReadError::ZeroRttRejected => io::ErrorKind::ConnectionReset,
            ReadError::ConnectionLost(_) | ReadError::ClosedStream => io::ErrorKind::NotConnected,
            ReadError::IllegalOrderedRead => io::ErrorKind::InvalidInput,
        };
        Self::new(kind, e)
    }
}

/// Why [`RecvStream::read_exact`] did not fill its buffer.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
pub enum ReadExactError {
    /// The stream ended after this many bytes.
    #[error("stream finished early ({0} bytes read)")]
    FinishedEarly(usize),
    /// The stream could not be read.
    #[error(transparent)]
    ReadError(#[from] ReadError),
}

/// Why [`RecvStream::read_to_end`] did not reach the end.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
pub enum ReadToEndError {
    /// The stream could not be read.
    #[error("read error: {0}")]
    Read(#[from] ReadError),
    /// The stream is longer than the limit given.
    #[error("stream too long")]
    TooLong,
}

/// Why it is not known whether a stream was reset.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
pub enum ResetError {
    /// The connection has ended.
    #[error("connection lost")]
    ConnectionLost(#[from] ConnectionError),
    /// The stream was opened for 0-RTT data, which the server rejected.
    #[error("0-RTT rejected")]
    ZeroRttRejected,
}

impl From<ResetError> for io::Error {
    fn from(e: ResetError) -> Self {
        let kind = match e {
            ResetError::ZeroRttRejected => io::ErrorKind::ConnectionReset,
            ResetError::ConnectionLost(_) => io::ErrorKind::NotConnected,
        };
        Self::new(kind, e)
    }
}
