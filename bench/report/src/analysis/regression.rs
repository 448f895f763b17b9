//! A straight line through measured points.

use serde::Serialize;

use crate::stats::student_t_quantile;

/// `y = fixed + slope * x`, by least squares.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Line {
    /// The value at `x = 0`.
    pub fixed: f64,
    /// Half the width of its 95 % interval (Student's t); absent with fewer than three points.
    pub fixed_ci95: Option<f64>,
    /// The increase of `y` a unit of `x`.
    pub slope: f64,
    /// Half the width of its 95 % interval.
    pub slope_ci95: Option<f64>,
    /// How many points there are.
    pub points: usize,
}

/// Fits a line to points `(x, y)`; `None` if they do not have two different `x`.
pub fn fit(points: &[(f64, f64)]) -> Option<Line> {
    let count = points.len() as f64;
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / count;
    let squares: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    if points.len() < 2 || squares <= 0.0 || !squares.is_finite() {
        return None;
    }
    let slope = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>() / squares;
    let fixed = mean_y - slope * mean_x;
    let errors = (points.len() > 2).then(|| {
        let residual: f64 = points.iter().map(|(x, y)| (y - fixed - slope * x).powi(2)).sum();
        let variance = residual / (count - 2.0);
        let t = student_t_quantile(0.975, points.len() - 2);
        (t * (variance * (1.0 / count + mean_x.powi(2) / squares)).sqrt(), t * (variance / squares).sqrt())
    });
    Some(Line {
        fixed,
        fixed_ci95: errors.map(|(fixed, _)| fixed),
        slope,
        slope_ci95: errors.map(|(_, slope)| slope),
        points: points.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_by_hand() {
        // x 1 2 3 4, y 2 4 5 8: means 2.5 and 4.75, Sxx 5, Sxy 9.5, slope 1.9, fixed 0.
        // Residuals 0.1, 0.2, -0.7, 0.4: squares 0.7, variance 0.35; t(0.975, 2) = 4.302653.
        // Slope: t sqrt(0.35/5) = 1.13837; fixed: t sqrt(0.35 (1/4 + 6.25/5)) = 4.302653 * 0.724569 = 3.11757.
        let line = fit(&[(1.0, 2.0), (2.0, 4.0), (3.0, 5.0), (4.0, 8.0)]).unwrap();
        assert!((line.slope - 1.9).abs() < 1e-12 && line.fixed.abs() < 1e-12, "{line:?}");
        assert!((line.slope_ci95.unwrap() - 1.138_37).abs() < 0.000_1, "{line:?}");
        assert!((line.fixed_ci95.unwrap() - 3.117_57).abs() < 0.000_1, "{line:?}");
    }

    #[test]
    fn an_exact_line_and_the_edges() {
        let line = fit(&[(0.5, 2.0), (1.0, 3.0), (4.0, 9.0)]).unwrap();
        assert!((line.fixed - 1.0).abs() < 1e-12 && (line.slope - 2.0).abs() < 1e-12);
        assert!(line.fixed_ci95.unwrap() < 1e-9);
        let two = fit(&[(0.0, 1.0), (1.0, 3.0)]).unwrap();
        assert_eq!((two.fixed, two.slope, two.fixed_ci95), (1.0, 2.0, None));
        assert_eq!(fit(&[(1.0, 1.0), (1.0, 2.0)]), None);
        assert_eq!(fit(&[(1.0, 1.0)]), None);
        assert_eq!(fit(&[]), None);
    }
}
