//! The generation of RustCrypto's crates that the paper's provider resolved to: AES and GHASH on 32-bit words in
//! software for 32-bit targets.

use aes_gcm::aead::AeadInPlace;
use aes_old::cipher::generic_array::GenericArray;
use aes_old::cipher::{BlockEncrypt, KeyInit, KeyIvInit, StreamCipherCore, StreamCipherSeekCore};
use chacha20_old::ChaChaCore;
use {aes_gcm_old as aes_gcm, aes_old as aes, chacha20poly1305_old as chacha20poly1305};

ciphers! {
    /// RustCrypto's crates of the generation before.
    RustCryptoOld, "rustcrypto-old",
    seal: |aead: &_, nonce, aad: &[u8], data: &mut [u8]| AeadInPlace::encrypt_in_place_detached(aead, nonce, aad, data),
    open: |aead: &_, nonce, aad: &[u8], data: &mut [u8], tag| {
        AeadInPlace::decrypt_in_place_detached(aead, nonce, aad, data, tag)
    },
    encrypt_blocks: |aes: &_, blocks: &mut [aes::Block]| BlockEncrypt::encrypt_blocks(aes, blocks),
    chacha20_block: |key: &[u8; 32], nonce: &[u8; 12], counter: u32| {
        // The core, because the stream cipher around it refuses the last counter, which a sample may hold.
        let key: &GenericArray<u8, _> = key.into();
        let mut core = ChaChaCore::<aes_old::cipher::consts::U10>::new(key, nonce.into());
        core.set_block_pos(counter);
        let mut block = Default::default();
        core.write_keystream_block(&mut block);
        block
    }
}
