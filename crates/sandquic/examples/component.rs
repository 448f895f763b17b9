//! A WASI component that is a QUIC server and its client. Natively there is nothing of it.
//!
//! `cargo build --release -p sandquic --example component --target wasm32-wasip2`, then
//! `sandquic run --inherit-network target/wasm32-wasip2/release/examples/component.wasm`
#![cfg(target_os = "wasi")]
#![allow(missing_docs, clippy::print_stdout, clippy::print_stderr)]

mod pki;
use sandquic::{Endpoint, VarInt, spawn};

sandquic::command!(run);

async fn run(_arguments: Vec<String>) -> u8 {
    let answer = hello().await;
    match &answer {
        Ok(answer) => println!("a component got {answer:?} over QUIC"),
        Err(error) => eprintln!("component: {error}"),
    }
    u8::from(answer.is_err())
}

async fn hello() -> Result<String, Box<dyn std::error::Error>> {
    let server = Endpoint::server(pki::server(b"hello")?, "127.0.0.1:0".parse()?)?;
    let address = server.local_addr()?;
    spawn(async move {
        let connection = server.accept().await?.await.ok()?;
        let mut stream = connection.open_uni().await.ok()?;
        stream.write_all(b"hello").await.ok()?;
        stream.finish().ok()?;
        Some(connection.closed().await)
    });
    let mut client = Endpoint::client("127.0.0.1:0".parse()?)?;
    client.set_default_client_config(pki::client(b"hello")?);
    let connection = client.connect(address, "localhost")?.await?;
    let answer = connection.accept_uni().await?.read_to_end(1024).await?;
    connection.close(VarInt::from_u32(0), b"");
    Ok(String::from_utf8(answer)?)
}
