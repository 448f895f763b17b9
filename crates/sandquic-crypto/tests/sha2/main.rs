//! SHA-2, HMAC and HKDF: the published vectors, the model, RustCrypto's crate, and the traits' promises.

use digest::{Digest, FixedOutputReset, KeyInit, Mac, Update};
use sandquic_crypto::sha2::{
    HkdfSha256, HkdfSha384, HkdfSha512, HmacSha256, HmacSha384, HmacSha512, Sha224, Sha256, Sha384, Sha512,
    Sha512_256,
};

mod model;

use model::Model;

fn unhex(text: &str) -> Vec<u8> {
    if text == "-" {
        return Vec::new();
    }
    assert!(text.len().is_multiple_of(2), "odd number of digits in {text}");
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

/// The fields of each line that is no comment.
fn rows<const N: usize>(text: &str) -> Vec<[Vec<u8>; N]> {
    let rows: Vec<[Vec<u8>; N]> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let fields: Vec<_> = line.split_whitespace().map(unhex).collect();
            fields.try_into().unwrap_or_else(|_| panic!("not {N} fields: {line}"))
        })
        .collect();
    assert!(!rows.is_empty());
    rows
}

/// Bytes with no period that a block could hide.
fn message(len: usize) -> Vec<u8> {
    let mut x = 0x9e37_79b9_7f4a_7c15u64;
    (0..len)
        .map(|_| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            (x >> 32) as u8
        })
        .collect()
}

/// The longest of "every length": 300 where `SANDQUIC_TEST_GRID=small` asks for a reduced grid, for slow engines.
fn longest() -> usize {
    if std::env::var_os("SANDQUIC_TEST_GRID").is_some_and(|grid| grid == "small") { 300 } else { 600 }
}

fn nist_messages<D: Digest>(vectors: &str) {
    for [message, digest] in rows(vectors) {
        assert_eq!(D::digest(&message)[..], digest[..], "{} bytes", message.len());
    }
}

/// SHAVS section 6.4.
fn nist_monte_carlo<D: Digest>(vectors: &str) {
    let rows = rows(vectors);
    let [mut seed] = rows[0].clone();
    assert_eq!(rows.len(), 101);
    for [wanted] in &rows[1..] {
        let mut last = [seed.clone(), seed.clone(), seed.clone()];
        for _ in 0..1000 {
            let next =
                D::new().chain_update(&last[0]).chain_update(&last[1]).chain_update(&last[2]).finalize();
            last.rotate_left(1);
            last[2].copy_from_slice(&next);
        }
        seed.clone_from(&last[2]);
        assert_eq!(seed, *wanted);
    }
}

fn equals_the_model<D: Digest>(model: &Model, initial: &[u64]) {
    let message = message(longest());
    for len in 0..=message.len() {
        let hash = model.hash(initial, &message[..len]);
        assert_eq!(D::digest(&message[..len])[..], hash[..<D as Digest>::output_size()], "{len} bytes");
    }
}

fn equals_rustcrypto<D: Digest, R: Digest>() {
    let message = message(longest());
    for len in 0..=message.len() {
        assert_eq!(D::digest(&message[..len])[..], R::digest(&message[..len])[..], "{len} bytes");
    }
    let message = self::message((1 << 20) + 77);
    assert_eq!(D::digest(&message)[..], R::digest(&message)[..]);
}

/// One message in two parts cut at every place, and in three.
fn cut_anywhere<D: Digest>() {
    let message = message(longest());
    for len in [0, 1, 63, 64, 65, 127, 128, 129, 255, 256, 300, message.len()] {
        let message = &message[..len.min(message.len())];
        let whole = D::digest(message);
        for cut in 0..=message.len() {
            let (a, b) = message.split_at(cut);
            assert_eq!(
                D::new().chain_update(a).chain_update(b).finalize(),
                whole,
                "{len} bytes cut at {cut}"
            );
            let (c, d) = b.split_at(b.len() / 3);
            let hash = D::new().chain_update(a).chain_update(c).chain_update(d).finalize();
            assert_eq!(hash, whole, "{len} bytes cut at {cut} and after a third");
        }
    }
}

fn reset_and_debug<D: Digest + FixedOutputReset + Default + Clone + core::fmt::Debug>(name: &str) {
    let mut hasher = D::default();
    Update::update(&mut hasher, b"secret");
    assert_eq!(format!("{hasher:?}"), format!("{name} {{ ... }}"));
    let copy = hasher.clone();
    let first = hasher.finalize_fixed_reset();
    assert_eq!(copy.finalize_fixed(), first);
    assert_eq!(hasher.finalize_fixed(), D::default().finalize_fixed());
}

macro_rules! hash {
    ($module:ident, $ours:ident, $theirs:ty, $file:literal, $model:expr, $initial:ident) => {
        mod $module {
            use super::*;

            #[test]
            fn nist() {
                nist_messages::<$ours>(include_str!(concat!("../data/sha2/", $file, ".txt")));
            }
            #[test]
            fn monte_carlo() {
                nist_monte_carlo::<$ours>(include_str!(concat!("../data/sha2/", $file, "-monte.txt")));
            }
            #[test]
            fn model() {
                let model = $model;
                equals_the_model::<$ours>(&model, &model.$initial());
            }
            #[test]
            fn rustcrypto() {
                equals_rustcrypto::<$ours, $theirs>();
            }
            #[test]
            fn cut() {
                cut_anywhere::<$ours>();
            }
            #[test]
            fn traits() {
                reset_and_debug::<$ours>(stringify!($ours));
            }
        }
    };
}

hash!(sha224, Sha224, sha2::Sha224, "sha224", Model::narrow(), initial_short);
hash!(sha256, Sha256, sha2::Sha256, "sha256", Model::narrow(), initial);
hash!(sha384, Sha384, sha2::Sha384, "sha384", Model::wide(), initial_short);
hash!(sha512, Sha512, sha2::Sha512, "sha512", Model::wide(), initial);
hash!(sha512_256, Sha512_256, sha2::Sha512_256, "sha512-256", Model::wide(), initial_512_256);

fn rfc_4231<M: Mac + KeyInit>(vectors: &str) {
    for [key, message, tag] in rows(vectors) {
        let mac = <M as KeyInit>::new_from_slice(&key).unwrap().chain_update(&message);
        assert_eq!(mac.clone_finalize()[..], tag[..]);
        let mut wrong = tag.clone();
        wrong[0] ^= 1;
        let again = || <M as KeyInit>::new_from_slice(&key).unwrap().chain_update(&message);
        again().verify_slice(&tag).expect("the right tag");
        again().verify_slice(&wrong).expect_err("a wrong tag");
        again().verify_slice(&tag[1..]).expect_err("a short tag");
    }
}

/// `Mac::finalize` as plain bytes.
trait CloneFinalize {
    fn clone_finalize(self) -> Vec<u8>;
}

impl<M: Mac> CloneFinalize for M {
    fn clone_finalize(self) -> Vec<u8> {
        self.finalize().into_bytes().to_vec()
    }
}

#[test]
fn hmac_rfc_4231() {
    rfc_4231::<HmacSha256>(include_str!("../data/sha2/hmac-sha256.txt"));
    rfc_4231::<HmacSha384>(include_str!("../data/sha2/hmac-sha384.txt"));
    rfc_4231::<HmacSha512>(include_str!("../data/sha2/hmac-sha512.txt"));
}

#[test]
fn hkdf_rfc_5869() {
    for [ikm, salt, info, wanted_prk, wanted] in rows(include_str!("../data/sha2/hkdf-sha256.txt")) {
        let (prk, hkdf) = HkdfSha256::extract(Some(&salt), &ikm);
        assert_eq!(prk[..], wanted_prk[..]);
        let mut okm = vec![0; wanted.len()];
        hkdf.expand(&info, &mut okm).unwrap();
        assert_eq!(okm, wanted);
    }
}

#[test]
fn hkdf_refuses_too_much_output() {
    let mut okm = vec![0; 255 * 64 + 1];
    HkdfSha256::new(None, b"ikm").expand(b"", &mut okm[..255 * 32 + 1]).unwrap_err();
    HkdfSha384::new(None, b"ikm").expand(b"", &mut okm[..255 * 48 + 1]).unwrap_err();
    HkdfSha512::new(None, b"ikm").expand(b"", &mut okm).unwrap_err();
    assert!(okm.iter().all(|byte| *byte == 0), "nothing is written on error");
    HkdfSha512::new(None, b"ikm").expand(b"", &mut okm[..255 * 64]).unwrap();
}

#[cfg(feature = "zeroize")]
#[test]
fn hashers_are_wiped_on_drop() {
    fn wiped<T: zeroize::ZeroizeOnDrop>() {}
    wiped::<Sha224>();
    wiped::<Sha256>();
    wiped::<Sha384>();
    wiped::<Sha512>();
    wiped::<Sha512_256>();
}
