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

use sandquic_rustls::ciphers::{Ciphers, NONCE_LEN};
use zeroize::Zeroizing;

use crate::RustCrypto;
use crate::compose::{self, ChaChaPoly, Gcm, rustcrypto};

/// The paper's kernels.
#[derive(Clone, Copy, Debug)]
pub struct HandVec;

impl Ciphers for HandVec {
    const NAME: &'static str = "handvec";

    type Aes128Gcm = Gcm<aes::Aes<11>, rustcrypto::Ghash>;
    type Aes256Gcm = Gcm<aes::Aes<15>, rustcrypto::Ghash>;
    type ChaCha20Poly1305 = ChaChaPoly<chacha::ChaCha20, rustcrypto::Poly1305Tag>;
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

macro_rules! ctr {
    ($keys:literal, $key:literal) => {
        impl compose::Ctr<$key> for aes::Aes<$keys> {
            fn new(key: &[u8; $key]) -> Self {
                Self::new(key)
            }

            fn encrypt_block(&self, block: &[u8; 16]) -> [u8; 16] {
                self.encrypt_one(block)
            }

            fn apply(&self, nonce: &[u8; 12], counter: u32, data: &mut [u8]) {
                self.apply_ctr(nonce, counter, data);
            }
        }
    };
}

ctr!(11, 16);
ctr!(15, 32);

impl compose::ChaCha for chacha::ChaCha20 {
    fn new(key: &[u8; 32]) -> Self {
        Self::new(key)
    }

    fn first_block(&self, nonce: &[u8; 12]) -> Zeroizing<[u8; 64]> {
        Zeroizing::new(self.block(nonce, 0))
    }

    fn apply(&self, nonce: &[u8; 12], data: &mut [u8]) {
        self.apply(nonce, 1, data);
    }
}
