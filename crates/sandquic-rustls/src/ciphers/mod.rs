//! The one seam between the cipher suites and the code that enciphers: the trait [`Ciphers`].
//!
//! The suites of this crate are generic over it. The product has one implementation, [`DefaultCiphers`]; the
//! benchmarks bring others and get their provider from [`provider_with`](crate::provider_with).

mod sandquic;

pub use sandquic::DefaultCiphers;

/// Length of the nonce of every AEAD here, in bytes.
pub const NONCE_LEN: usize = 12;
/// Length of the authentication tag of every AEAD here, in bytes.
pub const TAG_LEN: usize = 16;
/// Length of the ciphertext sample that a header mask is made from (RFC 9001, 5.4.2), in bytes.
pub const SAMPLE_LEN: usize = 16;
/// Length of a QUIC header mask (RFC 9001, 5.4.1): one byte for the flags and four for the packet number.
pub const MASK_LEN: usize = 5;

/// An AEAD refused to work. By intention it does not say more: a tag that does not verify and a message longer
/// than the algorithm allows look the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AeadError;

impl core::fmt::Display for AeadError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("authenticated encryption failed")
    }
}

impl core::error::Error for AeadError {}

/// An AEAD key of `KEY` bytes, ready for use, that works in place with the tag apart.
///
/// An implementation wipes what it holds of the key when it is dropped.
pub trait Aead<const KEY: usize>: Send + Sync + Sized + 'static {
    /// Expands `key`.
    fn new(key: &[u8; KEY]) -> Self;

    /// Encrypts `data` in place and returns the tag over `aad` and the ciphertext.
    ///
    /// # Errors
    /// [`AeadError`] if `data` or `aad` is longer than the algorithm allows.
    fn seal(&self, nonce: &[u8; NONCE_LEN], aad: &[u8], data: &mut [u8]) -> Result<[u8; TAG_LEN], AeadError>;

    /// Verifies `tag` and decrypts `data` in place. After an error the content of `data` means nothing.
    ///
    /// # Errors
    /// [`AeadError`] if the tag is not that of `nonce`, `aad` and `data` under this key.
    fn open(
        &self,
        nonce: &[u8; NONCE_LEN],
        aad: &[u8],
        data: &mut [u8],
        tag: &[u8; TAG_LEN],
    ) -> Result<(), AeadError>;
}

/// A QUIC header protection key of `KEY` bytes (RFC 9001, 5.4).
///
/// An implementation wipes what it holds of the key when it is dropped.
pub trait HeaderMask<const KEY: usize>: Send + Sync + Sized + 'static {
    /// Expands `key`.
    fn new(key: &[u8; KEY]) -> Self;

    /// The mask for one sample: RFC 9001, 5.4.3 for AES and 5.4.4 for ChaCha20.
    fn mask(&self, sample: &[u8; SAMPLE_LEN]) -> [u8; MASK_LEN];

    /// The masks for several samples, as many as the shorter of the two slices holds.
    ///
    /// One pass of a vector kernel serves several packets; the default makes them one by one.
    fn masks(&self, samples: &[[u8; SAMPLE_LEN]], masks: &mut [[u8; MASK_LEN]]) {
        for (mask, sample) in masks.iter_mut().zip(samples) {
            *mask = self.mask(sample);
        }
    }
}

/// A set of implementations of everything that the cipher suites encipher with.
pub trait Ciphers: Send + Sync + 'static {
    /// What the set is called in results.
    const NAME: &'static str;

    /// AES-128-GCM (NIST SP 800-38D).
    type Aes128Gcm: Aead<16>;
    /// AES-256-GCM (NIST SP 800-38D).
    type Aes256Gcm: Aead<32>;
    /// ChaCha20-Poly1305 (RFC 8439).
    type ChaCha20Poly1305: Aead<32>;
    /// Header protection of the AES-128-GCM suite and of Initial packets.
    type Aes128Mask: HeaderMask<16>;
    /// Header protection of the AES-256-GCM suite.
    type Aes256Mask: HeaderMask<32>;
    /// Header protection of the ChaCha20-Poly1305 suite.
    type ChaCha20Mask: HeaderMask<32>;
}
