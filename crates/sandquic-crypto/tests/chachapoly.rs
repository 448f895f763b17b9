//! (X)ChaCha20-Poly1305 against RFC 8439, the XChaCha draft and RustCrypto's crate; Wycheproof is in `wycheproof.rs`.

mod common;

use aead::{Aead, KeyInit, Payload};
use common::{Random, check_grid, hex};
use sandquic_crypto::chachapoly::{ChaCha20Poly1305, XChaCha20Poly1305};

/// RFC 8439, section 2.8.2 and the draft's appendix A.3.1 share all but the nonce.
const PLAIN: &[u8] =
    b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, \
sunscreen would be it.";
const AAD: &str = "50515253c0c1c2c3c4c5c6c7";
const KEY: &str = "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f";

fn key() -> [u8; 32] {
    hex(KEY).try_into().unwrap()
}

#[test]
fn rfc8439_section_2_8_2() {
    let cipher = ChaCha20Poly1305::new(&key().into());
    let nonce: [u8; 12] = hex("070000004041424344454647").try_into().unwrap();
    let sealed = cipher.encrypt(&nonce.into(), Payload { msg: PLAIN, aad: &hex(AAD) }).unwrap();
    let want = hex(
        "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282fafb69da92728b1a71de0a9e0\
         60b2905d6a5b67ecd3b3692ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc3ff4def08e4b7a9de576d2\
         6586cec64b61161ae10b594f09e26a7e902ecbd0600691",
    );
    assert_eq!(sealed, want);
}

#[test]
fn xchacha_draft_appendix_a_3_1() {
    let cipher = XChaCha20Poly1305::new(&key().into());
    let nonce: [u8; 24] = hex("404142434445464748494a4b4c4d4e4f5051525354555657").try_into().unwrap();
    let sealed = cipher.encrypt(&nonce.into(), Payload { msg: PLAIN, aad: &hex(AAD) }).unwrap();
    let want = hex(
        "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54\
         c216cb96b72e1213b4522f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff921f9664c97637da9768812f\
         615c68b13b52ec0875924c1c7987947deafd8780acf49",
    );
    assert_eq!(sealed, want);
}

#[test]
fn every_length_against_rustcrypto() {
    check_grid::<ChaCha20Poly1305, chacha20poly1305::ChaCha20Poly1305>("ChaCha20-Poly1305");
}

#[test]
fn xchacha_against_rustcrypto() {
    let mut random = Random::new(24);
    for length in (0..700).step_by(7).chain([4096, 65_536]) {
        let key: [u8; 32] = random.array();
        let nonce: [u8; 24] = random.array();
        let (message, aad) = (random.bytes(length), random.bytes(length % 41));
        let payload = || Payload { msg: &message, aad: &aad };
        let want =
            chacha20poly1305::XChaCha20Poly1305::new(&key.into()).encrypt(&nonce.into(), payload()).unwrap();
        let cipher = XChaCha20Poly1305::new(&key.into());
        assert_eq!(cipher.encrypt(&nonce.into(), payload()).unwrap(), want, "{length} bytes");
        let opened = cipher.decrypt(&nonce.into(), Payload { msg: &want, aad: &aad }).unwrap();
        assert_eq!(opened, message, "{length} bytes");
    }
}

#[test]
fn forgeries_fail_and_leave_nothing() {
    common::check_forgeries::<ChaCha20Poly1305>();
    common::check_forgeries::<XChaCha20Poly1305>();
}

#[test]
fn debug_shows_nothing() {
    let shown = format!("{:?}", ChaCha20Poly1305::new(&[0xab; 32].into()));
    assert_eq!(shown, "ChaCha20Poly1305 { .. }");
}

#[test]
fn buffers_apart() {
    common::check_buffers_apart::<ChaCha20Poly1305>();
    common::check_buffers_apart::<XChaCha20Poly1305>();
}
