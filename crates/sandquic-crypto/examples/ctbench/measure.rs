//! Times of two classes of inputs and Welch's t-test on them.

use std::hint::black_box;
use std::sync::atomic::{Ordering, fence};
use std::time::Instant;

use crate::functions::{Function, ordinary};

/// |t| above this is a leak.
pub(crate) const THRESHOLD: f64 = 10.0;
/// Shares of the samples that are kept, the slowest left out.
const KEPT: [f64; 7] = [1.0, 0.99, 0.95, 0.9, 0.75, 0.5, 0.25];
/// The share that is shown: of all, means would be means of interruptions.
const SHOWN: usize = 3;
/// A sample takes at least as long, so that the clock's steps and the call of it matter little.
const SAMPLE_NS: f64 = 1_000.0;
/// Samples at the beginning that are thrown away: the clock of a processor needs some milliseconds to settle.
const WARM_UP: usize = 2_000;
/// Samples whose inputs are made at a time.
const BLOCK: usize = 1_000;

pub(crate) struct Outcome {
    pub(crate) name: &'static str,
    /// Of the seven tests, the t that is farthest from 0.
    pub(crate) t: f64,
    /// Means of one call, in the fastest nine tenths of the samples.
    pub(crate) fixed_ns: f64,
    pub(crate) random_ns: f64,
    pub(crate) samples: usize,
}

impl Outcome {
    pub(crate) fn leaks(&self) -> bool {
        // Not a number where a class has no variance: no difference was seen at all, or it is infinite.
        self.t.abs() > THRESHOLD
    }

    pub(crate) fn or_smaller(self, other: Self) -> Self {
        if other.t.abs() < self.t.abs() { other } else { self }
    }
}

/// Count, mean and sum of squared deviations.
#[derive(Clone, Copy, Default)]
struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    /// Of the samples of a class that took no longer than `limit`.
    fn of(samples: &[Sample], class: bool, limit: u32) -> Self {
        let kept =
            || samples.iter().filter(|s| s.class() == class && s.ns() <= limit).map(|s| f64::from(s.ns()));
        let count = kept().count() as f64;
        let mean = kept().sum::<f64>() / count.max(1.0);
        Self { count, mean, squares: kept().map(|ns| (ns - mean) * (ns - mean)).sum() }
    }

    fn error(&self) -> f64 {
        self.squares / (self.count - 1.0) / self.count
    }
}

/// Welch's t; 0 where a set is too small to say anything.
fn welch([a, b]: [Moments; 2]) -> f64 {
    if a.count < 10.0 || b.count < 10.0 {
        return 0.0;
    }
    let difference = a.mean - b.mean;
    if difference == 0.0 { 0.0 } else { difference / (a.error() + b.error()).sqrt() }
}

/// Nanoseconds and, in the last bit, the class: 0 is fixed, 1 is random.
#[derive(Clone, Copy)]
struct Sample(u32);

impl Sample {
    /// Times above two seconds are as long as two seconds.
    fn new(ns: u128, class: u8) -> Self {
        Self((ns.min(u128::from(u32::MAX >> 1)) as u32) << 1 | u32::from(class))
    }

    fn ns(self) -> u32 {
        self.0 >> 1
    }

    fn class(self) -> bool {
        self.0 & 1 == 1
    }
}

/// Random numbers that need not be secret.
pub(crate) struct Random(u64);

impl Random {
    /// `seed` is not 0.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

/// Makes inputs of random classes, one behind the other, without a branch on the class: what prepares them must not differ
/// either.
fn prepare(fixed: &[u8], random: &mut Random, classes: &mut [u8], inputs: &mut [u8]) {
    for (class, input) in classes.iter_mut().zip(inputs.chunks_exact_mut(fixed.len())) {
        *class = (random.next() >> 63) as u8;
        let mask = class.wrapping_neg();
        for (byte, fixed) in input.iter_mut().zip(fixed) {
            *byte = fixed ^ ((fixed ^ (random.next() >> 32) as u8) & mask);
        }
    }
}

/// Calls `f` with so many more pages, and some cache lines, of the stack in use.
#[inline(never)]
fn deeper(pages: usize, f: &mut dyn FnMut()) {
    if pages == 0 {
        return f();
    }
    let mut page = [0u8; 4096 + 5 * 64];
    black_box(&mut page);
    deeper(pages - 1, f);
    black_box(&mut page);
}

/// Measures a function. Nothing that depends on a sample's class is done between samples: times are only written down, and
/// looked at when all are there.
///
/// Before each sample the function is called once with a secret of neither class, so that whatever a call leaves behind in
/// the processor comes from that one; then the input is copied to its place, where all inputs go, and a fence waits for the
/// copy (natively; a component has no such instruction) before the clock is read.
///
/// `place` moves the secret and the stack. With the same fixed secret, differences of up to a hundredth of the time have been
/// seen natively (HMAC-SHA-256, AES) that come and go, and change their sign, with the addresses a process happens to
/// have, where two classes of random secrets show none.
pub(crate) fn measure(function: &mut Function, samples: usize, place: usize) -> Outcome {
    let fixed = function.fixed.clone();
    let neutral = ordinary(fixed.len(), u64::from(u32::MAX));
    let calls = calls(function, &neutral);
    let mut random = Random::new(0x9e37_79b9_7f4a_7c15);
    let mut room = vec![0; fixed.len() + 4096];
    let (_, room) = room.split_at_mut(7 * 64 * place % 4096);
    let (secret, _) = room.split_at_mut(fixed.len());
    let (mut classes, mut inputs) = ([0; BLOCK], vec![0; BLOCK * fixed.len()]);
    let mut times = Vec::with_capacity(samples + BLOCK);
    let mut block = |times: &mut Vec<Sample>| {
        prepare(&fixed, &mut random, &mut classes, &mut inputs);
        for (class, input) in classes.iter().zip(inputs.chunks_exact(fixed.len())) {
            (function.run)(black_box(&neutral));
            black_box(&mut *secret).copy_from_slice(black_box(input));
            fence(Ordering::SeqCst);
            let start = Instant::now();
            for _ in 0..calls {
                (function.run)(black_box(&*secret));
            }
            times.push(Sample::new(start.elapsed().as_nanos(), *class));
        }
    };
    deeper(place, &mut || {
        for _ in 0..WARM_UP.div_ceil(BLOCK) {
            block(&mut times);
        }
        times.clear();
        while times.len() < samples {
            block(&mut times);
        }
    });
    times.truncate(samples);
    outcome(function.name, &times, calls)
}

/// The limits are shares of all samples of both classes, so that a clock which changes its speed meanwhile moves none of them.
fn outcome(name: &'static str, times: &[Sample], calls: usize) -> Outcome {
    let mut sorted: Vec<u32> = times.iter().map(|sample| sample.ns()).collect();
    sorted.sort_unstable();
    let moments = KEPT.map(|share| {
        let limit = sorted.get((share * sorted.len() as f64) as usize).copied().unwrap_or(u32::MAX);
        [false, true].map(|class| Moments::of(times, class, limit))
    });
    let t = moments
        .map(welch)
        .into_iter()
        .fold(0.0, |worst: f64, t| if t.abs() > worst.abs() { t } else { worst });
    let [fixed, random] =
        if moments[SHOWN].iter().all(|class| class.count >= 10.0) { moments[SHOWN] } else { moments[0] };
    let of_a_call = |class: Moments| class.mean / calls as f64;
    Outcome { name, t, fixed_ns: of_a_call(fixed), random_ns: of_a_call(random), samples: times.len() }
}

/// Calls in a sample; finding it warms up.
fn calls(function: &mut Function, secret: &[u8]) -> usize {
    let mut calls = 1;
    loop {
        let start = Instant::now();
        for _ in 0..calls {
            (function.run)(black_box(secret));
        }
        if start.elapsed().as_nanos() as f64 >= SAMPLE_NS || calls >= 1 << 16 {
            return calls;
        }
        calls *= 2;
    }
}
