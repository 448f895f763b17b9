//! What a handshake costs, client and server together: `cargo run --release --example handshake`, or built for
//! wasm32-wasip2 and run as a component.
#![allow(clippy::print_stdout)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use pki_types::pem::PemObject;
use pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::{ClientConfig, ClientConnection, Connection, RootCertStore, ServerConfig, ServerConnection};

const CA: &[u8] = include_bytes!("../tests/fixtures/ca.pem");

macro_rules! identity {
    ($name:literal) => {
        (
            $name,
            &include_bytes!(concat!("../tests/fixtures/", $name, ".pem"))[..],
            &include_bytes!(concat!("../tests/fixtures/", $name, ".key.pem"))[..],
        )
    };
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let provider = Arc::new(sandquic_rustls::provider());
    println!("{:<10} {:<16} {:>8}", "certificate", "group", "ms");
    for (name, certificate, key) in [
        identity!("p256"),
        identity!("p384"),
        identity!("ed25519"),
        identity!("rsa2048"),
        identity!("rsa3072"),
    ] {
        let server = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(
                vec![CertificateDer::from_pem_slice(certificate)?],
                PrivateKeyDer::from_pem_slice(key)?,
            )?;
        let server = Arc::new(server);
        for &group in sandquic_rustls::ALL_KX_GROUPS {
            let mut one_group = sandquic_rustls::provider();
            one_group.kx_groups = vec![group];
            let one_group = Arc::new(one_group);
            let mut roots = RootCertStore::empty();
            roots.add(CertificateDer::from_pem_slice(CA)?)?;
            let verifier =
                WebPkiServerVerifier::builder_with_provider(roots.into(), one_group.clone()).build()?;
            let mut client = ClientConfig::builder_with_provider(one_group)
                .with_safe_default_protocol_versions()?
                .with_webpki_verifier(verifier)
                .with_no_client_auth();
            client.resumption = Resumption::disabled();
            let client = Arc::new(client);
            let mut best = Duration::MAX;
            for _ in 0..10 {
                let start = Instant::now();
                shake_hands(&client, &server)?;
                best = best.min(start.elapsed());
            }
            println!("{name:<10} {:<16} {:>8.2}", format!("{:?}", group.name()), best.as_secs_f64() * 1e3);
        }
    }
    Ok(())
}

fn shake_hands(
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
) -> Result<(), Box<dyn std::error::Error>> {
    let name = ServerName::try_from("localhost")?;
    let mut client = Connection::from(ClientConnection::new(client.clone(), name)?);
    let mut server = Connection::from(ServerConnection::new(server.clone())?);
    while client.is_handshaking() || server.is_handshaking() {
        carry(&mut client, &mut server)?;
        carry(&mut server, &mut client)?;
    }
    Ok(())
}

fn carry(from: &mut Connection, to: &mut Connection) -> Result<(), Box<dyn std::error::Error>> {
    let mut bytes = vec![];
    while from.wants_write() {
        from.write_tls(&mut bytes)?;
    }
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        to.read_tls(&mut rest)?;
        to.process_new_packets()?;
    }
    Ok(())
}
