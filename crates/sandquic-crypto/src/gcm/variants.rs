//! The cipher and the MAC of AES-GCM apart, for the benchmarks' ablations. Not part of the API.

use crate::aes::blocks::Encrypt;
use crate::aes::ctr::{BigEndian, Ctr};
use crate::aes::key::Key;
use crate::ghash::HashKey;

/// AES in GCM's counter mode; a key of 16, 24 or 32 bytes.
pub struct AesCtr(Key);

impl AesCtr {
    /// Expands a key.
    pub fn new(key: &[u8]) -> Self {
        Self(Key::new(key))
    }

    /// Encrypts one block.
    pub fn encrypt_block(&self, block: &[u8; 16]) -> [u8; 16] {
        let mut blocks = [*block];
        Encrypt { key: &self.0, blocks: &mut blocks }.dispatch();
        blocks[0]
    }

    /// Xors the keystream from the counter block `nonce`, `counter` on into `data`; 32 bits count.
    pub fn apply(&self, nonce: &[u8; 12], counter: u32, data: &mut [u8]) {
        let mut block = [0; 16];
        block[..12].copy_from_slice(nonce);
        block[12..].copy_from_slice(&counter.to_be_bytes());
        Ctr { key: &self.0, layout: BigEndian, block, mask: None, data }.dispatch();
    }
}

/// GHASH as a whole (NIST SP 800-38D, 7.1, steps 4 and 5).
pub struct Ghash(HashKey);

impl Ghash {
    /// From H.
    pub fn new(h: &[u8; 16]) -> Self {
        Self(HashKey::new(h))
    }

    /// The hash of both, padded, and of their lengths.
    pub fn hash(&self, associated_data: &[u8], data: &[u8]) -> [u8; 16] {
        let mut y = [0; 16];
        for part in [associated_data, data] {
            let (whole, rest) = part.split_at(part.len() - part.len() % 16);
            if !whole.is_empty() {
                self.0.absorb(&mut y, whole, false);
            }
            if !rest.is_empty() {
                let mut last = [0; 16];
                last[..rest.len()].copy_from_slice(rest);
                self.0.absorb(&mut y, &last, false);
            }
        }
        let lengths = ((8 * associated_data.len() as u128) << 64) | (8 * data.len() as u128);
        self.0.absorb(&mut y, &lengths.to_be_bytes(), false);
        y
    }
}
