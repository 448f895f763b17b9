//! Header protection: the masks of sandquic-crypto, one by one and in batches, against RustCrypto's ciphers; and the
//! header keys of sandquic-rustls, whose masking must follow RFC 9001, section 5.4.1, and be undone by the peer.

#![no_main]

use std::sync::LazyLock;

use aes::cipher::{BlockCipherEncrypt, KeyInit};
use chacha20::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use libfuzzer_sys::arbitrary::{self, Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use rustls::quic::{HeaderProtectionKey, Keys, Version};
use rustls::{Side, SupportedCipherSuite};
use sandquic_crypto::quic::{Aes128Mask, Aes256Mask, ChaCha20Mask, MASK_LEN};
use sandquic_rustls::cipher_suite;

type Sample = [u8; 16];
type Mask = [u8; MASK_LEN];

#[derive(Debug)]
struct Case {
    suite: usize,
    key: [u8; 32],
    /// Masks asked for; there may be more samples or fewer.
    masks: usize,
    first: u8,
    packet_number: Vec<u8>,
    /// Bytes by which the sample for the header key is too long (or, wrapped, too short); mostly 0.
    sample_error: i8,
    samples: Vec<Sample>,
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let suite = u.int_in_range(0..=2)?;
        let masks = u.int_in_range(0..=20)?;
        let first = u.arbitrary()?;
        let number = if u.ratio(1, 8)? { u.int_in_range(5..=8)? } else { u.int_in_range(0..=4)? };
        let packet_number = u.bytes(number)?.to_vec();
        let sample_error = if u.ratio(1, 8)? { u.int_in_range(-16..=16)? } else { 0 };
        let key = u.arbitrary()?;
        let mut samples = vec![u.arbitrary()?];
        while samples.len() < 20 && !u.is_empty() {
            samples.push(u.arbitrary()?);
        }
        Ok(Self { suite, key, masks, first, packet_number, sample_error, samples })
    }
}

/// The keys of a client and a server.
static KEYS: LazyLock<[(Keys, Keys); 3]> = LazyLock::new(|| {
    let suites = [
        cipher_suite::TLS13_AES_128_GCM_SHA256,
        cipher_suite::TLS13_AES_256_GCM_SHA384,
        cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
    ];
    suites.map(|suite| {
        let SupportedCipherSuite::Tls13(suite) = suite else { unreachable!("a suite of TLS 1.3") };
        let suite = suite.quic_suite().expect("a suite for QUIC");
        let keys = |side| suite.keys(b"any eight", side, Version::V1);
        (keys(Side::Client), keys(Side::Server))
    })
});

fuzz_target!(|case: Case| {
    match case.suite {
        0 => {
            let key: &[u8; 16] = case.key.first_chunk().expect("of 32");
            let (ours, theirs) = (Aes128Mask::new(key.into()), aes::Aes128::new(key.into()));
            check(&case, |s| ours.mask(s), |s, m| ours.masks(s, m), |s| Some(aes_mask(&theirs, s)));
        }
        1 => {
            let (ours, theirs) = (Aes256Mask::new(&case.key.into()), aes::Aes256::new(&case.key.into()));
            check(&case, |s| ours.mask(s), |s, m| ours.masks(s, m), |s| Some(aes_mask(&theirs, s)));
        }
        _ => {
            let ours = ChaCha20Mask::new(&case.key.into());
            check(&case, |s| ours.mask(s), |s, m| ours.masks(s, m), |s| chacha_mask(&case.key, s));
        }
    }
    let (client, server) = &KEYS[case.suite];
    header_keys(&case, &*client.local.header, &*server.remote.header);
    header_keys(&case, &*server.local.header, &*client.remote.header);
});

fn aes_mask(aes: &impl BlockCipherEncrypt<BlockSize = aead::consts::U16>, sample: &Sample) -> Mask {
    let mut block = (*sample).into();
    aes.encrypt_block(&mut block);
    *block.0.first_chunk().expect("of 16")
}

/// `None` for the last block of a keystream, which the crate does not give out.
fn chacha_mask(key: &[u8; 32], sample: &Sample) -> Option<Mask> {
    let (counter, nonce) = sample.split_first_chunk::<4>().expect("of 16");
    let nonce: [u8; 12] = nonce.try_into().expect("of 16");
    let mut cipher = chacha20::ChaCha20::new(key.into(), &nonce.into());
    cipher.try_seek(64 * u64::from(u32::from_le_bytes(*counter))).ok()?;
    let mut mask = [0; MASK_LEN];
    cipher.try_apply_keystream(&mut mask).ok()?;
    Some(mask)
}

fn check(
    case: &Case,
    one: impl Fn(&Sample) -> Mask,
    many: impl Fn(&[Sample], &mut [Mask]),
    wanted: impl Fn(&Sample) -> Option<Mask>,
) {
    let mut masks = vec![[0xa5; MASK_LEN]; case.masks];
    many(&case.samples, &mut masks);
    for (sample, mask) in case.samples.iter().zip(&masks) {
        assert_eq!(*mask, one(sample), "in a batch and alone");
    }
    for sample in &case.samples {
        if let Some(wanted) = wanted(sample) {
            assert_eq!(one(sample), wanted, "of {sample:x?}");
        }
    }
    let beyond = &masks[case.samples.len().min(masks.len())..];
    assert!(beyond.iter().all(|mask| *mask == [0xa5; MASK_LEN]), "a mask without a sample was written");
}

fn header_keys(case: &Case, mask: &dyn HeaderProtectionKey, unmask: &dyn HeaderProtectionKey) {
    let sample = &case.samples[0];
    let (mut first, mut number) = (case.first, case.packet_number.clone());
    let length = usize::try_from(16 + i32::from(case.sample_error)).expect("at least 0");
    let given: Vec<u8> = sample.iter().copied().cycle().take(length).collect();
    let masked = mask.encrypt_in_place(&given, &mut first, &mut number);
    if length != 16 || number.len() > 4 {
        assert!(masked.is_err(), "a sample of {length} bytes, a number of {} bytes", number.len());
        assert!(unmask.decrypt_in_place(&given, &mut first, &mut number).is_err());
        assert_eq!((first, &number), (case.first, &case.packet_number), "changed in spite of the error");
        return;
    }
    masked.expect("a good sample");

    // The mask itself, as a short header of zeros with a number of four bytes shows it.
    let (mut flags, mut bare) = (0x03, [0; 4]);
    mask.encrypt_in_place(sample, &mut flags, &mut bare).expect("a good sample");
    flags ^= 0x03;
    let bits = if case.first & 0x80 != 0 { 0x0f } else { 0x1f };
    assert_eq!(first, case.first ^ (flags & bits), "first byte");
    let used = usize::from(case.first & 0x03) + 1;
    for (at, byte) in number.iter().enumerate() {
        let mask = if at < used { bare[at] } else { 0 };
        assert_eq!(*byte, case.packet_number[at] ^ mask, "byte {at} of the packet number");
    }

    unmask.decrypt_in_place(sample, &mut first, &mut number).expect("a good sample");
    assert_eq!((first, number), (case.first, case.packet_number.clone()), "not undone");
}
