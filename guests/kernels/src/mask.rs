//! Header masks of QUIC (RFC 9001, section 5.4): one, and those of a batch of 32 packets.

use cipher::{BlockCipherEncrypt, KeyInit, KeyIvInit, StreamCipher, StreamCipherSeek};
use sandquic_crypto::quic::{Aes128Mask, ChaCha20Mask, MASK_LEN, SAMPLE_LEN};

use crate::case::{Case, Op, key, repeat};

const BATCH: usize = 32;

type Masks = [u8; BATCH * MASK_LEN];

/// Fixed lengths: whole samples.
fn samples(data: &[u8]) -> &[[u8; SAMPLE_LEN]] {
    data.as_chunks().0
}

pub(crate) fn cases(cases: &mut Vec<Case>) {
    let ours = Aes128Mask::new(&key::<16>().into());
    cases.push(one("sandquic", "aes-128-mask", move |sample| ours.mask(sample)));
    let theirs = aes::Aes128::new(&key::<16>().into());
    cases.push(one("rustcrypto", "aes-128-mask", move |sample| {
        let mut block = (*sample).into();
        theirs.encrypt_block(&mut block);
        head(&block)
    }));
    let ours = Aes128Mask::new(&key::<16>().into());
    cases.push(batch("sandquic", "aes-128-mask-batch", move |samples, masks| ours.masks(samples, masks)));
    let theirs = aes::Aes128::new(&key::<16>().into());
    cases.push(batch("rustcrypto", "aes-128-mask-batch", move |samples, masks| {
        let mut blocks = [aes::Block::default(); BATCH];
        for (block, sample) in blocks.iter_mut().zip(samples) {
            block.copy_from_slice(sample);
        }
        theirs.encrypt_blocks(&mut blocks);
        for (mask, block) in masks.iter_mut().zip(&blocks) {
            *mask = head(block);
        }
    }));
    let ours = ChaCha20Mask::new(&key::<32>().into());
    cases.push(one("sandquic", "chacha20-mask", move |sample| ours.mask(sample)));
    cases.push(one("rustcrypto", "chacha20-mask", chacha20_mask));
    let ours = ChaCha20Mask::new(&key::<32>().into());
    cases.push(batch("sandquic", "chacha20-mask-batch", move |samples, masks| ours.masks(samples, masks)));
    cases.push(batch("rustcrypto", "chacha20-mask-batch", |samples, masks| {
        for (mask, sample) in masks.iter_mut().zip(samples) {
            *mask = chacha20_mask(sample);
        }
    }));
}

/// Through the stream cipher: the sample's first word is the number of the block.
fn chacha20_mask(sample: &[u8; SAMPLE_LEN]) -> [u8; MASK_LEN] {
    let [a, b, c, d, nonce @ ..] = *sample;
    let mut cipher = chacha20::ChaCha20::new(&key::<32>().into(), &nonce.into());
    let mut mask = [0; MASK_LEN];
    cipher.seek(u64::from(u32::from_le_bytes([a, b, c, d])) * 64);
    cipher.apply_keystream(&mut mask);
    mask
}

fn head(block: &[u8]) -> [u8; MASK_LEN] {
    let mut mask = [0; MASK_LEN];
    mask.copy_from_slice(&block[..MASK_LEN]);
    mask
}

fn one(
    library: &'static str,
    primitive: &'static str,
    mask: impl Fn(&[u8; SAMPLE_LEN]) -> [u8; MASK_LEN] + 'static,
) -> Case {
    Case::new(library, primitive, Op::Apply, repeat(move |data| mask(&samples(data)[0]))).fixed(SAMPLE_LEN)
}

fn batch(
    library: &'static str,
    primitive: &'static str,
    masks: impl Fn(&[[u8; SAMPLE_LEN]], &mut [[u8; MASK_LEN]]) + 'static,
) -> Case {
    let body = repeat(move |data| -> Masks {
        let mut out = [0; BATCH * MASK_LEN];
        masks(samples(data), out.as_chunks_mut().0);
        out
    });
    Case::new(library, primitive, Op::Apply, body).fixed(BATCH * SAMPLE_LEN)
}
