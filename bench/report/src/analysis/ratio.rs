//! The ratio of two means with its interval.

use serde::Serialize;

use crate::stats::{Summary, student_t_quantile};

/// A ratio of two means.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ratio {
    /// Mean by mean.
    pub value: f64,
    /// The 95 % interval; absent if one mean has no spread that is known, or if the denominator may be zero.
    pub interval: Option<(f64, f64)>,
}

/// The ratio of two independent means, with the interval of Fieller's theorem.
///
/// The variances are those of each mean by itself; the degrees of freedom are Welch and Satterthwaite's for the
/// difference of the numerator and the ratio times the denominator, rounded down. `None` if the denominator's mean is
/// not above zero.
pub fn ratio(numerator: &Summary, denominator: &Summary) -> Option<Ratio> {
    if denominator.mean <= 0.0 {
        return None;
    }
    let value = numerator.mean / denominator.mean;
    Some(Ratio { value, interval: fieller(value, numerator, denominator) })
}

fn fieller(value: f64, numerator: &Summary, denominator: &Summary) -> Option<(f64, f64)> {
    let (top, bottom) = (standard_error(numerator)?.powi(2), standard_error(denominator)?.powi(2));
    let scaled = value.powi(2) * bottom;
    let spread = top + scaled;
    if spread == 0.0 {
        return Some((value, value));
    }
    let freedom = spread.powi(2)
        / (top.powi(2) / (numerator.count - 1) as f64 + scaled.powi(2) / (denominator.count - 1) as f64);
    // Two equal degrees of freedom may come out a rounding error below their sum.
    let t = student_t_quantile(0.975, (freedom + 1e-9).floor() as usize);
    let g = t.powi(2) * bottom / denominator.mean.powi(2);
    if g >= 1.0 {
        return None;
    }
    let half = t / denominator.mean * (top * (1.0 - g) + scaled).sqrt();
    Some(((value - half) / (1.0 - g), (value + half) / (1.0 - g)))
}

/// The standard error of a mean.
fn standard_error(summary: &Summary) -> Option<f64> {
    Some(summary.ci95? / student_t_quantile(0.975, summary.count - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(values: &[f64]) -> Summary {
        Summary::of(values).unwrap()
    }

    #[test]
    fn an_interval_by_hand() {
        // Means 20 and 10, each with variance of the mean 1/3 (three values a unit apart).
        // Spread: 1/3 + 4/3 = 5/3; freedom: (25/9) / ((1/9)/2 + (16/9)/2) = 50/17 = 2.94, so 2 and t = 4.302653.
        // g = 18.512820 / 300 = 0.0617094; half = 0.4302653 * sqrt(0.938291/3 + 4/3) = 0.4302653 * 1.283003 = 0.552032.
        // (2 -+ 0.552032) / 0.938291 = 1.543198 and 2.719873.
        let got = ratio(&summary(&[19.0, 20.0, 21.0]), &summary(&[9.0, 10.0, 11.0])).unwrap();
        assert_eq!(got.value, 2.0);
        let (low, high) = got.interval.unwrap();
        assert!((low - 1.543_2).abs() < 0.000_05, "{low}");
        assert!((high - 2.719_9).abs() < 0.000_05, "{high}");
    }

    #[test]
    fn an_exact_denominator_leaves_the_interval_of_the_numerator() {
        let top = summary(&[5.0, 1.0, 4.0, 2.0, 3.0]);
        let (low, high) = ratio(&top, &summary(&[2.0, 2.0, 2.0])).unwrap().interval.unwrap();
        // Mean 3, interval 1.9632 either side, halved.
        assert!((low - (3.0 - 1.963_2) / 2.0).abs() < 0.000_1, "{low}");
        assert!((high - (3.0 + 1.963_2) / 2.0).abs() < 0.000_1, "{high}");
    }

    #[test]
    fn what_has_no_interval() {
        let many = summary(&[2.0, 3.0, 4.0]);
        assert_eq!(ratio(&many, &summary(&[3.0])).unwrap(), Ratio { value: 1.0, interval: None });
        // The denominator may be zero.
        assert_eq!(ratio(&many, &summary(&[-9.0, 1.0, 20.0])).unwrap().interval, None);
        assert_eq!(ratio(&many, &summary(&[-1.0, 1.0])), None);
        let same = summary(&[3.0, 3.0]);
        assert_eq!(ratio(&same, &same).unwrap().interval, Some((1.0, 1.0)));
    }
}
