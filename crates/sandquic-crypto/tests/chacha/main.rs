//! ChaCha: published vectors, differential grids, the end of the counter and the generators.

mod grid;
#[cfg(feature = "rng")]
mod rng;

use grid::{Grid, hex};
use sandquic_crypto::chacha::{
    ChaCha8, ChaCha8Legacy, ChaCha12, ChaCha12Legacy, ChaCha20, ChaCha20Legacy, R8, R12, R20, XChaCha8,
    XChaCha12, XChaCha20, hchacha,
};
use sandquic_crypto::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};

const KEY: [u8; 32] = *b"32 bytes: a key for the grids...";
const NONCE: [u8; 12] = *b"nonce, 12 by";
const LEGACY: [u8; 8] = *b"8 bytes.";
const LONG: [u8; 24] = *b"24 bytes, for XChaCha...";

/// The block function as RFC 8439 section 2.3 writes it down, for any last four words.
fn model_block(key: &[u8; 32], rounds: usize, last: [u32; 4], add: bool) -> [u32; 16] {
    fn quarter_round(s: &mut [u32], [a, b, c, d]: [usize; 4]) {
        for (rotate_d, rotate_b) in [(16, 12), (8, 7)] {
            s[a] = s[a].wrapping_add(s[b]);
            s[d] = (s[d] ^ s[a]).rotate_left(rotate_d);
            s[c] = s[c].wrapping_add(s[d]);
            s[b] = (s[b] ^ s[c]).rotate_left(rotate_b);
        }
    }
    let words = |bytes: &[u8]| -> Vec<u32> {
        bytes.chunks(4).map(|c| u32::from_le_bytes(c.try_into().unwrap())).collect()
    };
    let mut start = words(b"expand 32-byte k");
    start.extend(words(key));
    start.extend(last);
    let mut s = start.clone();
    for round in 0..rounds {
        for i in 0..4 {
            let shift = if round % 2 == 0 { 0 } else { 1 };
            let column = |row: usize| 4 * row + (i + shift * row) % 4;
            quarter_round(&mut s, [column(0), column(1), column(2), column(3)]);
        }
    }
    std::array::from_fn(|i| if add { s[i].wrapping_add(start[i]) } else { s[i] })
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes.try_into().unwrap())
}

fn model_ietf(key: &[u8; 32], nonce: &[u8; 12], rounds: usize, block: u64) -> [u8; 64] {
    let block = u32::try_from(block).expect("a block of the 32-bit counter");
    let last = [block, word(&nonce[..4]), word(&nonce[4..8]), word(&nonce[8..])];
    bytes(&model_block(key, rounds, last, true)).try_into().unwrap()
}

fn model_legacy(rounds: usize, block: u64) -> [u8; 64] {
    let last = [block as u32, (block >> 32) as u32, word(&LEGACY[..4]), word(&LEGACY[4..])];
    bytes(&model_block(&KEY, rounds, last, true)).try_into().unwrap()
}

fn model_hchacha(key: &[u8; 32], input: &[u8], rounds: usize) -> [u8; 32] {
    let last = [word(&input[..4]), word(&input[4..8]), word(&input[8..12]), word(&input[12..16])];
    let x = model_block(key, rounds, last, false);
    bytes(&[x[0], x[1], x[2], x[3], x[12], x[13], x[14], x[15]]).try_into().unwrap()
}

fn model_x(rounds: usize, block: u64) -> [u8; 64] {
    let key = model_hchacha(&KEY, &LONG[..16], rounds);
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&LONG[16..]);
    model_ietf(&key, &nonce, rounds, block)
}

/// One test of a whole variant. Cuts of the standard variants are complete.
macro_rules! grids {
    ($($test:ident: $ours:ident, $other:ident, $nonce:expr, $model:expr, $blocks:expr, $other_blocks:expr, $step:expr;)*) => {$(
        mod $test {
            use super::*;

            fn grid() -> Grid<$ours, chacha20::$other, impl Fn(u64) -> [u8; 64]> {
                Grid {
                    ours: || $ours::new(&KEY.into(), &$nonce.into()),
                    other: || chacha20::$other::new(&KEY.into(), &$nonce.into()),
                    model: $model,
                    blocks: $blocks,
                    other_blocks: $other_blocks,
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
                grid().around(0);
                grid().around(1 << 16);
                grid().around((1 << 31) - 1);
                grid().around($blocks - 2);
                if $blocks > 1 << 32 {
                    grid().around(1 << 32);
                    grid().around(1 << 63);
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

// RustCrypto's 32-bit counter stops a block earlier.
const IETF: u128 = 1 << 32;
const WIDE: u128 = (1 << 64) - 1;

grids! {
    chacha20_ietf: ChaCha20, ChaCha20, NONCE, |n| model_ietf(&KEY, &NONCE, 20, n), IETF, IETF - 1, 1;
    chacha12_ietf: ChaCha12, ChaCha12, NONCE, |n| model_ietf(&KEY, &NONCE, 12, n), IETF, IETF - 1, 11;
    chacha8_ietf: ChaCha8, ChaCha8, NONCE, |n| model_ietf(&KEY, &NONCE, 8, n), IETF, IETF - 1, 11;
    chacha20_legacy: ChaCha20Legacy, ChaCha20Legacy, LEGACY, |n| model_legacy(20, n), WIDE, WIDE, 7;
    xchacha20: XChaCha20, XChaCha20, LONG, |n| model_x(20, n), IETF, IETF - 1, 11;
    xchacha12: XChaCha12, XChaCha12, LONG, |n| model_x(12, n), IETF, IETF - 1, 23;
    xchacha8: XChaCha8, XChaCha8, LONG, |n| model_x(8, n), IETF, IETF - 1, 23;
}

#[test]
fn reduced_legacy_variants() {
    fn check<C: KeyIvInit + StreamCipher + StreamCipherSeek>(rounds: usize) {
        for block in [0, 1, (1u128 << 32) - 5, 1 << 32] {
            let mut got = vec![0; 600];
            let mut cipher = C::new_from_slices(&KEY, &LEGACY).unwrap();
            cipher.seek(block * 64);
            cipher.apply_keystream(&mut got);
            let expected: Vec<u8> = (0..10).flat_map(|i| model_legacy(rounds, block as u64 + i)).collect();
            assert!(got == expected[..600]);
        }
    }
    check::<ChaCha12Legacy>(12);
    check::<ChaCha8Legacy>(8);
}

/// RFC 8439 section 2.3.2 and appendix A.1, test vectors 1 and 2.
#[test]
fn rfc8439_blocks() {
    let block = |key: [u8; 32], nonce: &str, block: u32| {
        let mut cipher = ChaCha20::new(&key.into(), hex(nonce).as_slice().try_into().unwrap());
        let mut out = [0; 64];
        cipher.seek(64 * u64::from(block));
        cipher.apply_keystream(&mut out);
        out.to_vec()
    };
    let key = std::array::from_fn(|i| i as u8);
    let expected = "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e
        d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e";
    assert_eq!(block(key, "000000090000004a00000000", 1), hex(expected));
    let expected = "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7
        da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586";
    assert_eq!(block([0; 32], "000000000000000000000000", 0), hex(expected));
    let expected = "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed
        29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f";
    assert_eq!(block([0; 32], "000000000000000000000000", 1), hex(expected));
}

/// RFC 8439 section 2.4.2.
#[test]
fn rfc8439_encryption() {
    let key: [u8; 32] = std::array::from_fn(|i| i as u8);
    let nonce = hex("000000000000004a00000000");
    let mut data = *b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the \
        future, sunscreen would be it.";
    let mut cipher = ChaCha20::new(&key.into(), nonce.as_slice().try_into().unwrap());
    cipher.seek(64u32);
    cipher.apply_keystream(&mut data);
    let expected = "6e2e359a2568f98041ba0728dd0d6981e97e7aec1d4360c20a27afccfd9fae0b
        f91b65c5524733ab8f593dabcd62b3571639d624e65152ab8f530c359f0861d8
        07ca0dbf500d6a6156a38e088a22b65e52bc514d16ccf806818ce91ab7793736
        5af90bbf74a35be6b40b8eedf2785e42874d";
    assert_eq!(data.to_vec(), hex(expected));
}

/// draft-irtf-cfrg-xchacha-03 section 2.2.1.
#[test]
fn hchacha20_draft() {
    let key: [u8; 32] = std::array::from_fn(|i| i as u8);
    let input: [u8; 16] = hex("000000090000004a0000000031415927").try_into().unwrap();
    let expected = hex("82413b4227b27bfed30e42508a877d73a0f9e4d58a74a853c12ec41326d3ecdc");
    assert_eq!(hchacha::<R20>(&key.into(), &input.into()).to_vec(), expected);
}

#[test]
fn hchacha_matches() {
    let input = *b"sixteen bytes of";
    for (got, rounds) in [
        (hchacha::<R8>(&KEY.into(), &input.into()), 8),
        (hchacha::<R12>(&KEY.into(), &input.into()), 12),
        (hchacha::<R20>(&KEY.into(), &input.into()), 20),
    ] {
        assert_eq!(got.to_vec(), model_hchacha(&KEY, &input, rounds));
    }
    let other = chacha20::hchacha::<chacha20::R20>(&KEY.into(), &input.into());
    assert_eq!(hchacha::<R20>(&KEY.into(), &input.into()).to_vec(), other.to_vec());
}

/// draft-irtf-cfrg-xchacha-03 appendix A.3.2: the text about the dhole, from block 1 on.
#[test]
fn xchacha20_draft() {
    let key: [u8; 32] = std::array::from_fn(|i| 0x80 + i as u8);
    let nonce: [u8; 24] = std::array::from_fn(|i| if i == 23 { 0x58 } else { 0x40 + i as u8 });
    let mut data = b"The dhole (pronounced \"dole\") is also known as the Asiatic wild dog, red dog, and \
        whistling dog. It is about the size of a German shepherd but looks more like a long-legged fox. This \
        highly elusive and skilled jumper is classified with wolves, coyotes, jackals, and foxes in the \
        taxonomic family Canidae."
        .to_vec();
    let mut cipher = XChaCha20::new(&key.into(), &nonce.into());
    cipher.seek(64u32);
    cipher.apply_keystream(&mut data);
    let expected = "7d0a2e6b7f7c65a236542630294e063b7ab9b555a5d5149aa21e4ae1e4fbce87
        ecc8e08a8b5e350abe622b2ffa617b202cfad72032a3037e76ffdcdc4376ee05
        3a190d7e46ca1de04144850381b9cb29f051915386b8a710b8ac4d027b8b050f
        7cba5854e028d564e453b8a968824173fc16488b8970cac828f11ae53cabd201
        12f87107df24ee6183d2274fe4c8b1485534ef2c5fbc1ec24bfc3663efaa08bc
        047d29d25043532db8391a8a3d776bf4372a6955827ccb0cdd4af403a7ce4c63
        d595c75a43e045f0cce1f29c8b93bd65afc5974922f214a40b7c402cdb91ae73
        c0b63615cdad0480680f16515a7ace9d39236464328a37743ffc28f4ddb324f4
        d0f5bbdc270c65b1749a6efff1fbaa09536175ccd29fb9e6057b307320d31683
        8a9c71f70b5b5907a66f7ea49aadc409";
    assert_eq!(data, hex(expected));
}

#[test]
fn wrong_lengths_are_errors() {
    assert!(ChaCha20::new_from_slices(&[0; 31], &[0; 12]).is_err());
    assert!(ChaCha20::new_from_slices(&[0; 32], &[0; 8]).is_err());
    assert!(ChaCha20Legacy::new_from_slices(&[0; 32], &[0; 12]).is_err());
    assert!(XChaCha20::new_from_slices(&[0; 32], &[0; 12]).is_err());
    assert!(XChaCha20::new_from_slices(&[0; 32], &[0; 24]).is_ok());
}

#[test]
fn debug_shows_no_secrets() {
    assert_eq!(format!("{:?}", ChaCha20::new(&KEY.into(), &NONCE.into())), "ChaCha20 { .. }");
    assert_eq!(format!("{:?}", ChaCha8Legacy::new(&KEY.into(), &LEGACY.into())), "ChaCha8 { .. }");
    assert_eq!(format!("{:?}", XChaCha12::new(&KEY.into(), &LONG.into())), "XChaCha12 { .. }");
}

#[cfg(feature = "zeroize")]
#[test]
fn secrets_are_wiped() {
    fn wiped<T: zeroize::ZeroizeOnDrop>() {}
    wiped::<ChaCha20>();
    wiped::<ChaCha20Legacy>();
    wiped::<XChaCha20>();
    #[cfg(feature = "rng")]
    wiped::<sandquic_crypto::chacha::ChaCha20Rng>();
}
