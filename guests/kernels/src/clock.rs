//! Time.

use std::time::Instant;

use crate::case::Case;

/// Nanoseconds for so many iterations.
pub(crate) fn time(case: &mut Case, data: &mut [u8], iterations: usize) -> f64 {
    let start = Instant::now();
    std::hint::black_box((case.run)(iterations, data));
    start.elapsed().as_nanos().max(1) as f64
}

/// How many iterations make a sample, at least one; the search is a warm-up too.
pub(crate) fn iterations(case: &mut Case, data: &mut [u8], sample_us: u64) -> usize {
    let wanted = sample_us as f64 * 1e3;
    let mut iterations = 1;
    loop {
        let taken = time(case, data, iterations);
        if taken >= wanted {
            return iterations;
        }
        // Twice, or straight to the goal when the time is long enough to be trusted.
        let factor = if taken > wanted / 20.0 { (wanted / taken * 1.05).min(20.0) } else { 2.0 };
        iterations = (iterations as f64 * factor).ceil() as usize;
    }
}
