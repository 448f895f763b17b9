//! The AEADs of QUIC against RustCrypto's crates in 200,000 random cases each, 20,000 of them in the small grid and in
//! builds without optimization.

mod common;

use aead::{AeadInOut, Key, KeyInit, Nonce, Tag};
use common::Random;
use sandquic_crypto::{chachapoly, gcm};

/// The longest message.
const LONGEST: usize = 4096;
/// The longest associated data.
const LONGEST_AAD: usize = 64;
/// The buffers begin at any place of a vector of 32 bytes.
const ALIGNMENTS: usize = 32;

#[test]
fn chacha20_poly1305() {
    check::<chachapoly::ChaCha20Poly1305, chacha20poly1305::ChaCha20Poly1305>("ChaCha20-Poly1305", 20);
}

#[test]
fn aes_128_gcm() {
    check::<gcm::Aes128Gcm, aes_gcm::Aes128Gcm>("AES-128-GCM", 128);
}

#[test]
fn aes_256_gcm() {
    check::<gcm::Aes256Gcm, aes_gcm::Aes256Gcm>("AES-256-GCM", 256);
}

/// What a packet that was altered differs in.
#[derive(Clone, Copy, Debug)]
enum Part {
    Key,
    Nonce,
    Aad,
    Ciphertext,
    Tag,
}

fn check<Ours, Theirs>(name: &str, seed: u64)
where
    Ours: AeadInOut + KeyInit,
    Theirs:
        AeadInOut<NonceSize = Ours::NonceSize, TagSize = Ours::TagSize> + KeyInit<KeySize = Ours::KeySize>,
{
    let cases = if common::small() || cfg!(debug_assertions) { 20_000 } else { 200_000 };
    let mut random = Random::new(seed);
    let mut key = Key::<Ours>::default();
    let mut ciphers = (Ours::new(&key), Theirs::new(&key));
    let mut nonce = Nonce::<Ours>::default();
    let (mut plain, mut aad) = ([0; LONGEST], [0; LONGEST_AAD]);
    let (mut data, mut theirs, mut altered) =
        ([0; LONGEST + ALIGNMENTS], [0; LONGEST], [0; LONGEST + ALIGNMENTS]);
    for case in 0..cases {
        // Tables grow with the use of a key: it is kept for four messages on average.
        if random.below(4) == 0 {
            random.fill(&mut key);
            ciphers = (Ours::new(&key), Theirs::new(&key));
        }
        random.fill(&mut nonce);
        let bound = match random.below(16) {
            0 => LONGEST,
            1..=6 => 600,
            _ => 64,
        };
        let plain = &mut plain[..random.below(bound + 1)];
        let aad = &mut aad[..random.below(LONGEST_AAD + 1)];
        random.fill(plain);
        random.fill(aad);
        let start = random.below(ALIGNMENTS);
        let range = start..start + plain.len();
        let what = || format!("{name}: case {case}, {} bytes, {} associated", range.len(), aad.len());

        let data = &mut data[range.clone()];
        data.copy_from_slice(plain);
        let tag = ciphers.0.encrypt_inout_detached(&nonce, aad, (&mut *data).into()).unwrap();
        let theirs = &mut theirs[..plain.len()];
        theirs.copy_from_slice(plain);
        let their_tag = ciphers.1.encrypt_inout_detached(&nonce, aad, (&mut *theirs).into()).unwrap();
        assert!(data == theirs, "{}: another ciphertext", what());
        assert_eq!(tag, their_tag, "{}: another tag", what());

        let altered = &mut altered[range.clone()];
        altered.copy_from_slice(data);
        assert!(
            ciphers.0.decrypt_inout_detached(&nonce, aad, (&mut *data).into(), &tag).is_ok(),
            "{}: it does not open",
            what()
        );
        assert!(data == plain, "{}: another plaintext", what());

        let part = flip(&mut random, &ciphers.0, &key, &nonce, aad, altered, &tag);
        assert!(part.is_none(), "{}: it opens with a flipped bit of the {:?}", what(), part);
        // Sixteen equal bytes would be no accident.
        assert!(altered.len() < 16 || altered != plain, "{}: the plaintext was left behind", what());
    }
}

/// Flips one bit of a sealed message and opens it: the part that the bit was in if that succeeds.
fn flip<A: AeadInOut + KeyInit>(
    random: &mut Random,
    cipher: &A,
    key: &Key<A>,
    nonce: &Nonce<A>,
    aad: &[u8],
    data: &mut [u8],
    tag: &Tag<A>,
) -> Option<Part> {
    let mut flipped = |bytes: &mut [u8]| {
        let bit = random.below(8 * bytes.len());
        bytes[bit / 8] ^= 1 << (bit % 8);
    };
    let (mut nonce, mut tag, mut longest) = (nonce.clone(), tag.clone(), [0; LONGEST_AAD]);
    let aad_bytes = &mut longest[..aad.len()];
    aad_bytes.copy_from_slice(aad);
    let mut other = None;
    // The last byte of a random nonce chooses the part. The ciphertext is the one to be altered most often.
    let part = match nonce.last().map_or(0, |byte| byte % 16) {
        0 => Part::Key,
        1 | 2 => Part::Nonce,
        3..=5 if !aad.is_empty() => Part::Aad,
        6..=12 if !data.is_empty() => Part::Ciphertext,
        _ => Part::Tag,
    };
    match part {
        Part::Key => {
            let mut key = key.clone();
            flipped(&mut key);
            other = Some(A::new(&key));
        }
        Part::Nonce => flipped(&mut nonce),
        Part::Aad => flipped(aad_bytes),
        Part::Ciphertext => flipped(data),
        Part::Tag => flipped(&mut tag),
    }
    let cipher = other.as_ref().unwrap_or(cipher);
    cipher.decrypt_inout_detached(&nonce, aad_bytes, data.into(), &tag).is_ok().then_some(part)
}
