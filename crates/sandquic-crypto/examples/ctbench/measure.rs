//! Times of two classes of inputs and Welch's t-test on them.

use std::hint::black_box;
use std::time::Instant;

use crate::functions::Function;

/// |t| above this is a leak.
pub(crate) const THRESHOLD: f64 = 10.0;
/// Shares of the samples that are kept, the slowest left out.
const KEPT: [f64; 7] = [1.0, 0.99, 0.95, 0.9, 0.75, 0.5, 0.25];
/// A sample takes at least as long, so that the clock's steps and the call of it matter little.
const SAMPLE_NS: f64 = 1_000.0;
/// Samples at the beginning that only settle the percentiles.
const CALIBRATION: usize = 2_000;

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

/// Mean and variance of a growing set (Welford).
#[derive(Clone, Copy, Default)]
struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    fn add(&mut self, x: f64) {
        self.count += 1.0;
        let delta = x - self.mean;
        self.mean += delta / self.count;
        self.squares += delta * (x - self.mean);
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

/// Random numbers that need not be secret.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

/// Inputs of random classes, made without a branch on the class: what prepares them must not differ either.
fn inputs(function: &Function, random: &mut Random, count: usize) -> Vec<(bool, Vec<u8>)> {
    (0..count)
        .map(|_| {
            let class = random.next() >> 63;
            let mask = (class as u8).wrapping_neg();
            let input = function
                .fixed
                .iter()
                .map(|fixed| fixed ^ ((fixed ^ (random.next() >> 32) as u8) & mask))
                .collect();
            (class == 1, input)
        })
        .collect()
}

pub(crate) fn measure(function: &mut Function, samples: usize) -> Outcome {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut secret = function.fixed.clone();
    let calls = calls(function, &secret);
    let mut time = |input: &[u8]| {
        secret.copy_from_slice(input);
        let start = Instant::now();
        for _ in 0..calls {
            (function.run)(black_box(&secret));
        }
        start.elapsed().as_nanos() as f64 / calls as f64
    };
    // Inputs are made apart from the measurement, a thousand at a time.
    let description = Function { name: function.name, fixed: function.fixed.clone(), run: Box::new(|_| ()) };
    let mut times: Vec<f64> =
        inputs(&description, &mut random, CALIBRATION).iter().map(|(_, input)| time(input)).collect();
    times.sort_by(f64::total_cmp);
    let limits = KEPT
        .map(|share| if share == 1.0 { f64::INFINITY } else { times[(share * CALIBRATION as f64) as usize] });

    let mut moments = [[Moments::default(); 2]; KEPT.len()];
    let mut left = samples;
    while left > 0 {
        let count = left.min(1_000);
        for (class, input) in inputs(&description, &mut random, count) {
            let time = time(&input);
            for (moments, limit) in moments.iter_mut().zip(limits) {
                if time <= limit {
                    moments[usize::from(class)].add(time);
                }
            }
        }
        left -= count;
    }
    let t = moments
        .map(welch)
        .into_iter()
        .fold(0.0, |worst: f64, t| if t.abs() > worst.abs() { t } else { worst });
    // Means of the fastest nine in ten, if both classes are among them: of all, they would be means of interruptions.
    let shown = moments[KEPT.iter().position(|share| *share == 0.9).unwrap_or(0)];
    let [fixed, random] = if shown.iter().all(|class| class.count >= 10.0) { shown } else { moments[0] };
    Outcome { name: function.name, t, fixed_ns: fixed.mean, random_ns: random.mean, samples }
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
