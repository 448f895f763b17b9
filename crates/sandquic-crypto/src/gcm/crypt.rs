//! The pass over a message of AES-GCM.

use super::beside::{self, Message};
use crate::{
    aes::{
        blocks::encrypt_native,
        ctr::{BigEndian, Ctr},
        key::Key,
    },
    backend,
    ghash::{
        HashKey, REVERSE,
        clmul::{POWERS, Powers, Wide},
    },
    simd::{AesClmulKernel, AesInstructions, ClmulInstructions, Vector},
};

/// Bytes that the software takes at a time, so that a message stays in the first cache between its two steps. The first
/// time it is a block less: the encryption of the tag's mask takes its place.
const CHUNK: usize = 4096;

/// Encrypts or decrypts in place and returns the tag of the ciphertext.
pub(super) fn crypt<const OPEN: bool>(
    aes: &Key,
    hash: &HashKey,
    nonce: &[u8; 12],
    associated_data: &[u8],
    data: &mut [u8],
) -> [u8; 16] {
    match backend::try_aes_clmul_wide(Native::<OPEN> { aes, hash, nonce, associated_data, data }) {
        Ok(tag) => tag,
        Err(Native { data, .. }) => {
            match hash.pair(associated_data.len().div_ceil(16) + data.len().div_ceil(16)) {
                Some(tables) if aes.is_soft() => {
                    let mut tag = [0; 16];
                    beside::crypt(Message {
                        aes,
                        hash,
                        tables,
                        nonce,
                        associated_data,
                        data,
                        open: OPEN,
                        tag: &mut tag,
                    });
                    tag
                }
                _ => soft::<OPEN>(aes, hash, nonce, associated_data, data),
            }
        }
    }
}

fn soft<const OPEN: bool>(
    aes: &Key,
    hash: &HashKey,
    nonce: &[u8; 12],
    associated_data: &[u8],
    data: &mut [u8],
) -> [u8; 16] {
    let lengths = length_block(associated_data.len(), data.len());
    let mut y = [0; 16];
    let whole = associated_data.len() / 16 * 16;
    hash.absorb(&mut y, &associated_data[..whole], false);
    if whole < associated_data.len() {
        hash.absorb(&mut y, &padded(&associated_data[whole..]), false);
    }

    let mut mask = [0; 16];
    let mut mask_wanted = Some(&mut mask);
    let mut counter = 1u32;
    let mut rest = data;
    loop {
        let size = rest.len().min(if mask_wanted.is_some() { CHUNK - 16 } else { CHUNK });
        let (now, later) = rest.split_at_mut(size);
        let last = later.is_empty();
        if OPEN {
            absorb_chunk(hash, &mut y, now, last.then_some(&lengths));
        }
        let first = u32::from(mask_wanted.is_some());
        Ctr {
            key: aes,
            layout: BigEndian,
            block: counter_block(nonce, counter),
            mask: mask_wanted.take(),
            data: &mut *now,
        }
        .dispatch();
        counter = counter.wrapping_add(first).wrapping_add((size / 16) as u32);
        if !OPEN {
            absorb_chunk(hash, &mut y, now, last.then_some(&lengths));
        }
        if last {
            break;
        }
        rest = later;
    }
    core::array::from_fn(|i| y[i] ^ mask[i])
}

/// Absorbs whole blocks, and at the end of a message the padded rest with the block of the lengths.
#[inline(always)]
fn absorb_chunk(hash: &HashKey, y: &mut [u8; 16], chunk: &[u8], lengths: Option<&[u8; 16]>) {
    let whole = chunk.len() / 16 * 16;
    hash.absorb(y, &chunk[..whole], false);
    if let Some(lengths) = lengths {
        let mut end = [0; 32];
        let tail = &chunk[whole..];
        end[..tail.len()].copy_from_slice(tail);
        end[16..].copy_from_slice(lengths);
        hash.absorb(y, if tail.is_empty() { &end[16..] } else { &end }, false);
    }
}

pub(super) fn padded(tail: &[u8]) -> [u8; 16] {
    let mut block = [0; 16];
    block[..tail.len()].copy_from_slice(tail);
    block
}

/// The lengths in bits: SP 800-38D, section 7.1, step 5.
#[inline(always)]
pub(super) fn length_block(associated_data: usize, data: usize) -> [u8; 16] {
    ((associated_data as u128) << 67 | (data as u128) << 3).to_be_bytes()
}

#[inline(always)]
pub(super) fn counter_block(nonce: &[u8; 12], counter: u32) -> [u8; 16] {
    let mut block = [0; 16];
    block[..12].copy_from_slice(nonce);
    block[12..].copy_from_slice(&counter.to_be_bytes());
    block
}

/// AES and GHASH on the processor's instructions, eight vectors of one or two blocks at a time.
struct Native<'a, const OPEN: bool> {
    aes: &'a Key,
    hash: &'a HashKey,
    nonce: &'a [u8; 12],
    associated_data: &'a [u8],
    data: &'a mut [u8],
}

/// GHASH over vectors, turned round.
struct Hash<'a, N: ClmulInstructions> {
    native: N,
    powers: &'a Powers,
    backwards: N::W,
    /// In the first lane.
    sum: N::W,
}

impl<N: ClmulInstructions> Hash<'_, N> {
    /// Absorbs whole blocks, at most as many as there are powers.
    #[inline(always)]
    fn group(&mut self, blocks: &[u8]) {
        let powers = &self.powers.as_flattened()[16 * POWERS - blocks.len()..];
        let mut chunks = blocks.chunks_exact(16 * N::W::LANES);
        let mut wide = Wide::zero();
        let mut sum = self.sum;
        let mut at = 0;
        for chunk in &mut chunks {
            let block = N::W::load(chunk).swizzle(self.backwards).xor(sum);
            sum = N::W::zero();
            wide = wide.add(self.native, block, N::W::load(&powers[at..]));
            at += chunk.len();
        }
        // A last block in the first of two lanes: whatever is in the other meets the zero after the powers.
        if let Some(last) = chunks.remainder().first_chunk::<16>() {
            let block = N::W::broadcast(last).swizzle(self.backwards).xor(sum);
            wide = wide.add(self.native, block, N::W::load(&powers[at..]));
        }
        self.sum = wide.reduce_lanes(self.native);
    }

    /// Absorbs eight vectors of blocks, one beside each of the first eight rounds of the encryption of others.
    #[inline(always)]
    fn group_beside(
        &mut self,
        keys: &[[u8; 16]],
        mut x: [<N as AesInstructions>::V; 8],
        group: &[u8],
    ) -> [<N as AesInstructions>::V; 8]
    where
        N: AesInstructions,
    {
        let (Some((first, rounds)), Some(last)) = (keys.split_first(), keys.last()) else { return x };
        let (beside, alone) = rounds[..rounds.len() - 1].split_at(8);
        let key = <N as AesInstructions>::V::broadcast(first);
        for x in &mut x {
            *x = x.xor(key);
        }
        let size = 16 * N::W::LANES;
        let powers = &self.powers.as_flattened()[16 * POWERS - 8 * size..][..8 * size];
        let group = &group[..8 * size];
        let mut wide = Wide::zero();
        for (i, key) in beside.iter().enumerate() {
            let key = <N as AesInstructions>::V::broadcast(key);
            for x in &mut x {
                *x = self.native.encrypt_round(*x, key);
            }
            let mut block = N::W::load(&group[size * i..]).swizzle(self.backwards);
            if i == 0 {
                block = block.xor(self.sum);
            }
            wide = wide.add(self.native, block, N::W::load(&powers[size * i..]));
        }
        for key in alone {
            let key = <N as AesInstructions>::V::broadcast(key);
            for x in &mut x {
                *x = self.native.encrypt_round(*x, key);
            }
        }
        let key = <N as AesInstructions>::V::broadcast(last);
        for x in &mut x {
            *x = self.native.encrypt_last(*x, key);
        }
        self.sum = wide.reduce_lanes(self.native);
        x
    }

    #[inline(always)]
    fn padded(&mut self, bytes: &[u8]) {
        let (whole, tail) = bytes.split_at(bytes.len() / 16 * 16);
        for group in whole.chunks(16 * POWERS) {
            self.group(group);
        }
        if !tail.is_empty() {
            self.group(&padded(tail));
        }
    }
}

/// The most lanes that a vector has.
const MAX_LANES: usize = 2;

/// Where the counter of a counter block is turned round.
static TURN_COUNTER: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15, 14, 13, 12];

impl<const OPEN: bool> AesClmulKernel for Native<'_, OPEN> {
    type Output = [u8; 16];

    #[inline(always)]
    fn run<N: AesInstructions + ClmulInstructions>(self, native: N) -> [u8; 16] {
        let lanes = <N as AesInstructions>::V::LANES;
        let size = 16 * lanes;
        let keys = self.aes.plain();
        let lengths = length_block(self.associated_data.len(), self.data.len());
        let mut hash = Hash {
            native,
            powers: self.hash.powers(),
            backwards: <N as ClmulInstructions>::W::opaque(&REVERSE),
            sum: <N as ClmulInstructions>::W::zero(),
        };
        hash.padded(self.associated_data);

        let mut words = [0; 4];
        for (word, bytes) in words.iter_mut().zip(self.nonce.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        // The counters are kept as numbers, and turned round when they are used.
        let turn = <N as AesInstructions>::V::opaque(&TURN_COUNTER);
        let step = <N as AesInstructions>::V::broadcast_u32([0, 0, 0, lanes as u32]);
        let mut counter = <N as AesInstructions>::V::from_lanes_u32(|lane| {
            [words[0], words[1], words[2], 2u32.wrapping_add(lane as u32)]
        });
        let whole = self.data.len() / (8 * size) * (8 * size);
        let mut batches = self.data.chunks_exact_mut(8 * size);
        // Sealing hashes the batch before; opening the one that comes, before it is decrypted.
        let mut before: Option<&mut [u8]> = None;
        for batch in &mut batches {
            let mut blocks = [<N as AesInstructions>::V::zero(); 8];
            for block in &mut blocks {
                *block = counter.swizzle(turn);
                counter = counter.add_u32(step);
            }
            let keystream = if OPEN {
                hash.group_beside(keys, blocks, batch)
            } else if let Some(before) = before.take() {
                hash.group_beside(keys, blocks, before)
            } else {
                encrypt_native(native, keys, blocks)
            };
            for (chunk, keystream) in batch.chunks_exact_mut(size).zip(keystream) {
                keystream.xor_into(chunk);
            }
            if !OPEN {
                before = Some(batch);
            }
        }
        if let Some(before) = before {
            hash.group(before);
        }
        // Less than eight vectors; with them the mask of the tag, from counter 1.
        let rest = batches.into_remainder();
        let next = 2u32.wrapping_add((whole / 16) as u32);
        let count = rest.len().div_ceil(16);
        let mut keystream = [[0u8; 16]; 9 * MAX_LANES];
        // One block back: the mask comes first.
        let mut counter = counter.add_u32(<N as AesInstructions>::V::broadcast_u32([0, 0, 0, u32::MAX]));
        let first = <N as AesInstructions>::V::from_lanes_u32(|lane| {
            // The second lane has the data's next counter.
            let counter = if lane == 0 { 1 } else { next };
            [words[0], words[1], words[2], counter]
        });
        macro_rules! last {
            ($n:literal) => {{
                let mut blocks = [first.swizzle(turn); $n];
                for block in &mut blocks[1..] {
                    counter = counter.add_u32(step);
                    *block = counter.swizzle(turn);
                }
                let encrypted = encrypt_native(native, keys, blocks);
                for (bytes, blocks) in keystream.as_flattened_mut().chunks_exact_mut(size).zip(encrypted) {
                    blocks.store(bytes);
                }
            }};
        }
        if count < 4 * lanes {
            last!(4);
        } else {
            last!(9);
        }
        let [mask, keystream @ ..] = &keystream;
        // Blocks to hash, with the lengths after them if there is room.
        let mut end = [[0u8; 16]; POWERS];
        let flat = end.as_flattened_mut();
        if OPEN {
            flat[..rest.len()].copy_from_slice(rest);
        }
        for (byte, key) in rest.iter_mut().zip(keystream.as_flattened()) {
            *byte ^= key;
        }
        if !OPEN {
            flat[..rest.len()].copy_from_slice(rest);
        }
        if count < POWERS {
            end[count] = lengths;
            hash.group(end[..count + 1].as_flattened());
        } else {
            hash.group(end.as_flattened());
            hash.group(&lengths);
        }
        let tag = hash.sum.swizzle(hash.backwards).lane(0);
        core::array::from_fn(|i| tag[i] ^ mask[i])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever width this machine prefers, the narrower instructions and the software give the same.
    #[test]
    fn both_widths_agree_with_the_software() {
        let key: [u8; 32] = core::array::from_fn(|i| 7 * i as u8);
        let nonce = core::array::from_fn(|i| 3 * i as u8);
        for size in [16, 24, 32] {
            let gcm = super::super::Gcm::new(&key[..size]);
            let (aes, hash) = (&gcm.aes, &gcm.hash);
            for length in (0..600).chain([1350, 2048, 5000]) {
                let aad: Vec<u8> = (0..length % 300).map(|i| i as u8).collect();
                let plain: Vec<u8> = (0..length).map(|i| (i * i) as u8).collect();
                let native = |open: bool, data: &mut [u8]| {
                    let associated_data = &aad;
                    if open {
                        backend::try_aes_clmul(Native::<true> {
                            aes,
                            hash,
                            nonce: &nonce,
                            associated_data,
                            data,
                        })
                        .ok()
                    } else {
                        backend::try_aes_clmul(Native::<false> {
                            aes,
                            hash,
                            nonce: &nonce,
                            associated_data,
                            data,
                        })
                        .ok()
                    }
                };
                let mut sealed = plain.clone();
                let tag = crypt::<false>(aes, hash, &nonce, &aad, &mut sealed);
                let mut data = plain.clone();
                assert_eq!(
                    soft::<false>(aes, hash, &nonce, &aad, &mut data),
                    tag,
                    "{length} bytes, in turns"
                );
                assert_eq!(data, sealed);
                let mut data = plain.clone();
                if let Some(narrow) = native(false, &mut data) {
                    assert_eq!((narrow, &data), (tag, &sealed), "{length} bytes, narrow");
                    let mut data = sealed.clone();
                    assert_eq!(native(true, &mut data), Some(tag), "{length} bytes, opened narrow");
                    assert_eq!(data, plain);
                }
                assert_eq!(
                    crypt::<true>(aes, hash, &nonce, &aad, &mut sealed),
                    tag,
                    "{length} bytes, opened"
                );
                assert_eq!(sealed, plain);
            }
        }
    }
}
