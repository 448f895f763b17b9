//! The pass over a message of AES-GCM.

use super::beside::{self, Message};
use crate::{
    aes::{
        blocks::encrypt_native,
        ctr::{BigEndian, Ctr},
        key::Key,
    },
    backend,
    ghash::{HashKey, REVERSE, clmul::Wide},
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
    match backend::try_aes_clmul(Native::<OPEN> { aes, hash, nonce, associated_data, data }) {
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

/// AES and GHASH on the processor's instructions, eight blocks at a time.
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
    powers: &'a [[u8; 16]; 8],
    backwards: N::W,
    sum: N::W,
}

impl<N: ClmulInstructions> Hash<'_, N> {
    /// Absorbs at most eight blocks.
    #[inline(always)]
    fn group(&mut self, blocks: &[[u8; 16]]) {
        let mut wide = Wide::zero();
        for (i, (block, power)) in blocks.iter().zip(self.powers[..blocks.len()].iter().rev()).enumerate() {
            let mut block = N::W::load(block).swizzle(self.backwards);
            if i == 0 {
                block = block.xor(self.sum);
            }
            wide = wide.add(self.native, block, N::W::load(power));
        }
        self.sum = wide.reduce(self.native);
    }

    /// Absorbs eight blocks, one beside each of the first eight rounds of the encryption of others.
    #[inline(always)]
    fn group_beside(
        &mut self,
        keys: &[[u8; 16]],
        mut x: [<N as AesInstructions>::V; 8],
        group: &[u8; 128],
    ) -> [<N as AesInstructions>::V; 8]
    where
        N: AesInstructions,
    {
        let (Some((first, rounds)), Some(last)) = (keys.split_first(), keys.last()) else { return x };
        let (beside, alone) = rounds[..rounds.len() - 1].split_at(8);
        let key = <N as AesInstructions>::V::load(first);
        for x in &mut x {
            *x = x.xor(key);
        }
        let mut wide = Wide::zero();
        for (i, key) in beside.iter().enumerate() {
            let key = <N as AesInstructions>::V::load(key);
            for x in &mut x {
                *x = self.native.encrypt_round(*x, key);
            }
            let mut block = N::W::load(&group[16 * i..]).swizzle(self.backwards);
            if i == 0 {
                block = block.xor(self.sum);
            }
            wide = wide.add(self.native, block, N::W::load(&self.powers[7 - i]));
        }
        for key in alone {
            let key = <N as AesInstructions>::V::load(key);
            for x in &mut x {
                *x = self.native.encrypt_round(*x, key);
            }
        }
        let key = <N as AesInstructions>::V::load(last);
        for x in &mut x {
            *x = self.native.encrypt_last(*x, key);
        }
        self.sum = wide.reduce(self.native);
        x
    }

    #[inline(always)]
    fn padded(&mut self, bytes: &[u8]) {
        let (blocks, tail) = bytes.as_chunks::<16>();
        for group in blocks.chunks(8) {
            self.group(group);
        }
        if !tail.is_empty() {
            self.group(&[padded(tail)]);
        }
    }
}

impl<const OPEN: bool> AesClmulKernel for Native<'_, OPEN> {
    type Output = [u8; 16];

    #[inline(always)]
    fn run<N: AesInstructions + ClmulInstructions>(self, native: N) -> [u8; 16] {
        let keys = self.aes.plain();
        let lengths = length_block(self.associated_data.len(), self.data.len());
        let mut hash = Hash {
            native,
            powers: self.hash.powers(),
            backwards: <N as ClmulInstructions>::W::opaque(&REVERSE),
            sum: <N as ClmulInstructions>::W::zero(),
        };
        hash.padded(self.associated_data);

        let block = counter_block(self.nonce, 0);
        let mut words = [0; 4];
        for (word, bytes) in words.iter_mut().zip(block.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        macro_rules! counter_block {
            ($counter:expr) => {
                <N as AesInstructions>::V::broadcast_u32([
                    words[0],
                    words[1],
                    words[2],
                    u32::swap_bytes($counter),
                ])
            };
        }
        let mut counter = 2u32;
        let (eights, rest) = self.data.as_chunks_mut::<128>();
        // Sealing hashes the eight blocks before; opening those that come, before they are decrypted.
        let mut before: Option<&mut [u8; 128]> = None;
        for eight in eights {
            let mut blocks = [<N as AesInstructions>::V::zero(); 8];
            for (i, block) in blocks.iter_mut().enumerate() {
                *block = counter_block!(counter.wrapping_add(i as u32));
            }
            counter = counter.wrapping_add(8);
            let keystream = if OPEN {
                hash.group_beside(keys, blocks, eight)
            } else if let Some(before) = before.take() {
                hash.group_beside(keys, blocks, before)
            } else {
                encrypt_native(native, keys, blocks)
            };
            for (chunk, keystream) in eight.chunks_exact_mut(16).zip(keystream) {
                keystream.xor_into(chunk);
            }
            if !OPEN {
                before = Some(eight);
            }
        }
        if let Some(before) = before {
            hash.group(before.as_chunks().0);
        }
        // Up to seven blocks and a part of one; with them the mask of the tag, from counter 1.
        let count = rest.len().div_ceil(16);
        let mut keystream = [[0u8; 16]; 8];
        let mask;
        macro_rules! last {
            ($n:literal) => {{
                let mut blocks = [counter_block!(1); $n];
                for (i, block) in blocks[1..].iter_mut().enumerate() {
                    *block = counter_block!(counter.wrapping_add(i as u32));
                }
                let [m, k @ ..] = encrypt_native(native, keys, blocks);
                mask = m;
                for (bytes, k) in keystream.iter_mut().zip(k) {
                    k.store(bytes);
                }
            }};
        }
        if count < 4 {
            last!(4);
        } else {
            last!(9);
        }
        let mut blocks = [[0u8; 16]; 8];
        let flat = blocks.as_flattened_mut();
        if OPEN {
            flat[..rest.len()].copy_from_slice(rest);
        }
        for (byte, key) in rest.iter_mut().zip(keystream.as_flattened()) {
            *byte ^= key;
        }
        if !OPEN {
            flat[..rest.len()].copy_from_slice(rest);
        }
        // The lengths join the last group if there is room.
        if count < 8 {
            blocks[count] = lengths;
            hash.group(&blocks[..count + 1]);
        } else {
            hash.group(&blocks);
            hash.group(&[lengths]);
        }
        let tag = hash.sum.swizzle(hash.backwards);
        let mut bytes = [0; 16];
        tag.store(&mut bytes);
        let mut mask_bytes = [0; 16];
        mask.store(&mut mask_bytes);
        core::array::from_fn(|i| bytes[i] ^ mask_bytes[i])
    }
}
