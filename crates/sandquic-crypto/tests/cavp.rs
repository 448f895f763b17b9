//! NIST's Cryptographic Algorithm Validation Program: AES (KAT, MMT, Monte Carlo) and GCM. The files of `tests/data` are
//! NIST's values, one case a line.

mod common;

use aead::{AeadInOut, consts::U12, consts::U16};
use cipher::{BlockCipherDecrypt, BlockCipherEncrypt, BlockSizeUser, KeyInit};
use common::hex;
use sandquic_crypto::{
    aes::{Aes128, Aes192, Aes256},
    gcm::{Aes128Gcm, Aes192Gcm, Aes256Gcm},
};

fn cases(file: &str) -> impl Iterator<Item = Vec<&str>> {
    file.lines().filter(|line| !line.starts_with('#')).map(|line| line.split(' ').collect())
}

fn field(digits: &str) -> Vec<u8> {
    if digits == "-" { Vec::new() } else { hex(digits) }
}

fn blocks<C>(key: &[u8], plain: &[u8], sealed: &[u8])
where
    C: KeyInit + BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16>,
{
    let cipher = C::new_from_slice(key).unwrap();
    let (blocks, _) = cipher::Block::<C>::slice_as_chunks(plain);
    let mut data = blocks.to_vec();
    cipher.encrypt_blocks(&mut data);
    assert_eq!(cipher::Block::<C>::slice_as_flattened(&data), sealed, "encryption under {key:02x?}");
    cipher.decrypt_blocks(&mut data);
    assert_eq!(cipher::Block::<C>::slice_as_flattened(&data), plain, "decryption under {key:02x?}");
}

#[test]
fn aes_known_answers_and_multi_block() {
    let mut count = 0;
    for case in cases(include_str!("data/nist-aes.txt")) {
        let [key, plain, sealed] = case[..] else { panic!("not three fields: {case:?}") };
        let (key, plain, sealed) = (hex(key), hex(plain), hex(sealed));
        match key.len() {
            16 => blocks::<Aes128>(&key, &plain, &sealed),
            24 => blocks::<Aes192>(&key, &plain, &sealed),
            _ => blocks::<Aes256>(&key, &plain, &sealed),
        }
        count += 1;
    }
    assert_eq!(count, 1099);
}

/// AESAVS, section 6.4.1: a thousand encryptions, then a key made of the old one and the last outputs, a hundred times.
fn monte_carlo<C, T>(key: &[u8], plain: &str, first: Option<&str>)
where
    C: KeyInit + BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16>,
    T: KeyInit + BlockCipherEncrypt + BlockSizeUser<BlockSize = U16>,
{
    let mut key = key.to_vec();
    let mut block: [u8; 16] = hex(plain).try_into().unwrap();
    for round in 0..if common::small() { 5 } else { 100 } {
        let (ours, theirs) = (C::new_from_slice(&key).unwrap(), T::new_from_slice(&key).unwrap());
        let start = block;
        let mut their_block = block;
        let mut previous = block;
        for _ in 0..1000 {
            previous = block;
            let mut b = block.into();
            ours.encrypt_block(&mut b);
            block = b.into();
            let mut b = their_block.into();
            theirs.encrypt_block(&mut b);
            their_block = b.into();
        }
        assert_eq!(block, their_block, "round {round}");
        if round == 0
            && let Some(first) = first
        {
            assert_eq!(block.as_slice(), hex(first));
        }
        let mut back = block;
        for _ in 0..1000 {
            let mut b = back.into();
            ours.decrypt_block(&mut b);
            back = b.into();
        }
        assert_eq!(back, start, "round {round}, back");
        let outputs = [previous, block].concat();
        let tail = &outputs[32 - key.len()..];
        for (key, output) in key.iter_mut().zip(tail) {
            *key ^= output;
        }
    }
}

#[test]
fn aes_monte_carlo() {
    monte_carlo::<Aes128, aes::Aes128>(
        &hex("139a35422f1d61de3c91787fe0507afd"),
        "b9145a768b7dc489a096b546f43b231f",
        Some("d7c3ffac9031238650901e157364c386"),
    );
    // The longer keys from NIST's procedure, with RustCrypto's crate for the answers.
    let key: [u8; 32] = core::array::from_fn(|i| i as u8);
    monte_carlo::<Aes192, aes::Aes192>(&key[..24], "00112233445566778899aabbccddeeff", None);
    monte_carlo::<Aes256, aes::Aes256>(&key, "00112233445566778899aabbccddeeff", None);
}

fn message<A>(case: &[&str])
where
    A: AeadInOut<NonceSize = U12, TagSize = U16> + KeyInit,
{
    let [key, nonce, aad, plain, sealed, tag] = case[..] else { panic!("not six fields: {case:?}") };
    let cipher = A::new_from_slice(&hex(key)).unwrap();
    let nonce = <[u8; 12]>::try_from(hex(nonce)).unwrap().into();
    let tag = <[u8; 16]>::try_from(hex(tag)).unwrap().into();
    let (aad, sealed) = (field(aad), field(sealed));
    let mut data = sealed.clone();
    let opened = cipher.decrypt_inout_detached(&nonce, &aad, data.as_mut_slice().into(), &tag);
    if plain == "FAIL" {
        assert!(opened.is_err(), "{case:?}");
        return;
    }
    assert!(opened.is_ok(), "{case:?}");
    assert_eq!(data, field(plain), "{case:?}");
    let made = cipher.encrypt_inout_detached(&nonce, &aad, data.as_mut_slice().into()).unwrap();
    assert_eq!(data, sealed, "{case:?}");
    assert_eq!(made, tag, "{case:?}");
}

#[test]
fn gcm() {
    let mut count = 0;
    for case in cases(include_str!("data/nist-gcm.txt")) {
        match case[0].len() {
            32 => message::<Aes128Gcm>(&case),
            48 => message::<Aes192Gcm>(&case),
            _ => message::<Aes256Gcm>(&case),
        }
        count += 1;
    }
    assert_eq!(count, 649);
}
