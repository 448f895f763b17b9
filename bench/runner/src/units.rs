//! Sizes as they are typed and as they are shown.

/// 1 GiB in bytes, the unit to which CPU time is normalized.
pub const GIB: u64 = 1 << 30;

/// Parses a size in bytes: digits, then nothing, `B`, a binary unit (`KiB`, `MiB`, `GiB`, `TiB`: powers of 1,024) or a
/// decimal one (`kB`, `MB`, `GB`, `TB`: powers of 1,000). Units may be written in any case; `K`, `M`, `G` and `T` alone
/// are binary.
///
/// # Errors
/// A message that names the text and shows a valid one.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let trimmed = text.trim();
    let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = trimmed.split_at(digits);
    let bad = || format!("`{text}` is not a size; write for example 1000000, 64KiB, 256MiB or 1GiB");
    let number: u64 = number.parse().map_err(|_| bad())?;
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return Err(bad()),
    };
    number.checked_mul(factor).ok_or_else(|| format!("`{text}` is more bytes than 64 bits can count"))
}

/// The size in the largest binary unit that divides it, otherwise in bytes with thousands apart: `256 MiB`, `1,000 B`.
pub fn show_size(bytes: u64) -> String {
    for (unit, shift) in [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)] {
        if bytes >= 1 << shift && bytes.is_multiple_of(1 << shift) {
            return format!("{} {unit}", group(bytes >> shift));
        }
    }
    format!("{} B", group(bytes))
}

/// Digits with a comma between thousands.
pub fn group(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_every_unit() {
        for (text, bytes) in [
            ("0", 0),
            ("1000", 1000),
            ("64B", 64),
            ("64KiB", 65_536),
            ("256MiB", 268_435_456),
            ("256 mib", 268_435_456),
            ("1G", GIB),
            ("1GiB", GIB),
            ("1GB", 1_000_000_000),
            ("3kB", 3_000),
            ("2TiB", 2 << 40),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_size_is_named() {
        for text in ["", "MiB", "1.5GiB", "-1", "1XiB", "0x10", "1 2"] {
            let error = parse_size(text).unwrap_err();
            assert!(error.contains(&format!("`{text}`")) && error.contains("256MiB"), "{error}");
        }
        assert!(parse_size("99999999TiB").unwrap_err().contains("64 bits"));
        assert!(parse_size("99999999999999999999").unwrap_err().contains("not a size"));
    }

    #[test]
    fn sizes_are_shown_in_the_unit_that_divides_them() {
        assert_eq!(show_size(0), "0 B");
        assert_eq!(show_size(1_023), "1,023 B");
        assert_eq!(show_size(1_024), "1 KiB");
        assert_eq!(show_size(268_435_456), "256 MiB");
        assert_eq!(show_size(1_000_000), "1,000,000 B");
        assert_eq!(show_size(1 << 50), "1,024 TiB");
    }
}
