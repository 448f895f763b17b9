//! One request and its answer over a connection, in HTTP/3 or HTTP/0.9.

use std::future::poll_fn;

use bytes::{Buf, Bytes};
use futures_util::future::{Either, select};
use h3::client::RequestStream;
use h3::error::{Code, ConnectionError, StreamError};
use http::{HeaderMap, Request, StatusCode};

use super::body::Source;
use super::failure::{Failure, status};
use super::link::{Link, Wire};

/// The receiving side of a request.
pub(crate) enum Answer {
    /// HTTP/3.
    H3(Box<RequestStream<sandquic::h3::RecvStream, Bytes>>),
    /// HTTP/0.9: the content, and nothing else.
    Hq(Box<sandquic::RecvStream>),
}

/// The sending side of a request with a body.
pub(crate) type Sender = RequestStream<sandquic::h3::SendStream<Bytes>, Bytes>;

/// What went wrong between this side and the server.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The server has not looked at the request, so that it can be sent again over another connection.
    Unprocessed(Failure),
    /// The connection was lost, and nothing was heard before.
    Lost(Failure),
    /// Anything else.
    Failed(Failure),
}

impl Trouble {
    pub(crate) fn failure(self) -> Failure {
        match self {
            Self::Unprocessed(failure) | Self::Lost(failure) | Self::Failed(failure) => failure,
        }
    }
}

/// Sends a request without its body.
pub(crate) async fn send(
    link: &Link,
    request: Request<()>,
    body: bool,
) -> Result<(Option<Sender>, Answer), Trouble> {
    match link.wire.clone() {
        Wire::H3(mut sender) => {
            let stream = sender.send_request(request).await.map_err(|error| trouble(link, error))?;
            let (mut send, recv) = stream.split();
            let send = match body {
                true => Some(send),
                false => {
                    send.finish().await.map_err(|error| trouble(link, error))?;
                    None
                }
            };
            Ok((send, Answer::H3(Box::new(recv))))
        }
        Wire::Hq => {
            let lost = |what: String| {
                let unknown =
                    || Failure::transient(status::SEND, format!("cannot send to {}: {what}", link.origin));
                Trouble::Lost(link.explain().unwrap_or_else(unknown))
            };
            let (mut send, recv) =
                link.connection.open_bi().await.map_err(|error| lost(error.to_string()))?;
            let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
            let line = format!("GET {path}\r\n");
            send.write_all(line.as_bytes()).await.map_err(|error| lost(error.to_string()))?;
            send.finish().map_err(|error| lost(error.to_string()))?;
            Ok((None, Answer::Hq(Box::new(recv))))
        }
    }
}

/// Sends a body to its end. A server that has heard enough may stop it with H3_NO_ERROR.
pub(crate) async fn send_body(
    link: &Link,
    mut stream: Sender,
    mut source: Source,
    mut sent: impl FnMut(usize),
) -> Result<(), Failure> {
    loop {
        let piece = match source.next() {
            Ok(Some(piece)) => piece,
            Ok(None) => break,
            Err(failure) => {
                stream.stop_stream(Code::H3_REQUEST_CANCELLED);
                return Err(failure);
            }
        };
        let length = piece.len();
        match stream.send_data(piece).await {
            Ok(()) => sent(length),
            Err(StreamError::RemoteTerminate { code, .. }) if code == Code::H3_NO_ERROR => return Ok(()),
            Err(error) => return Err(sending(link, error)),
        }
    }
    match stream.finish().await {
        Ok(()) => Ok(()),
        Err(StreamError::RemoteTerminate { code, .. }) if code == Code::H3_NO_ERROR => Ok(()),
        Err(error) => Err(sending(link, error)),
    }
}

fn sending(link: &Link, error: StreamError) -> Failure {
    let failure = trouble(link, error).failure();
    Failure {
        status: if failure.status == status::RECEIVE { status::SEND } else { failure.status },
        ..failure
    }
}

/// Sends and receives at the same time. The answer decides: it may come, and be the last word, before all is sent.
pub(crate) async fn both<T>(
    sending: impl Future<Output = Result<(), Failure>>,
    receiving: impl Future<Output = Result<T, Trouble>>,
) -> Result<T, Trouble> {
    let (sending, receiving) = (std::pin::pin!(sending), std::pin::pin!(receiving));
    match select(sending, receiving).await {
        Either::Left((Ok(()), receiving)) => receiving.await,
        // A file that cannot be read is the reason, whatever the server makes of it.
        Either::Left((Err(failure), _)) if failure.status == status::READ => Err(Trouble::Failed(failure)),
        Either::Left((Err(failure), receiving)) => match receiving.await {
            Ok(value) => Ok(value),
            Err(_) => Err(Trouble::Failed(failure)),
        },
        Either::Right((outcome, _)) => outcome,
    }
}

impl Answer {
    /// Waits for the header; interim ones (1xx) are passed over. `None` in HTTP/0.9.
    pub(crate) async fn header(&mut self, link: &Link) -> Result<Option<(StatusCode, HeaderMap)>, Trouble> {
        let Self::H3(stream) = self else { return Ok(None) };
        loop {
            let response = stream.recv_response().await.map_err(|error| trouble(link, error))?;
            let (parts, ()) = response.into_parts();
            if !parts.status.is_informational() {
                return Ok(Some((parts.status, parts.headers)));
            }
        }
    }

    /// The next bytes of the body; `None` at its end.
    pub(crate) async fn data(&mut self, link: &Link) -> Result<Option<Bytes>, Trouble> {
        match self {
            Self::H3(stream) => {
                let data = stream.recv_data().await.map_err(|error| trouble(link, error))?;
                Ok(data.map(|mut data| data.copy_to_bytes(data.remaining())))
            }
            Self::Hq(stream) => match stream.read_chunk(usize::MAX, true).await {
                Ok(chunk) => Ok(chunk.map(|chunk| chunk.bytes)),
                Err(sandquic::ReadError::ZeroRttRejected) => Err(Trouble::Unprocessed(refused_early(link))),
                Err(error) => {
                    let failure = || Failure::new(status::RECEIVE, format!("receiving failed: {error}"));
                    Err(Trouble::Lost(link.explain().unwrap_or_else(failure)))
                }
            },
        }
    }

    /// The fields behind the body.
    pub(crate) async fn trailers(&mut self, link: &Link) -> Result<Option<HeaderMap>, Trouble> {
        match self {
            Self::H3(stream) => {
                poll_fn(|cx| stream.poll_recv_trailers(cx)).await.map_err(|error| trouble(link, error))
            }
            Self::Hq(_) => Ok(None),
        }
    }
}

fn refused_early(link: &Link) -> Failure {
    Failure::transient(status::RECEIVE, format!("{} did not take early data", link.origin))
}

/// What an error of h3 means for the request.
fn trouble(link: &Link, error: StreamError) -> Trouble {
    match error {
        StreamError::RemoteClosing { .. } => {
            link.retire();
            let message = format!("{} takes no more requests (GOAWAY)", link.origin);
            Trouble::Unprocessed(Failure::transient(status::RECEIVE, message))
        }
        StreamError::RemoteTerminate { code, .. } if code == Code::H3_REQUEST_REJECTED => {
            link.retire();
            let message = format!("{} rejected the request (H3_REQUEST_REJECTED)", link.origin);
            Trouble::Unprocessed(Failure::transient(status::RECEIVE, message))
        }
        StreamError::RemoteTerminate { code, .. } => {
            let message = format!("{} gave the answer up: {code}", link.origin);
            Trouble::Failed(Failure::transient(status::RECEIVE, message))
        }
        StreamError::HeaderTooBig { actual_size, max_size, .. } => {
            let message = format!("a header of {actual_size} bytes is too large: {max_size} are allowed");
            Trouble::Failed(Failure::new(status::HTTP3, message))
        }
        StreamError::StreamError { code, reason, .. } => {
            let message = format!("{} broke the rules of HTTP/3: {code} {reason}", link.origin);
            Trouble::Failed(Failure::new(status::HTTP3, message))
        }
        StreamError::ConnectionError { 0: ConnectionError::Local { error, .. }, .. } => {
            link.retire();
            let message = match error {
                h3::error::LocalError::Application { code, reason, .. } => format!("{code} {reason}"),
                error => format!("{error:?}"),
            };
            // Where h3 saw the end of the connection first, the connection knows better.
            let known = link.explain().filter(|failure| failure.status != status::HTTP3);
            let broken = || {
                Failure::new(status::HTTP3, format!("{} broke the rules of HTTP/3: {message}", link.origin))
            };
            Trouble::Lost(known.unwrap_or_else(broken))
        }
        error => {
            link.retire();
            let message = format!("the connection to {} failed: {error}", link.origin);
            let failure = || Failure::transient(status::RECEIVE, message);
            Trouble::Lost(link.explain().unwrap_or_else(failure))
        }
    }
}
