//! The two kernels of "Accelerating QUIC Encryption in WebAssembly Using WASM-SIMD", made again from its sections 7.1
//! to 7.3.
//!
//! - AES: eight blocks in eight vectors, the 32-bit fixsliced layout widened to four lanes, the S-box by the circuit of
//!   Boyar and Peralta, ShiftRows folded into the linear layer. The paper has AES-128 only; AES-256 is the same code with
//!   more rounds.
//! - ChaCha20: four blocks, each vector the word at one place of them all, ten double rounds unrolled; the rotations by
//!   16 and 8 bits are `i8x16.shuffle`, those by 12 and 7 bits shifts. Fewer than four blocks go by rows.
//! - Cipher and MAC are two passes. The MACs and the header masks are scalar: RustCrypto's current `ghash`, `poly1305`,
//!   `aes` and `chacha20`.
//!
//! The paper says that its GHASH multiplies 64-bit words. The crates that its provider resolved to multiply 32-bit words
//! on WebAssembly; the current ones use 64 bits and are faster, so that is what this has.
//!
//! On WebAssembly the vectors are `v128`, on x86-64 those of SSE2 (and SSSE3 if the build has it). Natively RustCrypto's
//! crates take the processor's instructions for AES, GHASH and AVX2 unless their software is forced: `--cfg
//! aes_backend="soft"`, `polyval_backend`, `poly1305_backend` and `chacha20_backend` alike.

mod aes;
mod chacha;
mod sbox;
mod vector;

use ghash::GHash;
use ghash::universal_hash::UniversalHash;
use poly1305::Poly1305;
use poly1305::universal_hash::KeyInit;
use sandquic_rustls::ciphers::{Aead, AeadError, Ciphers, NONCE_LEN, TAG_LEN};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::RustCrypto;

/// The paper's kernels.
#[derive(Clone, Copy, Debug)]
pub struct HandVec;

impl Ciphers for HandVec {
    const NAME: &'static str = "handvec";

    type Aes128Gcm = Gcm<11>;
    type Aes256Gcm = Gcm<15>;
    type ChaCha20Poly1305 = ChaChaPoly;
    type Aes128Mask = <RustCrypto as Ciphers>::Aes128Mask;
    type Aes256Mask = <RustCrypto as Ciphers>::Aes256Mask;
    type ChaCha20Mask = <RustCrypto as Ciphers>::ChaCha20Mask;
}

impl HandVec {
    /// Its ChaCha20 without a MAC: XORs the keystream from block 0 on into `data`, which is shorter than 256 GiB.
    pub fn chacha20(key: &[u8; 32], nonce: &[u8; NONCE_LEN], data: &mut [u8]) {
        chacha::ChaCha20::new(key).apply(nonce, 0, data);
    }

    /// Its AES-128 in counter mode: a nonce, the first value of the 32-bit counter, and data.
    pub fn aes_128_ctr(key: &[u8; 16]) -> impl Fn(&[u8; NONCE_LEN], u32, &mut [u8]) + use<> {
        let aes = aes::Aes::<11>::new(key);
        move |nonce, counter, data| aes.apply_ctr(nonce, counter, data)
    }

    /// As [`aes_128_ctr`](Self::aes_128_ctr), with the same kernel's AES-256.
    pub fn aes_256_ctr(key: &[u8; 32]) -> impl Fn(&[u8; NONCE_LEN], u32, &mut [u8]) + use<> {
        let aes = aes::Aes::<15>::new(key);
        move |nonce, counter, data| aes.apply_ctr(nonce, counter, data)
    }
}

/// The longest message of AES-GCM in bytes (SP 800-38D, section 5.2.1.1).
const GCM_MAX: u64 = (1 << 36) - 32;
/// The longest message of ChaCha20-Poly1305 in bytes: the blocks that the 32-bit counter has after the first.
const CHACHA_MAX: u64 = 64 * (u32::MAX as u64);

/// AES-GCM with `KEYS` round keys.
pub struct Gcm<const KEYS: usize> {
    aes: aes::Aes<KEYS>,
    ghash: GHash,
}

impl<const KEYS: usize> Gcm<KEYS> {
    fn expand(key: &[u8]) -> Self {
        let aes = aes::Aes::new(key);
        let h = Zeroizing::new(aes.encrypt_one(&[0; 16]));
        let ghash = GHash::new((&*h).into());
        Self { aes, ghash }
    }

    fn tag(&self, nonce: &[u8; NONCE_LEN], aad: &[u8], data: &[u8]) -> [u8; TAG_LEN] {
        let mut first = [0; 16];
        first[..NONCE_LEN].copy_from_slice(nonce);
        first[15] = 1;
        let mask = self.aes.encrypt_one(&first);

        let mut ghash = self.ghash.clone();
        ghash.update_padded(aad);
        ghash.update_padded(data);
        let lengths = ((8 * aad.len() as u128) << 64) | (8 * data.len() as u128);
        ghash.update(&[lengths.to_be_bytes().into()]);
        let hash: [u8; 16] = ghash.finalize().into();
        core::array::from_fn(|i| hash[i] ^ mask[i])
    }

    fn seal(&self, nonce: &[u8; NONCE_LEN], aad: &[u8], data: &mut [u8]) -> Result<[u8; TAG_LEN], AeadError> {
        if data.len() as u64 > GCM_MAX {
            return Err(AeadError);
        }
        self.aes.apply_ctr(nonce, 2, data);
        Ok(self.tag(nonce, aad, data))
    }

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
        self.aes.apply_ctr(nonce, 2, data);
        Ok(())
    }
}

macro_rules! gcm {
    ($keys:literal, $key:literal) => {
        impl Aead<$key> for Gcm<$keys> {
            fn new(key: &[u8; $key]) -> Self {
                Self::expand(key)
            }

            #[inline]
            fn seal(
                &self,
                nonce: &[u8; NONCE_LEN],
                aad: &[u8],
                data: &mut [u8],
            ) -> Result<[u8; TAG_LEN], AeadError> {
                self.seal(nonce, aad, data)
            }

            #[inline]
            fn open(
                &self,
                nonce: &[u8; NONCE_LEN],
                aad: &[u8],
                data: &mut [u8],
                tag: &[u8; TAG_LEN],
            ) -> Result<(), AeadError> {
                self.open(nonce, aad, data, tag)
            }
        }
    };
}

gcm!(11, 16);
gcm!(15, 32);

/// ChaCha20-Poly1305.
pub struct ChaChaPoly(chacha::ChaCha20);

impl ChaChaPoly {
    fn tag(&self, nonce: &[u8; NONCE_LEN], aad: &[u8], data: &[u8]) -> [u8; TAG_LEN] {
        let block = Zeroizing::new(self.0.block(nonce, 0));
        let (key, _) = block.split_first_chunk::<32>().expect("a block is longer than a key");
        let mut poly1305 = Poly1305::new(key.into());
        poly1305.update_padded(aad);
        poly1305.update_padded(data);
        let lengths = ((data.len() as u128) << 64) | aad.len() as u128;
        poly1305.update(&[lengths.to_le_bytes().into()]);
        poly1305.finalize().into()
    }
}

impl Aead<32> for ChaChaPoly {
    fn new(key: &[u8; 32]) -> Self {
        Self(chacha::ChaCha20::new(key))
    }

    fn seal(&self, nonce: &[u8; NONCE_LEN], aad: &[u8], data: &mut [u8]) -> Result<[u8; TAG_LEN], AeadError> {
        if data.len() as u64 > CHACHA_MAX {
            return Err(AeadError);
        }
        self.0.apply(nonce, 1, data);
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
        self.0.apply(nonce, 1, data);
        Ok(())
    }
}
