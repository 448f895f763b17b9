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

/// AESAVS, section 6.4.1: a thousand blocks, each the output of the one before, then a key made of the old one and the
/// last outputs, a hundred times. Every output is compared with RustCrypto's crate, the last one with NIST's value.
fn monte_carlo<C, T>([key, input, output]: [&str; 3], decrypt: bool)
where
    C: KeyInit + BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16>,
    T: KeyInit + BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16>,
{
    fn step<C>(cipher: &C, block: &mut cipher::Block<C>, decrypt: bool)
    where
        C: BlockCipherEncrypt + BlockCipherDecrypt,
    {
        if decrypt { cipher.decrypt_block(block) } else { cipher.encrypt_block(block) }
    }

    let mut key = hex(key);
    let mut block: [u8; 16] = hex(input).try_into().unwrap();
    let rounds = if common::small() { 3 } else { 100 };
    for round in 0..rounds {
        let (ours, theirs) = (C::new_from_slice(&key).unwrap(), T::new_from_slice(&key).unwrap());
        let start = block.into();
        let (mut our_block, mut their_block, mut previous) = (start, start, start);
        for _ in 0..1000 {
            previous = our_block;
            step(&ours, &mut our_block, decrypt);
            step(&theirs, &mut their_block, decrypt);
        }
        assert_eq!(our_block, their_block, "round {round}");
        block = our_block.into();
        let mut back = our_block;
        for _ in 0..1000 {
            step(&ours, &mut back, !decrypt);
        }
        assert_eq!(back, start, "round {round}, back");
        let outputs = [previous.0, block].concat();
        let tail = &outputs[32 - key.len()..];
        for (key, output) in key.iter_mut().zip(tail) {
            *key ^= output;
        }
    }
    if rounds == 100 {
        assert_eq!(block.as_slice(), hex(output), "the last output");
    }
}

#[test]
fn aes_monte_carlo() {
    let mut count = 0;
    for case in cases(include_str!("data/nist-aes-monte.txt")) {
        let [direction, values @ ..] = &case[..] else { panic!("no direction: {case:?}") };
        let values: [&str; 3] = values.try_into().unwrap();
        let decrypt = *direction == "decrypt";
        match values[0].len() {
            32 => monte_carlo::<Aes128, aes::Aes128>(values, decrypt),
            48 => monte_carlo::<Aes192, aes::Aes192>(values, decrypt),
            _ => monte_carlo::<Aes256, aes::Aes256>(values, decrypt),
        }
        count += 1;
    }
    assert_eq!(count, 6);
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
