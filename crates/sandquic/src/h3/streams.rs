//! The streams.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use ::h3::error::Code;
use ::h3::quic::{self, StreamErrorIncoming, StreamId, WriteBuf};
use bytes::{Buf, Bytes};
use quinn_proto::Side;

use super::framing::{Framing, TooLarge};
use super::{code_of, lost};
use crate::connection::Connection;
use crate::recv_stream::{ReadError, SMALL};
use crate::send_stream::WriteError;

/// The sending half of a stream.
pub struct SendStream<B> {
    stream: crate::SendStream,
    /// A frame that is on its way into the stream.
    writing: Option<WriteBuf<B>>,
    /// Nothing was written yet.
    untouched: bool,
}

impl<B> SendStream<B> {
    pub(super) fn new(stream: crate::SendStream) -> Self {
        Self { stream, writing: None, untouched: true }
    }
}

impl<B: Buf> quic::SendStream<B> for SendStream<B> {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        if let Some(data) = &mut self.writing {
            while data.has_remaining() {
                let written = ready!(Pin::new(&mut self.stream).poll_write(cx, data.chunk()));
                match written {
                    Ok(written) => data.advance(written),
                    Err(error) => {
                        // h3 gives the stream up; what is left of the frame is nothing to reset it for.
                        self.writing = None;
                        return Poll::Ready(Err(write_error(error)));
                    }
                }
            }
            self.writing = None;
        }
        Poll::Ready(Ok(()))
    }

    fn send_data<T: Into<WriteBuf<B>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        if self.writing.is_some() {
            return Err(StreamErrorIncoming::Unknown(
                "a frame was sent before the last one was written".into(),
            ));
        }
        self.writing = Some(data.into());
        self.untouched = false;
        Ok(())
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        ready!(self.poll_ready(cx))?;
        Poll::Ready(self.stream.finish().map_err(|error| StreamErrorIncoming::Unknown(error.into())))
    }

    fn reset(&mut self, reset_code: u64) {
        self.writing = None;
        self.untouched = false;
        // One that is over already needs no reset.
        let _ = self.stream.reset(code_of(reset_code));
    }

    fn send_id(&self) -> StreamId {
        id(self.stream.id())
    }
}

impl<B> Drop for SendStream<B> {
    fn drop(&mut self) {
        if self.writing.is_some() || self.untouched {
            let _ = self.stream.reset(code_of(Code::H3_REQUEST_CANCELLED.value()));
        }
    }
}

impl<B> fmt::Debug for SendStream<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendStream").field("stream", &self.stream).finish_non_exhaustive()
    }
}

/// The receiving half of a stream.
#[derive(Debug)]
pub struct RecvStream {
    stream: crate::RecvStream,
    /// The connection, which ends with a unidirectional stream whose frames are too long.
    critical: Option<Connection>,
    side: Side,
    framing: Framing,
    /// Read, and not asked for yet.
    ready: VecDeque<Bytes>,
    /// The end was read, or the stream failed or was stopped.
    done: bool,
}

impl RecvStream {
    /// A stream of the peer's own.
    pub(super) fn unidirectional(stream: crate::RecvStream, conn: &Connection, max_frame_size: u64) -> Self {
        Self {
            stream,
            critical: Some(conn.clone()),
            side: conn.side(),
            framing: Framing::unidirectional(max_frame_size),
            ready: VecDeque::new(),
            done: false,
        }
    }

    fn request(stream: crate::RecvStream, conn: &Connection, max_frame_size: u64) -> Self {
        Self {
            stream,
            critical: None,
            side: conn.side(),
            framing: Framing::request(max_frame_size),
            ready: VecDeque::new(),
            done: false,
        }
    }

    fn too_large(&mut self, error: &TooLarge) -> StreamErrorIncoming {
        let code = Code::H3_EXCESSIVE_LOAD.value();
        match &self.critical {
            Some(conn) => conn.close(code_of(code), error.to_string().as_bytes()),
            None => drop(self.stream.stop(code_of(code))),
        }
        self.done = true;
        StreamErrorIncoming::StreamTerminated { error_code: code }
    }
}

impl quic::RecvStream for RecvStream {
    type Buf = Bytes;

    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Self::Buf>, StreamErrorIncoming>> {
        loop {
            if let Some(data) = self.ready.pop_front() {
                return Poll::Ready(Ok(Some(data)));
            }
            if self.done {
                return Poll::Ready(Ok(None));
            }
            match ready!(self.stream.poll_read_chunk(cx, usize::MAX, true)) {
                Ok(Some(chunk)) => {
                    // A small piece would hold the whole datagram that it arrived in.
                    let small = chunk.bytes.len() < SMALL;
                    let data = if small { Bytes::copy_from_slice(&chunk.bytes) } else { chunk.bytes };
                    if let Err(error) = self.framing.push(data, &mut self.ready) {
                        return Poll::Ready(Err(self.too_large(&error)));
                    }
                }
                Ok(None) => {
                    self.done = true;
                    self.framing.finish(&mut self.ready);
                }
                Err(error) => {
                    self.done = true;
                    return Poll::Ready(Err(read_error(error)));
                }
            }
        }
    }

    fn stop_sending(&mut self, error_code: u64) {
        self.done = true;
        // One that is at its end already needs no stop.
        let _ = self.stream.stop(code_of(error_code));
    }

    fn recv_id(&self) -> StreamId {
        id(self.stream.id())
    }
}

impl Drop for RecvStream {
    fn drop(&mut self) {
        if !self.done {
            let code = match self.side {
                Side::Client => Code::H3_REQUEST_CANCELLED,
                Side::Server => Code::H3_NO_ERROR,
            };
            let _ = self.stream.stop(code_of(code.value()));
        }
    }
}

/// A stream in both directions: a request and its response.
#[derive(Debug)]
pub struct BidiStream<B> {
    send: SendStream<B>,
    recv: RecvStream,
}

impl<B> BidiStream<B> {
    pub(super) fn new(
        send: crate::SendStream,
        recv: crate::RecvStream,
        conn: &Connection,
        max_frame_size: u64,
    ) -> Self {
        Self { send: SendStream::new(send), recv: RecvStream::request(recv, conn, max_frame_size) }
    }
}

impl<B: Buf> quic::BidiStream<B> for BidiStream<B> {
    type SendStream = SendStream<B>;
    type RecvStream = RecvStream;

    fn split(self) -> (Self::SendStream, Self::RecvStream) {
        (self.send, self.recv)
    }
}

impl<B: Buf> quic::SendStream<B> for BidiStream<B> {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_ready(cx)
    }

    fn send_data<T: Into<WriteBuf<B>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.send.send_data(data)
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_finish(cx)
    }

    fn reset(&mut self, reset_code: u64) {
        self.send.reset(reset_code);
    }

    fn send_id(&self) -> StreamId {
        self.send.send_id()
    }
}

impl<B: Buf> quic::RecvStream for BidiStream<B> {
    type Buf = Bytes;

    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Self::Buf>, StreamErrorIncoming>> {
        let data = ready!(self.recv.poll_data(cx));
        if let Err(StreamErrorIncoming::StreamTerminated { error_code }) = &data
            && *error_code == Code::H3_EXCESSIVE_LOAD.value()
        {
            // Both directions end: nobody will answer a request that was not read.
            quic::SendStream::reset(&mut self.send, *error_code);
        }
        Poll::Ready(data)
    }

    fn stop_sending(&mut self, error_code: u64) {
        self.recv.stop_sending(error_code);
    }

    fn recv_id(&self) -> StreamId {
        self.recv.recv_id()
    }
}

fn id(id: quinn_proto::StreamId) -> StreamId {
    u64::from(id).try_into().expect("QUIC's stream IDs have 62 bits, as HTTP/3's have")
}

fn read_error(error: ReadError) -> StreamErrorIncoming {
    match error {
        ReadError::Reset(code) => StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() },
        ReadError::ConnectionLost(error) => lost(error),
        error => StreamErrorIncoming::Unknown(error.into()),
    }
}

fn write_error(error: WriteError) -> StreamErrorIncoming {
    match error {
        WriteError::Stopped(code) => StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() },
        WriteError::ConnectionLost(error) => lost(error),
        error => StreamErrorIncoming::Unknown(error.into()),
    }
}
