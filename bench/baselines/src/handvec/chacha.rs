//! ChaCha20 (RFC 8439), four blocks at a time.

use zeroize::Zeroizing;

use super::vector::{V, transpose};

/// "expand 32-byte k".
const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// A key of ChaCha20.
pub struct ChaCha20(Zeroizing<[u32; 8]>);

macro_rules! quarter_round {
    ($a:expr, $b:expr, $c:expr, $d:expr) => {
        $a = $a.add($b);
        $d = $d.xor($a).rotate_16();
        $c = $c.add($d);
        $b = $b.xor($c).rotate_left::<12, 20>();
        $a = $a.add($b);
        $d = $d.xor($a).rotate_left_8();
        $c = $c.add($d);
        $b = $b.xor($c).rotate_left::<7, 25>();
    };
}

impl ChaCha20 {
    pub(super) fn new(key: &[u8; 32]) -> Self {
        let (words, _) = key.as_chunks::<4>();
        Self(Zeroizing::new(core::array::from_fn(|i| u32::from_le_bytes(words[i]))))
    }

    fn state(&self, nonce: &[u8; 12], counter: u32) -> [u32; 16] {
        let (nonce, _) = nonce.as_chunks::<4>();
        core::array::from_fn(|i| match i {
            0..4 => CONSTANTS[i],
            4..12 => self.0[i - 4],
            12 => counter,
            _ => u32::from_le_bytes(nonce[i - 13]),
        })
    }

    /// The keystream block `counter`.
    pub(super) fn block(&self, nonce: &[u8; 12], counter: u32) -> [u8; 64] {
        let mut bytes = [0; 64];
        let rows = one_block(&self.state(nonce, counter));
        for (bytes, row) in bytes.as_chunks_mut::<16>().0.iter_mut().zip(rows) {
            *bytes = row.bytes();
        }
        bytes
    }

    /// XORs the keystream from block `counter` on into `data`.
    pub(super) fn apply(&self, nonce: &[u8; 12], counter: u32, data: &mut [u8]) {
        let mut state = self.state(nonce, counter);
        let (batches, rest) = data.as_chunks_mut::<256>();
        for batch in batches {
            xor_four_blocks(&state, batch);
            state[12] = state[12].wrapping_add(4);
        }
        for chunk in rest.chunks_mut(64) {
            let rows = one_block(&state);
            state[12] = state[12].wrapping_add(1);
            let (whole, partial) = chunk.as_chunks_mut::<16>();
            let used = whole.len();
            for (data, row) in whole.iter_mut().zip(rows) {
                *data = V::load(data).xor(row).bytes();
            }
            if let Some(row) = rows.get(used) {
                for (data, keystream) in partial.iter_mut().zip(row.bytes()) {
                    *data ^= keystream;
                }
            }
        }
    }
}

/// One block, each vector a row of the state.
#[inline(never)]
fn one_block(state: &[u32; 16]) -> [V; 4] {
    let (rows, _) = state.as_chunks::<4>();
    let start: [V; 4] = core::array::from_fn(|i| V::load_words(&rows[i]));
    let [mut a, mut b, mut c, mut d] = start;
    for _ in 0..10 {
        quarter_round!(a, b, c, d);
        (b, c, d) = (b.lanes_from::<1>(), c.lanes_from::<2>(), d.lanes_from::<3>());
        quarter_round!(a, b, c, d);
        (b, c, d) = (b.lanes_from::<3>(), c.lanes_from::<2>(), d.lanes_from::<1>());
    }
    [a.add(start[0]), b.add(start[1]), c.add(start[2]), d.add(start[3])]
}

/// Four blocks, each vector the word at one place of them all.
#[inline(never)]
fn xor_four_blocks(state: &[u32; 16], data: &mut [u8; 256]) {
    let counters = V::splat(state[12]).add(V::words([0, 1, 2, 3]));
    let start: [V; 16] = core::array::from_fn(|i| if i == 12 { counters } else { V::splat(state[i]) });
    let mut x = start;
    macro_rules! double_rounds {
        ($($round:literal)*) => {$(
            let _: u8 = $round;
            quarter_round!(x[0], x[4], x[8], x[12]);
            quarter_round!(x[1], x[5], x[9], x[13]);
            quarter_round!(x[2], x[6], x[10], x[14]);
            quarter_round!(x[3], x[7], x[11], x[15]);
            quarter_round!(x[0], x[5], x[10], x[15]);
            quarter_round!(x[1], x[6], x[11], x[12]);
            quarter_round!(x[2], x[7], x[8], x[13]);
            quarter_round!(x[3], x[4], x[9], x[14]);
        )*};
    }
    double_rounds!(0 1 2 3 4 5 6 7 8 9);
    let (data, _) = data.as_chunks_mut::<16>();
    macro_rules! rows {
        ($($row:literal)*) => {$(
            let blocks = transpose(core::array::from_fn(|i| x[4 * $row + i].add(start[4 * $row + i])));
            for (block, keystream) in blocks.into_iter().enumerate() {
                let data = &mut data[4 * block + $row];
                *data = V::load(data).xor(keystream).bytes();
            }
        )*};
    }
    rows!(0 1 2 3);
}
