//! AEADs as QUIC uses them: in place, the key set up once, a header of 20 bytes.

use aead::{AeadInOut, Key, KeyInit, Nonce, Tag};

use crate::case::{Case, HEADER, Op, key, repeat};

/// The payload of an Initial packet.
const INITIAL_BYTES: usize = 1200;

pub(crate) fn cases(cases: &mut Vec<Case>) {
    use sandquic_crypto::{chachapoly, gcm};

    pair::<chachapoly::ChaCha20Poly1305>(cases, "sandquic", "chacha20-poly1305");
    pair::<chacha20poly1305::ChaCha20Poly1305>(cases, "rustcrypto", "chacha20-poly1305");
    pair::<gcm::Aes128Gcm>(cases, "sandquic", "aes-128-gcm");
    pair::<aes_gcm::Aes128Gcm>(cases, "rustcrypto", "aes-128-gcm");
    pair::<gcm::Aes256Gcm>(cases, "sandquic", "aes-256-gcm");
    pair::<aes_gcm::Aes256Gcm>(cases, "rustcrypto", "aes-256-gcm");
    cases.push(initial::<gcm::Aes128Gcm>("sandquic"));
    cases.push(initial::<aes_gcm::Aes128Gcm>("rustcrypto"));
}

fn keyed<A: AeadInOut + KeyInit>() -> (A, Nonce<A>) {
    let (mut k, mut nonce) = (Key::<A>::default(), Nonce::<A>::default());
    let length = k.len();
    k.copy_from_slice(&key::<32>()[..length]);
    nonce.copy_from_slice(&key::<12>());
    (<A as KeyInit>::new(&k), nonce)
}

fn pair<A: AeadInOut + KeyInit + 'static>(
    cases: &mut Vec<Case>,
    library: &'static str,
    primitive: &'static str,
) {
    let open = |(cipher, nonce): &(A, Nonce<A>), data: &mut [u8], tag: &Tag<A>| {
        cipher.decrypt_inout_detached(nonce, &HEADER, data.into(), tag).is_ok()
    };
    seal_and_open(cases, library, primitive, keyed, |(cipher, nonce), data| seal(cipher, nonce, data), open);
}

/// Cases of a cipher that seals in place to a tag and opens; each case sets up its own.
pub(crate) fn seal_and_open<C: 'static, T: AsRef<[u8]> + 'static>(
    cases: &mut Vec<Case>,
    library: &'static str,
    primitive: &'static str,
    keyed: impl Fn() -> C,
    seal: impl Fn(&C, &mut [u8]) -> T + Copy + 'static,
    open: impl Fn(&C, &mut [u8], &T) -> bool + 'static,
) {
    let cipher = keyed();
    cases.push(Case::new(library, primitive, Op::Seal, repeat(move |data| seal(&cipher, data))));

    let cipher = keyed();
    // The ciphertext of the last message that was opened, made when another length comes.
    let mut sealed: Option<(Vec<u8>, T)> = None;
    cases.push(Case::new(library, primitive, Op::Open, move |iterations, data: &mut [u8]| {
        if sealed.as_ref().is_none_or(|(ciphertext, _)| ciphertext.len() != data.len()) {
            let mut ciphertext = vec![0x5a; data.len()];
            let tag = seal(&cipher, &mut ciphertext);
            sealed = Some((ciphertext, tag));
        }
        let Some((ciphertext, tag)) = &sealed else { return Vec::new() };
        repeat(|data| {
            data.copy_from_slice(ciphertext);
            [u8::from(open(&cipher, data, tag))]
        })(iterations, data)
    }));
}

/// The tag; every length that is measured is far below the limits.
fn seal<A: AeadInOut>(cipher: &A, nonce: &Nonce<A>, data: &mut [u8]) -> Tag<A> {
    cipher.encrypt_inout_detached(nonce, &HEADER, data.into()).unwrap_or_default()
}

/// What a server does for the first packet of a connection: a key for this packet alone.
fn initial<A: AeadInOut + KeyInit>(library: &'static str) -> Case {
    Case::new(
        library,
        "aes-128-gcm-initial",
        Op::Setup,
        repeat(|data| {
            let (cipher, nonce) = keyed::<A>();
            seal(&cipher, &nonce, data)
        }),
    )
    .fixed(INITIAL_BYTES)
}
