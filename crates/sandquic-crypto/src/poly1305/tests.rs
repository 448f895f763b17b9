//! The scalar forms and the vector form against arithmetic on single bytes.

use super::{
    scalar32, scalar64,
    wide::{Power, balanced},
    *,
};

/// Poly1305 by the book: numbers as little-endian bytes, products by hand, reduction by subtraction.
pub(crate) mod model {
    type Number = [u32; 17];

    /// Carries, folding what exceeds 130 bits.
    fn reduce(n: &mut [u32; 17]) {
        for _ in 0..3 {
            let mut carry = 0;
            for byte in n.iter_mut() {
                carry += *byte;
                *byte = carry & 0xff;
                carry >>= 8;
            }
            // bits 130.. of the number: 6 of byte 16, and the carry
            let high = (carry << 6) + (n[16] >> 2);
            n[16] &= 3;
            n[0] += 5 * high;
        }
    }

    /// The tag of blocks, each with its own bit above the last byte.
    pub(crate) fn tag(key: &[u8; 32], message: &[u8], pad_to_block: bool) -> [u8; 16] {
        let mut r: Number = [0; 17];
        for (i, byte) in key[..16].iter().enumerate() {
            let mask = match i {
                3 | 7 | 11 | 15 => 15,
                4 | 8 | 12 => 252,
                _ => 255,
            };
            r[i] = u32::from(byte & mask);
        }
        let mut h: Number = [0; 17];
        for chunk in message.chunks(16) {
            for (h, byte) in h.iter_mut().zip(chunk) {
                *h += u32::from(*byte);
            }
            h[if pad_to_block { 16 } else { chunk.len() }] += 1;
            let mut product: Number = [0; 17];
            for (i, out) in product.iter_mut().enumerate() {
                for j in 0..17 {
                    // 2^136 is 5 x 2^6 modulo p
                    *out += if j <= i { h[j] * r[i - j] } else { 320 * h[j] * r[i + 17 - j] };
                }
            }
            h = product;
            reduce(&mut h);
        }
        // h < 2^130; subtract p once if h >= p
        let mut minus = h;
        minus[0] += 5;
        let mut carry = 0;
        for byte in &mut minus {
            carry += *byte;
            *byte = carry & 0xff;
            carry >>= 8;
        }
        if minus[16] >= 4 {
            h = minus;
        }
        let mut tag = [0; 16];
        let mut carry = 0;
        for i in 0..16 {
            carry += h[i] + u32::from(key[16 + i]);
            tag[i] = carry as u8;
            carry >>= 8;
        }
        tag
    }
}

/// A cheap deterministic stream of bytes.
fn bytes(seed: u64, out: &mut [u8]) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for byte in out {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *byte = (state >> 32) as u8;
    }
}

macro_rules! scalar_tag {
    ($form:ident, $key:expr, $message:expr) => {{
        let key: &[u8; 32] = $key;
        let r = $form::Multiplier::new(key[..16].try_into().unwrap());
        let mut h = $form::Accumulator::default();
        for chunk in $message.chunks(16) {
            let mut block = [0; 16];
            block[..chunk.len()].copy_from_slice(chunk);
            h.block(&r, &block, 1);
        }
        h.tag(key[16..].try_into().unwrap())
    }};
}

fn padded(key: &[u8; 32], message: &[u8]) -> [u8; 16] {
    let mut poly = Poly1305::new(key.into());
    poly.update_padded(message);
    poly.finalize().0
}

fn check(key: &[u8; 32], message: &[u8]) {
    let want = model::tag(key, message, true);
    assert_eq!(scalar_tag!(scalar32, key, message), want, "scalar32, {} bytes, key {key:?}", message.len());
    assert_eq!(scalar_tag!(scalar64, key, message), want, "scalar64, {} bytes, key {key:?}", message.len());
    assert_eq!(padded(key, message), want, "dispatched, {} bytes, key {key:?}", message.len());
    let portable = {
        let mut state = State::new(key[..16].try_into().unwrap());
        state.padded::<crate::simd::portable::V128>(message);
        state.tag(key[16..].try_into().unwrap())
    };
    assert_eq!(portable, want, "portable vectors, {} bytes, key {key:?}", message.len());
}

#[test]
fn every_length() {
    let mut message = [0; 1300];
    let mut key = [0; 32];
    for len in 0..=if cfg!(miri) { 420 } else { message.len() } {
        bytes(len as u64 + 1, &mut key);
        bytes(len as u64 + 77, &mut message);
        check(&key, &message[..len]);
    }
}

#[test]
fn extremes() {
    // r with every bit that clamping leaves, r = 0 and small, against blocks that push the accumulator to the top.
    let fills = [0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff];
    for r in [0u8, 1, 4, 0x0f, 0xfc, 0xff] {
        for pad in [0u8, 1, 0xff] {
            let mut key = [r; 32];
            key[16..].fill(pad);
            for fill in fills {
                for len in [0, 1, 15, 16, 17, 32, 48, 64, 255, 256, 319, 320, 336, 512, 1024, 1299] {
                    check(&key, &vec![fill; len]);
                }
            }
        }
    }
}

#[test]
fn near_the_modulus() {
    // With r = 1 the accumulator is the sum of the blocks, so blocks can place it around p and 2^130.
    let mut key = [0; 32];
    key[0] = 1;
    let top = [0xff; 16];
    for low in [0u8, 1, 2, 3, 4, 5, 6, 0xf9, 0xfa, 0xfb, 0xfc, 0xff] {
        for tops in 0..5 {
            let mut message = Vec::new();
            for _ in 0..tops {
                message.extend_from_slice(&top);
            }
            let mut last = [if low > 0x7f { 0xff } else { 0 }; 16];
            last[0] = low;
            message.extend_from_slice(&last);
            check(&key, &message);
            // the same at the end of a vector's worth
            let mut long = vec![0; 16 * 40 - message.len()];
            long.extend_from_slice(&message);
            check(&key, &long);
        }
    }
}

#[test]
fn cut_anywhere() {
    let mut message = [0; 1040];
    let mut key = [0; 32];
    bytes(3, &mut key);
    bytes(4, &mut message);
    let blocks = Block::slice_as_chunks(&message).0;
    let want = model::tag(&key, &message, true);
    for cut in 0..=blocks.len() {
        let mut poly = Poly1305::new(&key.into());
        poly.update(&blocks[..cut]);
        poly.update(&blocks[cut..]);
        assert_eq!(poly.finalize().0, want, "cut at block {cut}");
    }
}

#[test]
fn unpadded() {
    let mut message = [0; 700];
    let mut key = [0; 32];
    for len in 0..message.len() {
        bytes(len as u64, &mut key);
        bytes(len as u64 + 9, &mut message);
        let got = Poly1305::new(&key.into()).compute_unpadded(&message[..len]);
        assert_eq!(got.0, model::tag(&key, &message[..len], false), "{len} bytes");
    }
}

#[test]
fn powers_are_balanced() {
    // The bound that the overflow analysis rests on, for random r and for the largest.
    let mut key = [0xff; 16];
    for seed in 0..200 {
        let power = Power::new(&Multiplier::new(&key), 4);
        for pair in power.pairs() {
            let (low, high) = (pair as i16, (pair >> 16) as i16);
            assert!(low.abs() <= 5 * 4101 && high.abs() <= 5 * 4101, "{low} {high}");
        }
        bytes(seed, &mut key);
    }
}

#[test]
fn balanced_limbs_keep_every_bit() {
    // A last carry can leave limb 0 above its 26 bits.
    for first in [0, 1, 0x0fff, 0x1000, 0x1fff, 0x2000, 0x3ff_ffff, 1 << 26, (1 << 26) + 4] {
        for other in [0, 0x155_5555, 0x2aa_aaaa, 0x3ff_ffff] {
            // A small last limb, so that the number fits an i128 and nothing wraps around the modulus.
            let limbs26 = [first, other, other, other, 0xfff];
            let want = limbs26.iter().rev().fold(0, |sum, limb| (sum << 26) + i128::from(*limb));
            let limbs = balanced(limbs26);
            assert!(limbs.iter().all(|limb| limb.abs() <= 4101), "{limbs:?}");
            let got = limbs.iter().rev().fold(0, |sum, limb| (sum << 13) + i128::from(*limb));
            assert_eq!(got, want, "{limbs26:x?}");
        }
    }
}

#[test]
#[allow(unused_qualifications, reason = "which of the two is imported depends on the target")]
fn scalar_forms_agree_on_limbs() {
    // What the vector form exchanges with the scalar ones, in both: the target uses only one of them.
    let mut key = [0; 16];
    let mut block = [0; 16];
    let mut h32 = scalar32::Accumulator::default();
    let mut h64 = scalar64::Accumulator::default();
    for seed in 0..500 {
        bytes(seed, &mut key);
        bytes(seed + 1000, &mut block);
        if seed % 3 == 0 {
            block = [0xff; 16];
        }
        let (r32, r64) = (scalar32::Multiplier::new(&key), scalar64::Multiplier::new(&key));
        assert_eq!(r32.to_limbs26(), r64.to_limbs26());
        h32.block(&r32, &block, 1);
        h64.block(&r64, &block, 1);
        // Limbs may be distributed otherwise, but the sum must be the same; all of them below the stated bounds.
        let limbs: [u64; 5] =
            core::array::from_fn(|i| (seed * 0x1234_5677 + i as u64 * 0x3ff_ff1) % (1 << 29));
        h32.add_limbs26(&limbs);
        h64.add_limbs26(&limbs);
        let top = [(1 << 29) - 1; 5];
        h32.add_limbs26(&top);
        h64.add_limbs26(&top);
        assert_eq!(h32.tag(&[0; 16]), h64.tag(&[0; 16]), "seed {seed}");
        h32.multiply(&r32);
        h64.multiply(&r64);
        let mut again = scalar32::Accumulator::default();
        again.add_limbs26(&h64.to_limbs26().map(u64::from));
        assert_eq!(again.tag(&[0; 16]), h32.tag(&[0; 16]), "seed {seed}");
        let mut again = scalar64::Accumulator::default();
        again.add_limbs26(&h32.to_limbs26().map(u64::from));
        assert_eq!(again.tag(&[0; 16]), h64.tag(&[0; 16]), "seed {seed}");
    }
}
