//! HTTP/3, both sides, with the `h3` crate over this crate's transport.
//!
//! `cargo run --release -p sandquic --features h3 --example http3`

#![allow(missing_docs, clippy::print_stdout)]

mod pki;

use std::error::Error;
use std::future::poll_fn;

use bytes::{Buf, Bytes};
use sandquic::{Endpoint, block_on, h3::Connection, spawn};

const ALPN: &[u8] = b"h3";

fn main() -> Result<(), Box<dyn Error>> {
    block_on(async {
        let server = Endpoint::server(pki::server(ALPN)?, "127.0.0.1:0".parse()?)?;
        let address = server.local_addr()?;
        spawn(async move {
            while let Some(incoming) = server.accept().await {
                spawn(async move {
                    let Ok(connection) = incoming.await else { return };
                    // The client closes its connection in the end, which h3 reports as an error.
                    let _ = serve(connection).await;
                });
            }
        });

        let mut client = Endpoint::client("127.0.0.1:0".parse()?)?;
        client.set_default_client_config(pki::client(ALPN)?);
        let connection = client.connect(address, "localhost")?.await?;
        let (mut driver, mut requests) = h3::client::new(Connection::new(connection)).await?;
        let driver = spawn(async move { poll_fn(|cx| driver.poll_close(cx)).await });
        for path in ["/hello", "/nothing"] {
            let request = http::Request::get(format!("https://localhost{path}")).body(())?;
            let mut stream = requests.send_request(request).await?;
            stream.finish().await?;
            let response = stream.recv_response().await?;
            let mut content = Vec::new();
            while let Some(mut piece) = stream.recv_data().await? {
                content.extend_from_slice(&piece.copy_to_bytes(piece.remaining()));
            }
            println!("{path}: {}, {:?}", response.status(), String::from_utf8(content)?);
        }
        // Nobody can ask for anything any more: the driver closes the connection.
        drop(requests);
        println!("closed: {}", driver.await?);
        client.wait_idle().await;
        Ok(())
    })
}

async fn serve(connection: sandquic::Connection) -> Result<(), Box<dyn Error>> {
    let mut connection = h3::server::Connection::<_, Bytes>::new(Connection::new(connection)).await?;
    while let Some(resolver) = connection.accept().await? {
        let (request, mut stream) = resolver.resolve_request().await?;
        let (status, content) = match request.uri().path() {
            "/hello" => (200, "hello from HTTP/3"),
            _ => (404, "there is no such thing"),
        };
        stream.send_response(http::Response::builder().status(status).body(())?).await?;
        stream.send_data(Bytes::from_static(content.as_bytes())).await?;
        stream.finish().await?;
    }
    Ok(())
}
