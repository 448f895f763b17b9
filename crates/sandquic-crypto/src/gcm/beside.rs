//! The pass over a message in software, GHASH beside the rounds of AES.
//!
//! Both have long chains of operations and few registers; beside each other they fill each other's gaps. Two blocks of
//! GHASH go beside two rounds of eight blocks of AES. Sealing hashes what earlier batches have encrypted, opening what
//! this one and later ones decrypt.

use super::crypt::{counter_block, length_block, padded};
use crate::{
    aes::{
        ctr::{BigEndian, Eights, Progress},
        key::Key,
    },
    backend,
    ghash::{
        HashKey,
        table::{Pair, Pairs},
    },
    simd::{Kernel, Vector},
};

/// A message to seal or to open.
pub(super) struct Message<'a> {
    pub(super) aes: &'a Key,
    pub(super) hash: &'a HashKey,
    pub(super) tables: &'a Pair,
    pub(super) nonce: &'a [u8; 12],
    pub(super) associated_data: &'a [u8],
    pub(super) data: &'a mut [u8],
    pub(super) open: bool,
    pub(super) tag: &'a mut [u8; 16],
}

/// Encrypts or decrypts in place and writes the tag of the ciphertext. One copy of the code for both directions.
#[inline(never)]
pub(super) fn crypt(message: Message<'_>) {
    backend::dispatch_narrow(message);
}

impl Kernel for Message<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { aes, hash: key, tables, nonce, associated_data, data, open, tag } = self;
        let lengths = length_block(associated_data.len(), data.len());
        let mut hash = Pairs::<V>::new(tables);
        // Short associated data goes beside the first batch: in pairs, with a block of zeros first if they are odd.
        let mut first = [0; 128];
        let mut first_blocks = associated_data.len().div_ceil(16);
        if first_blocks <= 8 && data.len() > 48 {
            let start = 16 * (first_blocks % 2);
            first[start..start + associated_data.len()].copy_from_slice(associated_data);
            first_blocks += first_blocks % 2;
        } else {
            first_blocks = 0;
            let (whole, rest) = associated_data.split_at(associated_data.len() / 16 * 16);
            hash.absorb(key, whole);
            if !rest.is_empty() {
                hash.absorb(key, &padded(rest));
            }
        }

        // What is hashed at the end: less than two blocks, and the lengths.
        let pairs = data.len() / 32 * 32;
        let mut end = [0; 48];
        let end_blocks = (data.len() - pairs).div_ceil(16);
        end[16 * end_blocks..][..16].copy_from_slice(&lengths);
        if open {
            end[..data.len() - pairs].copy_from_slice(&data[pairs..]);
        }

        let mut eights = Eights::<V>::new(aes);
        let mut progress = Progress::counters::<BigEndian>(&counter_block(nonce, 1));
        let mut mask = [0; 16];
        // Blocks of keystream that are not for the data: the mask of the tag, in the first batch.
        let mut skip = 1;
        let (mut done, mut hashed) = (0, 0);
        while done < data.len() || skip > 0 {
            let left = (data.len() - done).div_ceil(16) + skip;
            let mut keystream = [[0; 16]; 8];
            let direct;
            if left <= 4 {
                direct = None;
                for (bytes, block) in keystream.iter_mut().zip(eights.four::<BigEndian>(&progress)) {
                    block.store(bytes);
                }
            } else {
                // Sealing, whole pairs of what is encrypted.
                let ready = if open { pairs } else { done.min(pairs) / 32 * 32 };
                let queue = if first_blocks > 0 { &first[..16 * first_blocks] } else { &data[hashed..ready] };
                let mut beside = hash.beside(queue.as_chunks().0);
                let blocks = eights.eight::<BigEndian, _>(&progress, &mut beside);
                let left_over = beside.blocks.len();
                if first_blocks == 0 {
                    hashed = ready - 32 * left_over;
                }
                first_blocks = 0;
                if left >= 8 && skip == 0 && data.len() - done >= 128 {
                    direct = Some(blocks);
                } else {
                    direct = None;
                    for (bytes, block) in keystream.iter_mut().zip(blocks) {
                        block.store(bytes);
                    }
                }
            }
            progress.advance(8);
            let size = (data.len() - done).min(128 - 16 * skip);
            if open {
                let before = (done + size).next_multiple_of(32).min(pairs);
                if hashed < before {
                    hash.absorb(key, &data[hashed..before]);
                    hashed = before;
                }
            }
            let now = &mut data[done..done + size];
            match direct {
                Some(blocks) => {
                    for (chunk, block) in now.chunks_exact_mut(16).zip(blocks) {
                        block.xor_into(chunk);
                    }
                }
                None => {
                    if skip > 0 {
                        mask = keystream[0];
                    }
                    let keystream = &keystream[skip..];
                    let (whole, tail) = now.as_chunks_mut::<16>();
                    for (chunk, block) in whole.iter_mut().zip(keystream) {
                        V::load(block).xor_into(chunk);
                    }
                    for (byte, key) in tail.iter_mut().zip(keystream.get(whole.len()).into_iter().flatten()) {
                        *byte ^= key;
                    }
                }
            }
            done += size;
            skip = 0;
        }
        if hashed < pairs {
            hash.absorb(key, &data[hashed..pairs]);
        }
        if !open {
            end[..data.len() - pairs].copy_from_slice(&data[pairs..]);
        }
        hash.absorb(key, &end[..16 * end_blocks + 16]);
        hash.sum().xor(V::load(&mask)).store(tag);
    }

    #[inline(always)]
    fn soft(self) {
        Kernel::run::<crate::simd::portable::V128>(self);
    }
}
