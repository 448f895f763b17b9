//! Every baseline computes what the product computes: a comparison of speed is one of the same work.

use sandquic_baselines::{
    HandVec, NoAes, NoChaCha20, NoGhash, NoMask, NoOnePass, NoPoly1305, RustCrypto, RustCryptoOld,
};
use sandquic_rustls::ciphers::{Aead, AeadError, Ciphers, DefaultCiphers, HeaderMask};

/// Bytes that differ with `seed`.
fn bytes<const N: usize>(seed: u32) -> [u8; N] {
    let mut state = seed.wrapping_mul(0x9e37_79b9) | 1;
    core::array::from_fn(|_| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as u8
    })
}

fn same_aead<const KEY: usize, A: Aead<KEY>, B: Aead<KEY>>() {
    // Every remainder of the batches of all kernels (the longest has 512 bytes), and batches one after another.
    for (seed, len) in (0..=600).chain([1200, 1350, 1452, 4079, 4080, 4081, 16_384, 65_537]).enumerate() {
        let seed = seed as u32;
        let (key, nonce) = (bytes::<KEY>(seed), bytes::<12>(seed + 1000));
        let (one, other) = (A::new(&key), B::new(&key));
        for aad_len in [[0, 16, 33], [1, 5, 20]][len % 2] {
            let aad = &bytes::<33>(seed + 2000)[..aad_len];
            let plain: Vec<u8> = (0..len).map(|i| (i * 13 % 251) as u8).collect();
            let mut sealed = plain.clone();
            let mut sealed_other = plain.clone();
            let tag = one.seal(&nonce, aad, &mut sealed).unwrap();
            assert_eq!(tag, other.seal(&nonce, aad, &mut sealed_other).unwrap(), "{len} and {aad_len} bytes");
            assert!(sealed == sealed_other, "{len} and {aad_len} bytes");
            let mut opened = sealed.clone();
            other.open(&nonce, aad, &mut opened, &tag).unwrap();
            assert!(opened == plain);
            let mut wrong = tag;
            wrong[len % 16] ^= 0x80;
            assert_eq!(other.open(&nonce, aad, &mut sealed, &wrong), Err(AeadError));
        }
    }
}

fn same_mask<const KEY: usize, A: HeaderMask<KEY>, B: HeaderMask<KEY>>() {
    for seed in 0..20 {
        let key = bytes::<KEY>(seed);
        let (one, other) = (A::new(&key), B::new(&key));
        let mut samples: Vec<[u8; 16]> = (0..19).map(|n| bytes(seed * 100 + n)).collect();
        // The last counter of a ChaCha20 block, and the first.
        samples.extend([[0xff; 16], [0; 16]]);
        let expected: Vec<_> = samples.iter().map(|sample| one.mask(sample)).collect();
        assert_eq!(samples.iter().map(|sample| other.mask(sample)).collect::<Vec<_>>(), expected);
        for len in 0..samples.len() {
            let mut masks = vec![[0; 5]; len];
            other.masks(&samples[..len], &mut masks);
            assert_eq!(masks, expected[..len]);
        }
    }
}

fn same<A: Ciphers, B: Ciphers>() {
    same_aead::<16, A::Aes128Gcm, B::Aes128Gcm>();
    same_aead::<32, A::Aes256Gcm, B::Aes256Gcm>();
    same_aead::<32, A::ChaCha20Poly1305, B::ChaCha20Poly1305>();
    same_mask::<16, A::Aes128Mask, B::Aes128Mask>();
    same_mask::<32, A::Aes256Mask, B::Aes256Mask>();
    same_mask::<32, A::ChaCha20Mask, B::ChaCha20Mask>();
}

#[test]
fn current_crates() {
    same::<DefaultCiphers, RustCrypto>();
}

#[test]
fn old_crates() {
    same::<DefaultCiphers, RustCryptoOld>();
}

#[test]
fn paper() {
    same::<DefaultCiphers, HandVec>();
}

#[test]
fn without_our_chacha20() {
    same::<RustCrypto, NoChaCha20>();
}

#[test]
fn without_our_poly1305() {
    same::<RustCrypto, NoPoly1305>();
}

#[test]
fn without_our_aes() {
    same::<RustCrypto, NoAes>();
}

#[test]
fn without_our_ghash() {
    same::<RustCrypto, NoGhash>();
}

#[test]
fn without_one_pass() {
    same::<RustCrypto, NoOnePass>();
}

#[test]
fn without_our_masks() {
    same::<RustCrypto, NoMask>();
}

#[test]
fn providers() {
    for name in sandquic_baselines::NAMES {
        let provider = sandquic_baselines::provider(name).unwrap();
        let suites: Vec<_> = provider.cipher_suites.iter().map(|suite| suite.suite()).collect();
        let expected: Vec<_> = sandquic_rustls::ALL_CIPHER_SUITES.iter().map(|suite| suite.suite()).collect();
        assert_eq!(suites, expected);
    }
    assert!(sandquic_baselines::provider(DefaultCiphers::NAME).is_none());
    let mut names = sandquic_baselines::NAMES.to_vec();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), sandquic_baselines::NAMES.len());
}
