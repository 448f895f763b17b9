//! Every form against multiplication bit by bit.

use super::*;
use crate::simd::portable;

/// GHASH by the book: NIST SP 800-38D, algorithms 1 and 2.
pub(crate) mod model {
    fn multiply(x: u128, y: u128) -> u128 {
        let (mut z, mut v) = (0, y);
        for i in 0..128 {
            if x >> (127 - i) & 1 == 1 {
                z ^= v;
            }
            v = if v & 1 == 1 { v >> 1 ^ 0xe1 << 120 } else { v >> 1 };
        }
        z
    }

    pub(crate) fn ghash(h: &[u8; 16], blocks: &[u8]) -> [u8; 16] {
        let h = u128::from_be_bytes(*h);
        let y = blocks.as_chunks::<16>().0.iter().fold(0, |y, x| multiply(y ^ u128::from_be_bytes(*x), h));
        y.to_be_bytes()
    }
}

fn bytes(seed: u64, out: &mut [u8]) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for byte in out {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *byte = (state >> 32) as u8;
    }
}

/// Tables on the vectors of this machine, though it may have carry-less multiplication.
fn soft_key(h: &[u8; 16]) -> HashKey {
    let mut key = HashKey { form: Form::Scalar(*h) };
    backend::dispatch_narrow(BuildTables { h, into: &mut key.form });
    key
}

fn check(h: &[u8; 16], blocks: &[u8]) {
    let want = model::ghash(h, blocks);
    let key = HashKey::new(h);
    let mut y = [0; 16];
    key.absorb(&mut y, blocks, false);
    assert_eq!(y, want, "{} bytes, {}", blocks.len(), backend::clmul_backend());

    let soft = soft_key(h);
    for pair in [None, soft.pair(1000)] {
        let mut y = [0; 16];
        backend::dispatch_narrow(Absorb { key: &soft, pair, y: &mut y, blocks, reverse: false });
        assert_eq!(y, want, "{} bytes, vectors, pairs: {}", blocks.len(), pair.is_some());
    }

    let mut first = [[[0; 16]; 2]; 16];
    table::build::<portable::V128>(h, &mut first);
    for pair in [None, Some(table::square::<portable::V128>(&first))] {
        let mut y = [0; 16];
        table::absorb::<portable::V128>(&first, pair.as_ref(), &mut y, blocks, false);
        assert_eq!(y, want, "{} bytes, tables on portable vectors, pairs: {}", blocks.len(), pair.is_some());
    }

    let mut y = [0; 16];
    scalar::absorb(h, &mut y, blocks, false);
    assert_eq!(y, want, "{} bytes, scalar", blocks.len());

    // Cut in two, and with blocks turned round.
    let cut = blocks.len() / 32 * 16;
    let mut y = [0; 16];
    key.absorb(&mut y, &blocks[..cut], false);
    let turned: Vec<u8> =
        blocks[cut..].as_chunks::<16>().0.iter().flat_map(|b| b.iter().rev().copied()).collect();
    key.absorb(&mut y, &turned, true);
    assert_eq!(y, want, "{} bytes, cut and turned", blocks.len());
    let mut y = [0; 16];
    let pair = soft.pair(0);
    backend::dispatch_narrow(Absorb { key: &soft, pair, y: &mut y, blocks: &blocks[..cut], reverse: false });
    backend::dispatch_narrow(Absorb { key: &soft, pair, y: &mut y, blocks: &turned, reverse: true });
    assert_eq!(y, want, "{} bytes, cut and turned, vectors", blocks.len());
}

#[test]
fn every_number_of_blocks() {
    let mut h = [0; 16];
    let mut blocks = [0; 16 * 70];
    for count in 0..=if cfg!(miri) { 9 } else { 70 } {
        bytes(count as u64 + 5, &mut h);
        bytes(count as u64 + 99, &mut blocks);
        check(&h, &blocks[..16 * count]);
    }
}

#[test]
fn extremes() {
    for h in [0u128, 1, 1 << 127, u128::MAX, 0xe1 << 120, !0 >> 1] {
        for fill in [0, 1, 0x0f, 0x80, 0xf0, 0xff] {
            for count in [1, 2, 3, 4, 5, 8, 9, 16, 21] {
                check(&h.to_be_bytes(), &vec![fill; 16 * count]);
            }
        }
    }
    // Every single bit of H and of a block.
    for bit in 0..128 {
        check(&(1u128 << bit).to_be_bytes(), &(1u128 << (127 - bit)).to_be_bytes());
        check(&(1u128 << bit).to_be_bytes(), &[0xff; 64]);
    }
}

#[test]
fn rfc8452_appendix_a() {
    let hex = |s: &str| u128::from_str_radix(s, 16).unwrap().to_be_bytes();
    let h = hex("25629347589242761d31f826ba4b757b");
    let x1 = hex("4f4f95668c83dfb6401762bb2d01a262");
    let x2 = hex("d1a24ddd2721d006bbe45f20d3c9f362");
    let mut polyval = Polyval::new(&h.into());
    polyval.update(&[x1.into(), x2.into()]);
    assert_eq!(polyval.finalize().0, hex("f7a3b47b846119fae5b7866cf5e5b77e"));
    let mut ghash = GHash::new(&h.into());
    ghash.update(&[x1.into(), x2.into()]);
    assert_eq!(ghash.finalize().0, hex("bd9b3997046731fb96251b91f9c99d7a"));
}

/// The tables of H^2 come with one long message or with many short ones; a copy of the key hashes alike.
#[test]
fn the_second_tables_are_built_when_they_pay() {
    let key = soft_key(&[0x42; 16]);
    if !matches!(key.form, Form::Table(_)) || cfg!(not(feature = "std")) {
        return;
    }
    assert!(key.pair(7).is_none());
    assert!(key.clone().pair(31).is_none());
    assert!(key.clone().pair(32).is_some());
    assert!((0..3).all(|_| key.pair(7).is_none()));
    assert!(key.pair(7).is_some());
    assert!(key.pair(0).is_some());
    assert_eq!(key.pair(0), key.clone().pair(0));
}
