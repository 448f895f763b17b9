//! Every baseline computes what the product computes: a comparison of speed is one of the same work.

use sandquic_baselines::{RustCrypto, RustCryptoOld};
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
    for (seed, len) in (0..70).chain([127, 128, 129, 255, 256, 1350, 1452, 16_384]).enumerate() {
        let seed = seed as u32;
        let (key, nonce) = (bytes::<KEY>(seed), bytes::<12>(seed + 1000));
        let (one, other) = (A::new(&key), B::new(&key));
        for aad_len in [0, 1, 5, 16, 20, 33] {
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
            wrong[aad_len % 16] ^= 0x80;
            assert_eq!(other.open(&nonce, aad, &mut sealed.clone(), &wrong), Err(AeadError));
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
fn providers() {
    for provider in
        [sandquic_rustls::provider_with::<RustCrypto>(), sandquic_rustls::provider_with::<RustCryptoOld>()]
    {
        let suites: Vec<_> = provider.cipher_suites.iter().map(|suite| suite.suite()).collect();
        let expected: Vec<_> = sandquic_rustls::ALL_CIPHER_SUITES.iter().map(|suite| suite.suite()).collect();
        assert_eq!(suites, expected);
    }
    assert_ne!(RustCrypto::NAME, RustCryptoOld::NAME);
}
