//! ring, for scale.

use ring::aead::{
    AES_128_GCM, AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey,
};
use ring::digest::{SHA256, SHA512, digest};

use crate::case::{Case, HEADER, Op, key, repeat};

pub(crate) fn cases(cases: &mut Vec<Case>) {
    cases.push(Case::new("ring", "sha256", Op::Hash, repeat(|data| digest(&SHA256, data))));
    cases.push(Case::new("ring", "sha512", Op::Hash, repeat(|data| digest(&SHA512, data))));
    for (name, algorithm) in [
        ("chacha20-poly1305", &CHACHA20_POLY1305),
        ("aes-128-gcm", &AES_128_GCM),
        ("aes-256-gcm", &AES_256_GCM),
    ] {
        cases.push(aead(name, algorithm));
    }
}

fn aead(primitive: &'static str, algorithm: &'static Algorithm) -> Case {
    // The key's length is the algorithm's own, so there is always a key.
    let keyed = UnboundKey::new(algorithm, &key::<32>()[..algorithm.key_len()]).ok().map(LessSafeKey::new);
    Case::new(
        "ring",
        primitive,
        Op::Seal,
        repeat(move |data| {
            let nonce = Nonce::assume_unique_for_key(key());
            let sealed = keyed
                .as_ref()
                .and_then(|keyed| keyed.seal_in_place_separate_tag(nonce, Aad::from(HEADER), data).ok());
            sealed.map_or([0; 16], |tag| {
                let mut bytes = [0; 16];
                bytes.copy_from_slice(tag.as_ref());
                bytes
            })
        }),
    )
}
