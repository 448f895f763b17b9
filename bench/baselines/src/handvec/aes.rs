//! AES by bit slices: eight blocks in eight vectors.
//!
//! The layout is that of the 32-bit fixsliced implementation, four times side by side. Lane `l` of the eight vectors
//! has blocks 2l and 2l + 1. Vector `i` has bit i of every byte; within a lane the bit of the byte in row `r` and
//! column `c` of block `b` is at `8 r + 2 c + b`.
//!
//! ShiftRows is never done. After round k the state is that of AES with row r rotated by k r columns less, which
//! MixColumns ([`mix_columns`]) and the round keys allow for; only the last round has something to set right.

use zeroize::Zeroizing;

use super::sbox::sub_bytes;
use super::vector::{V, transpose};

/// A block, 16 bytes.
pub(super) type Block = [u8; 16];

/// AES with `KEYS` round keys: 11 for AES-128, 15 for AES-256.
pub struct Aes<const KEYS: usize>(Zeroizing<[[[u32; 4]; 8]; KEYS]>);

impl<const KEYS: usize> Aes<KEYS> {
    /// Expands a key of 4 (`KEYS` - 7) bytes (FIPS 197, section 5.2).
    pub(super) fn new(key: &[u8]) -> Self {
        let key_words = KEYS - 7;
        debug_assert_eq!(key.len(), 4 * key_words);
        let mut words = Zeroizing::new([[0u32; 4]; KEYS]);
        let all = words.as_flattened_mut();
        for (word, bytes) in all.iter_mut().zip(key.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        let mut constant = 1u32;
        for i in key_words..all.len() {
            let mut word = all[i - 1];
            if i % key_words == 0 {
                word = sub_word(word.rotate_right(8)) ^ constant;
                // Doubling in GF(2^8).
                constant = (constant << 1) ^ ((constant >> 7) * 0x11b);
            } else if key_words > 6 && i % key_words == 4 {
                word = sub_word(word);
            }
            all[i] = all[i - key_words] ^ word;
        }

        let mut planes = Zeroizing::new([[[0; 4]; 8]; KEYS]);
        for (round, (planes, columns)) in planes.iter_mut().zip(&*words).enumerate() {
            let columns = match round {
                0 => *columns,
                // The constant 0x63 of the S-box comes with the key that follows it.
                _ if round == KEYS - 1 => columns.map(|word| word ^ 0x6363_6363),
                _ => shift_rows_back(columns, round).map(|word| word ^ 0x6363_6363),
            };
            let mut bits: [u32; 8] = core::array::from_fn(|i| columns[i / 2]);
            transpose_bits(
                &mut bits,
                |word, n| word << n,
                |word, n| word >> n,
                |a, b| a ^ b,
                |a, mask| a & mask,
            );
            *planes = bits.map(|word| [word; 4]);
        }
        Self(planes)
    }

    /// Encrypts eight blocks.
    #[inline(never)]
    pub(super) fn encrypt(&self, blocks: [V; 8]) -> [V; 8] {
        let [b0, b1, b2, b3, b4, b5, b6, b7] = blocks;
        let [e0, e1, e2, e3] = transpose([b0, b2, b4, b6]);
        let [o0, o1, o2, o3] = transpose([b1, b3, b5, b7]);
        let mut q = [e0, o0, e1, o1, e2, o2, e3, o3];
        transpose_vectors(&mut q);

        q = add_key(q, &self.0[0]);
        for round in 1..KEYS - 1 {
            q = sub_bytes(q);
            q = match round % 4 {
                0 => mix_columns::<0>(q),
                1 => mix_columns::<1>(q),
                2 => mix_columns::<2>(q),
                _ => mix_columns::<3>(q),
            };
            q = add_key(q, &self.0[round]);
        }
        // 10 and 14 rounds alike are two ShiftRows short.
        q = add_key(sub_bytes(q.map(shift_rows_twice)), &self.0[KEYS - 1]);

        transpose_vectors(&mut q);
        let [e0, o0, e1, o1, e2, o2, e3, o3] = q;
        let [b0, b2, b4, b6] = transpose([e0, e1, e2, e3]);
        let [b1, b3, b5, b7] = transpose([o0, o1, o2, o3]);
        [b0, b1, b2, b3, b4, b5, b6, b7]
    }

    /// Encrypts one block, in a batch whose other blocks are thrown away.
    pub(super) fn encrypt_one(&self, block: &Block) -> Block {
        self.encrypt([V::load(block); 8])[0].bytes()
    }

    /// XORs the encrypted counters from `counter` on into `data` (SP 800-38D: 32 bits, big-endian, modulo 2^32).
    pub(super) fn apply_ctr(&self, nonce: &[u8; 12], mut counter: u32, data: &mut [u8]) {
        let [a, b, c]: [u32; 3] = core::array::from_fn(|i| u32::from_le_bytes(nonce.as_chunks::<4>().0[i]));
        let mut keystream = || {
            let blocks =
                core::array::from_fn(|i| V::words([a, b, c, counter.wrapping_add(i as u32).swap_bytes()]));
            counter = counter.wrapping_add(8);
            self.encrypt(blocks)
        };
        let (batches, rest) = data.as_chunks_mut::<128>();
        for batch in batches {
            for (block, keystream) in batch.as_chunks_mut::<16>().0.iter_mut().zip(keystream()) {
                *block = V::load(block).xor(keystream).bytes();
            }
        }
        if !rest.is_empty() {
            for (block, keystream) in rest.chunks_mut(16).zip(keystream()) {
                for (byte, keystream) in block.iter_mut().zip(keystream.bytes()) {
                    *byte ^= keystream;
                }
            }
        }
    }
}

/// The S-box on the four bytes of a word of the key schedule.
fn sub_word(word: u32) -> u32 {
    let planes = sub_bytes(core::array::from_fn(|i| (word >> i) & 0x0101_0101));
    planes.iter().enumerate().fold(0x6363_6363, |word, (i, plane)| word ^ ((plane & 0x0101_0101) << i))
}

/// Undoes `times` ShiftRows on columns of four bytes.
fn shift_rows_back(columns: &[u32; 4], times: usize) -> [u32; 4] {
    core::array::from_fn(|column| {
        (0..4).fold(0, |word, row| word | columns[(column + 3 * times * row) % 4] & (0xff << (8 * row)))
    })
}

/// Transposes the 8 x 8 bits that the eight words have at each byte: bit `i` of word `k` goes to bit `k` of word `i`.
#[inline(always)]
fn transpose_bits<W: Copy>(
    q: &mut [W; 8],
    shl: impl Fn(W, u32) -> W,
    shr: impl Fn(W, u32) -> W,
    xor: impl Fn(W, W) -> W,
    and: impl Fn(W, u32) -> W,
) {
    for (distance, mask) in [(1, 0x5555_5555), (2, 0x3333_3333), (4, 0x0f0f_0f0f)] {
        for k in (0..8).filter(|k| k & distance == 0) {
            let n = distance as u32;
            let differing = and(xor(shr(q[k], n), q[k + distance]), mask);
            q[k + distance] = xor(q[k + distance], differing);
            q[k] = xor(q[k], shl(differing, n));
        }
    }
}

#[inline(always)]
fn transpose_vectors(q: &mut [V; 8]) {
    transpose_bits(
        q,
        |v, n| match n {
            1 => v.shl::<1>(),
            2 => v.shl::<2>(),
            _ => v.shl::<4>(),
        },
        |v, n| match n {
            1 => v.shr::<1>(),
            2 => v.shr::<2>(),
            _ => v.shr::<4>(),
        },
        V::xor,
        |v, mask| v.and(V::splat(mask)),
    );
}

#[inline(always)]
fn add_key(q: [V; 8], key: &[[u32; 4]; 8]) -> [V; 8] {
    core::array::from_fn(|i| q[i].xor(V::load_words(&key[i])))
}

/// MixColumns on a state that is `K` ShiftRows short: the byte a row further is `K` columns further.
///
/// With b the state a row further, each byte becomes 2 (a + b) + b + (a + b, two rows further).
#[inline(always)]
fn mix_columns<const K: u32>(a: [V; 8]) -> [V; 8] {
    let b = a.map(next_row::<K>);
    let c: [V; 8] = core::array::from_fn(|i| a[i].xor(b[i]));
    let doubled = [c[7], c[0].xor(c[7]), c[1], c[2].xor(c[7]), c[3].xor(c[7]), c[4], c[5], c[6]];
    core::array::from_fn(|i| b[i].xor(next_row_but_one::<K>(c[i])).xor(doubled[i]))
}

/// The byte one row and `K` columns further.
#[inline(always)]
fn next_row<const K: u32>(v: V) -> V {
    let v = v.rotate_right_8();
    match K {
        0 => v,
        1 => v.shr::<2>().and(V::splat(0x3f3f_3f3f)).or(v.shl::<6>().and(V::splat(0xc0c0_c0c0))),
        2 => swap_halves_of_bytes(v),
        _ => v.shr::<6>().and(V::splat(0x0303_0303)).or(v.shl::<2>().and(V::splat(0xfcfc_fcfc))),
    }
}

/// The byte two rows and 2 `K` columns further.
#[inline(always)]
fn next_row_but_one<const K: u32>(v: V) -> V {
    if K.is_multiple_of(2) { v.rotate_16() } else { swap_halves_of_bytes(v.rotate_16()) }
}

#[inline(always)]
fn swap_halves_of_bytes(v: V) -> V {
    let mask = V::splat(0x0f0f_0f0f);
    v.shr::<4>().and(mask).or(v.and(mask).shl::<4>())
}

/// Rows 1 and 3 by two columns.
#[inline(always)]
fn shift_rows_twice(v: V) -> V {
    let differing = v.shr::<4>().xor(v).and(V::splat(0x0f00_0f00));
    v.xor(differing).xor(differing.shl::<4>())
}
