//! Ranges of bytes (RFC 9110, 14).

use std::ops::Range;

/// Ranges that one request may ask for; of more the whole is sent (RFC 9110, 14.2 lets a server ignore the field).
const MAX_RANGES: usize = 16;

/// What a Range field asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The whole: the field is of another unit, malformed, or asks for too much.
    Whole,
    /// These ranges, none of which is empty.
    Ranges(Vec<Range<u64>>),
    /// Nothing that is there: status 416.
    Unsatisfiable,
}

/// Reads the value of a Range field for a content of `length` bytes.
pub(super) fn wanted(field: &str, length: u64) -> Wanted {
    let Some((unit, set)) = field.split_once('=') else { return Wanted::Whole };
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return Wanted::Whole;
    }
    let mut ranges = Vec::new();
    let mut count = 0;
    for spec in set.split(',').map(str::trim).filter(|spec| !spec.is_empty()) {
        count += 1;
        let Some(range) = range(spec, length) else { return Wanted::Whole };
        if !range.is_empty() {
            ranges.push(range);
        }
    }
    if count == 0 || count > MAX_RANGES {
        return Wanted::Whole;
    }
    if ranges.is_empty() {
        return Wanted::Unsatisfiable;
    }
    // Ranges that overlap can ask for a multiple of what is there.
    let total = ranges.iter().fold(0_u64, |total, range| total.saturating_add(range.end - range.start));
    if total > length { Wanted::Whole } else { Wanted::Ranges(ranges) }
}

/// One range, empty if it is not within the content; `None` if it is malformed.
fn range(spec: &str, length: u64) -> Option<Range<u64>> {
    let (first, last) = spec.split_once('-')?;
    match (first, last) {
        ("", suffix) => Some(length.saturating_sub(number(suffix)?)..length),
        (first, "") => Some(number(first)?.min(length)..length),
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return None;
            }
            Some(first.min(length)..last.saturating_add(1).min(length))
        }
    }
}

/// A number, however many digits it has.
fn number(digits: &str) -> Option<u64> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(digits.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "lists of ranges, some of one")]
mod tests {
    use super::*;

    #[test]
    fn examples_of_the_rfc() {
        // RFC 9110, 14.1.2, for a content of 10000 bytes.
        let ranges = |ranges: &[Range<u64>]| Wanted::Ranges(ranges.to_vec());
        assert_eq!(wanted("bytes=0-499", 10_000), ranges(&[0..500]));
        assert_eq!(wanted("bytes=500-999", 10_000), ranges(&[500..1000]));
        assert_eq!(wanted("bytes=-500", 10_000), ranges(&[9500..10_000]));
        assert_eq!(wanted("bytes=9500-", 10_000), ranges(&[9500..10_000]));
        assert_eq!(wanted("bytes=0-0,-1", 10_000), ranges(&[0..1, 9999..10_000]));
        assert_eq!(
            wanted("bytes= 0-999, 4500-5499, -1000", 10_000),
            ranges(&[0..1000, 4500..5500, 9000..10_000])
        );
    }

    #[test]
    fn ends_beyond_the_content_are_cut() {
        assert_eq!(wanted("bytes=0-99999999999999999999999", 10), Wanted::Ranges(vec![0..10]));
        assert_eq!(wanted("bytes=-20", 10), Wanted::Ranges(vec![0..10]));
        assert_eq!(wanted("bytes=8-9,10-20", 10), Wanted::Ranges(vec![8..10]));
    }

    #[test]
    fn what_is_not_there_is_unsatisfiable() {
        for field in ["bytes=10-", "bytes=10-20", "bytes=-0", "bytes=99999999999999999999999-"] {
            assert_eq!(wanted(field, 10), Wanted::Unsatisfiable, "{field}");
        }
        assert_eq!(wanted("bytes=0-", 0), Wanted::Unsatisfiable);
    }

    #[test]
    fn what_is_malformed_or_too_much_gives_the_whole() {
        let many = format!("bytes={}", "0-0,".repeat(MAX_RANGES + 1));
        for field in [
            "bytes",
            "bytes=",
            "bytes=5-2",
            "bytes=a-b",
            "bytes=1",
            "lines=0-1",
            "bytes=+1-2",
            "bytes=0-1-2",
            "bytes=0-9,0-9",
            &many,
        ] {
            assert_eq!(wanted(field, 10), Wanted::Whole, "{field}");
        }
    }
}
