//! The traffic secrets that a connection gives away, for a kernel's TLS say, open what the connection sealed.

mod common;

use std::io::Write;
use std::sync::Arc;

use common::*;
use rustls::ConnectionTrafficSecrets;
use rustls::crypto::cipher::{AeadKey, Iv};
use sandquic_rustls::ciphers::Aead;
use sandquic_rustls::{ALL_CIPHER_SUITES, Ciphers, DefaultCiphers, provider};

fn open<A: Aead<KEY>, const KEY: usize>(
    key: &AeadKey,
    nonce: &[u8; 12],
    aad: &[u8],
    sealed: &[u8],
) -> Option<Vec<u8>> {
    let (data, tag) = sealed.split_last_chunk::<16>()?;
    let mut data = data.to_vec();
    A::new(key.as_ref().try_into().ok()?).open(nonce, aad, &mut data, tag).ok()?;
    Some(data)
}

/// Opens record `number`, which has a TLS 1.2 or 1.3 header, by the book.
fn open_record(secrets: &ConnectionTrafficSecrets, tls13: bool, number: u64, record: &[u8]) -> Vec<u8> {
    let nonce = |iv: &Iv| {
        let mut nonce: [u8; 12] = iv.as_ref().try_into().unwrap();
        for (byte, number) in nonce[4..].iter_mut().zip(number.to_be_bytes()) {
            *byte ^= number;
        }
        nonce
    };
    let (header, body) = record.split_at(5);
    // RFC 5246, 6.2.3.3, and RFC 8446, 5.2.
    let aad = |len: usize| match tls13 {
        true => header.to_vec(),
        false => [&number.to_be_bytes()[..], &header[..3], &(len as u16).to_be_bytes()].concat(),
    };
    let gcm = |iv: &Iv| {
        let nonce = nonce(iv);
        let explicit = if tls13 { 0 } else { 8 };
        assert_eq!(body[..explicit], nonce[4..4 + explicit], "the nonce that the record carries");
        (nonce, aad(body.len() - explicit - 16), &body[explicit..])
    };
    let opened = match secrets {
        ConnectionTrafficSecrets::Aes128Gcm { key, iv } => {
            let (nonce, aad, sealed) = gcm(iv);
            open::<<DefaultCiphers as Ciphers>::Aes128Gcm, 16>(key, &nonce, &aad, sealed)
        }
        ConnectionTrafficSecrets::Aes256Gcm { key, iv } => {
            let (nonce, aad, sealed) = gcm(iv);
            open::<<DefaultCiphers as Ciphers>::Aes256Gcm, 32>(key, &nonce, &aad, sealed)
        }
        ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => {
            let aad = aad(body.len() - 16);
            open::<<DefaultCiphers as Ciphers>::ChaCha20Poly1305, 32>(key, &nonce(iv), &aad, body)
        }
        _ => panic!("secrets of a cipher that is not ours"),
    };
    opened.expect("the secrets open the record")
}

#[test]
fn extracted_secrets_open_the_records() {
    for &suite in ALL_CIPHER_SUITES {
        let name = format!("{:?}", suite.suite());
        let identity = if name.contains("_RSA_") { RSA2048 } else { P256 };
        let mut client = client_config(with_suite(provider(), suite), CA, None);
        let mut server = server_config(provider(), identity, None);
        client.enable_secret_extraction = true;
        server.enable_secret_extraction = true;
        let mut pair = Pair::new(Arc::new(client), Arc::new(server));
        pair.run().unwrap();
        let mut records = [vec![], vec![]];
        for (side, record) in [&mut pair.client, &mut pair.server].into_iter().zip(&mut records) {
            side.writer().write_all(b"the last record").unwrap();
            side.write_tls(record).unwrap();
        }
        // Both have read all but these records.
        let (client, server) =
            (pair.client.dangerous_extract_secrets(), pair.server.dangerous_extract_secrets());
        let (client, server) = (client.unwrap(), server.unwrap());
        let tls13 = suite.tls13().is_some();
        let content: &[u8] = if tls13 { b"the last record\x17" } else { b"the last record" };
        let [by_client, by_server] = &records;
        for (sender, receiver, record) in
            [(client.tx, server.rx, by_client), (server.tx, client.rx, by_server)]
        {
            assert_eq!(sender.0, receiver.0 + 1, "{name}");
            assert_eq!(open_record(&sender.1, tls13, receiver.0, record), content, "{name}");
            assert_eq!(open_record(&receiver.1, tls13, receiver.0, record), content, "{name}");
        }
    }
}
