//! The provider under plain rustls: a server and a client of TLS 1.3 over TCP.
//!
//! `cargo run --release -p sandquic-rustls --example tls_tcp`

#![allow(missing_docs, clippy::print_stdout)]

use std::error::Error;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned};

// A certificate for `localhost` of this project's tests. A program of yours reads its own.
const CA: &[u8] = include_bytes!("../tests/fixtures/ca.pem");
const CERTIFICATE: &[u8] = include_bytes!("../tests/fixtures/p256.pem");
const KEY: &[u8] = include_bytes!("../tests/fixtures/p256.key.pem");

fn main() -> Result<(), Box<dyn Error>> {
    // From here on rustls uses it wherever no other provider is named.
    sandquic_rustls::install_default().map_err(|_| "another provider is installed already")?;

    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let server = thread::spawn(move || serve(&listener).map_err(|error| error.to_string()));

    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(CA)?)?;
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let tls = ClientConnection::new(Arc::new(config), "localhost".try_into()?)?;
    let mut stream = StreamOwned::new(tls, TcpStream::connect(address)?);
    stream.write_all(b"hello over TCP")?;
    // What the server reads to: an end that nobody on the way can forge.
    stream.conn.send_close_notify();
    stream.flush()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let suite = stream.conn.negotiated_cipher_suite().ok_or("the handshake is not done")?;
    let group = stream.conn.negotiated_key_exchange_group().ok_or("the handshake is not done")?;
    println!("{:?} with {:?}: {answer:?}", suite.suite(), group.name());
    server.join().map_err(|_| "the server panicked")??;
    Ok(())
}

/// Sends back what one client says, in capitals.
fn serve(listener: &TcpListener) -> Result<(), Box<dyn Error>> {
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(
        vec![CertificateDer::from_pem_slice(CERTIFICATE)?],
        PrivateKeyDer::from_pem_slice(KEY)?,
    )?;
    let (socket, _) = listener.accept()?;
    let mut stream = StreamOwned::new(ServerConnection::new(Arc::new(config))?, socket);
    let mut message = String::new();
    stream.read_to_string(&mut message)?;
    stream.write_all(message.to_uppercase().as_bytes())?;
    stream.conn.send_close_notify();
    stream.flush()?;
    Ok(())
}
