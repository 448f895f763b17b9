//! AES on eight bit planes: eight blocks at once.
//!
//! Plane i is one vector. Its byte at position p (see [`super::layout`]) holds bit i of that byte of the state, block
//! b in bit b. A round is the circuit of the S-box, then MixColumns as rotations of whole planes:
//!
//! ```text
//! out = s' + 2 (s + s') + (s + s')''      s' one row on, s'' two rows
//! ```

use core::hint::black_box;

use super::{
    circuit::{inv_sub_bytes, sub_bytes},
    layout,
};
use crate::simd::Vector;

/// A round key on planes: 0x00 or 0xff for every bit, so that it serves eight blocks.
pub(crate) type PlaneKey = [[u8; 16]; 8];

/// Indices of the byte permutations, opaque to the compiler.
#[derive(Clone, Copy)]
pub(crate) struct Masks<V> {
    pub(crate) next_row: [V; 4],
}

impl<V: Vector> Masks<V> {
    #[inline(always)]
    pub(crate) fn load() -> Self {
        Self { next_row: super::NEXT_ROW.each_ref().map(V::opaque) }
    }

    /// Rounds 4 and 5 are like 2 and 3 but for the indices, so one copy of the code does for both.
    #[inline(always)]
    fn turn(&mut self) {
        let [a, b, c, d] = self.next_row;
        self.next_row = [c, d, a, b];
    }
}

/// The planes of a vector of bytes that is the same in all eight blocks.
#[inline(always)]
pub(crate) fn spread<V: Vector>(bytes: V) -> [V; 8] {
    let zero = V::zero();
    [
        zero.gt_i8(bytes.shl_u32::<7>()),
        zero.gt_i8(bytes.shl_u32::<6>()),
        zero.gt_i8(bytes.shl_u32::<5>()),
        zero.gt_i8(bytes.shl_u32::<4>()),
        zero.gt_i8(bytes.shl_u32::<3>()),
        zero.gt_i8(bytes.shl_u32::<2>()),
        zero.gt_i8(bytes.shl_u32::<1>()),
        zero.gt_i8(bytes),
    ]
}

#[inline(always)]
fn swap_bits<V: Vector, const N: i32>(a: V, b: V, mask: V) -> (V, V) {
    let t = a.shr_u32::<N>().xor(b).and(mask);
    (a.xor(t.shl_u32::<N>()), b.xor(t))
}

/// Bytes of eight blocks to planes, and back: its own inverse.
#[inline(always)]
pub(crate) fn transpose<V: Vector>(v: [V; 8]) -> [V; 8] {
    let [a, b, c, d, e, f, g, h] = v;
    let mask = V::splat_u8(0x0f);
    let (a, e) = swap_bits::<V, 4>(a, e, mask);
    let (b, f) = swap_bits::<V, 4>(b, f, mask);
    let (c, g) = swap_bits::<V, 4>(c, g, mask);
    let (d, h) = swap_bits::<V, 4>(d, h, mask);
    let mask = V::splat_u8(0x33);
    let (a, c) = swap_bits::<V, 2>(a, c, mask);
    let (b, d) = swap_bits::<V, 2>(b, d, mask);
    let (e, g) = swap_bits::<V, 2>(e, g, mask);
    let (f, h) = swap_bits::<V, 2>(f, h, mask);
    let mask = V::splat_u8(0x55);
    let (a, b) = swap_bits::<V, 1>(a, b, mask);
    let (c, d) = swap_bits::<V, 1>(c, d, mask);
    let (e, f) = swap_bits::<V, 1>(e, f, mask);
    let (g, h) = swap_bits::<V, 1>(g, h, mask);
    [a, b, c, d, e, f, g, h]
}

#[inline(always)]
fn add_key<V: Vector>(q: [V; 8], key: &PlaneKey) -> [V; 8] {
    core::array::from_fn(|i| q[i].xor(V::broadcast(&key[i])))
}

/// One row on and K columns on.
#[inline(always)]
pub(crate) fn next_row<V: Vector, const K: usize>(x: V, masks: &Masks<V>) -> V {
    if V::FAST_SWIZZLE {
        return x.swizzle(masks.next_row[K]);
    }
    // Elements of 32 bits are numbered 2 r1 + c1, bytes in them 2 r0 + c0.
    let (one, two, three) =
        (x.shuffle_u32::<1, 0, 3, 2>(), x.shuffle_u32::<2, 3, 0, 1>(), x.shuffle_u32::<3, 2, 1, 0>());
    let bytes = |a: V, b: V, c: V, d: V| {
        let ab = a.shr_u32::<24>().or(b.shr_u32::<8>().and(V::splat_u32(0xff00)));
        let cd = c.shl_u32::<8>().and(V::splat_u32(0xff_0000)).or(d.shl_u32::<24>());
        ab.or(cd)
    };
    match K {
        0 => x.shr_u32::<16>().or(two.shl_u32::<16>()),
        1 => bytes(x, one, two, three),
        2 => one.shr_u32::<16>().or(three.shl_u32::<16>()),
        _ => bytes(one, x, three, two),
    }
}

/// Two rows on and 2K columns on.
#[inline(always)]
pub(crate) fn two_rows<V: Vector, const K: usize>(x: V) -> V {
    if K.is_multiple_of(2) { x.shuffle_u32::<2, 3, 0, 1>() } else { x.shuffle_u32::<3, 2, 1, 0>() }
}

#[inline(always)]
fn mix_columns<V: Vector, const K: usize>(s: [V; 8], masks: &Masks<V>) -> [V; 8] {
    let next = s.map(|s| next_row::<V, K>(s, masks));
    let t: [V; 8] = core::array::from_fn(|i| s[i].xor(next[i]));
    core::array::from_fn(|i| {
        let sum = next[i].xor(two_rows::<V, K>(t[i])).xor(t[(i + 7) % 8]);
        if matches!(i, 1 | 3 | 4) { sum.xor(t[7]) } else { sum }
    })
}

#[inline(always)]
fn inv_mix_columns<V: Vector, const K: usize>(s: [V; 8], masks: &Masks<V>) -> [V; 8] {
    // The matrix is that of MixColumns times (5, 0, 4, 0): add 4 (s + s'') first.
    let u: [V; 8] = core::array::from_fn(|i| s[i].xor(two_rows::<V, K>(s[i])));
    let twice = |u: [V; 8]| -> [V; 8] {
        core::array::from_fn(
            |i| if matches!(i, 1 | 3 | 4) { u[(i + 7) % 8].xor(u[7]) } else { u[(i + 7) % 8] },
        )
    };
    let u = twice(twice(u));
    mix_columns::<V, K>(core::array::from_fn(|i| s[i].xor(u[i])), masks)
}

#[inline(always)]
fn round<V: Vector, const K: usize>(q: [V; 8], key: &PlaneKey, masks: &Masks<V>) -> [V; 8] {
    add_key(mix_columns::<V, K>(sub_bytes(q), masks), key)
}

/// Other work, done in steps of two rounds.
pub(crate) trait Beside {
    /// What is alive during a step.
    type Step;
    /// How many steps there are.
    fn steps(&self) -> usize;
    /// Begins a step.
    fn start(&mut self) -> Self::Step;
    /// Does a part of a step, the first (N = 0) or the second (1).
    fn part<const N: usize>(&mut self, step: &mut Self::Step);
    /// Work beside the last round.
    fn last(&mut self);
}

/// No other work.
pub(crate) struct Nothing;

impl Beside for Nothing {
    type Step = ();
    #[inline(always)]
    fn steps(&self) -> usize {
        0
    }
    #[inline(always)]
    fn start(&mut self) {}
    #[inline(always)]
    fn part<const N: usize>(&mut self, (): &mut ()) {}
    #[inline(always)]
    fn last(&mut self) {}
}

/// A round whose result is in memory too. Cranelift computes what has no effect when something that has one needs it:
/// the stores keep the loads of the key and of tables where they are used, instead of in registers that are spilled.
#[inline(always)]
fn round_stored<V: Vector, const K: usize>(
    q: [V; 8],
    key: &PlaneKey,
    masks: &Masks<V>,
    planes: &mut Planes,
) -> [V; 8] {
    let mixed = mix_columns::<V, K>(sub_bytes(q), masks);
    core::array::from_fn(|i| {
        let q = mixed[i].xor(V::broadcast(&key[i]));
        q.store(&mut planes[i]);
        q
    })
}

/// Planes in memory.
type Planes = [[u8; 16]; 8];

#[inline(always)]
fn load<V: Vector>(planes: &Planes) -> [V; 8] {
    core::array::from_fn(|i| V::broadcast(&planes[i]))
}

/// Pairs of rounds, each with a step of other work. A function of its own on Wasm, where one with all the loops of a
/// mode is too much for the engines' allocation of registers; elsewhere it would be compiled without the instructions
/// that its caller has.
#[cfg_attr(target_arch = "wasm32", inline(never))]
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
fn rounds_beside<V: Vector, B: Beside>(
    planes: &mut Planes,
    keys: &[[PlaneKey; 2]],
    masks: &Masks<V>,
    beside: &mut B,
) {
    let mut masks = *masks;
    for [first, second] in keys {
        // The planes are in memory meanwhile, where they leave the other work the registers.
        let planes = black_box(&mut *planes);
        round_stored::<V, 2>(load(planes), first, &masks, planes);
        let planes = black_box(planes);
        let mut step = beside.start();
        beside.part::<0>(&mut step);
        round_stored::<V, 3>(load(planes), second, &masks, planes);
        black_box(planes);
        beside.part::<1>(&mut step);
        masks.turn();
    }
}

/// Pairs of rounds alone, `turn` pairs after the first.
#[inline(always)]
fn rounds<V: Vector>(planes: &mut Planes, keys: &[[PlaneKey; 2]], masks: &Masks<V>, turn: usize) {
    let mut q = load::<V>(planes);
    let mut masks = *masks;
    if !turn.is_multiple_of(2) {
        masks.turn();
    }
    let mut stored = [[[0; 16]; 8]; 2];
    for (i, [first, second]) in keys.iter().enumerate() {
        if V::FAST_SWIZZLE {
            let stored = black_box(&mut stored);
            q = round_stored::<V, 2>(q, first, &masks, &mut stored[0]);
            q = round_stored::<V, 3>(q, second, &masks, &mut stored[1]);
            masks.turn();
        } else if (turn + i).is_multiple_of(2) {
            q = round::<V, 2>(q, first, &masks);
            q = round::<V, 3>(q, second, &masks);
        } else {
            q = round::<V, 0>(q, first, &masks);
            q = round::<V, 1>(q, second, &masks);
        }
    }
    for (plane, q) in planes.iter_mut().zip(q) {
        q.store(plane);
    }
}

/// Encrypts planes; the result is in the layout of the last round.
#[inline(always)]
pub(crate) fn encrypt<V: Vector>(q: [V; 8], keys: &[PlaneKey], masks: &Masks<V>) -> [V; 8] {
    let q = round::<V, 1>(add_key(q, &keys[0]), &keys[1], masks);
    encrypt_beside(q, keys, masks, &mut Nothing)
}

/// The rest of [`encrypt`] after its first round, with other work beside it.
#[inline(always)]
pub(crate) fn encrypt_beside<V: Vector, B: Beside>(
    q: [V; 8],
    keys: &[PlaneKey],
    masks: &Masks<V>,
    beside: &mut B,
) -> [V; 8] {
    let last = keys.len() - 1;
    let (pairs, _) = keys[2..last].as_chunks::<2>();
    let steps = beside.steps().min(pairs.len());
    let (with, without) = pairs.split_at(steps);
    let mut planes = [[0; 16]; 8];
    for (plane, q) in planes.iter_mut().zip(q) {
        q.store(plane);
    }
    if !with.is_empty() {
        rounds_beside::<V, B>(&mut planes, with, masks, beside);
    }
    if !without.is_empty() {
        rounds::<V>(&mut planes, without, masks, steps);
    }
    beside.last();
    add_key(sub_bytes(load(&planes)), &keys[last])
}

/// Decrypts planes that are in the layout of the last round.
#[inline(always)]
pub(crate) fn decrypt<V: Vector>(q: [V; 8], keys: &[PlaneKey], masks: &Masks<V>) -> [V; 8] {
    let last = keys.len() - 1;
    let mut q = inv_sub_bytes(add_key(q, &keys[last]));
    for i in (1..last).rev() {
        q = add_key(q, &keys[i]);
        q = match i % 4 {
            0 => inv_mix_columns::<V, 0>(q, masks),
            1 => inv_mix_columns::<V, 1>(q, masks),
            2 => inv_mix_columns::<V, 2>(q, masks),
            _ => inv_mix_columns::<V, 3>(q, masks),
        };
        q = inv_sub_bytes(q);
    }
    add_key(q, &keys[0])
}

/// Applies a permutation of bytes from [`layout`] to a block.
#[inline(always)]
pub(crate) fn permute<V: Vector>(x: V, indices: &[u8; 16], opaque: V) -> V {
    if V::FAST_SWIZZLE { x.swizzle(opaque) } else { V::load(&layout::permute(&x.lane(0), indices)) }
}
