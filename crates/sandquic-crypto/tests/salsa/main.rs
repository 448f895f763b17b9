//! Salsa20: published vectors, differential grids and the end of the counter.

#[path = "../chacha/grid.rs"]
mod grid;

use grid::{Grid, hex};
use sandquic_crypto::cipher::consts::U10;
use sandquic_crypto::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use sandquic_crypto::salsa::{R8, R12, R20, Salsa8, Salsa12, Salsa20, XSalsa8, XSalsa12, XSalsa20, hsalsa};

const KEY: [u8; 32] = *b"32 bytes: a key for the grids...";
const NONCE: [u8; 8] = *b"8 bytes.";
const LONG: [u8; 24] = *b"24 bytes, for XSalsa20..";

fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes.try_into().unwrap())
}

/// The specification's doubleround over a 4 by 4 matrix, sections 3 to 8, for any words in the middle.
fn model_block(key: &[u8; 32], rounds: usize, middle: [u32; 4], add: bool) -> [u32; 16] {
    fn quarterround(y: [u32; 4]) -> [u32; 4] {
        let z1 = y[1] ^ y[0].wrapping_add(y[3]).rotate_left(7);
        let z2 = y[2] ^ z1.wrapping_add(y[0]).rotate_left(9);
        let z3 = y[3] ^ z2.wrapping_add(z1).rotate_left(13);
        let z0 = y[0] ^ z3.wrapping_add(z2).rotate_left(18);
        [z0, z1, z2, z3]
    }
    fn rowround(y: [u32; 16]) -> [u32; 16] {
        let mut z = y;
        for row in 0..4 {
            // A row starts on the diagonal.
            let at = |i: usize| 4 * row + (row + i) % 4;
            let out = quarterround([y[at(0)], y[at(1)], y[at(2)], y[at(3)]]);
            for (i, word) in out.into_iter().enumerate() {
                z[at(i)] = word;
            }
        }
        z
    }
    fn transposed(y: [u32; 16]) -> [u32; 16] {
        std::array::from_fn(|i| y[4 * (i % 4) + i / 4])
    }
    let constants = b"expand 32-byte k";
    let mut start = [0; 16];
    for i in 0..4 {
        start[5 * i] = word(&constants[4 * i..4 * i + 4]);
        start[1 + i] = word(&key[4 * i..4 * i + 4]);
        start[6 + i] = middle[i];
        start[11 + i] = word(&key[16 + 4 * i..20 + 4 * i]);
    }
    let mut x = start;
    for _ in 0..rounds / 2 {
        let columns = transposed(rowround(transposed(x)));
        x = rowround(columns);
    }
    std::array::from_fn(|i| if add { x[i].wrapping_add(start[i]) } else { x[i] })
}

fn model(key: &[u8; 32], nonce: &[u8], rounds: usize, block: u64) -> [u8; 64] {
    let middle = [word(&nonce[..4]), word(&nonce[4..]), block as u32, (block >> 32) as u32];
    let bytes: Vec<u8> =
        model_block(key, rounds, middle, true).iter().flat_map(|w| w.to_le_bytes()).collect();
    bytes.try_into().unwrap()
}

fn model_hsalsa(key: &[u8; 32], input: &[u8], rounds: usize) -> [u8; 32] {
    let middle = std::array::from_fn(|i| word(&input[4 * i..4 * i + 4]));
    let x = model_block(key, rounds, middle, false);
    let bytes: Vec<u8> =
        [0, 5, 10, 15, 6, 7, 8, 9].iter().flat_map(|&i: &usize| x[i].to_le_bytes()).collect();
    bytes.try_into().unwrap()
}

fn model_x(rounds: usize, block: u64) -> [u8; 64] {
    model(&model_hsalsa(&KEY, &LONG[..16], rounds), &LONG[16..], rounds, block)
}

macro_rules! grids {
    ($($test:ident: $ours:ident, $nonce:expr, $model:expr, $step:expr;)*) => {$(
        mod $test {
            use super::*;

            fn grid() -> Grid<$ours, salsa20::$ours, impl Fn(u64) -> [u8; 64]> {
                Grid {
                    ours: || $ours::new(&KEY.into(), &$nonce.into()),
                    other: || salsa20::$ours::new(&KEY.into(), &$nonce.into()),
                    model: $model,
                    blocks: (1 << 64) - 1,
                    other_blocks: (1 << 64) - 1,
                }
            }

            #[test]
            fn lengths() {
                grid().lengths();
            }
            #[test]
            fn cuts() {
                grid().cuts(if grid::small() { 37 } else { $step });
            }
            #[test]
            fn long() {
                grid().long();
            }
            #[test]
            fn carries() {
                for block in [0, 1 << 16, (1 << 31) - 1, 1 << 32, 1 << 63, (1 << 64) - 3] {
                    grid().around(block);
                }
            }
            #[test]
            fn end() {
                grid().end();
            }
            #[test]
            fn calls() {
                grid().calls();
            }
            #[test]
            fn positions() {
                grid().positions();
            }
            #[test]
            fn walk() {
                grid().walk();
            }
        }
    )*};
}

grids! {
    salsa20_20: Salsa20, NONCE, |n| model(&KEY, &NONCE, 20, n), 1;
    salsa20_12: Salsa12, NONCE, |n| model(&KEY, &NONCE, 12, n), 11;
    salsa20_8: Salsa8, NONCE, |n| model(&KEY, &NONCE, 8, n), 11;
    xsalsa20: XSalsa20, LONG, |n| model_x(20, n), 11;
    xsalsa12: XSalsa12, LONG, |n| model_x(12, n), 23;
    xsalsa8: XSalsa8, LONG, |n| model_x(8, n), 23;
}

/// The verified vectors of the ECRYPT project, 256-bit keys.
#[test]
fn ecrypt() {
    let mut count = 0;
    for line in include_str!("ecrypt.txt").lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [key, nonce, pos, expected] = fields[..] else { panic!("a line with {} fields", fields.len()) };
        let mut cipher = Salsa20::new_from_slices(&hex(key), &hex(nonce)).unwrap();
        cipher.seek(pos.parse::<u64>().unwrap());
        let mut out = [0; 64];
        cipher.apply_keystream(&mut out);
        assert_eq!(out.to_vec(), hex(expected), "{line}");
        count += 1;
    }
    assert!(count > 200, "only {count} vectors");
}

/// Vectors that other XSalsa20 implementations share: a text as the key and as the nonce.
#[test]
fn xsalsa20_vectors() {
    let (key, nonce) = (*b"this is 32-byte key for xsalsa20", *b"24-byte nonce for xsalsa");
    let mut zeros = [0; 64];
    XSalsa20::new(&key.into(), &nonce.into()).apply_keystream(&mut zeros);
    let expected = "4848297feb1fb52fb66d81609bd547fabcbe7026edc8b5e5e449d088bfa69c08
        8f5d8da1d791267c2c195a7f8cae9c4b4050d08ce6d3a151ec265f3a58e47648";
    assert_eq!(zeros.to_vec(), hex(expected));
    let mut text = *b"Hello world!";
    XSalsa20::new(&key.into(), &nonce.into()).apply_keystream(&mut text);
    assert_eq!(text.to_vec(), hex("002d4513843fc240c401e541"));
}

#[test]
fn hsalsa_matches() {
    let input = *b"sixteen bytes of";
    for (got, rounds) in [
        (hsalsa::<R8>(&KEY.into(), &input.into()), 8),
        (hsalsa::<R12>(&KEY.into(), &input.into()), 12),
        (hsalsa::<R20>(&KEY.into(), &input.into()), 20),
    ] {
        assert_eq!(got.to_vec(), model_hsalsa(&KEY, &input, rounds));
    }
    let other = salsa20::hsalsa::<U10>(&KEY.into(), &input.into());
    assert_eq!(hsalsa::<R20>(&KEY.into(), &input.into()).to_vec(), other.to_vec());
}

#[test]
fn wrong_lengths_are_errors() {
    assert!(Salsa20::new_from_slices(&[0; 16], &[0; 8]).is_err());
    assert!(Salsa20::new_from_slices(&[0; 32], &[0; 12]).is_err());
    assert!(XSalsa20::new_from_slices(&[0; 32], &[0; 8]).is_err());
    assert!(XSalsa20::new_from_slices(&[0; 32], &[0; 24]).is_ok());
}

#[test]
fn debug_shows_no_secrets() {
    assert_eq!(format!("{:?}", Salsa20::new(&KEY.into(), &NONCE.into())), "Salsa20 { .. }");
    assert_eq!(format!("{:?}", XSalsa8::new(&KEY.into(), &LONG.into())), "XSalsa8 { .. }");
}

#[cfg(feature = "zeroize")]
#[test]
fn secrets_are_wiped() {
    fn wiped<T: zeroize::ZeroizeOnDrop>() {}
    wiped::<Salsa20>();
    wiped::<XSalsa20>();
}
