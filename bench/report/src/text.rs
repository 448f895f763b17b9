//! Numbers as text.

use crate::analysis::Ratio;
use crate::stats::Summary;

/// What stands where there is no number.
pub(crate) const NONE: &str = "–";

/// Digits after the point that make three digits that count.
fn decimals(value: f64) -> usize {
    match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 || size == 0.0 => 2,
        _ => 3,
    }
}

/// A number with three digits that count, or whole, with commas between thousands.
pub(crate) fn number(value: f64) -> String {
    fixed(value, decimals(value))
}

/// A number with so many digits after the point, with commas between thousands.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    let text = format!("{:.decimals$}", value.abs());
    let (whole, rest) = text.split_once('.').map_or((&*text, None), |(whole, rest)| (whole, Some(rest)));
    let mut grouped = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let zero = text.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    let sign = if value < 0.0 && !zero { "−" } else { "" };
    match rest {
        Some(rest) => format!("{sign}{grouped}.{rest}"),
        None => format!("{sign}{grouped}"),
    }
}

/// A number, or what stands for none.
pub(crate) fn optional(value: Option<f64>) -> String {
    value.map_or_else(|| NONE.to_owned(), number)
}

/// A mean and half its interval.
pub(crate) fn mean(summary: &Summary) -> String {
    scaled(summary, 1.0)
}

/// The same, times a factor.
pub(crate) fn scaled(summary: &Summary, factor: f64) -> String {
    let mean = summary.mean * factor;
    plus_minus(mean, summary.ci95.map(|half| half * factor))
}

/// A value and half its interval, to the digits of the value, or to more where the interval would look like none.
pub(crate) fn plus_minus(value: f64, half: Option<f64>) -> String {
    match half {
        Some(half) => {
            let least = decimals(value);
            let visible = |decimals: &usize| half * 10_f64.powi(*decimals as i32) >= 0.5;
            let decimals = (least..=least + 2).find(visible).unwrap_or(least);
            format!("{} ± {}", fixed(value, decimals), fixed(half, decimals))
        }
        None => number(value),
    }
}

/// A ratio with its interval.
pub(crate) fn ratio(ratio: &Ratio) -> String {
    match ratio.interval {
        Some((low, high)) => {
            let decimals = decimals(ratio.value);
            format!("{} ({}–{})", fixed(ratio.value, decimals), fixed(low, decimals), fixed(high, decimals))
        }
        None => number(ratio.value),
    }
}

/// A share as a percentage.
pub(crate) fn percent(share: f64) -> String {
    format!("{} %", fixed(share * 100.0, 1))
}

/// A size in bytes with its unit.
pub(crate) fn size(bytes: u64) -> String {
    for (unit, name) in [(1_u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")] {
        if bytes >= unit && bytes.is_multiple_of(unit) {
            return format!("{} {name}", bytes / unit);
        }
    }
    format!("{} bytes", fixed(bytes as f64, 0))
}

/// Seconds since 1970 as a date and time in UTC.
pub(crate) fn date(unix_time: u64) -> String {
    let (days, second) = (unix_time / 86_400, unix_time % 86_400);
    // Years of 400-year eras from 0000-03-01 (proleptic Gregorian calendar).
    let day = days + 719_468;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", second / 3_600, second % 3_600 / 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (value, text) in [
            (0.0, "0.00"),
            (0.0034, "0.003"),
            (1.2345, "1.23"),
            (25.12, "25.1"),
            (612.4, "612"),
            (1_234.5, "1,234"),
            (1_234_567.8, "1,234,568"),
            (-1_234.6, "−1,235"),
            (-0.0001, "0.000"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(number(value), text);
        }
        assert_eq!(plus_minus(25.12, Some(0.333)), "25.1 ± 0.3");
        assert_eq!(plus_minus(14.912, Some(0.0312)), "14.91 ± 0.03");
        assert_eq!(plus_minus(14.912, Some(0.0)), "14.9 ± 0.0");
        assert_eq!(size(1 << 30), "1 GiB");
        assert_eq!(size((1 << 20) + 1), "1,048,577 bytes");
        assert_eq!(ratio(&Ratio { value: 1.284, interval: Some((1.2, 1.356)) }), "1.28 (1.20–1.36)");
    }

    #[test]
    fn dates() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_796_064_662), "2026-11-30 18:51 UTC");
    }
}
