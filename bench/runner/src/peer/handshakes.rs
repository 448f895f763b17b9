//! Short connections of stock quinn, one after another: what the transfer-client component does with `--handshakes`.

use std::time::{Duration, Instant};

use quinn::{ClientConfig, Connection, Endpoint, VarInt};
use sandquic_transfer::{Tickets, Verifications, median};

use super::client::{Moved, ask, broken, take};
use super::report::HandshakesReport;
use super::{ClientArgs, Mode};
use crate::Error;
use crate::system::Buffers;

/// How long a server may take with its tickets before the next connection does without.
const TICKET_PATIENCE: Duration = Duration::from_secs(1);

/// Makes the connections. Where sessions are to be taken up, one more comes first and is not counted; and a connection is
/// closed only when the next one is done, since the server's tickets may come after its content.
pub(super) async fn run(
    endpoint: &Endpoint,
    client: ClientConfig,
    args: &ClientArgs,
    count: u32,
    (verifications, tickets): (&Verifications, &Tickets),
    buffers: Buffers,
) -> Result<HandshakesReport, Error> {
    let mut kept = None;
    if args.mode != Mode::Full {
        kept = Some(connect(endpoint, &client, args, verifications).await?.connection);
    }
    let (mut handshakes, mut first_bytes) = (Vec::new(), Vec::new());
    let (mut resumed, mut early_data_accepted) = (0, 0);
    let started = Instant::now();
    for _ in 0..count {
        // A server need not give a ticket, so this does not wait for ever.
        let deadline = Instant::now() + TICKET_PATIENCE;
        while args.mode != Mode::Full && tickets.is_empty() && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let short = connect(endpoint, &client, args, verifications).await?;
        handshakes.push(short.handshake);
        first_bytes.push(short.first_byte);
        resumed += u64::from(short.resumed);
        early_data_accepted += u64::from(short.early_data_accepted);
        if let Some(before) = kept.replace(short.connection) {
            close(&before);
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    if let Some(last) = kept {
        close(&last);
    }
    Ok(HandshakesReport {
        connections: count.into(),
        seconds,
        handshake_median_s: median(&mut handshakes).as_secs_f64(),
        first_byte_median_s: median(&mut first_bytes).as_secs_f64(),
        resumed,
        early_data_accepted,
        recv_buffer: buffers.receive,
        send_buffer: buffers.send,
    })
}

fn close(connection: &Connection) {
    connection.close(VarInt::from_u32(0), b"done");
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
    client: &ClientConfig,
    args: &ClientArgs,
    verifications: &Verifications,
) -> Result<Short, Error> {
    let to = args.connect;
    let failed = |error: &dyn std::fmt::Display| Error::failed(format!("cannot connect to {to}: {error}"));
    let verified = verifications.count();
    let started = Instant::now();
    let connecting =
        endpoint.connect_with(client.clone(), to, &args.server_name).map_err(|error| failed(&error))?;
    let early = if args.mode == Mode::EarlyData { connecting.into_0rtt() } else { Err(connecting) };
    let (connection, handshake, early_data_accepted, moved) = match early {
        Ok((connection, accepted)) => {
            let accepted = async { (accepted.await, started.elapsed()) };
            let (moved, (accepted, handshake)) =
                futures_util::future::join(fetch(&connection), accepted).await;
            // What a server rejects has to be asked again, now that the handshake is over.
            let moved = if accepted { moved? } else { fetch(&connection).await? };
            (connection, handshake, accepted, moved)
        }
        Err(connecting) => {
            let connection = connecting.await.map_err(|error| failed(&error))?;
            let handshake = started.elapsed();
            let moved = fetch(&connection).await?;
            (connection, handshake, false, moved)
        }
    };
    if !moved.matches() {
        return Err(Error::failed("what arrived over a short connection is not what was sent"));
    }
    Ok(Short {
        connection,
        handshake,
        first_byte: moved.answered.duration_since(started),
        resumed: verifications.count() == verified,
        early_data_accepted,
    })
}

async fn fetch(connection: &Connection) -> Result<Moved, Error> {
    let (mut send, mut recv) = connection.open_bi().await.map_err(broken)?;
    ask(&mut send).await?;
    send.finish().map_err(broken)?;
    take(&mut recv, None, false).await
}
