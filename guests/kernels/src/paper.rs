//! The paper's kernels with RustCrypto's MACs, scalar on WebAssembly (`bench/baselines`).
//!
//! Natively these MACs take the processor's instructions, and the ciphers vectors of SSE2.

use sandquic_baselines::HandVec;
use sandquic_rustls::ciphers::{Aead, Ciphers};

use crate::aead::seal_and_open;
use crate::case::{Case, HEADER, key};

pub(crate) fn cases(cases: &mut Vec<Case>) {
    pair::<32, <HandVec as Ciphers>::ChaCha20Poly1305>(cases, "chacha20-poly1305");
    pair::<16, <HandVec as Ciphers>::Aes128Gcm>(cases, "aes-128-gcm");
    pair::<32, <HandVec as Ciphers>::Aes256Gcm>(cases, "aes-256-gcm");
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
