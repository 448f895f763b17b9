//! Datagrams (RFC 9221): encrypted and congestion-controlled as all else in a connection, but neither repeated nor
//! kept in order. A client sends readings, the server counts what arrives and says so on a stream.
//!
//! `cargo run --release -p sandquic --example datagrams`

#![allow(missing_docs, clippy::print_stdout)]

mod pki;

use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use sandquic::{Connection, Endpoint, VarInt, block_on, sleep, spawn};

const ALPN: &[u8] = b"readings";
const READINGS: u32 = 100;

fn main() -> Result<(), Box<dyn Error>> {
    block_on(async {
        let server = Endpoint::server(pki::server(ALPN)?, "127.0.0.1:0".parse()?)?;
        let address = server.local_addr()?;
        spawn(async move {
            let connection = server.accept().await?.await.ok()?;
            count(&connection).await.ok()
        });

        let mut client = Endpoint::client("127.0.0.1:0".parse()?)?;
        client.set_default_client_config(pki::client(ALPN)?);
        let connection = client.connect(address, "localhost")?.await?;
        let longest = connection.max_datagram_size().ok_or("the server takes no datagrams")?;
        println!("a datagram holds up to {longest} bytes");
        for reading in 0..READINGS {
            // Waits while the send buffer is full; `send_datagram` would drop the oldest instead.
            connection.send_datagram_wait(Bytes::copy_from_slice(&reading.to_be_bytes())).await?;
        }
        sleep(Duration::from_millis(200)).await;

        let (mut send, mut recv) = connection.open_bi().await?;
        send.write_all(b"how many?").await?;
        send.finish()?;
        let answer = String::from_utf8(recv.read_to_end(64).await?)?;
        println!("{READINGS} readings sent, {answer} arrived");
        connection.close(VarInt::from_u32(0), b"done");
        client.wait_idle().await;
        Ok(())
    })
}

/// Counts datagrams until the client asks how many came.
async fn count(connection: &Connection) -> Result<(), Box<dyn Error>> {
    let readings = connection.clone();
    let counting = spawn(async move {
        let mut arrived = 0;
        // Until the connection ends, or the last one is there: any of them may be lost on the way.
        while let Ok(datagram) = readings.read_datagram().await {
            arrived += 1;
            if datagram[..] == (READINGS - 1).to_be_bytes() {
                break;
            }
        }
        arrived
    });
    let (mut send, _recv) = connection.accept_bi().await?;
    send.write_all(counting.await?.to_string().as_bytes()).await?;
    send.finish()?;
    connection.closed().await;
    Ok(())
}
