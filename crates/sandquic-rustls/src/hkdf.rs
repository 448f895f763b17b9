//! HKDF (RFC 5869) as TLS 1.3 uses it.

use rustls::crypto::hmac::Tag;
use rustls::crypto::tls13::{Hkdf, HkdfExpander, OkmBlock, OutputLengthError};
use zeroize::Zeroizing;

use crate::hash::Algorithm;
use crate::hmac::{keyed, sign_into};

/// rustls's view of HKDF with the hash of `A`.
pub(crate) struct HkdfOf<A>(pub(crate) A);

impl<A: Algorithm> Hkdf for HkdfOf<A> {
    fn extract_from_zero_ikm(&self, salt: Option<&[u8]>) -> Box<dyn HkdfExpander> {
        self.extract_from_secret(salt, &[0; OkmBlock::MAX_LEN][..A::LEN])
    }

    fn extract_from_secret(&self, salt: Option<&[u8]>, secret: &[u8]) -> Box<dyn HkdfExpander> {
        Box::new(Expander::<A>::extract(salt.unwrap_or(&[]), secret))
    }

    fn expander_for_okm(&self, okm: &OkmBlock) -> Box<dyn HkdfExpander> {
        Box::new(Expander::<A>(keyed::<A>(okm.as_ref())))
    }

    fn hmac_sign(&self, key: &OkmBlock, message: &[u8]) -> Tag {
        let mut tag = Zeroizing::new([0; Tag::MAX_LEN]);
        sign_into::<A>(&keyed::<A>(key.as_ref()), &[&[message]], &mut tag[..A::LEN]);
        Tag::new(&tag[..A::LEN])
    }
}

/// A pseudorandom key, as the HMAC state keyed with it.
pub(crate) struct Expander<A: Algorithm>(A::Mac);

impl<A: Algorithm> Expander<A> {
    /// `HKDF-Extract(salt, secret)`. An empty salt is the same HMAC key as one of zeros.
    pub(crate) fn extract(salt: &[u8], secret: &[u8]) -> Self {
        let mut prk = Zeroizing::new([0; OkmBlock::MAX_LEN]);
        sign_into::<A>(&keyed::<A>(salt), &[&[secret]], &mut prk[..A::LEN]);
        Self(keyed::<A>(&prk[..A::LEN]))
    }
}

impl<A: Algorithm> HkdfExpander for Expander<A> {
    fn expand_slice(&self, info: &[&[u8]], output: &mut [u8]) -> Result<(), OutputLengthError> {
        // RFC 5869, 2.3: the counter is one byte.
        if output.len() > 255 * A::LEN {
            return Err(OutputLengthError);
        }
        let mut term = Zeroizing::new([0; OkmBlock::MAX_LEN]);
        let mut used = 0;
        for (chunk, counter) in output.chunks_mut(A::LEN).zip(1u8..=255) {
            let previous = Zeroizing::new(*term);
            sign_into::<A>(&self.0, &[&[&previous[..used]], info, &[&[counter]]], &mut term[..A::LEN]);
            used = A::LEN;
            chunk.copy_from_slice(&term[..chunk.len()]);
        }
        Ok(())
    }

    fn expand_block(&self, info: &[&[u8]]) -> OkmBlock {
        let mut block = Zeroizing::new([0; OkmBlock::MAX_LEN]);
        sign_into::<A>(&self.0, &[info, &[&[1]]], &mut block[..A::LEN]);
        OkmBlock::new(&block[..A::LEN])
    }

    fn hash_len(&self) -> usize {
        A::LEN
    }
}
