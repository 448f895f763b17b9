//! Ciphers that protect nothing: what a transfer costs without cryptography on its packets.
//!
//! Packets go out as they are, with a tag of zeros and without a header mask, Initial and Handshake packets too. The
//! handshake itself (key exchange, certificate, transcript) is that of the product, so both ends must be of this crate, and
//! neither understands anybody else. Nothing but the two programs of the evaluation's ceiling may name this crate:
//! `cargo xtask lint` checks it.

#![forbid(unsafe_code)]

use rustls::crypto::CryptoProvider;
use sandquic_rustls::ciphers::{
    Aead, AeadError, Ciphers, HeaderMask, MASK_LEN, NONCE_LEN, SAMPLE_LEN, TAG_LEN,
};
use sandquic_transfer::{Error, Providers};

/// No protection.
#[derive(Clone, Copy, Debug)]
pub struct Unprotected;

impl Ciphers for Unprotected {
    const NAME: &'static str = "unprotected";

    type Aes128Gcm = Identity;
    type Aes256Gcm = Identity;
    type ChaCha20Poly1305 = Identity;
    type Aes128Mask = Identity;
    type Aes256Mask = Identity;
    type ChaCha20Mask = Identity;
}

/// An AEAD that changes nothing and whose tag is zeros, and a header mask of zeros.
pub struct Identity;

impl<const KEY: usize> Aead<KEY> for Identity {
    fn new(_: &[u8; KEY]) -> Self {
        Self
    }

    #[inline]
    fn seal(&self, _: &[u8; NONCE_LEN], _: &[u8], _: &mut [u8]) -> Result<[u8; TAG_LEN], AeadError> {
        Ok([0; TAG_LEN])
    }

    /// Refuses what another cipher has sealed.
    #[inline]
    fn open(
        &self,
        _: &[u8; NONCE_LEN],
        _: &[u8],
        _: &mut [u8],
        tag: &[u8; TAG_LEN],
    ) -> Result<(), AeadError> {
        if *tag == [0; TAG_LEN] { Ok(()) } else { Err(AeadError) }
    }
}

impl<const KEY: usize> HeaderMask<KEY> for Identity {
    fn new(_: &[u8; KEY]) -> Self {
        Self
    }

    #[inline]
    fn mask(&self, _: &[u8; SAMPLE_LEN]) -> [u8; MASK_LEN] {
        [0; MASK_LEN]
    }
}

/// Gives these ciphers to who names them, so that nobody gets them by accident.
#[derive(Clone, Copy, Debug)]
pub struct OnlyUnprotected;

impl Providers for OnlyUnprotected {
    fn provider(&self, name: Option<&str>) -> Result<CryptoProvider, Error> {
        match name {
            Some(Unprotected::NAME) => Ok(sandquic_rustls::provider_with::<Unprotected>()),
            _ => Err(Error::Usage(format!(
                "this program protects no packets; say so with --ciphers {}",
                Unprotected::NAME
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_changed_and_the_tag_is_zeros() {
        let aead = <Identity as Aead<16>>::new(&[7; 16]);
        let mut data = *b"a packet";
        let tag = Aead::<16>::seal(&aead, &[1; 12], b"header", &mut data).unwrap();
        assert_eq!((tag, data), ([0; 16], *b"a packet"));
        assert_eq!(Aead::<16>::open(&aead, &[1; 12], b"header", &mut data, &tag), Ok(()));
        assert_eq!(data, *b"a packet");
        let wrong = [1; 16];
        assert_eq!(Aead::<16>::open(&aead, &[1; 12], b"header", &mut data, &wrong), Err(AeadError));
        assert_eq!(HeaderMask::<32>::mask(&Identity, &[9; 16]), [0; 5]);
    }

    #[test]
    fn nobody_gets_them_by_accident() {
        assert!(OnlyUnprotected.provider(None).is_err());
        assert!(OnlyUnprotected.provider(Some("sandquic")).is_err());
        let provider = OnlyUnprotected.provider(Some("unprotected")).unwrap();
        let product = sandquic_rustls::provider();
        assert_eq!(provider.cipher_suites.len(), product.cipher_suites.len());
    }
}
