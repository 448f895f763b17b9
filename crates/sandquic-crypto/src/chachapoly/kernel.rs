//! The one pass over a message.
//!
//! A pass of the cipher makes 4 blocks of keystream per 128-bit lane. The first block of the first pass is the one-time
//! key; the others serve the first 192 (or 448) bytes. In every later pass two Poly1305 blocks per lane follow each of
//! eight double rounds: scalar code that a processor works on beside the vectors.
//!
//! Sealing authenticates in each pass what the pass before has encrypted. Opening authenticates in each pass what has
//! come in and decrypts it after the pass, with keystream that is kept for so long.

use core::marker::PhantomData;

use crate::{
    chacha::block::{State, Wide, at, block},
    poly1305,
    simd::{Kernel, Vector},
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
    let keystream = &keystream[..data.len()];
    let mut chunks = data.chunks_exact_mut(V::BYTES);
    let mut keys = keystream.chunks_exact(V::BYTES);
    for (chunk, key) in (&mut chunks).zip(&mut keys) {
        V::load(key).xor_into(chunk);
    }
    for (byte, key) in chunks.into_remainder().iter_mut().zip(keys.remainder()) {
        *byte ^= key;
    }
}

/// The rounds of one pass, and `blocks` into the authenticator on the side: at most 16 per lane.
#[inline(always)]
fn rounds<V: Vector>(wide: &Wide<V>, mac: &mut poly1305::State, blocks: &[u8]) -> [V; 16] {
    let mut x = wide.input;
    let mut chunks = blocks.chunks_exact(32 * V::LANES);
    for _ in 0..10 {
        wide.double_round(&mut x);
        if let Some(chunk) = chunks.next() {
            mac.blocks_scalar(chunk);
        }
    }
    mac.blocks_scalar(chunks.remainder());
    x
}

impl<D: Direction> Kernel for Crypt<'_, D> {
    type Output = [u8; 16];

    #[inline(always)]
    fn run<V: Vector>(self) -> [u8; 16] {
        let Self { state, associated_data, data, .. } = self;
        let length = data.len();
        let pass = Wide::<V>::BYTES;
        let mut wide = Wide::<V>::new::<false>(state);
        let mut keystream = [0; 512];
        let x = wide.rounds::<10>();
        wide.write(&x, &mut keystream);
        let mut mac = Mac::new(&mut keystream);
        mac.state.padded::<V>(associated_data);

        let first = length.min(pass - 64);
        if !D::OPEN {
            xor::<V>(&mut data[..first], &keystream[64..]);
        }
        // How far the data are authenticated, and how far there is keystream for them.
        let (mut authenticated, mut covered) = (0, first);
        // When opening: where the data that `keystream` is for begin, and where in it.
        let (mut pending, mut offset) = (0, 64);
        while covered < length {
            wide.advance::<false>();
            let end = length.min(covered + pass);
            // Sealing: all that is encrypted. Opening: a whole pass, the end of which is still ahead of the keystream.
            let ready = if D::OPEN { length.min(authenticated + pass) } else { covered };
            let blocks = (ready - authenticated) / 16 * 16;
            let x = rounds(&wide, &mut mac.state, &data[authenticated..authenticated + blocks]);
            authenticated += blocks;
            if D::OPEN {
                xor::<V>(&mut data[pending..covered], &keystream[offset..]);
                (pending, offset) = (covered, 0);
                wide.write(&x, &mut keystream);
            } else if end - covered == pass {
                wide.xor(&x, &mut data[covered..end]);
            } else {
                wide.write(&x, &mut keystream);
                xor::<V>(&mut data[covered..end], &keystream);
            }
            covered = end;
        }
        mac.state.padded::<V>(&data[authenticated..]);
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
