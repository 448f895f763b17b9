//! Streams: a server that sends back what it gets, and a client that asks it three things at once.
//!
//! `cargo run --release -p sandquic --example echo`

#![allow(missing_docs, clippy::print_stdout)]

mod pki;

use std::error::Error;

use sandquic::{Connection, Endpoint, VarInt, block_on, spawn};

const ALPN: &[u8] = b"echo";
/// The longest message, in bytes: what a peer makes this side keep has to have a bound.
const LONGEST: usize = 64 * 1024;

fn main() -> Result<(), Box<dyn Error>> {
    block_on(async {
        let server = Endpoint::server(pki::server(ALPN)?, "127.0.0.1:0".parse()?)?;
        let address = server.local_addr()?;
        println!("listening on a port of {}", address.ip());
        spawn(serve(server));

        let mut client = Endpoint::client("127.0.0.1:0".parse()?)?;
        client.set_default_client_config(pki::client(ALPN)?);
        let connection = client.connect(address, "localhost")?.await?;
        let asked = ["one", "two", "three"].map(|message| {
            let connection = connection.clone();
            spawn(async move { ask(&connection, message).await.map_err(|error| error.to_string()) })
        });
        for answer in asked {
            println!("came back: {}", answer.await??);
        }
        connection.close(VarInt::from_u32(0), b"done");
        client.wait_idle().await;
        Ok(())
    })
}

async fn ask(connection: &Connection, message: &str) -> Result<String, Box<dyn Error>> {
    let (mut send, mut recv) = connection.open_bi().await?;
    send.write_all(message.as_bytes()).await?;
    send.finish()?;
    Ok(String::from_utf8(recv.read_to_end(LONGEST).await?)?)
}

async fn serve(endpoint: Endpoint) {
    while let Some(incoming) = endpoint.accept().await {
        spawn(async move {
            let Ok(connection) = incoming.await else { return };
            // It ends when the client closes the connection.
            while let Ok((mut send, mut recv)) = connection.accept_bi().await {
                spawn(async move {
                    let Ok(message) = recv.read_to_end(LONGEST).await else { return };
                    if send.write_all(&message).await.is_ok() {
                        // It fails only if the stream has ended already.
                        let _ = send.finish();
                    }
                });
            }
        });
    }
}
