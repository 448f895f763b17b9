//! [`Ciphers`] over the host's AEADs.

use sandquic_rustls::ciphers::{Aead, AeadError, Ciphers, DefaultCiphers, NONCE_LEN, TAG_LEN};

use crate::bindings::sandquic::bench::aead::{Algorithm, Key};

/// The host's AEADs, and the header masks of the product.
pub(crate) struct HostCiphers;

impl Ciphers for HostCiphers {
    const NAME: &'static str = "host";

    type Aes128Gcm = HostKey<AES_128_GCM>;
    type Aes256Gcm = HostKey<AES_256_GCM>;
    type ChaCha20Poly1305 = HostKey<CHACHA20_POLY1305>;
    type Aes128Mask = <DefaultCiphers as Ciphers>::Aes128Mask;
    type Aes256Mask = <DefaultCiphers as Ciphers>::Aes256Mask;
    type ChaCha20Mask = <DefaultCiphers as Ciphers>::ChaCha20Mask;
}

const AES_128_GCM: u8 = Algorithm::Aes128Gcm as u8;
const AES_256_GCM: u8 = Algorithm::Aes256Gcm as u8;
const CHACHA20_POLY1305: u8 = Algorithm::Chacha20Poly1305 as u8;

/// A key that the host holds.
pub(crate) struct HostKey<const ALGORITHM: u8>(Key);

impl<const ALGORITHM: u8, const KEY: usize> Aead<KEY> for HostKey<ALGORITHM> {
    fn new(key: &[u8; KEY]) -> Self {
        let algorithm = match ALGORITHM {
            AES_128_GCM => Algorithm::Aes128Gcm,
            AES_256_GCM => Algorithm::Aes256Gcm,
            _ => Algorithm::Chacha20Poly1305,
        };
        Self(Key::new(algorithm, key))
    }

    fn seal(&self, nonce: &[u8; NONCE_LEN], aad: &[u8], data: &mut [u8]) -> Result<[u8; TAG_LEN], AeadError> {
        let sealed = self.0.seal(nonce, aad, data).map_err(|()| AeadError)?;
        let (text, tag) = sealed.split_last_chunk().ok_or(AeadError)?;
        put(data, text)?;
        Ok(*tag)
    }

    fn open(
        &self,
        nonce: &[u8; NONCE_LEN],
        aad: &[u8],
        data: &mut [u8],
        tag: &[u8; TAG_LEN],
    ) -> Result<(), AeadError> {
        put(data, &self.0.open(nonce, aad, data, tag).map_err(|()| AeadError)?)
    }
}

/// Copies what the host returned to where it was: the trait works in place, an interface between components cannot.
fn put(data: &mut [u8], text: &[u8]) -> Result<(), AeadError> {
    if data.len() != text.len() {
        return Err(AeadError);
    }
    data.copy_from_slice(text);
    Ok(())
}
