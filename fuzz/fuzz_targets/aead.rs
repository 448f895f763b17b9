//! Every AEAD of sandquic-crypto against RustCrypto's: equal ciphertexts and tags, in place and from one buffer to
//! another, at any alignment; a message with one bit changed is refused and leaves no plaintext.

#![no_main]

use aead::array::typenum::Unsigned;
use aead::inout::InOutBuf;
use aead::{AeadCore, AeadInOut, Key, KeyInit, KeySizeUser, Nonce};
use libfuzzer_sys::arbitrary::{self, Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use sandquic_crypto::{chachapoly, gcm};

/// What stands around a message; nothing may change it.
const GUARD: u8 = 0xa5;
/// Bytes behind a message that are watched.
const BEHIND: usize = 64;

#[derive(Debug)]
struct Case {
    algorithm: u8,
    key: [u8; 32],
    nonce: [u8; 24],
    associated_data: Vec<u8>,
    message: Vec<u8>,
    /// Where in its buffer the message begins.
    offset: usize,
    change: Change,
}

/// The bit that is changed, modulo the bits of the field.
#[derive(Debug)]
struct Change {
    field: u8,
    bit: usize,
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let algorithm = u.arbitrary()?;
        // One in eight is long; most are like packets.
        let longest = if u.ratio(1, 8)? { 20_000 } else { 1500 };
        let length = u.int_in_range(0..=longest)?;
        let associated = usize::from(u.arbitrary::<u8>()?);
        let offset = u.int_in_range(0..=63)?;
        let change = Change { field: u.arbitrary()?, bit: u32::arbitrary(u)? as usize };
        let (key, nonce) = (u.arbitrary()?, u.arbitrary()?);
        // The rest is repeated, so that few bytes make messages of any length.
        let rest = u.bytes(u.len())?;
        let mut bytes = rest.iter().copied().chain([rest.len() as u8]).cycle();
        let associated_data = bytes.by_ref().take(associated).collect();
        let message = bytes.take(length).collect();
        Ok(Self { algorithm, key, nonce, associated_data, message, offset, change })
    }
}

fuzz_target!(|case: Case| {
    match case.algorithm % 7 {
        0 => compare::<gcm::Aes128Gcm, aes_gcm::Aes128Gcm>(&case),
        1 => compare::<gcm::Aes192Gcm, aes_gcm::AesGcm<aes::Aes192, aead::consts::U12>>(&case),
        2 => compare::<gcm::Aes256Gcm, aes_gcm::Aes256Gcm>(&case),
        3 => compare::<gcm::Aes128GcmSiv, aes_gcm_siv::Aes128GcmSiv>(&case),
        4 => compare::<gcm::Aes256GcmSiv, aes_gcm_siv::Aes256GcmSiv>(&case),
        5 => compare::<chachapoly::ChaCha20Poly1305, chacha20poly1305::ChaCha20Poly1305>(&case),
        _ => compare::<chachapoly::XChaCha20Poly1305, chacha20poly1305::XChaCha20Poly1305>(&case),
    }
});

/// A message inside a buffer with guards.
struct Guarded {
    buffer: Vec<u8>,
    offset: usize,
}

impl Guarded {
    fn new(message: &[u8], offset: usize) -> Self {
        let mut buffer = vec![GUARD; offset];
        buffer.extend_from_slice(message);
        buffer.resize(buffer.len() + BEHIND, GUARD);
        Self { buffer, offset }
    }

    fn message(&mut self) -> &mut [u8] {
        let end = self.buffer.len() - BEHIND;
        &mut self.buffer[self.offset..end]
    }

    fn check(&self) {
        let behind = self.buffer.len() - BEHIND;
        let guards = self.buffer[..self.offset].iter().chain(&self.buffer[behind..]);
        assert!(guards.copied().all(|byte| byte == GUARD), "bytes around the message were written");
    }
}

fn compare<O, T>(case: &Case)
where
    O: KeyInit + AeadInOut,
    T: KeyInit
        + KeySizeUser<KeySize = O::KeySize>
        + AeadInOut
        + AeadCore<NonceSize = O::NonceSize, TagSize = O::TagSize>,
{
    let Case { associated_data, message, offset, .. } = case;
    let mut key = Key::<O>::try_from(&case.key[..O::key_size()]).expect("of this size");
    let mut nonce = Nonce::<O>::try_from(&case.nonce[..O::NonceSize::USIZE]).expect("of this size");
    let (ours, theirs) = (O::new(&key), T::new(&key));

    let mut sealed = Guarded::new(message, *offset);
    let mut tag =
        ours.encrypt_inout_detached(&nonce, associated_data, sealed.message().into()).expect("short enough");
    sealed.check();
    let mut wanted = message.clone();
    let wanted_tag = theirs
        .encrypt_inout_detached(&nonce, associated_data, wanted.as_mut_slice().into())
        .expect("short enough");
    assert_eq!(sealed.message(), wanted, "ciphertext");
    assert_eq!(tag, wanted_tag, "tag");

    let mut apart = Guarded::new(&vec![0; message.len()], offset / 2);
    let buffers = InOutBuf::new(message, apart.message()).expect("of one length");
    let tag_apart = ours.encrypt_inout_detached(&nonce, associated_data, buffers).expect("short enough");
    assert_eq!(apart.message(), wanted, "ciphertext, from one buffer to another");
    assert_eq!(tag_apart, tag, "tag, from one buffer to another");
    apart.check();

    let mut opened = Guarded::new(&wanted, offset / 3);
    ours.decrypt_inout_detached(&nonce, associated_data, opened.message().into(), &tag)
        .expect("its own message");
    assert_eq!(opened.message(), message, "plaintext");
    opened.check();

    let mut associated_data = associated_data.clone();
    let field: &mut [u8] = match case.change.field % 5 {
        0 => &mut key,
        1 => &mut nonce,
        2 if !associated_data.is_empty() => &mut associated_data,
        3 if !message.is_empty() => sealed.message(),
        _ => &mut tag,
    };
    let bit = case.change.bit % (8 * field.len());
    field[bit / 8] ^= 1 << (bit % 8);
    let changed =
        O::new(&key).decrypt_inout_detached(&nonce, &associated_data, sealed.message().into(), &tag);
    assert!(changed.is_err(), "a message with a bit changed was accepted");
    assert!(sealed.message().iter().all(|&byte| byte == 0), "a message that was refused left something");
    sealed.check();
}
