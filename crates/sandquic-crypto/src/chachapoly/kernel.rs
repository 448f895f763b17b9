//! The one pass over a message.
//!
//! A pass of the cipher makes 4 blocks of keystream per 128-bit lane. The first block of the first pass is the one-time
//! key; the others serve the first 192 (or 448) bytes. In every later pass Poly1305 goes beside the double rounds: scalar
//! code that a processor works on beside the vectors. On Wasm most later passes are two at once.
//!
//! Sealing authenticates in each pass what the pass before has encrypted. Opening authenticates in each pass what has
//! come in and decrypts it after the pass, with keystream that is kept for so long.

use core::marker::PhantomData;

use crate::{
    chacha::block::{State, Wide, at, block},
    poly1305,
    simd::{Kernel, ROTATE_8, ROTATE_16, Vector},
    stream::{SLOTS, Slots},
};

/// What a kernel does.
pub(super) trait Direction {
    /// Whether it decrypts.
    const OPEN: bool;
}

/// Encrypt, then authenticate.
pub(super) struct Seal;
/// Authenticate, then decrypt.
pub(super) struct Open;

impl Direction for Seal {
    const OPEN: bool = false;
}

impl Direction for Open {
    const OPEN: bool = true;
}

/// Encrypts or decrypts `data` and returns the tag of the ciphertext.
pub(super) struct Crypt<'a, D> {
    state: &'a State,
    associated_data: &'a [u8],
    data: &'a mut [u8],
    direction: PhantomData<D>,
}

impl<'a, D: Direction> Crypt<'a, D> {
    /// `state` is that of block 0.
    pub(super) fn new(state: &'a State, associated_data: &'a [u8], data: &'a mut [u8]) -> Self {
        Self { state, associated_data, data, direction: PhantomData }
    }
}

/// The authenticator with the second half of its key.
struct Mac {
    state: poly1305::State,
    pad: [u8; 16],
}

impl Mac {
    #[inline(always)]
    fn new(keystream: &mut [u8]) -> Self {
        let (halves, _) = keystream.as_chunks::<16>();
        let mac = Self { state: poly1305::State::new(&halves[0]), pad: halves[1] };
        #[cfg(feature = "zeroize")]
        crate::wipe::wipe(&mut keystream[..32]);
        mac
    }

    /// Absorbs both lengths and returns the tag.
    #[inline(always)]
    fn finish(mut self, associated_data: usize, data: usize) -> [u8; 16] {
        let lengths = (associated_data as u64 as u128) | (data as u64 as u128) << 64;
        self.state.block(&lengths.to_le_bytes());
        let tag = self.state.tag(&self.pad);
        #[cfg(feature = "zeroize")]
        {
            self.state.wipe();
            crate::wipe::wipe(&mut self.pad);
        }
        tag
    }
}

/// Xors keystream into data of at most its length.
#[inline(always)]
fn xor<V: Vector>(data: &mut [u8], keystream: &[u8]) {
    let length = data.len();
    let keystream = &keystream[..length];
    if length < V::BYTES {
        return crate::stream::xor(data, keystream);
    }
    // The last vector may overlap the one before it, so its data are read before that one is written.
    let end = length - V::BYTES;
    let last = V::load(&data[end..]).xor(V::load(&keystream[end..]));
    let vectors = data.chunks_exact_mut(V::BYTES).zip(keystream.chunks_exact(V::BYTES));
    for (chunk, key) in vectors {
        V::load(key).xor_into(chunk);
    }
    last.store(&mut data[end..]);
}

/// Blocks 0 and 1 of the keystream, each in four vectors of a row of its state: for two blocks that takes little more
/// than half the time of a pass for four.
#[inline(always)]
fn two_blocks<V: Vector>(state: &State, keystream: &mut [u8; 128]) {
    let (by16, by8) = (V::opaque(&ROTATE_16), V::opaque(&ROTATE_8));
    let row = |i: usize| V::broadcast_u32([state[i], state[i + 1], state[i + 2], state[i + 3]]);
    let one = V::broadcast_u32([1, 0, 0, 0]);
    let input = [row(0), row(4), row(8), row(12)];
    let inputs = [input, [input[0], input[1], input[2], input[3].add_u32(one)]];
    let mut x = inputs;
    macro_rules! both {
        ($a:literal + $b:literal) => {
            for x in &mut x {
                x[$a] = x[$a].add_u32(x[$b]);
            }
        };
        ($d:literal ^ $a:literal, $rotate:ident($by:expr)) => {
            for x in &mut x {
                x[$d] = x[$d].xor(x[$a]).$rotate($by);
            }
        };
        ($d:literal ^ $a:literal, $n:literal) => {
            for x in &mut x {
                x[$d] = x[$d].xor(x[$a]).rotl_u32::<$n>();
            }
        };
    }
    macro_rules! round {
        () => {
            both!(0 + 1);
            both!(3 ^ 0, rotl16_u32(by16));
            both!(2 + 3);
            both!(1 ^ 2, 12);
            both!(0 + 1);
            both!(3 ^ 0, rotl8_u32(by8));
            both!(2 + 3);
            both!(1 ^ 2, 7);
        };
    }
    for _ in 0..10 {
        round!();
        for x in &mut x {
            x[1] = x[1].shuffle_u32::<1, 2, 3, 0>();
            x[2] = x[2].shuffle_u32::<2, 3, 0, 1>();
            x[3] = x[3].shuffle_u32::<3, 0, 1, 2>();
        }
        round!();
        for x in &mut x {
            x[1] = x[1].shuffle_u32::<3, 0, 1, 2>();
            x[2] = x[2].shuffle_u32::<2, 3, 0, 1>();
            x[3] = x[3].shuffle_u32::<1, 2, 3, 0>();
        }
    }
    let rows = x.as_flattened().iter().zip(inputs.as_flattened());
    for (out, (x, input)) in keystream.chunks_exact_mut(16).zip(rows) {
        x.add_u32(*input).store(out);
    }
}

/// Blocks of Poly1305 to a double round on Wasm, of one pass or two.
const SIDE: usize = 3;

/// The rounds of one pass, and `blocks` into the authenticator beside double rounds.
#[inline(always)]
fn rounds<V: Vector>(wide: &Wide<V>, mac: &mut poly1305::State, blocks: &[u8]) -> [V; 16] {
    let mut x = wide.input;
    let step = 16 * if SLOTS { SIDE } else { 2 * V::LANES };
    let beside = (blocks.len() / step).min(10);
    let (blocks, rest) = blocks.split_at(step * beside);
    // Locals stay in registers across the loop.
    let (r, mut h) = mac.parts();
    for chunk in blocks.chunks_exact(step) {
        wide.double_round(&mut x);
        for block in chunk.as_chunks().0 {
            if SLOTS {
                h.block_here(&r, block);
            } else {
                h.block(&r, block, 1);
            }
        }
    }
    for _ in beside..10 {
        wide.double_round(&mut x);
    }
    mac.set(h);
    mac.blocks_scalar(rest);
    x
}

/// The rounds of two passes over words in memory, and `blocks` into the authenticator, one after each of the first three
/// of four rounds.
#[inline(always)]
fn rounds_of_two<V: Vector>(
    wide: &Wide<V>,
    [x, y]: [&mut Slots<V>; 2],
    mac: &mut poly1305::State,
    blocks: &[u8],
) {
    let step = 16 * SIDE;
    let beside = (blocks.len() / step).min(10);
    let (blocks, rest) = blocks.split_at(step * beside);
    let (r, mut h) = mac.parts();
    for [a, b, c] in blocks.as_chunks::<16>().0.as_chunks::<SIDE>().0 {
        let wide = wide.refreshed();
        wide.column_round_in(x);
        h.block_here(&r, a);
        wide.column_round_in(y);
        h.block_here(&r, b);
        wide.diagonal_round_in(x);
        h.block_here(&r, c);
        wide.diagonal_round_in(y);
    }
    for _ in beside..10 {
        wide.column_round_in(x);
        wide.column_round_in(y);
        wide.diagonal_round_in(x);
        wide.diagonal_round_in(y);
    }
    mac.set(h);
    mac.blocks_scalar(rest);
}

impl<D: Direction> Kernel for Crypt<'_, D> {
    type Output = [u8; 16];

    #[inline(always)]
    fn run<V: Vector>(self) -> [u8; 16] {
        let Self { state, associated_data, data, .. } = self;
        let length = data.len();
        let pass = Wide::<V>::BYTES;
        if V::LANES == 1 && length <= 64 {
            let mut keystream = [0; 128];
            two_blocks::<V>(state, &mut keystream);
            let mut mac = Mac::new(&mut keystream);
            mac.state.padded_short(associated_data);
            if D::OPEN {
                mac.state.padded_short(data);
            }
            xor::<V>(data, &keystream[64..]);
            if !D::OPEN {
                mac.state.padded_short(data);
            }
            return mac.finish(associated_data.len(), length);
        }
        let mut keystream = [0; 512];
        let mut wide = Wide::<V>::new::<false>(state);
        // Two passes at once where there are words for more than one.
        let two = |left: usize| SLOTS && left > pass;
        let x = wide.rounds::<10>();
        wide.finish::<true>(|i| x[i], &mut keystream);
        let first = length.min(pass - 64);
        let mut mac = Mac::new(&mut keystream);
        mac.state.padded::<V>(associated_data);

        if !D::OPEN {
            xor::<V>(&mut data[..first], &keystream[64..]);
        }
        // How far the data are authenticated, and how far there is keystream for them.
        let (mut authenticated, mut covered) = (0, first);
        // When opening: where the data that `keystream` is for begin, and where in it.
        let (mut pending, mut offset) = (0, 64);
        while covered < length {
            wide.advance::<false>();
            let two = two(length - covered);
            let made = if two { 2 * pass } else { pass };
            let end = length.min(covered + made);
            // Sealing: all that is encrypted. Opening: what goes beside the rounds, for all has come in, and at least what
            // is decrypted after them.
            let most = authenticated + if SLOTS { 160 * SIDE } else { pass };
            let ready = if D::OPEN { most.max(covered).min(length) } else { covered };
            let blocks = (ready - authenticated) / 16 * 16;
            let blocks = &data[authenticated..authenticated + blocks];
            authenticated += blocks.len();
            if two {
                let mut next = wide;
                next.advance::<false>();
                let (mut x, mut y) = (Slots::new(&wide.input), Slots::new(&next.input));
                rounds_of_two(&wide, [&mut x, &mut y], &mut mac.state, blocks);
                if D::OPEN {
                    xor::<V>(&mut data[pending..covered], &keystream[offset..]);
                }
                wide.finish::<true>(|i| x.get(i), &mut keystream[..pass]);
                next.finish::<true>(|i| y.get(i), &mut keystream[pass..]);
                wide = next;
            } else {
                let x = rounds(&wide, &mut mac.state, blocks);
                if D::OPEN {
                    xor::<V>(&mut data[pending..covered], &keystream[offset..]);
                }
                wide.finish::<true>(|i| x[i], &mut keystream);
            }
            if D::OPEN {
                (pending, offset) = (covered, 0);
            } else {
                xor::<V>(&mut data[covered..end], &keystream);
            }
            covered = end;
        }
        // On Wasm too little for vectors to pay: they need a power of r.
        if SLOTS {
            mac.state.padded_short(&data[authenticated..]);
        } else {
            mac.state.padded::<V>(&data[authenticated..]);
        }
        if D::OPEN {
            xor::<V>(&mut data[pending..], &keystream[offset..]);
        }
        mac.finish(associated_data.len(), length)
    }

    #[inline(always)]
    fn soft(self) -> [u8; 16] {
        let Self { state, associated_data, data, .. } = self;
        let mut mac = Mac::new(&mut crate::stream::to_bytes(&block::<10>(state)));
        let scalar = |mac: &mut Mac, bytes: &[u8]| {
            let whole = bytes.len() / 16 * 16;
            mac.state.blocks_scalar(&bytes[..whole]);
            mac.state.padded_tail(&bytes[whole..]);
        };
        scalar(&mut mac, associated_data);
        if D::OPEN {
            scalar(&mut mac, data);
        }
        for (i, chunk) in data.chunks_mut(64).enumerate() {
            let keystream = crate::stream::to_bytes(&block::<10>(&at::<false>(state, 1 + i as u64)));
            crate::stream::xor(chunk, &keystream[..chunk.len()]);
        }
        if !D::OPEN {
            scalar(&mut mac, data);
        }
        mac.finish(associated_data.len(), data.len())
    }
}
