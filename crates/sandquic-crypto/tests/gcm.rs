//! AES-GCM and AES-GCM-SIV against RustCrypto's crates; Wycheproof is in `wycheproof.rs`, NIST's files in `cavp.rs`.

mod common;

use aead::{Aead, KeyInit};
use common::{Random, check_grid, hex, payload};
use sandquic_crypto::gcm::{Aes128Gcm, Aes128GcmSiv, Aes192Gcm, Aes256Gcm, Aes256GcmSiv};

type TheirAes192Gcm = aes_gcm::AesGcm<aes::Aes192, aead::consts::U12>;

#[test]
fn aes_128_gcm_every_length() {
    check_grid::<Aes128Gcm, aes_gcm::Aes128Gcm>("AES-128-GCM");
}

#[test]
fn aes_192_gcm_every_length() {
    check_grid::<Aes192Gcm, TheirAes192Gcm>("AES-192-GCM");
}

#[test]
fn aes_256_gcm_every_length() {
    check_grid::<Aes256Gcm, aes_gcm::Aes256Gcm>("AES-256-GCM");
}

#[test]
fn aes_gcm_siv_against_rustcrypto() {
    let mut random = Random::new(8452);
    for length in (0..600).step_by(if common::small() { 13 } else { 1 }).chain([4096, 65_536]) {
        let nonce: [u8; 12] = random.array();
        let (message, aad) = (random.bytes(length), random.bytes(length % 41));
        let key: [u8; 32] = random.array();
        let want = aes_gcm_siv::Aes256GcmSiv::new(&key.into());
        let want = want.encrypt(&nonce.into(), payload(&message, &aad)).unwrap();
        let ours = Aes256GcmSiv::new(&key.into());
        assert_eq!(ours.encrypt(&nonce.into(), payload(&message, &aad)).unwrap(), want, "{length} bytes");
        assert_eq!(ours.decrypt(&nonce.into(), payload(&want, &aad)).unwrap(), message, "{length} bytes");

        let key: [u8; 16] = random.array();
        let want = aes_gcm_siv::Aes128GcmSiv::new(&key.into());
        let want = want.encrypt(&nonce.into(), payload(&message, &aad)).unwrap();
        let ours = Aes128GcmSiv::new(&key.into());
        assert_eq!(ours.encrypt(&nonce.into(), payload(&message, &aad)).unwrap(), want, "{length} bytes");
        assert_eq!(ours.decrypt(&nonce.into(), payload(&want, &aad)).unwrap(), message, "{length} bytes");
    }
}

#[test]
fn forgeries_fail_and_leave_nothing() {
    common::check_forgeries::<Aes128Gcm>();
    common::check_forgeries::<Aes192Gcm>();
    common::check_forgeries::<Aes256Gcm>();
    common::check_forgeries::<Aes128GcmSiv>();
    common::check_forgeries::<Aes256GcmSiv>();
}

#[test]
fn buffers_apart() {
    common::check_buffers_apart::<Aes128Gcm>();
    common::check_buffers_apart::<Aes192Gcm>();
    common::check_buffers_apart::<Aes256Gcm>();
    common::check_buffers_apart::<Aes128GcmSiv>();
    common::check_buffers_apart::<Aes256GcmSiv>();
}

/// RFC 8452, appendix C.3: the counter wraps at 2^32 within the message.
#[test]
fn rfc8452_counter_wrap() {
    let key: [u8; 32] = [0; 32];
    let cipher = Aes256GcmSiv::new(&key.into());
    for (plain, sealed) in [
        (
            "000000000000000000000000000000004db923dc793ee6497c76dcc03a98e108",
            "f3f80f2cf0cb2dd9c5984fcda908456cc537703b5ba70324a6793a7bf218d3eaffffffff000000000000000000000000",
        ),
        (
            "eb3640277c7ffd1303c7a542d02d3e4c0000000000000000",
            "18ce4f0b8cb4d0cac65fea8f79257b20888e53e72299e56dffffffff000000000000000000000000",
        ),
    ] {
        let (plain, sealed) = (hex(plain), hex(sealed));
        assert_eq!(cipher.encrypt(&[0; 12].into(), payload(&plain, b"")).unwrap(), sealed);
        assert_eq!(cipher.decrypt(&[0; 12].into(), payload(&sealed, b"")).unwrap(), plain);
    }
}

#[test]
fn debug_shows_nothing() {
    assert_eq!(format!("{:?}", Aes128Gcm::new(&[0xab; 16].into())), "Aes128Gcm { .. }");
    assert_eq!(format!("{:?}", Aes256GcmSiv::new(&[0xab; 32].into())), "Aes256GcmSiv { .. }");
}
