//! HMAC (RFC 2104), and its form that rustls's TLS 1.2 PRF is built on.

use hmac::{KeyInit, Mac};
#[cfg(feature = "tls12")]
use rustls::crypto::hmac::{Hmac, Key, Tag};

use crate::hash::Algorithm;

/// The HMAC state for `key`, which may have any length.
pub(crate) fn keyed<A: Algorithm>(key: &[u8]) -> A::Mac {
    // A key longer than a block is hashed, a shorter one padded: no length is refused.
    <A::Mac as KeyInit>::new_from_slice(key).expect("HMAC takes a key of any length")
}

/// Writes HMAC over the concatenation of `parts` to `out`, which is at most `A::LEN` bytes.
pub(crate) fn sign_into<A: Algorithm>(key: &A::Mac, parts: &[&[&[u8]]], out: &mut [u8]) {
    let mut mac = key.clone();
    for part in parts.iter().copied().flatten() {
        mac.update(part);
    }
    let tag = zeroize::Zeroizing::new(mac.finalize().into_bytes());
    let len = out.len();
    out.copy_from_slice(&tag[..len]);
}

/// rustls's view of HMAC with the hash of `A`.
#[cfg(feature = "tls12")]
pub(crate) struct HmacOf<A>(pub(crate) A);

#[cfg(feature = "tls12")]
impl<A: Algorithm> Hmac for HmacOf<A> {
    fn with_key(&self, key: &[u8]) -> Box<dyn Key> {
        Box::new(Keyed::<A>(keyed::<A>(key)))
    }

    fn hash_output_len(&self) -> usize {
        A::LEN
    }
}

#[cfg(feature = "tls12")]
struct Keyed<A: Algorithm>(A::Mac);

#[cfg(feature = "tls12")]
impl<A: Algorithm> Key for Keyed<A> {
    fn sign_concat(&self, first: &[u8], middle: &[&[u8]], last: &[u8]) -> Tag {
        let mut tag = zeroize::Zeroizing::new([0; Tag::MAX_LEN]);
        sign_into::<A>(&self.0, &[&[first], middle, &[last]], &mut tag[..A::LEN]);
        Tag::new(&tag[..A::LEN])
    }

    fn tag_len(&self) -> usize {
        A::LEN
    }
}
