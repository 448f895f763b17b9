//! The serving peer: the sender of every benchmark.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use quinn::{Connecting, Connection, ConnectionError, Incoming, RecvStream, SendStream};
use tokio::task::JoinSet;
use xxhash_rust::xxh64::Xxh64;

use super::client::print_line;
use super::content::Content;
use super::{GET, PUT, ServerArgs, config, endpoint};
use crate::Error;
use crate::system::{Buffers, bind};

/// A client that is not heard for so long is gone.
const IDLE_SECONDS: u32 = 30;
/// Connections served at once; more are refused.
const CONNECTION_LIMIT: usize = 10_000;
/// Chunks taken from a stream at once.
const CHUNKS: usize = 32;

pub(super) async fn run(args: ServerArgs) -> Result<(), Error> {
    if args.until_stdin_closes {
        once_stdin_closes(|| std::process::exit(0));
    }
    let content = match (&args.file, args.size) {
        (Some(path), _) => Content::file(path)?,
        (None, Some(size)) => Content::Pattern(size),
        (None, None) => return Err(Error::Usage("say what to serve: --file FILE or --size BYTES".into())),
    };
    // Before the first client can connect, so that no transfer's time contains it.
    let hash = content.hash()?;
    let config = config::server(&args, IDLE_SECONDS)?;
    let unusable = |error: io::Error| Error::failed(format!("cannot listen on {}: {error}", args.listen));
    let socket =
        bind(args.listen, Buffers { receive: args.recv_buffer, send: args.send_buffer }).map_err(unusable)?;
    let endpoint = endpoint::new(Some(config), socket, args.mtu).map_err(unusable)?;
    let address = endpoint.local_addr().map_err(unusable)?;
    print_line(&format!("listening {address}"))?;

    let limit = if args.once { Some(1) } else { args.connections };
    let served = Arc::new(Served { content, hash });
    let mut accepted = 0;
    let mut connections = JoinSet::new();
    while limit.is_none_or(|limit| accepted < limit) {
        let Some(incoming) = endpoint.accept().await else { break };
        while connections.try_join_next().is_some() {}
        if args.retry && !incoming.remote_address_validated() {
            let _ = incoming.retry();
            continue;
        }
        if connections.len() >= CONNECTION_LIMIT {
            incoming.refuse();
            continue;
        }
        accepted += 1;
        connections.spawn(served.clone().connection(incoming));
    }
    while connections.join_next().await.is_some() {}
    // The last packets may have to be sent again, but a client that is gone must not hold this up.
    let _ = tokio::time::timeout(Duration::from_secs(2), endpoint.wait_idle()).await;
    Ok(())
}

/// Calls `end` in a thread of its own once standard input is closed.
pub(super) fn once_stdin_closes(end: impl FnOnce() + Send + 'static) {
    std::thread::spawn(|| {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        end();
    });
}

struct Served {
    content: Content,
    hash: u64,
}

impl Served {
    /// Serves a connection until its client closes it. What goes wrong is told on standard error and ends only this one.
    async fn connection(self: Arc<Self>, incoming: Incoming) {
        let from = incoming.remote_address();
        let tell = |error: &dyn std::fmt::Display| {
            let _ = writeln!(io::stderr(), "{from}: {error}");
        };
        // A request that came with the client's first packet is answered at once. It changes nothing, so it may be replayed.
        let connection: Connection = match incoming.accept().map(Connecting::into_0rtt) {
            Ok(Ok((connection, _accepted))) => connection,
            Ok(Err(connecting)) => match connecting.await {
                Ok(connection) => connection,
                Err(error) => return tell(&error),
            },
            Err(error) => return tell(&error),
        };
        let mut streams = JoinSet::new();
        loop {
            match connection.accept_bi().await {
                Ok((send, recv)) => {
                    let this = self.clone();
                    streams.spawn(async move { this.stream(send, recv).await });
                }
                Err(ConnectionError::ApplicationClosed(_) | ConnectionError::LocallyClosed) => break,
                Err(error) => {
                    tell(&error);
                    break;
                }
            }
            while let Some(result) = streams.try_join_next() {
                if let Ok(Err(error)) = result {
                    tell(&error);
                }
            }
        }
    }

    async fn stream(&self, mut send: SendStream, mut recv: RecvStream) -> Result<(), Error> {
        let mut request = [0];
        recv.read_exact(&mut request).await.map_err(broken)?;
        match request[0] {
            GET => self.send_content(&mut send).await?,
            PUT => receive_content(&mut send, &mut recv).await?,
            other => return Err(Error::failed(format!("a stream begins with {other}, which is no request"))),
        }
        send.finish().map_err(broken)?;
        // By the end of its side the client says that it has all.
        let _ = recv.read(&mut [0]).await;
        Ok(())
    }

    async fn send_content(&self, send: &mut SendStream) -> Result<(), Error> {
        send.write_all(&head(self.content.len(), self.hash)).await.map_err(broken)?;
        let mut chunks = self.content.chunks()?;
        while let Some(chunk) = chunks.next()? {
            send.write_chunk(chunk).await.map_err(broken)?;
        }
        Ok(())
    }
}

async fn receive_content(send: &mut SendStream, recv: &mut RecvStream) -> Result<(), Error> {
    let mut length = [0; 8];
    recv.read_exact(&mut length).await.map_err(broken)?;
    let length = u64::from_be_bytes(length);
    let mut hasher = Xxh64::new(0);
    let mut received = 0;
    let mut chunks: [Bytes; CHUNKS] = std::array::from_fn(|_| Bytes::new());
    while let Some(count) = recv.read_chunks(&mut chunks).await.map_err(broken)? {
        for chunk in &chunks[..count] {
            hasher.update(chunk);
            received += chunk.len() as u64;
        }
        if received > length {
            return Err(Error::failed(format!(
                "a client sends more than the {length} bytes that it announced"
            )));
        }
    }
    send.write_all(&head(received, hasher.digest())).await.map_err(broken)
}

fn head(length: u64, hash: u64) -> [u8; 16] {
    let mut head = [0; 16];
    head[..8].copy_from_slice(&length.to_be_bytes());
    head[8..].copy_from_slice(&hash.to_be_bytes());
    head
}

fn broken(error: impl std::fmt::Display) -> Error {
    Error::failed(format!("the transfer broke off: {error}"))
}
