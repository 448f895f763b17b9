//! ChaCha20 with rotations that lost the measurement, for the benchmarks' tables. Not part of the API.

use super::apply::Function;
use super::block::{rotation, state};
use crate::stream::{BLOCK, apply, to_words};

/// Xors the keystream from block 0 on.
fn chacha20<const ROTATION: u8>(key: &[u8; 32], nonce: &[u8; 12], data: &mut [u8]) {
    let [a, b, c] = to_words(nonce);
    let input = state(key, [0, a, b, c]);
    apply::<Function<10, false, ROTATION>, false>(&input, 0, data, &mut [0; BLOCK]);
}

/// Rotations by 16 and 8 bits as byte permutations that the compiler knows: on Wasm `i8x16.shuffle`.
pub fn chacha20_shuffle(key: &[u8; 32], nonce: &[u8; 12], data: &mut [u8]) {
    chacha20::<{ rotation::SHUFFLE }>(key, nonce, data);
}

/// All rotations as two shifts and an or.
pub fn chacha20_shift(key: &[u8; 32], nonce: &[u8; 12], data: &mut [u8]) {
    chacha20::<{ rotation::SHIFT }>(key, nonce, data);
}
