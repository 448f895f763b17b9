//! The server's side.

use std::fs::File;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::{Either, select};
use futures_util::stream::FuturesUnordered;
use sandquic::{
    Connection, ConnectionError, Incoming, ReadError, ReadExactError, RecvStream, SendStream, instance,
};
use xxhash_rust::xxh64::Xxh64;

use crate::content::file_chunks;
use crate::say::{complain, say};
use crate::{
    Error, GET, PUT, Pattern, Providers, ServerOptions, Source, checksum, code, error, options, tls,
};

/// Runs a server: prints `listening ADDR:PORT`, then one line a request. Errors go to standard error. Returns the
/// exit status: 0, 1 (failed), 2 (usage).
pub async fn server(arguments: &[String], providers: &impl Providers) -> u8 {
    if options::asks_for_help(arguments) {
        say(options::SERVER_USAGE);
        return 0;
    }
    match run(arguments, providers).await {
        Ok(()) => 0,
        Err(error) => {
            complain(format_args!("transfer-server: {error}"));
            error.status()
        }
    }
}

async fn run(arguments: &[String], providers: &impl Providers) -> Result<(), Error> {
    let options = ServerOptions::parse(arguments)?;
    let config = tls::server_config(&options, providers.provider(options.ciphers.as_deref())?)?;
    let content = Content::open(&options.source)?;
    if options.until_stdin_closes {
        end_with_stdin();
    }
    let socket =
        crate::socket_options(options.recv_buffer, options.send_buffer).offloads(!options.no_offloads);
    let endpoint = crate::endpoint(Some(config), options.listen, &socket, options.mtu)?;
    let address = endpoint.local_addr().map_err(|e| error::socket(options.listen, &e))?;
    // Which of several that share the address, if it is one of them.
    let instance = instance::from_env().ok().flatten();
    let instance = instance.map(|it| format!(" (instance {})", it.position())).unwrap_or_default();
    say(format_args!("listening {address}{instance}"));

    let mut served = 0;
    let mut sessions = FuturesUnordered::new();
    while options.connections.is_none_or(|wanted| served < wanted) {
        let next = {
            let accept = std::pin::pin!(endpoint.accept());
            // An empty set is at its end at once, which would look like a session that ended.
            if sessions.is_empty() {
                Event::Incoming(accept.await)
            } else {
                match select(accept, sessions.next()).await {
                    Either::Left((incoming, _)) => Event::Incoming(incoming),
                    Either::Right((outcome, _)) => Event::Ended(outcome),
                }
            }
        };
        match next {
            Event::Incoming(None) => {
                return Err(Error::Failed(format!("the socket on {address} has failed")));
            }
            Event::Incoming(Some(incoming)) if options.retry && !incoming.remote_address_validated() => {
                // Only a client that has proved its address already cannot be asked to.
                let _ = incoming.retry();
            }
            Event::Incoming(Some(incoming)) if sessions.len() >= options.max_sessions => incoming.refuse(),
            Event::Incoming(Some(incoming)) => sessions.push(session(incoming, &content, &instance)),
            Event::Ended(Some(Ok(()))) => served += 1,
            Event::Ended(Some(Err(error))) => complain(format_args!("transfer-server: {error}")),
            Event::Ended(None) => {}
        }
    }
    drop(sessions);
    endpoint.close(code::DONE, b"the server has served its share");
    endpoint.wait_idle().await;
    Ok(())
}

/// Ends the process once standard input is closed.
fn end_with_stdin() {
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        std::process::exit(0);
    });
}

/// What the server waits for.
#[allow(clippy::large_enum_variant, reason = "there is one at a time, on the stack")]
enum Event {
    Incoming(Option<Incoming>),
    Ended(Option<Result<(), Error>>),
}

/// What clients get, with its checksum made beforehand.
struct Content {
    source: Source,
    pattern: Pattern,
    length: u64,
    checksum: u64,
}

impl Content {
    fn open(source: &Source) -> Result<Self, Error> {
        let (pattern, length, checksum) = match source {
            Source::Pattern(length) => {
                let pattern = Pattern::new(*length);
                let checksum = pattern.checksum();
                (pattern, *length, checksum)
            }
            Source::File(path) => {
                let (length, checksum) = File::open(path)
                    .and_then(|file| checksum(file_chunks(file)))
                    .map_err(|e| error::file("read", path, &e))?;
                (Pattern::new(0), length, checksum)
            }
        };
        Ok(Self { source: source.clone(), pattern, length, checksum })
    }
}

/// Serves one connection until the client closes it; an error if a request was not served, or none came.
async fn session(incoming: Incoming, content: &Content, instance: &str) -> Result<(), Error> {
    let address = incoming.remote_address();
    let failed = |error: &(dyn std::error::Error + 'static)| {
        Error::Failed(format!("connection from {address}: {}", error::with_causes(error)))
    };
    // A request that came with the client's first packet is answered at once.
    let connection = match incoming.accept().map_err(|error| failed(&error))?.into_0rtt() {
        Ok((connection, _accepted)) => connection,
        Err(connecting) => connecting.await.map_err(|error| failed(&error))?,
    };
    let mut requests = 0;
    loop {
        match connection.accept_bi().await {
            Ok((send, recv)) => {
                request(&connection, send, recv, content, instance)
                    .await
                    .map_err(|error| failed(error.as_ref()))?;
                requests += 1;
            }
            Err(ConnectionError::ApplicationClosed(close))
                if close.error_code == code::DONE && requests > 0 =>
            {
                return Ok(());
            }
            // All requests have been served. Its client is gone as soon as it has what it came for: if its close is lost,
            // nobody is left to send it again (RFC 9000, 10.2.1).
            Err(error @ (ConnectionError::TimedOut | ConnectionError::Reset)) if requests > 0 => {
                complain(format_args!("transfer-server: {}", failed(&error)));
                return Ok(());
            }
            Err(error) => return Err(failed(&error)),
        }
    }
}

async fn request(
    connection: &Connection,
    mut send: SendStream,
    mut recv: RecvStream,
    content: &Content,
    instance: &str,
) -> Result<(), Box<dyn std::error::Error>> {
    let address = format!("{}{instance}", connection.remote_address());
    let mut kind = [0];
    recv.read_exact(&mut kind).await?;
    match kind[0] {
        GET => {
            serve_get(&mut send, content, &address).await?;
            received(&mut recv).await
        }
        PUT => serve_put(&mut send, &mut recv, &address).await,
        other => {
            // Both fail only if the client has already given the stream up.
            let _ = send.reset(code::BAD_REQUEST);
            let _ = recv.stop(code::BAD_REQUEST);
            Err(format!("no request {other:#04x}").into())
        }
    }
}

async fn serve_get(
    send: &mut SendStream,
    content: &Content,
    address: &str,
) -> Result<(), Box<dyn std::error::Error>> {
    let file = match &content.source {
        Source::Pattern(_) => None,
        Source::File(path) => match File::open(path) {
            Ok(file) => Some((path, file)),
            Err(e) => {
                let _ = send.reset(code::NO_CONTENT);
                return Err(error::file("read", path, &e).into());
            }
        },
    };
    let mut header = [0; 16];
    header[..8].copy_from_slice(&content.length.to_be_bytes());
    header[8..].copy_from_slice(&content.checksum.to_be_bytes());
    send.write_all(&header).await?;
    match file {
        None => {
            for piece in content.pattern.chunks() {
                send.write_chunk(piece).await?;
            }
        }
        Some((path, file)) => {
            for piece in file_chunks(file) {
                match piece {
                    Ok(piece) => send.write_chunk(piece).await?,
                    Err(e) => {
                        let _ = send.reset(code::NO_CONTENT);
                        return Err(error::file("read", path, &e).into());
                    }
                }
            }
        }
    }
    let _ = send.finish();
    say(format_args!("sent {} bytes to {address}", content.length));
    Ok(())
}

/// Waits until the client says that it has all, by the end of its side or by closing the connection.
async fn received(recv: &mut RecvStream) -> Result<(), Box<dyn std::error::Error>> {
    match recv.read(&mut [0]).await {
        Ok(None) => Ok(()),
        Ok(Some(_)) => {
            let _ = recv.stop(code::BAD_REQUEST);
            Err("more than a request has come".into())
        }
        Err(ReadError::ConnectionLost(ConnectionError::ApplicationClosed(close)))
            if close.error_code == code::DONE =>
        {
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

async fn serve_put(
    send: &mut SendStream,
    recv: &mut RecvStream,
    address: &str,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut length = [0; 8];
    match recv.read_exact(&mut length).await {
        Err(ReadExactError::FinishedEarly(_)) => {
            let _ = send.reset(code::BAD_LENGTH);
            return Err("the request ends before its length".into());
        }
        outcome => outcome?,
    }
    let length = u64::from_be_bytes(length);
    let mut hash = Xxh64::new(0);
    let mut received = 0;
    let mut pieces: [Bytes; 64] = std::array::from_fn(|_| Bytes::new());
    while let Some(count) = recv.read_chunks(&mut pieces).await? {
        for piece in &mut pieces[..count] {
            let piece = std::mem::take(piece);
            received += piece.len() as u64;
            hash.update(&piece);
        }
        if received > length {
            break;
        }
    }
    if received != length {
        let _ = recv.stop(code::BAD_LENGTH);
        let _ = send.reset(code::BAD_LENGTH);
        return Err(format!("{length} bytes were announced and {received} came").into());
    }
    let checksum = hash.digest();
    let mut answer = [0; 16];
    answer[..8].copy_from_slice(&received.to_be_bytes());
    answer[8..].copy_from_slice(&checksum.to_be_bytes());
    send.write_all(&answer).await?;
    let _ = send.finish();
    say(format_args!("received {received} bytes from {address}, xxh64 {checksum:016x}"));
    Ok(())
}
