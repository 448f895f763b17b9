//! Stream ciphers, a message each from the key on, and the generator.

use cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use rand_core::{Rng, SeedableRng};

use crate::case::{Case, Op, key, repeat};

pub(crate) fn cases(cases: &mut Vec<Case>) {
    use sandquic_crypto::{chacha, salsa};

    cases.push(cipher::<chacha::ChaCha20>("sandquic", "chacha20"));
    cases.push(Case::new("shuffle", "chacha20", Op::Apply, {
        let (key, nonce) = (key(), key());
        repeat(move |data| {
            chacha::variants::chacha20_shuffle(&key, &nonce, data);
            []
        })
    }));
    cases.push(cipher::<chacha20::ChaCha20>("rustcrypto", "chacha20"));
    cases.push(cipher::<chacha::ChaCha12>("sandquic", "chacha12"));
    cases.push(cipher::<chacha20::ChaCha12>("rustcrypto", "chacha12"));
    cases.push(cipher::<chacha::ChaCha8>("sandquic", "chacha8"));
    cases.push(cipher::<chacha20::ChaCha8>("rustcrypto", "chacha8"));
    cases.push(cipher::<salsa::Salsa20>("sandquic", "salsa20"));
    cases.push(cipher::<salsa20::Salsa20>("rustcrypto", "salsa20"));
    cases.push(aes_ctr::<sandquic_crypto::aes::Aes128Ctr>("sandquic", "aes-128-ctr"));
    cases.push(aes_ctr::<ctr::Ctr128BE<aes::Aes128>>("rustcrypto", "aes-128-ctr"));
    cases.push(aes_ctr::<sandquic_crypto::aes::Aes256Ctr>("sandquic", "aes-256-ctr"));
    cases.push(aes_ctr::<ctr::Ctr128BE<aes::Aes256>>("rustcrypto", "aes-256-ctr"));
    cases.push(generator::<chacha::ChaCha20Rng>("sandquic"));
    cases.push(generator::<chacha20::ChaCha20Rng>("rustcrypto"));
    cases.push(generator::<rand_chacha::ChaCha20Rng>("rand_chacha"));
}

fn cipher<C: KeyIvInit + StreamCipher>(library: &'static str, primitive: &'static str) -> Case {
    let (mut k, mut iv) = (cipher::Key::<C>::default(), cipher::Iv::<C>::default());
    k.copy_from_slice(&key::<32>());
    let bytes = key::<12>();
    let length = iv.len();
    iv.copy_from_slice(&bytes[..length]);
    Case::new(
        library,
        primitive,
        Op::Apply,
        repeat(move |data| {
            C::new(&k, &iv).apply_keystream(data);
            []
        }),
    )
}

/// Unlike the others with the key set up once, as it is where AES is used: a message each from the first block on.
fn aes_ctr<C>(library: &'static str, primitive: &'static str) -> Case
where
    C: KeyIvInit + StreamCipher + StreamCipherSeek + 'static,
{
    let (mut k, mut iv) = (cipher::Key::<C>::default(), cipher::Iv::<C>::default());
    let length = k.len();
    k.copy_from_slice(&key::<32>()[..length]);
    iv.copy_from_slice(&key::<16>());
    let mut cipher = C::new(&k, &iv);
    Case::new(
        library,
        primitive,
        Op::Apply,
        repeat(move |data| {
            cipher.seek(0u32);
            cipher.apply_keystream(data);
            []
        }),
    )
}

fn generator<R: Rng + SeedableRng<Seed = [u8; 32]>>(library: &'static str) -> Case {
    Case::new(
        library,
        "chacha20-rng",
        Op::Apply,
        repeat(move |data| {
            R::from_seed(key()).fill_bytes(data);
            []
        }),
    )
}
