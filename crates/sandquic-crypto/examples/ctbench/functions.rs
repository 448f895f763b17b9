//! What is checked: every function that takes a secret.

use std::hint::black_box;

use aead::{AeadInOut, KeyInit};
use cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyIvInit, StreamCipher};
use digest::Mac;
use rand_core::{Rng, SeedableRng};
use sandquic_crypto::{aes, chacha, chachapoly, cipher, gcm, ghash, poly1305, quic, salsa, sha2};
use universal_hash::UniversalHash;

use crate::measure::Random;

/// One call of a function with a secret.
type Call = Box<dyn FnMut(&[u8])>;

/// A function of a secret.
pub(crate) struct Function {
    pub(crate) name: &'static str,
    /// The fixed secret; random ones have its length.
    pub(crate) fixed: Vec<u8>,
    /// Whether any other would do as well.
    pub(crate) ordinary: bool,
    pub(crate) run: Call,
}

fn function(name: &'static str, length: usize, run: impl FnMut(&[u8]) + 'static) -> Function {
    Function { name, fixed: ordinary(length, 0), ordinary: true, run: Box::new(run) }
}

/// A secret like any other; `which` makes different ones. One of zeros would be a class of its own for the processor,
/// which has shortcuts and saves power where operands are 0, whatever the instructions are.
pub(crate) fn ordinary(length: usize, which: u64) -> Vec<u8> {
    let mut random = Random::new(0x2545_f491_4f6c_dd1d ^ which);
    (0..length).map(|_| (random.next() >> 32) as u8).collect()
}

impl Function {
    /// Takes another fixed secret, unless the function needs that one.
    pub(crate) fn change_fixed(&mut self, which: u64) {
        if self.ordinary {
            self.fixed = ordinary(self.fixed.len(), which);
        }
    }
}

/// Messages are long enough for a pass of vectors and a tail.
const MESSAGE: usize = 300;

pub(crate) fn functions() -> Vec<Function> {
    vec![
        stream::<chacha::ChaCha20>("chacha20"),
        stream::<chacha::ChaCha20Legacy>("chacha20-legacy"),
        stream::<chacha::XChaCha20>("xchacha20"),
        stream::<salsa::Salsa20>("salsa20"),
        stream::<salsa::XSalsa20>("xsalsa20"),
        function("chacha20-rng", 32, |seed| {
            let mut out = [0; MESSAGE];
            chacha::ChaCha20Rng::from_seed(array(seed)).fill_bytes(&mut out);
            black_box(out);
        }),
        block::<aes::Aes128>("aes-128"),
        block::<aes::Aes192>("aes-192"),
        block::<aes::Aes256>("aes-256"),
        function("poly1305", 32 + MESSAGE, |secret| {
            let (key, message) = secret.split_at(32);
            black_box(poly1305::Poly1305::new(&array(key).into()).compute_unpadded(message));
        }),
        hash::<ghash::GHash>("ghash"),
        hash::<ghash::Polyval>("polyval"),
        seal::<chachapoly::ChaCha20Poly1305>("chacha20-poly1305-seal"),
        seal::<chachapoly::XChaCha20Poly1305>("xchacha20-poly1305-seal"),
        seal::<gcm::Aes128Gcm>("aes-128-gcm-seal"),
        seal::<gcm::Aes256Gcm>("aes-256-gcm-seal"),
        seal::<gcm::Aes128GcmSiv>("aes-128-gcm-siv-seal"),
        seal::<gcm::Aes256GcmSiv>("aes-256-gcm-siv-seal"),
        open::<chachapoly::ChaCha20Poly1305>("chacha20-poly1305-open"),
        open::<gcm::Aes128Gcm>("aes-128-gcm-open"),
        open::<gcm::Aes256Gcm>("aes-256-gcm-open"),
        open::<gcm::Aes128GcmSiv>("aes-128-gcm-siv-open"),
        forged::<chachapoly::ChaCha20Poly1305>("chacha20-poly1305-forged"),
        forged::<gcm::Aes128Gcm>("aes-128-gcm-forged"),
        function("aes-128-mask", 32, |secret| {
            let (key, sample) = secret.split_at(16);
            black_box(quic::Aes128Mask::new(&array(key).into()).mask(&array(sample)));
        }),
        function("aes-128-masks", 16 + 9 * 16, |secret| {
            let (key, samples) = secret.split_at(16);
            let mut masks = [[0; 5]; 9];
            quic::Aes128Mask::new(&array(key).into()).masks(samples.as_chunks().0, &mut masks);
            black_box(masks);
        }),
        function("chacha20-mask", 48, |secret| {
            let (key, sample) = secret.split_at(32);
            black_box(quic::ChaCha20Mask::new(&array(key).into()).mask(&array(sample)));
        }),
        function("chacha20-masks", 32 + 9 * 16, |secret| {
            let (key, samples) = secret.split_at(32);
            let mut masks = [[0; 5]; 9];
            quic::ChaCha20Mask::new(&array(key).into()).masks(samples.as_chunks().0, &mut masks);
            black_box(masks);
        }),
        mac::<sha2::HmacSha256>("hmac-sha256"),
        mac::<sha2::HmacSha512>("hmac-sha512"),
        function("hkdf-sha256", 32, |secret| {
            let mut okm = [0; 48];
            let done = sha2::HkdfSha256::new(None, secret).expand(b"label", &mut okm);
            black_box((done.is_ok(), okm));
        }),
    ]
}

/// Additions, rotations and exclusive ors of eight words, some two microseconds of them: nothing that could take longer for
/// one secret than for another. What t it has anyway is the floor of a measurement.
pub(crate) fn control() -> Function {
    function("control", 32, |secret| {
        let mut words: [u32; 8] =
            core::array::from_fn(|i| u32::from_le_bytes(array(&secret[4 * i..4 * i + 4])));
        for round in 0..220u32 {
            for i in 0..4 {
                words[i] = words[i].wrapping_add(words[i + 4] ^ round).rotate_left(7);
            }
            words.rotate_left(1);
        }
        black_box(words);
    })
}

/// A comparison that ends at the first difference: equal to the fixed secret, different from nearly every random one
/// in the first byte.
pub(crate) fn planted() -> Function {
    let expected = ordinary(32, 0);
    function("planted-leak", 32, move |secret| {
        let mut equal = 0;
        for (a, b) in secret.iter().zip(&expected) {
            if black_box(*a) != black_box(*b) {
                break;
            }
            equal += 1;
        }
        black_box(equal);
    })
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(bytes);
    array
}

fn stream<C: KeyIvInit + StreamCipher + 'static>(name: &'static str) -> Function {
    let iv = cipher::Iv::<C>::default();
    function(name, 32 + MESSAGE, move |secret| {
        let (key, message) = secret.split_at(32);
        let mut data: [u8; MESSAGE] = array(message);
        let mut k = cipher::Key::<C>::default();
        k.copy_from_slice(key);
        C::new(&k, &iv).apply_keystream(&mut data);
        black_box(data);
    })
}

/// Key expansion, one block and nine, forwards and back.
fn block<C>(name: &'static str) -> Function
where
    C: KeyInit + BlockCipherEncrypt + BlockCipherDecrypt + 'static,
{
    let length = cipher::Key::<C>::default().len();
    let size = cipher::Block::<C>::default().len();
    function(name, length + 10 * size, move |secret| {
        let (key, blocks) = secret.split_at(length);
        let mut k = cipher::Key::<C>::default();
        k.copy_from_slice(key);
        let cipher = <C as KeyInit>::new(&k);
        let mut data: [cipher::Block<C>; 10] = core::array::from_fn(|i| {
            let mut block = cipher::Block::<C>::default();
            block.copy_from_slice(&blocks[i * size..(i + 1) * size]);
            block
        });
        cipher.encrypt_block(&mut data[0]);
        cipher.encrypt_blocks(&mut data[1..]);
        cipher.decrypt_block(&mut data[9]);
        cipher.decrypt_blocks(&mut data[..9]);
        black_box(&data);
    })
}

fn hash<H: UniversalHash + KeyInit + 'static>(name: &'static str) -> Function {
    function(name, 16 + MESSAGE, |secret| {
        let (key, message) = secret.split_at(16);
        let mut k = universal_hash::Key::<H>::default();
        k.copy_from_slice(key);
        let mut hash = <H as KeyInit>::new(&k);
        hash.update_padded(message);
        black_box(hash.finalize());
    })
}

fn key_of<A: KeyInit>(bytes: &[u8]) -> aead::Key<A> {
    let mut key = aead::Key::<A>::default();
    key.copy_from_slice(bytes);
    key
}

fn seal<A: AeadInOut + KeyInit + 'static>(name: &'static str) -> Function {
    let length = aead::Key::<A>::default().len();
    function(name, length + MESSAGE, move |secret| {
        let (key, message) = secret.split_at(length);
        let mut data: [u8; MESSAGE] = array(message);
        let nonce = aead::Nonce::<A>::default();
        let tag = <A as KeyInit>::new(&key_of::<A>(key)).encrypt_inout_detached(
            &nonce,
            b"",
            data.as_mut_slice().into(),
        );
        black_box((tag.is_ok(), data));
    })
}

/// The key and the ciphertext are the secret; nearly no tag of 0 is right, so all are refused.
fn open<A: AeadInOut + KeyInit + 'static>(name: &'static str) -> Function {
    let length = aead::Key::<A>::default().len();
    function(name, length + MESSAGE, move |secret| {
        let (key, message) = secret.split_at(length);
        let mut data: [u8; MESSAGE] = array(message);
        let (nonce, tag) = (aead::Nonce::<A>::default(), aead::Tag::<A>::default());
        let opened = <A as KeyInit>::new(&key_of::<A>(key)).decrypt_inout_detached(
            &nonce,
            b"",
            data.as_mut_slice().into(),
            &tag,
        );
        black_box((opened.is_ok(), data));
    })
}

/// The difference to the right tag is the secret: fixed in the last byte, random nearly always in the first.
fn forged<A: AeadInOut + KeyInit + 'static>(name: &'static str) -> Function {
    let length = aead::Key::<A>::default().len();
    let cipher = <A as KeyInit>::new(&key_of::<A>(&vec![7; length]));
    let nonce = aead::Nonce::<A>::default();
    let mut ciphertext = [9; 64];
    let right = cipher
        .encrypt_inout_detached(&nonce, b"", ciphertext.as_mut_slice().into())
        .expect("64 bytes are not too long");
    let mut fixed = vec![0; right.len()];
    if let Some(last) = fixed.last_mut() {
        *last = 1;
    }
    Function {
        name,
        fixed,
        ordinary: false,
        run: Box::new(move |difference| {
            let mut tag = right.clone();
            for (byte, difference) in tag.iter_mut().zip(difference) {
                *byte ^= difference;
            }
            let mut data = ciphertext;
            let opened = cipher.decrypt_inout_detached(&nonce, b"", data.as_mut_slice().into(), &tag);
            black_box((opened.is_ok(), data));
        }),
    }
}

fn mac<M: Mac + KeyInit + 'static>(name: &'static str) -> Function {
    function(name, 32 + MESSAGE, |secret| {
        let (key, message) = secret.split_at(32);
        if let Ok(mut mac) = <M as KeyInit>::new_from_slice(key) {
            Mac::update(&mut mac, message);
            black_box(mac.finalize().into_bytes());
        }
    })
}
