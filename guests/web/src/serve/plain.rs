//! A connection of HTTP/0.9.

use std::sync::Arc;
use std::time::Instant;

use futures_util::future::{Either, select};
use sandquic::{Connection, RecvStream, SendStream, VarInt, spawn};

use super::client::Client;
use super::session::delivered;
use crate::hq;

/// Resets a stream whose request has no answer, in place of a status. HTTP/0.9 defines no codes.
const NO_ANSWER: VarInt = VarInt::from_u32(1);

/// Serves a connection until it ends or the server stops; then finishes the requests that have come. Returns what the
/// log says of its end.
pub(super) async fn serve(client: Arc<Client>, connection: Connection) -> String {
    let mut stop = client.server.stop.subscribe();
    loop {
        let accept = std::pin::pin!(connection.accept_bi());
        let stop = std::pin::pin!(stop.wait_for(|stop| *stop));
        match select(accept, stop).await {
            Either::Left((Ok((send, recv)), _)) => {
                let active = client.begin();
                let client = client.clone();
                spawn(async move {
                    request(&client, send, recv).await;
                    drop(active);
                });
            }
            Either::Left((Err(error), _)) => return error.to_string(),
            Either::Right(_) => break,
        }
    }
    let drained = std::pin::pin!(async {
        client.idle().await;
        delivered(&connection, 0).await;
    });
    match select(drained, sandquic::sleep(client.server.drain)).await {
        Either::Left(_) => "done".into(),
        Either::Right(_) => "ended before its requests were done".into(),
    }
}

async fn request(client: &Client, mut send: SendStream, mut recv: RecvStream) {
    let started = Instant::now();
    let log = client.server.log;
    let address = client.address;
    let path = match hq::read_request(&mut recv).await {
        Ok(path) => path,
        Err(error) => {
            let _ = send.reset(NO_ANSWER);
            log.request(format_args!("{address} - refused: the request is wrong: {error}"));
            return;
        }
    };
    let outcome = answer(client, &path, &mut send).await;
    let shown = path.escape_debug();
    let milliseconds = started.elapsed().as_secs_f64() * 1e3;
    match outcome {
        Ok(bytes) => log.request(format_args!("{address} GET {shown} {bytes} bytes {milliseconds:.1} ms")),
        Err(error) => {
            let _ = send.reset(NO_ANSWER);
            log.request(format_args!("{address} GET {shown} refused: {error}, {milliseconds:.1} ms"));
        }
    }
}

async fn answer(client: &Client, path: &str, send: &mut SendStream) -> Result<u64, String> {
    let mut body = client.server.site.plain(path)?;
    let length = body.length();
    while let Some(piece) = body.next(client.piece()).map_err(|error| error.to_string())? {
        client.count_sent(piece.len() as u64);
        send.write_chunk(piece).await.map_err(|error| error.to_string())?;
    }
    send.finish().map_err(|error| error.to_string())?;
    Ok(length)
}
