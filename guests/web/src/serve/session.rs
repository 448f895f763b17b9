//! A connection of HTTP/3.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::{Either, select};
use h3::error::{Code, ConnectionError, StreamError};
use h3::server::RequestResolver;
use http::{Method, Response, StatusCode};
use sandquic::h3::{BidiStream, Connection as Transport};
use sandquic::{Connection, spawn};

use super::answer::{Answer, BROKEN_OFF};
use super::client::Client;

/// The largest section of fields that is taken, in bytes as RFC 9114, 4.2.2, counts them. More gets status 431.
const MAX_FIELD_SECTION: u64 = 64 * 1024;
/// The largest frame with such a section; more is no longer read.
const MAX_FRAME: u64 = 4 * MAX_FIELD_SECTION;
/// How long a client may take over the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// Unidirectional streams of HTTP/3 that are never finished: control, and QPACK's two.
const CRITICAL_STREAMS: usize = 3;
/// Streams of a connection that ended before they were requests. h3 remembers each until the connection's end.
const MAX_BROKEN: usize = 1_000;

/// A request's stream as h3 has it.
pub(super) type RequestStream = h3::server::RequestStream<BidiStream<Bytes>, Bytes>;

/// Why a request had no answer, or not the whole.
pub(super) struct Broken(pub(super) String);

impl From<StreamError> for Broken {
    fn from(error: StreamError) -> Self {
        Self(error.to_string())
    }
}

/// What the loop of a connection waits for.
#[allow(clippy::large_enum_variant, reason = "there is one at a time, on the stack")]
enum Event {
    Request(Result<Option<RequestResolver<Transport, Bytes>>, ConnectionError>),
    Stop,
    Timeout,
}

/// Serves a connection until it ends or the server stops; then finishes the requests that have come. Returns what the
/// log says of its end.
pub(super) async fn serve(client: Arc<Client>, connection: Connection) -> String {
    let transport = Transport::new(connection.clone()).max_frame_size(MAX_FRAME);
    let built = h3::server::builder().max_field_section_size(MAX_FIELD_SECTION).build(transport).await;
    let mut h3 = match built {
        Ok(h3) => h3,
        Err(error) => return ended(&error),
    };
    let mut stop = client.server.stop.subscribe();
    loop {
        let event = {
            let accept = std::pin::pin!(h3.accept());
            let stop = std::pin::pin!(stop.wait_for(|stop| *stop));
            match select(accept, stop).await {
                Either::Left((request, _)) => Event::Request(request),
                Either::Right(_) => Event::Stop,
            }
        };
        match event {
            Event::Request(Ok(Some(request))) => {
                if client.broken() > MAX_BROKEN {
                    let code = Code::H3_EXCESSIVE_LOAD.value().try_into().unwrap_or_default();
                    connection.close(code, b"too many streams were no requests");
                    return "closed: too many streams were no requests".into();
                }
                start(&client, request);
            }
            // The client has announced its end, and all requests are done.
            Event::Request(Ok(None)) => break,
            Event::Request(Err(error)) => return ended(&error),
            Event::Stop | Event::Timeout => {
                // RFC 9114, 5.2. h3 names the last request that came; the one after is the first that is refused.
                if let Err(error) = h3.shutdown(1).await {
                    return ended(&error);
                }
                break;
            }
        }
    }
    let deadline = Instant::now() + client.server.drain;
    loop {
        let event = {
            let accept = std::pin::pin!(h3.accept());
            let idle = std::pin::pin!(async {
                client.idle().await;
                delivered(&connection, CRITICAL_STREAMS).await;
            });
            let timeout = sandquic::sleep(deadline.saturating_duration_since(Instant::now()));
            match select(accept, select(idle, timeout)).await {
                Either::Left((request, _)) => Event::Request(request),
                Either::Right((Either::Left(_), _)) => Event::Stop,
                Either::Right((Either::Right(_), _)) => Event::Timeout,
            }
        };
        match event {
            Event::Request(Ok(Some(request))) => start(&client, request),
            Event::Request(Err(error)) => return ended(&error),
            Event::Request(Ok(None)) => {
                client.idle().await;
                let timeout = sandquic::sleep(deadline.saturating_duration_since(Instant::now()));
                select(std::pin::pin!(delivered(&connection, CRITICAL_STREAMS)), timeout).await;
                return "done".into();
            }
            Event::Stop => return "done".into(),
            Event::Timeout => return "ended before its requests were done".into(),
        }
    }
}

/// Waits until the client has all data, of streams beside `open` that are never finished.
pub(super) async fn delivered(connection: &Connection, open: usize) {
    const LOOK: Duration = Duration::from_millis(10);
    while connection.unacknowledged_streams() > open && connection.close_reason().is_none() {
        sandquic::sleep(LOOK).await;
    }
}

fn ended(error: &ConnectionError) -> String {
    match error {
        error if error.is_h3_no_error() => "closed by the client".into(),
        error => error.to_string(),
    }
}

fn start(client: &Arc<Client>, resolver: RequestResolver<Transport, Bytes>) {
    let client = client.clone();
    let active = client.begin();
    spawn(async move {
        request(&client, resolver).await;
        drop(active);
    });
}

async fn request(client: &Client, resolver: RequestResolver<Transport, Bytes>) {
    let started = Instant::now();
    let log = client.server.log;
    let resolved = {
        let resolve = std::pin::pin!(resolver.resolve_request());
        // The timer begins to run only if the head is not there yet.
        let timeout = std::pin::pin!(async { sandquic::sleep(HEAD_TIMEOUT).await });
        match select(resolve, timeout).await {
            Either::Left((resolved, _)) => resolved,
            Either::Right(_) => {
                client.count_broken();
                let seconds = HEAD_TIMEOUT.as_secs();
                log.request(format_args!("{} - refused: no whole head in {seconds} seconds", client.address));
                return;
            }
        }
    };
    let (request, mut stream) = match resolved {
        Ok(resolved) => resolved,
        Err(StreamError::HeaderTooBig { actual_size, .. }) => {
            // h3 has answered.
            log.request(format_args!("{} - 431 fields of {actual_size} bytes", client.address));
            return;
        }
        Err(error) => {
            client.count_broken();
            log.request(format_args!("{} - refused: {error}", client.address));
            return;
        }
    };
    let (head, ()) = request.into_parts();
    let server = &client.server;
    let answer = match (&server.uploads, server.site.path(&head.uri)) {
        (Some(uploads), Ok(path)) if head.method == Method::PUT => {
            // What arrives before the handshake is complete may be a replay (RFC 8470).
            if client.handshake_complete().await {
                uploads.take(&path, &head.headers, &mut stream).await
            } else {
                Err(Broken("the handshake was not completed".into()))
            }
        }
        _ => Ok(server.site.answer(&head.method, &head.uri, &head.headers)),
    };
    let outcome = match answer {
        Ok(answer) => {
            let status = answer.status;
            let note = answer.note.clone().map(|note| format!(" ({note})")).unwrap_or_default();
            send(client, &mut stream, answer).await.map(|bytes| (status, bytes, note))
        }
        Err(error) => Err(error),
    };
    let milliseconds = started.elapsed().as_secs_f64() * 1e3;
    let path = head.uri.path_and_query().map(|path| path.as_str()).unwrap_or_default().escape_debug();
    let (address, method) = (client.address, &head.method);
    match outcome {
        Ok((status, bytes, note)) => log.request(format_args!(
            "{address} {method} {path} {} {bytes} bytes {milliseconds:.1} ms{note}",
            status.as_u16()
        )),
        Err(Broken(error)) => {
            log.request(format_args!("{address} {method} {path} broken off: {error}, {milliseconds:.1} ms"));
        }
    }
}

/// Sends an answer and returns how many bytes its content had.
async fn send(client: &Client, stream: &mut RequestStream, answer: Answer) -> Result<u64, Broken> {
    let Answer { status, headers, mut body, headers_only, .. } = answer;
    let mut response = Response::new(());
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    stream.send_response(response).await?;
    let mut sent = 0;
    if !headers_only && status != StatusCode::NO_CONTENT {
        loop {
            match body.next(client.piece()) {
                Ok(Some(piece)) => {
                    let length = piece.len() as u64;
                    stream.send_data(piece).await?;
                    sent += length;
                    client.count_sent(length);
                }
                Ok(None) => break,
                Err(error) => {
                    // What was sent must not look whole.
                    stream.stop_stream(BROKEN_OFF);
                    return Err(Broken(format!("the file cannot be read on: {error}")));
                }
            }
        }
    }
    stream.finish().await?;
    Ok(sent)
}
