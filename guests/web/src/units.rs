//! Sizes on the command line.

/// Reads a size in bytes, or in KiB, MiB, GiB.
///
/// # Errors
/// A sentence that says what is wrong.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match &text[digits.len()..] {
        "" | "B" => 0,
        "KiB" | "K" => 10,
        "MiB" | "M" => 20,
        "GiB" | "G" => 30,
        unit => return Err(format!("no unit {unit}; write bytes, KiB, MiB or GiB, as in 64MiB")),
    };
    let number: u64 =
        digits.parse().map_err(|_| "not a size; write a whole number with a unit, as in 64MiB".to_owned())?;
    number.checked_mul(1 << shift).ok_or_else(|| "too large".to_owned())
}

/// The same size as text, exactly.
pub(crate) fn show_size(bytes: u64) -> String {
    for (unit, shift) in [("GiB", 30), ("MiB", 20), ("KiB", 10)] {
        if bytes >= 1 << shift && bytes.is_multiple_of(1 << shift) {
            return format!("{}{unit}", bytes >> shift);
        }
    }
    bytes.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_shown() {
        for (text, bytes) in [("0", 0), ("1023", 1023), ("3KiB", 3072), ("2MiB", 2 << 20), ("5GiB", 5 << 30)]
        {
            assert_eq!(parse_size(text), Ok(bytes));
            assert_eq!(show_size(bytes), text);
        }
        assert_eq!(parse_size("64M"), Ok(64 << 20));
        for wrong in ["", "MiB", "-1", "1.5MiB", "3TiB", "99999999999GiB"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }
}
