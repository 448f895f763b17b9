//! Short connections, one after another: what a handshake costs, and what resumption and 0-RTT save of it.

use std::time::{Duration, Instant};

use futures_util::future::join;
use sandquic::{Connection, Endpoint};

use crate::client::{Moved, Peer, get_only};
use crate::progress::Progress;
use crate::{
    ClientOptions, Error, Handshakes, HandshakesReport, Mode, Tickets, Verifications, code, error,
    granted_buffers, median,
};

/// How long a server may take with its tickets before the next connection does without.
const TICKET_PATIENCE: Duration = Duration::from_secs(1);

/// Makes the connections, each with one request for the server's content.
///
/// Where sessions are to be taken up, one connection more comes first and is not counted: it brings the first tickets. A
/// connection is closed only when the next one is done, since a server sends its tickets after the handshake, which may
/// be after the content.
pub(crate) async fn run(
    endpoint: &Endpoint,
    options: &ClientOptions,
    wanted: Handshakes,
    verifications: &Verifications,
    tickets: &Tickets,
) -> Result<HandshakesReport, Error> {
    let mut kept = None;
    if wanted.mode != Mode::Full {
        kept = Some(connect(endpoint, options, wanted.mode, verifications).await?.connection);
    }
    let mut handshakes = Vec::with_capacity(wanted.count);
    let mut first_bytes = Vec::with_capacity(wanted.count);
    let (mut resumed, mut early_data_accepted) = (0, 0);
    let started = Instant::now();
    for _ in 0..wanted.count {
        if wanted.mode != Mode::Full {
            ticket(tickets).await;
        }
        let short = connect(endpoint, options, wanted.mode, verifications).await?;
        handshakes.push(short.handshake);
        first_bytes.push(short.first_byte);
        resumed += usize::from(short.resumed);
        early_data_accepted += usize::from(short.early_data_accepted);
        if let Some(before) = kept.replace(short.connection) {
            before.close(code::DONE, b"done");
        }
    }
    let elapsed = started.elapsed();
    if let Some(last) = kept {
        last.close(code::DONE, b"done");
    }
    let (recv_buffer, send_buffer) = granted_buffers(endpoint);
    Ok(HandshakesReport {
        connections: wanted.count,
        elapsed,
        handshake_median: median(&mut handshakes),
        first_byte_median: median(&mut first_bytes),
        resumed,
        early_data_accepted,
        recv_buffer,
        send_buffer,
    })
}

/// Waits until there is a ticket; not for ever, since a server need not give one.
async fn ticket(tickets: &Tickets) {
    let deadline = Instant::now() + TICKET_PATIENCE;
    while tickets.is_empty() && Instant::now() < deadline {
        sandquic::sleep(Duration::from_millis(1)).await;
    }
}

/// One connection whose request is answered.
struct Short {
    connection: Connection,
    handshake: Duration,
    first_byte: Duration,
    resumed: bool,
    early_data_accepted: bool,
}

async fn connect(
    endpoint: &Endpoint,
    options: &ClientOptions,
    mode: Mode,
    verifications: &Verifications,
) -> Result<Short, Error> {
    let peer = Peer { address: options.connect, idle_timeout: options.idle_timeout };
    let progress = Progress::new(false);
    let verified = verifications.count();
    let started = Instant::now();
    let connecting = endpoint
        .connect(options.connect, &options.server_name)
        .map_err(|e| Error::Usage(format!("cannot connect to {}: {e}", options.connect)))?;
    let failed = |e| error::connecting(options.connect, options.idle_timeout, &e);
    let early = if mode == Mode::EarlyData { connecting.into_0rtt() } else { Err(connecting) };
    let (connection, handshake, early_data_accepted, moved) = match early {
        Ok((connection, accepted)) => {
            let accepted = async { (accepted.await, started.elapsed()) };
            let (moved, (accepted, handshake)) =
                join(get_only(&connection, &peer, &progress), accepted).await;
            // What a server rejects has to be asked again, now that the handshake is over.
            let moved = if accepted { moved? } else { get_only(&connection, &peer, &progress).await? };
            (connection, handshake, accepted, moved)
        }
        Err(connecting) => {
            let connection = connecting.await.map_err(failed)?;
            let handshake = started.elapsed();
            let moved = get_only(&connection, &peer, &progress).await?;
            (connection, handshake, false, moved)
        }
    };
    Moved::check(&moved)?;
    Ok(Short {
        handshake,
        first_byte: moved.answered.duration_since(started),
        resumed: verifications.count() == verified,
        early_data_accepted,
        connection,
    })
}
