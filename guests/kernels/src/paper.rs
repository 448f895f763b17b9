//! The paper's kernels with RustCrypto's MACs, scalar on WebAssembly (`bench/baselines`).
//!
//! Natively these MACs take the processor's instructions, and the ciphers vectors of SSE2.

use sandquic_baselines::HandVec;
use sandquic_rustls::ciphers::{Aead, Ciphers};

use crate::aead::seal_and_open;
use crate::case::{Case, HEADER, Op, key, repeat};

pub(crate) fn cases(cases: &mut Vec<Case>) {
    cases.push(Case::new("paper", "chacha20", Op::Apply, {
        let (key, nonce) = (key(), key());
        repeat(move |data| {
            HandVec::chacha20(&key, &nonce, data);
            []
        })
    }));
    cases.push(counter_mode("aes-128-ctr", HandVec::aes_128_ctr(&key())));
    cases.push(counter_mode("aes-256-ctr", HandVec::aes_256_ctr(&key())));
    pair::<32, <HandVec as Ciphers>::ChaCha20Poly1305>(cases, "chacha20-poly1305");
    pair::<16, <HandVec as Ciphers>::Aes128Gcm>(cases, "aes-128-gcm");
    pair::<32, <HandVec as Ciphers>::Aes256Gcm>(cases, "aes-256-gcm");
}

/// The block that other libraries begin with, as nonce and counter.
fn counter_mode(primitive: &'static str, apply: impl Fn(&[u8; 12], u32, &mut [u8]) + 'static) -> Case {
    let [nonce @ .., a, b, c, d] = key::<16>();
    let first = u32::from_be_bytes([a, b, c, d]);
    Case::new(
        "paper",
        primitive,
        Op::Apply,
        repeat(move |data| {
            apply(&nonce, first, data);
            []
        }),
    )
}

fn pair<const KEY: usize, A: Aead<KEY> + 'static>(cases: &mut Vec<Case>, primitive: &'static str) {
    seal_and_open(
        cases,
        "paper",
        primitive,
        || A::new(&key()),
        // Every length that is measured is far below the limits.
        |cipher: &A, data| cipher.seal(&key(), &HEADER, data).unwrap_or_default(),
        |cipher, data, tag| cipher.open(&key(), &HEADER, data, tag).is_ok(),
    );
}
