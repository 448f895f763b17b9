//! From one build to the next: what CPU time each category saves, what Amdahl's law makes of it, what was measured.

use serde::Serialize;

use super::ratio::{Ratio, ratio};
use super::{Analysis, Breakdown, CPU, GOODPUT};
use crate::catalog::CATEGORIES;

/// The steps of the paper's table 5, the same with our kernels in the first two builds, and those of the transport that stay
/// in the sandbox.
pub const LADDERS: &[(&str, &[&str])] = &[
    ("the paper's kernels", &["wasm-handvec", "native-handvec", "native-opt", "native-quinn"]),
    ("sandquic's kernels", &["wasm-sandquic", "native-port", "native-opt", "native-quinn"]),
    ("sandquic's host", &["wasm-sandquic", "wasm-sandquic-host", "wasm-sandquic-p2-host", "native-quinn"]),
];

/// Steps inside the sandbox, in which little but the kernels changes.
pub const KERNEL_STEPS: &[(&str, &str)] = &[
    ("wasm-base", "wasm-autovec"),
    ("wasm-autovec", "wasm-handvec"),
    ("wasm-base", "wasm-handvec"),
    ("wasm-base64", "wasm-autovec64"),
    ("wasm-handvec", "wasm-sandquic"),
    ("wasm-sandquic", "wasm-sandquic-wide"),
];

/// The speedup when a part of a time shrinks (or grows) and the rest stays: Amdahl's law. `None` if nothing is left.
pub fn speedup(total: f64, part_before: f64, part_after: f64) -> Option<f64> {
    let left = total - part_before + part_after;
    (total > 0.0 && left > 0.0).then(|| total / left)
}

/// One category over a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// The category.
    pub category: &'static str,
    /// Decrease in CPU time, in seconds a GiB; negative if it grew.
    pub decrease: f64,
    /// The speedup of the whole if this category alone changed.
    pub predicted: Option<f64>,
}

/// A step from one build to another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// The build before.
    pub from: String,
    /// The build after.
    pub to: String,
    /// The cipher.
    pub cipher: String,
    /// The categories; empty if one of the builds has no profile.
    pub changes: Vec<Change>,
    /// Decrease in all CPU time, in seconds a GiB.
    pub decrease: Option<f64>,
    /// CPU time before by CPU time after.
    pub cpu: Option<Ratio>,
    /// Goodput after by goodput before.
    pub goodput: Option<Ratio>,
}

impl Step {
    /// The change of a category.
    pub fn change(&self, category: &str) -> Option<&Change> {
        self.changes.iter().find(|change| change.category == category)
    }
}

/// What a build would reach with the cryptographic CPU time of another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Estimate {
    /// The build.
    pub build: String,
    /// The build whose cryptography it gets.
    pub donor: String,
    /// The cipher.
    pub cipher: String,
    /// Share of cryptography, from 0 to 1.
    pub share: f64,
    /// The fraction by which cryptographic time shrinks.
    pub reduction: f64,
    /// The speedup.
    pub speedup: f64,
    /// CPU time that is left, in seconds a GiB.
    pub cpu: f64,
    /// Goodput, in Mb/s, if it is inversely proportional to the CPU time.
    pub goodput: Option<f64>,
}

impl Analysis {
    /// A step of the headline; `None` if one of the builds was not measured with the cipher.
    pub fn step(&self, from: &str, to: &str, cipher: &str) -> Option<Step> {
        let (before, after) = (self.headline(from, cipher)?, self.headline(to, cipher)?);
        let changes = match (self.breakdown(from, cipher), self.breakdown(to, cipher)) {
            (Some(before), Some(after)) => changes(&before, &after),
            _ => Vec::new(),
        };
        let quotient = |metric, top: &super::CellSummary, bottom: &super::CellSummary| {
            ratio(top.metric(metric)?, bottom.metric(metric)?)
        };
        Some(Step {
            from: from.to_owned(),
            to: to.to_owned(),
            cipher: cipher.to_owned(),
            changes,
            decrease: before.mean(CPU).zip(after.mean(CPU)).map(|(before, after)| before - after),
            cpu: quotient(CPU, before, after),
            goodput: quotient(GOODPUT, after, before),
        })
    }

    /// What a build would reach with the cryptography of another; `None` without both profiles.
    pub fn estimate(&self, build: &str, donor: &str, cipher: &str) -> Option<Estimate> {
        let (own, other) = (self.breakdown(build, cipher)?, self.breakdown(donor, cipher)?);
        let (before, after) = (own.category("crypto"), other.category("crypto"));
        let speedup = speedup(own.total, before, after)?;
        let goodput = self.headline(build, cipher).and_then(|cell| cell.mean(GOODPUT));
        Some(Estimate {
            build: build.to_owned(),
            donor: donor.to_owned(),
            cipher: cipher.to_owned(),
            share: own.share("crypto"),
            reduction: if before > 0.0 { (before - after) / before } else { 0.0 },
            speedup,
            cpu: own.total / speedup,
            goodput: goodput.map(|goodput| goodput * speedup),
        })
    }
}

fn changes(before: &Breakdown, after: &Breakdown) -> Vec<Change> {
    CATEGORIES
        .iter()
        .map(|category| {
            let (from, to) = (before.category(category.name), after.category(category.name));
            Change {
                category: category.name,
                decrease: from - to,
                predicted: speedup(before.total, from, to),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amdahl_is_that_of_the_paper() {
        // Section 8.4: ChaCha20-Poly1305, 2004 of 4726 ms become 976: 1.28. AES-128-GCM: 6423 of 9089 become 534.
        let chacha = speedup(4_726.0, 2_004.0, 976.0).unwrap();
        assert!((chacha - 1.278).abs() < 0.000_5, "{chacha}");
        assert!((1_965.1 * chacha - 2_511.0).abs() < 1.0);
        let aes = speedup(9_089.0, 6_423.0, 534.0).unwrap();
        assert!((988.1 * aes - 2_807.0).abs() < 1.0);
        // Wasm-AutoVec to Wasm-HandVec: 1.567.
        assert!((speedup(14_306.0, 11_598.0, 6_423.0).unwrap() - 1.567).abs() < 0.000_5);
        assert_eq!(speedup(1.0, 1.0, 0.0), None);
        assert_eq!(speedup(2.0, 1.0, 3.0), Some(0.5));
    }
}
