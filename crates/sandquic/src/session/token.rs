//! The endpoint's own keys: for stateless resets and for address-validation tokens.

use quinn_proto::crypto::{AeadKey, CryptoError, HandshakeTokenKey, HmacKey};
use sandquic_rustls::token;

/// The key that stateless reset tokens are made with: HMAC-SHA256.
pub(crate) struct ResetKey(token::HmacKey);

impl ResetKey {
    /// A fresh key.
    ///
    /// # Panics
    ///
    /// If the system gives no randomness, without which there is no QUIC.
    pub(crate) fn random() -> Self {
        Self(token::HmacKey::random().expect("the system gives randomness"))
    }

    /// The key of a secret, which has at least 32 random bytes.
    pub(crate) fn of(secret: &[u8]) -> Self {
        Self(token::HmacKey::new(secret))
    }
}

impl HmacKey for ResetKey {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        signature_out.copy_from_slice(&self.0.sign(data));
    }

    fn signature_len(&self) -> usize {
        token::HmacKey::SIGNATURE_LEN
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        self.0.verify(data, signature).map_err(|_| CryptoError)
    }
}

/// The key that address-validation tokens are sealed with: HKDF-SHA256, then AES-256-GCM.
pub(crate) struct TokenKey(token::HandshakeTokenKey);

impl TokenKey {
    /// A fresh key.
    ///
    /// # Panics
    ///
    /// If the system gives no randomness, without which there is no QUIC.
    pub(crate) fn random() -> Self {
        Self(token::HandshakeTokenKey::random().expect("the system gives randomness"))
    }

    /// The key of a secret, which has at least 32 random bytes.
    pub(crate) fn of(secret: &[u8]) -> Self {
        Self(token::HandshakeTokenKey::new(secret))
    }
}

impl HandshakeTokenKey for TokenKey {
    fn aead_from_hkdf(&self, random_bytes: &[u8]) -> Box<dyn AeadKey> {
        Box::new(OneToken(self.0.aead_from_hkdf(random_bytes)))
    }
}

struct OneToken(token::AeadKey);

impl AeadKey for OneToken {
    fn seal(&self, data: &mut Vec<u8>, additional_data: &[u8]) -> Result<(), CryptoError> {
        self.0.seal(data, additional_data).map_err(|_| CryptoError)
    }

    fn open<'a>(&self, data: &'a mut [u8], additional_data: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        self.0.open(data, additional_data).map_err(|_| CryptoError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_open_only_as_sealed() {
        let key = TokenKey::random();
        let mut sealed = b"where you are".to_vec();
        key.aead_from_hkdf(b"nonce").seal(&mut sealed, b"more").unwrap();
        assert_eq!(
            key.aead_from_hkdf(b"nonce").open(&mut sealed.clone(), b"more").unwrap(),
            b"where you are"
        );
        assert!(key.aead_from_hkdf(b"other").open(&mut sealed.clone(), b"more").is_err());
        assert!(key.aead_from_hkdf(b"nonce").open(&mut sealed.clone(), b"less").is_err());
        assert!(TokenKey::random().aead_from_hkdf(b"nonce").open(&mut sealed.clone(), b"more").is_err());
        for len in 0..sealed.len() {
            assert!(key.aead_from_hkdf(b"nonce").open(&mut sealed[..len].to_vec(), b"more").is_err());
        }
    }

    #[test]
    fn reset_tokens_verify() {
        let key = ResetKey::random();
        let mut signature = vec![0; key.signature_len()];
        key.sign(b"connection", &mut signature);
        key.verify(b"connection", &signature).unwrap();
        assert!(key.verify(b"another", &signature).is_err());
        assert!(key.verify(b"connection", &signature[..16]).is_err());
    }
}
