//! AEADs put together from a cipher and a MAC, each of any make, in two passes over the data.

pub(crate) mod ours;
pub(crate) mod rustcrypto;

use core::marker::PhantomData;

use chacha20::cipher::consts::{U12, U16, U32};
use chacha20::cipher::{BlockSizeUser, IvSizeUser, KeyIvInit, KeySizeUser, StreamCipher, StreamCipherSeek};
use poly1305::universal_hash::{KeyInit, UniversalHash};
use sandquic_rustls::ciphers::{Aead, AeadError, NONCE_LEN, TAG_LEN};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// The longest message of AES-GCM in bytes (SP 800-38D, section 5.2.1.1).
const GCM_MAX: u64 = (1 << 36) - 32;
/// The longest message of ChaCha20-Poly1305 in bytes: the blocks that the 32-bit counter has after the first.
const CHACHA_MAX: u64 = 64 * (u32::MAX as u64);

/// AES with a key of `KEY` bytes, in GCM's counter mode.
pub trait Ctr<const KEY: usize>: Send + Sync + Sized + 'static {
    /// Expands a key.
    fn new(key: &[u8; KEY]) -> Self;

    /// Encrypts one block.
    fn encrypt_block(&self, block: &[u8; 16]) -> [u8; 16];

    /// XORs the keystream from `counter` on into `data` (SP 800-38D: 32 bits, big-endian, modulo 2^32).
    fn apply(&self, nonce: &[u8; NONCE_LEN], counter: u32, data: &mut [u8]);
}

/// GHASH with one key.
pub trait Hash: Send + Sync + Sized + 'static {
    /// From the key H.
    fn new(h: &[u8; 16]) -> Self;

    /// The hash of associated data and ciphertext, padded, and of their lengths (SP 800-38D, section 7.1).
    fn hash(&self, aad: &[u8], data: &[u8]) -> [u8; 16];
}

/// ChaCha20 with one key.
pub trait ChaCha: Send + Sync + Sized + 'static {
    /// Takes a key.
    fn new(key: &[u8; 32]) -> Self;

    /// The keystream block 0, which Poly1305's key is the first half of.
    fn first_block(&self, nonce: &[u8; NONCE_LEN]) -> Zeroizing<[u8; 64]>;

    /// XORs the keystream from block 1 on into `data`.
    fn apply(&self, nonce: &[u8; NONCE_LEN], data: &mut [u8]);
}

/// Poly1305 as ChaCha20-Poly1305 uses it.
pub trait Poly: Send + Sync + 'static {
    /// The tag of associated data and ciphertext, padded, and of their lengths (RFC 8439, section 2.8).
    fn tag(key: &[u8; 32], aad: &[u8], data: &[u8]) -> [u8; TAG_LEN];
}

/// ChaCha20 of any make that has RustCrypto's traits.
pub struct Stream<C> {
    key: Zeroizing<[u8; 32]>,
    cipher: PhantomData<fn() -> C>,
}

impl<C> ChaCha for Stream<C>
where
    C: KeyIvInit
        + KeySizeUser<KeySize = U32>
        + IvSizeUser<IvSize = U12>
        + StreamCipher
        + StreamCipherSeek
        + 'static,
{
    fn new(key: &[u8; 32]) -> Self {
        Self { key: Zeroizing::new(*key), cipher: PhantomData }
    }

    fn first_block(&self, nonce: &[u8; NONCE_LEN]) -> Zeroizing<[u8; 64]> {
        let mut block = Zeroizing::new([0; 64]);
        C::new((&*self.key).into(), nonce.into()).apply_keystream(&mut *block);
        block
    }

    fn apply(&self, nonce: &[u8; NONCE_LEN], data: &mut [u8]) {
        let mut cipher = C::new((&*self.key).into(), nonce.into());
        cipher.seek(64_u32);
        cipher.apply_keystream(data);
    }
}

/// Poly1305 of any make that has RustCrypto's traits.
pub struct Mac<M>(PhantomData<fn() -> M>);

impl<M> Poly for Mac<M>
where
    M: UniversalHash + KeyInit + KeySizeUser<KeySize = U32> + BlockSizeUser<BlockSize = U16> + 'static,
{
    fn tag(key: &[u8; 32], aad: &[u8], data: &[u8]) -> [u8; TAG_LEN] {
        let mut poly1305 = M::new(key.into());
        poly1305.update_padded(aad);
        poly1305.update_padded(data);
        let lengths = ((data.len() as u128) << 64) | aad.len() as u128;
        poly1305.update(&[lengths.to_le_bytes().into()]);
        poly1305.finalize().into()
    }
}

/// AES-GCM (SP 800-38D) from AES and GHASH.
pub struct Gcm<C, H> {
    cipher: C,
    hash: H,
}

impl<C, H: Hash> Gcm<C, H> {
    fn tag<const KEY: usize>(&self, nonce: &[u8; NONCE_LEN], aad: &[u8], data: &[u8]) -> [u8; TAG_LEN]
    where
        C: Ctr<KEY>,
    {
        let mut first = [0; 16];
        first[..NONCE_LEN].copy_from_slice(nonce);
        first[15] = 1;
        let mask = self.cipher.encrypt_block(&first);
        let hash = self.hash.hash(aad, data);
        core::array::from_fn(|i| hash[i] ^ mask[i])
    }
}

impl<const KEY: usize, C: Ctr<KEY>, H: Hash> Aead<KEY> for Gcm<C, H> {
    fn new(key: &[u8; KEY]) -> Self {
        let cipher = C::new(key);
        let h = Zeroizing::new(cipher.encrypt_block(&[0; 16]));
        Self { hash: H::new(&h), cipher }
    }

    #[inline]
    fn seal(&self, nonce: &[u8; NONCE_LEN], aad: &[u8], data: &mut [u8]) -> Result<[u8; TAG_LEN], AeadError> {
        if data.len() as u64 > GCM_MAX {
            return Err(AeadError);
        }
        self.cipher.apply(nonce, 2, data);
        Ok(self.tag(nonce, aad, data))
    }

    #[inline]
    fn open(
        &self,
        nonce: &[u8; NONCE_LEN],
        aad: &[u8],
        data: &mut [u8],
        tag: &[u8; TAG_LEN],
    ) -> Result<(), AeadError> {
        if data.len() as u64 > GCM_MAX || !bool::from(self.tag(nonce, aad, data).ct_eq(tag)) {
            return Err(AeadError);
        }
        self.cipher.apply(nonce, 2, data);
        Ok(())
    }
}

/// ChaCha20-Poly1305 (RFC 8439) from ChaCha20 and Poly1305.
pub struct ChaChaPoly<C, M> {
    cipher: C,
    mac: PhantomData<fn() -> M>,
}

impl<C: ChaCha, M: Poly> ChaChaPoly<C, M> {
    fn tag(&self, nonce: &[u8; NONCE_LEN], aad: &[u8], data: &[u8]) -> [u8; TAG_LEN] {
        let block = self.cipher.first_block(nonce);
        let (key, _) = block.split_first_chunk::<32>().expect("a block is longer than a key");
        M::tag(key, aad, data)
    }
}

impl<C: ChaCha, M: Poly> Aead<32> for ChaChaPoly<C, M> {
    fn new(key: &[u8; 32]) -> Self {
        Self { cipher: C::new(key), mac: PhantomData }
    }

    fn seal(&self, nonce: &[u8; NONCE_LEN], aad: &[u8], data: &mut [u8]) -> Result<[u8; TAG_LEN], AeadError> {
        if data.len() as u64 > CHACHA_MAX {
            return Err(AeadError);
        }
        self.cipher.apply(nonce, data);
        Ok(self.tag(nonce, aad, data))
    }

    fn open(
        &self,
        nonce: &[u8; NONCE_LEN],
        aad: &[u8],
        data: &mut [u8],
        tag: &[u8; TAG_LEN],
    ) -> Result<(), AeadError> {
        if data.len() as u64 > CHACHA_MAX || !bool::from(self.tag(nonce, aad, data).ct_eq(tag)) {
            return Err(AeadError);
        }
        self.cipher.apply(nonce, data);
        Ok(())
    }
}
