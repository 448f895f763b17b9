//! The keys that a QUIC endpoint makes tokens with: stateless reset tokens (RFC 9000, 10.3.2) and address
//! validation tokens (RFC 9000, 8.1.3).
//!
//! The names and shapes are those of `quinn_proto::crypto`, so that its traits are a line each to implement.

use rustls::Error;
use rustls::crypto::tls13::HkdfExpander;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::ciphers::{Aead, Ciphers, DefaultCiphers, NONCE_LEN};
use crate::hash::{Algorithm, WithSha256};
use crate::hkdf::Expander;
use crate::hmac::{keyed, sign_into};
use crate::quic::open;
use crate::random;

/// A token or signature is not one that this key made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidToken;

impl core::fmt::Display for InvalidToken {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the token was not made with this key")
    }
}

impl core::error::Error for InvalidToken {}

/// A key of HMAC-SHA256 (RFC 2104), for stateless reset tokens.
pub struct HmacKey(<WithSha256 as Algorithm>::Mac);

impl HmacKey {
    /// Length of a signature, in bytes.
    pub const SIGNATURE_LEN: usize = WithSha256::LEN;

    /// A key with the given secret, of any length; 32 bytes or more are the strength of the hash.
    pub fn new(secret: &[u8]) -> Self {
        Self(keyed::<WithSha256>(secret))
    }

    /// A key with 64 random bytes.
    ///
    /// # Errors
    /// [`Error::FailedToGetRandomBytes`] if the system gives no randomness.
    pub fn random() -> Result<Self, Error> {
        let mut secret = Zeroizing::new([0; 64]);
        random::fill(&mut *secret)?;
        Ok(Self::new(&*secret))
    }

    /// The signature of `data`.
    pub fn sign(&self, data: &[u8]) -> [u8; Self::SIGNATURE_LEN] {
        let mut signature = [0; Self::SIGNATURE_LEN];
        sign_into::<WithSha256>(&self.0, &[&[data]], &mut signature);
        signature
    }

    /// Checks a whole signature, in time that does not depend on where it differs.
    ///
    /// # Errors
    /// [`InvalidToken`] if `signature` is not [`sign`](Self::sign) of `data`.
    pub fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), InvalidToken> {
        match bool::from(self.sign(data).as_slice().ct_eq(signature)) {
            true => Ok(()),
            false => Err(InvalidToken),
        }
    }
}

impl core::fmt::Debug for HmacKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("HmacKey").finish_non_exhaustive()
    }
}

/// The master key of address validation tokens: a pseudorandom key of HKDF-SHA256 (RFC 5869).
pub struct HandshakeTokenKey(Expander<WithSha256>);

impl HandshakeTokenKey {
    /// A key extracted from the given secret, which has at least 32 random bytes.
    pub fn new(secret: &[u8]) -> Self {
        Self(Expander::extract(&[], secret))
    }

    /// A key from 64 random bytes.
    ///
    /// # Errors
    /// [`Error::FailedToGetRandomBytes`] if the system gives no randomness.
    pub fn random() -> Result<Self, Error> {
        let mut secret = Zeroizing::new([0; 64]);
        random::fill(&mut *secret)?;
        Ok(Self::new(&*secret))
    }

    /// The key of one token, which `random_bytes` chooses: they go into the token in the clear and are never
    /// used for two tokens.
    pub fn aead_from_hkdf(&self, random_bytes: &[u8]) -> AeadKey {
        let key = self.0.expand_block(&[random_bytes]);
        AeadKey(Aead::new(key.as_ref().try_into().expect("a block of HKDF-SHA256 has 32 bytes")))
    }
}

impl core::fmt::Debug for HandshakeTokenKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("HandshakeTokenKey").finish_non_exhaustive()
    }
}

/// A key of AES-256-GCM that seals one token.
pub struct AeadKey(<DefaultCiphers as Ciphers>::Aes256Gcm);

impl AeadKey {
    /// A key seals one token, so its nonce need not vary.
    const NONCE: [u8; NONCE_LEN] = [0; NONCE_LEN];

    /// Encrypts `data` in place and appends the 16 bytes of the tag.
    ///
    /// # Errors
    /// [`Error::EncryptError`] if `data` is longer than AES-GCM allows (64 GiB).
    pub fn seal(&self, data: &mut Vec<u8>, additional_data: &[u8]) -> Result<(), Error> {
        let tag = self.0.seal(&Self::NONCE, additional_data, data).map_err(|_| Error::EncryptError)?;
        data.extend_from_slice(&tag);
        Ok(())
    }

    /// Opens what [`seal`](Self::seal) made, in place, and returns the plaintext at its start.
    ///
    /// # Errors
    /// [`InvalidToken`] if `data` was not sealed with this key and `additional_data`.
    pub fn open<'a>(&self, data: &'a mut [u8], additional_data: &[u8]) -> Result<&'a mut [u8], InvalidToken> {
        open(&self.0, &Self::NONCE, additional_data, data).map_err(|_| InvalidToken)
    }
}

impl core::fmt::Debug for AeadKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("AeadKey").finish_non_exhaustive()
    }
}
