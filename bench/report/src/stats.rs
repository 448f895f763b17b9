//! Means with confidence intervals (Student's t), medians.

use std::f64::consts::FRAC_2_PI;

use serde::Serialize;

/// What is known of a quantity that was measured several times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    /// How many values there are.
    pub count: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Median; of an even number of values, the mean of the two in the middle.
    pub median: f64,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// Half the width of the mean's 95 % confidence interval (the mean lies in `mean - ci95 ..= mean + ci95`), by
    /// Student's t with `count - 1` degrees of freedom; absent for one value, which says nothing of its spread.
    pub ci95: Option<f64>,
}

impl Summary {
    /// Summarizes values; `None` if there are none or one is not finite.
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        let mean = sorted.iter().sum::<f64>() / count as f64;
        let middle = count / 2;
        let median = if count.is_multiple_of(2) {
            (sorted[middle - 1] + sorted[middle]) / 2.0
        } else {
            sorted[middle]
        };
        let ci95 = (count > 1).then(|| {
            let squares: f64 = sorted.iter().map(|value| (value - mean).powi(2)).sum();
            let variance = squares / (count - 1) as f64;
            student_t_quantile(0.975, count - 1) * (variance / count as f64).sqrt()
        });
        Some(Self { count, mean, median, min: sorted[0], max: sorted[count - 1], ci95 })
    }
}

/// The quantile of Student's t distribution: the `t` below which a share `p` of it lies.
///
/// `p` must lie in `0.5 ..= 0.9999` and the degrees of freedom must be at least 1; outside, the nearest
/// valid argument is used. The result is exact to about 12 digits.
pub fn student_t_quantile(p: f64, degrees_of_freedom: usize) -> f64 {
    let p = p.clamp(0.5, 0.9999);
    let degrees_of_freedom = degrees_of_freedom.max(1);
    // The heaviest tail, of one degree of freedom, has its 0.9999 quantile at 3,183.
    let (mut low, mut high) = (0.0_f64, 4_000.0_f64);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if student_t_cdf(middle, degrees_of_freedom) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

/// The share of Student's t distribution below `t >= 0`, by the finite series for whole degrees of freedom
/// (Abramowitz and Stegun 26.7.3 and 26.7.4).
fn student_t_cdf(t: f64, degrees_of_freedom: usize) -> f64 {
    let theta = (t / (degrees_of_freedom as f64).sqrt()).atan();
    let (sin, cos) = theta.sin_cos();
    let odd = !degrees_of_freedom.is_multiple_of(2);
    let mut series = 0.0;
    let mut term = if odd { cos } else { 1.0 };
    let mut k = if odd { 1 } else { 0 };
    // Terms of cos^k for k of the other parity than the degrees of freedom, up to two below them.
    while k + 2 <= degrees_of_freedom {
        series += term;
        term *= cos * cos * (k + 1) as f64 / (k + 2) as f64;
        k += 2;
    }
    let within = if odd { FRAC_2_PI * (theta + sin * series) } else { sin * series };
    0.5 + within / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_quantiles_are_those_of_the_printed_tables() {
        for (p, df, t) in [
            (0.975, 1, 12.706),
            (0.975, 2, 4.303),
            (0.975, 3, 3.182),
            (0.975, 4, 2.776),
            (0.975, 5, 2.571),
            (0.975, 9, 2.262),
            (0.975, 19, 2.093),
            (0.975, 30, 2.042),
            (0.975, 60, 2.000),
            (0.975, 120, 1.980),
            (0.95, 10, 1.812),
            (0.99, 20, 2.528),
            (0.995, 1, 63.657),
        ] {
            let got = student_t_quantile(p, df);
            assert!((got - t).abs() < 0.000_6, "t({p}, {df}) = {got}, not {t}");
        }
        // Against the normal distribution in the limit.
        assert!((student_t_quantile(0.975, 100_000) - 1.959_96).abs() < 0.000_1);
        assert!(student_t_quantile(0.5, 7).abs() < 1e-9);
    }

    #[test]
    fn a_summary_of_five_values() {
        // Mean 3, standard deviation sqrt(2.5), t(0.975, 4) = 2.7764.
        let summary = Summary::of(&[5.0, 1.0, 4.0, 2.0, 3.0]).unwrap();
        assert_eq!((summary.count, summary.mean, summary.median), (5, 3.0, 3.0));
        assert_eq!((summary.min, summary.max), (1.0, 5.0));
        assert!((summary.ci95.unwrap() - 1.963_2).abs() < 0.000_1, "{summary:?}");
    }

    #[test]
    fn the_median_of_an_even_number_and_the_edges() {
        assert_eq!(Summary::of(&[1.0, 10.0, 2.0, 4.0]).unwrap().median, 3.0);
        let one = Summary::of(&[7.0]).unwrap();
        assert_eq!((one.mean, one.median, one.ci95), (7.0, 7.0, None));
        assert_eq!(Summary::of(&[2.0, 2.0]).unwrap().ci95, Some(0.0));
        assert!(Summary::of(&[]).is_none());
        assert!(Summary::of(&[1.0, f64::NAN]).is_none());
    }
}
