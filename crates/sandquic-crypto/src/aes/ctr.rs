//! Counter mode with the 32-bit counters of GCM and GCM-SIV.

use super::{
    bitslice::{self, Beside, Masks, Nothing},
    blocks::encrypt_native,
    key::Key,
    nibble::Tables,
};
use crate::simd::{AesInstructions, AesKernel, Kernel, Vector};

/// Where the 32-bit counter of a counter block is; it wraps without a carry.
pub(crate) trait Layout: Copy {
    /// The counter of a block.
    fn counter(block: &[u8; 16]) -> u32;
    /// The block with its counter replaced.
    fn with_counter(words: [u32; 4], counter: u32) -> [u32; 4];
    /// Whether the counter's least significant byte is the last of the block.
    const LAST_BYTE: bool;
}

/// GCM: big-endian in the last four bytes.
#[derive(Clone, Copy)]
pub(crate) struct BigEndian;
/// GCM-SIV: little-endian in the first four.
#[derive(Clone, Copy)]
pub(crate) struct LittleEndian;

impl Layout for BigEndian {
    const LAST_BYTE: bool = true;
    #[inline(always)]
    fn counter(block: &[u8; 16]) -> u32 {
        u32::from_be_bytes([block[12], block[13], block[14], block[15]])
    }
    #[inline(always)]
    fn with_counter(words: [u32; 4], counter: u32) -> [u32; 4] {
        [words[0], words[1], words[2], counter.swap_bytes()]
    }
}

impl Layout for LittleEndian {
    const LAST_BYTE: bool = false;
    #[inline(always)]
    fn counter(block: &[u8; 16]) -> u32 {
        u32::from_le_bytes([block[0], block[1], block[2], block[3]])
    }
    #[inline(always)]
    fn with_counter(words: [u32; 4], counter: u32) -> [u32; 4] {
        [counter, words[1], words[2], words[3]]
    }
}

/// Xors the keystream that starts with the encryption of `block` into `data`. With a `mask`, the first block of
/// keystream goes there instead.
pub(crate) struct Ctr<'a, L> {
    pub(crate) key: &'a Key,
    #[allow(dead_code, reason = "it names the type")]
    pub(crate) layout: L,
    pub(crate) block: [u8; 16],
    pub(crate) mask: Option<&'a mut [u8; 16]>,
    pub(crate) data: &'a mut [u8],
}

impl<L: Layout> Ctr<'_, L> {
    /// On the processor's instructions if it has them, else on vectors.
    #[inline(always)]
    pub(crate) fn dispatch(self) {
        if let Err(ctr) = crate::backend::try_aes_wide(self) {
            crate::backend::dispatch_narrow(ctr);
        }
    }
}

/// What is left to be done, and the counter block that comes next.
pub(crate) struct Progress<'a> {
    mask: Option<&'a mut [u8; 16]>,
    data: &'a mut [u8],
    words: [u32; 4],
    counter: u32,
}

impl<'a> Progress<'a> {
    #[inline(always)]
    pub(crate) fn new<L: Layout>(ctr: Ctr<'a, L>) -> (Self, &'a Key) {
        let mut words = [0; 4];
        for (word, bytes) in words.iter_mut().zip(ctr.block.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        (Self { mask: ctr.mask, data: ctr.data, words, counter: L::counter(&ctr.block) }, ctr.key)
    }

    /// Counters from `block` on, and no data.
    #[inline(always)]
    pub(crate) fn counters<L: Layout>(block: &[u8; 16]) -> Self {
        let mut words = [0; 4];
        for (word, bytes) in words.iter_mut().zip(block.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        Self { mask: None, data: &mut [], words, counter: L::counter(block) }
    }

    /// Passes over N blocks.
    #[inline(always)]
    pub(crate) fn advance(&mut self, blocks: u32) {
        self.counter = self.counter.wrapping_add(blocks);
    }

    /// Blocks of keystream still to be used.
    #[inline(always)]
    pub(crate) fn blocks(&self) -> usize {
        self.data.len().div_ceil(16) + usize::from(self.mask.is_some())
    }

    /// The next N counter blocks.
    #[inline(always)]
    fn next<L: Layout, V: Vector, const N: usize>(&self) -> [V; N] {
        core::array::from_fn(|i| {
            V::broadcast_u32(L::with_counter(self.words, self.counter.wrapping_add(i as u32)))
        })
    }

    /// Uses eight vectors of keystream at a time, as long as there is data for all of their blocks.
    #[inline(always)]
    fn batches<L: Layout, A: AesInstructions>(&mut self, aes: A, keys: &[[u8; 16]]) {
        let mut batches = core::mem::take(&mut self.data).chunks_exact_mut(128 * A::V::LANES);
        for batch in &mut batches {
            let mut blocks = [A::V::zero(); 8];
            for block in &mut blocks {
                let counter = self.counter;
                *block = A::V::from_lanes_u32(|lane| {
                    L::with_counter(self.words, counter.wrapping_add(lane as u32))
                });
                self.advance(A::V::LANES as u32);
            }
            let keystream = encrypt_native(aes, keys, blocks);
            for (chunk, keystream) in batch.chunks_exact_mut(16 * A::V::LANES).zip(keystream) {
                keystream.xor_into(chunk);
            }
        }
        self.data = batches.into_remainder();
    }

    /// Uses N blocks of keystream, or as many as are needed.
    #[inline(always)]
    pub(crate) fn apply<V: Vector, const N: usize>(&mut self, keystream: [V; N]) {
        self.counter = self.counter.wrapping_add(N as u32);
        if self.mask.is_none() && self.data.len() >= 16 * N {
            let (now, later) = core::mem::take(&mut self.data).split_at_mut(16 * N);
            for (chunk, keystream) in now.chunks_exact_mut(16).zip(keystream) {
                keystream.xor_into(chunk);
            }
            self.data = later;
            return;
        }
        let mut bytes = [[0u8; 16]; N];
        for (bytes, keystream) in bytes.iter_mut().zip(keystream) {
            keystream.store(bytes);
        }
        let mut blocks = bytes.iter();
        if let Some(mask) = self.mask.take()
            && let Some(block) = blocks.next()
        {
            *mask = *block;
        }
        let blocks = blocks.as_slice();
        let length = self.data.len().min(16 * blocks.len());
        let (now, later) = core::mem::take(&mut self.data).split_at_mut(length);
        let (whole, tail) = now.as_chunks_mut::<16>();
        for (chunk, block) in whole.iter_mut().zip(blocks) {
            V::load(block).xor_into(chunk);
        }
        for (byte, key) in tail.iter_mut().zip(blocks.get(whole.len()).into_iter().flatten()) {
            *byte ^= key;
        }
        self.data = later;
    }
}

type NarrowVector<A> = <<A as AesInstructions>::Narrow as AesInstructions>::V;

impl<L: Layout> AesKernel for Ctr<'_, L> {
    type Output = ();

    #[inline(always)]
    fn run<A: AesInstructions>(self, aes: A) {
        let (mut progress, key) = Progress::new(self);
        let keys = key.plain();
        if A::V::LANES > 1 && progress.mask.is_none() {
            progress.batches::<L, A>(aes, keys);
        }
        let aes = aes.narrow();
        loop {
            match progress.blocks() {
                0 => return,
                1 => {
                    let out = encrypt_native(aes, keys, progress.next::<L, NarrowVector<A>, 1>());
                    progress.apply(out);
                }
                2..=4 => {
                    let out = encrypt_native(aes, keys, progress.next::<L, NarrowVector<A>, 4>());
                    progress.apply(out);
                }
                _ => {
                    let out = encrypt_native(aes, keys, progress.next::<L, NarrowVector<A>, 8>());
                    progress.apply(out);
                }
            }
        }
    }
}

impl<L: Layout> Kernel for Ctr<'_, L> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let (mut progress, key) = Progress::new(self);
        let mut eights = Eights::<V>::new(key);
        loop {
            match progress.blocks() {
                0 => return,
                1..=4 if V::FAST_SWIZZLE => {
                    let out = eights.four::<L>(&progress);
                    progress.apply(out);
                }
                _ => {
                    let out = eights.eight::<L, _>(&progress, &mut Nothing);
                    progress.apply(out);
                }
            }
        }
    }

    #[inline(always)]
    fn soft(self) {
        Kernel::run::<crate::simd::portable::V128>(self);
    }
}

/// Keystream of eight blocks, or of four.
pub(crate) struct Eights<'a, V> {
    key: &'a Key,
    restore_indices: &'static [u8; 16],
    restore: V,
    arrange: V,
    tables: Tables<V>,
    masks: Masks<V>,
    first_round: FirstRound<V>,
}

impl<'a, V: Vector> Eights<'a, V> {
    #[inline(always)]
    pub(crate) fn new(key: &'a Key) -> Self {
        let restore_indices = &super::RESTORE[key.rotation()];
        let masks = Masks::<V>::load();
        Self {
            key,
            restore_indices,
            restore: V::opaque(restore_indices),
            arrange: V::opaque(&super::ARRANGE[0]),
            tables: Tables::<V>::load(),
            first_round: FirstRound::<V>::new(),
            masks,
        }
    }

    /// The next four blocks of keystream, by lookups of nibbles.
    #[inline(always)]
    pub(crate) fn four<L: Layout>(&self, progress: &Progress<'_>) -> [V; 4] {
        let blocks = progress.next::<L, V, 4>().map(|block| block.swizzle(self.arrange));
        self.tables.encrypt(self.key.nibbles(), blocks).map(|block| block.swizzle(self.restore))
    }

    /// The next eight blocks of keystream, with other work beside them.
    #[inline(always)]
    pub(crate) fn eight<L: Layout, B: Beside>(&mut self, progress: &Progress<'_>, beside: &mut B) -> [V; 8] {
        let planes = if V::FAST_SWIZZLE && L::LAST_BYTE && progress.counter & 0xff <= 0xf8 {
            let q = self.first_round.planes(self.key, progress, self.arrange, &self.tables, &self.masks);
            let mut beside = AndNext {
                beside,
                tables: &self.tables,
                key0: self.key.first()[0][15],
                counter: progress.counter.wrapping_add(8),
                next: &mut self.first_round.next,
            };
            bitslice::encrypt_beside(q, self.key.planes(), &self.masks, &mut beside)
        } else {
            let blocks = progress.next::<L, V, 8>();
            let blocks = blocks.map(|block| bitslice::permute(block, &super::ARRANGE[0], self.arrange));
            bitslice::encrypt(bitslice::transpose(blocks), self.key.planes(), &self.masks)
        };
        let out = bitslice::transpose(planes);
        out.map(|block| bitslice::permute(block, self.restore_indices, self.restore))
    }
}

/// The first round of eight counter blocks that differ in their last byte alone.
///
/// That byte is in row 3 and column 3, ShiftRows brings it to column 0, and MixColumns adds its S-box once to rows 0
/// and 1 of that column, three times to row 2 and twice to row 3. All the rest is the same for 256 blocks.
struct FirstRound<V> {
    /// The counter's upper three bytes that `base` is for.
    upper: Option<u32>,
    /// The planes after the first round without the last byte's part.
    base: [V; 8],
    /// A counter whose last byte is below 0xf9, and bits of the S-boxes of the eight from there.
    next: (u32, u64),
    /// Indices that bring element i of four words to where column 0 is after one omitted ShiftRows, zeros elsewhere.
    column: [V; 4],
}

static COLUMN: [[u8; 16]; 4] = {
    let mut indices = [[0x80; 16]; 4];
    let mut i = 0;
    while i < 4 {
        let mut row = 0;
        while row < 4 {
            indices[i][super::layout::position(row, row)] = (4 * i + row) as u8;
            row += 1;
        }
        i += 1;
    }
    indices
};

impl<V: Vector> FirstRound<V> {
    #[inline(always)]
    fn new() -> Self {
        Self {
            upper: None,
            next: (u32::MAX, 0),
            base: [V::zero(); 8],
            column: COLUMN.each_ref().map(V::opaque),
        }
    }

    /// The planes of the next eight blocks after their first round.
    #[inline(always)]
    fn planes(
        &mut self,
        key: &Key,
        progress: &Progress<'_>,
        arrange: V,
        tables: &Tables<V>,
        masks: &Masks<V>,
    ) -> [V; 8] {
        let [key0, key1] = key.first();
        let upper = progress.counter >> 8;
        if self.upper != Some(upper) {
            let [block] = progress.next::<BigEndian, V, 1>();
            let s = tables.sub_bytes(block.swizzle(arrange).xor(V::load(key0)));
            // The last byte, row 3 and column 3, is at position 15.
            let s = s.and(V::broadcast_u32([!0, !0, !0, 0x00ff_ffff]));
            let next = s.swizzle(masks.next_row[1]);
            let t = s.xor(next);
            let twice = t.add_u8(t).xor(V::zero().gt_i8(t).and(V::splat_u8(0x1b)));
            let out = twice.xor(next).xor(bitslice::two_rows::<V, 1>(t)).xor(V::load(key1));
            self.base = bitslice::spread(out);
            self.upper = Some(upper);
        }
        let s = match self.next {
            (counter, s) if counter == progress.counter => s,
            _ => last_bytes(tables, key0[15], progress.counter),
        };
        let twice = (s << 8) ^ ((s >> 56) * 0x01_0100_0101);
        let (once, twice) = (V::splat_u64(s), V::splat_u64(twice));
        let rows01 = once.interleave_lo_u8(once);
        let rows23 = once.xor(twice).interleave_lo_u8(twice);
        let (low, high) = (rows01.interleave_lo_u16(rows23), rows01.interleave_hi_u16(rows23));
        core::array::from_fn(|i| {
            let words = if i < 4 { low } else { high };
            self.base[i].xor(words.swizzle(self.column[i % 4]))
        })
    }
}

/// The S-boxes of eight last bytes, one byte a plane.
#[inline(always)]
fn last_bytes<V: Vector>(tables: &Tables<V>, key0: u8, counter: u32) -> u64 {
    let counters = V::splat_u8(counter as u8).add_u8(V::splat_u64(0x0706_0504_0302_0100));
    transpose_bits(tables.sub_bytes(counters.xor(V::splat_u8(key0))).extract_u64::<0>())
}

/// Other work, and what the next eight blocks begin with: a chain of operations that the last round hides.
struct AndNext<'a, B, V> {
    beside: &'a mut B,
    tables: &'a Tables<V>,
    key0: u8,
    counter: u32,
    next: &'a mut (u32, u64),
}

impl<B: Beside, V: Vector> Beside for AndNext<'_, B, V> {
    type Step = B::Step;
    #[inline(always)]
    fn steps(&self) -> usize {
        self.beside.steps()
    }
    #[inline(always)]
    fn start(&mut self) -> B::Step {
        self.beside.start()
    }
    #[inline(always)]
    fn part<const N: usize>(&mut self, step: &mut B::Step) {
        self.beside.part::<N>(step);
    }
    #[inline(always)]
    fn last(&mut self) {
        self.beside.last();
        *self.next = (self.counter, last_bytes(self.tables, self.key0, self.counter));
        // Now, not when it is needed.
        core::hint::black_box(&mut *self.next);
    }
}

/// Bit i of byte j becomes bit j of byte i.
#[inline(always)]
fn transpose_bits(x: u64) -> u64 {
    let t = (x ^ (x >> 7)) & 0x00aa_00aa_00aa_00aa;
    let x = x ^ t ^ (t << 7);
    let t = (x ^ (x >> 14)) & 0x0000_cccc_0000_cccc;
    let x = x ^ t ^ (t << 14);
    let t = (x ^ (x >> 28)) & 0x0000_0000_f0f0_f0f0;
    x ^ t ^ (t << 28)
}
