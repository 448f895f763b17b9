//! RustCrypto's current crates: AES and GHASH on 64-bit words in software.

use aes::cipher::{BlockCipherEncrypt, KeyInit, KeyIvInit, StreamCipherCore};
use aes_gcm::aead::AeadInOut;
use chacha20::{ChaChaCore, R20, variants::Ietf};

ciphers! {
    /// RustCrypto's current crates.
    RustCrypto, "rustcrypto",
    seal: |aead: &_, nonce, aad: &[u8], data: &mut [u8]| AeadInOut::encrypt_inout_detached(aead, nonce, aad, data.into()),
    open: |aead: &_, nonce, aad: &[u8], data: &mut [u8], tag| {
        AeadInOut::decrypt_inout_detached(aead, nonce, aad, data.into(), tag)
    },
    encrypt_blocks: |aes: &_, blocks: &mut [aes::Block]| BlockCipherEncrypt::encrypt_blocks(aes, blocks),
    chacha20_block: |key: &[u8; 32], nonce: &[u8; 12], counter: u32| {
        // The core, because the stream cipher around it refuses the last counter, which a sample may hold.
        let mut core = ChaChaCore::<R20, Ietf>::new(key.into(), nonce.into());
        core.set_block_pos(counter);
        let mut block = Default::default();
        core.write_keystream_block(&mut block);
        block
    }
}
