//! Bytes as hexadecimal text.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

pub(super) fn encode(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble & 15)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let pairs = text.as_bytes().chunks(2).map(|pair| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    });
    pairs.collect()
}

pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&encode(bytes))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(deserializer)?;
    decode(&text).ok_or_else(|| D::Error::custom("that is not hexadecimal"))
}

/// The same for a list.
pub(super) mod list {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(
        list: &[Vec<u8>],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(list.iter().map(|bytes| encode(bytes)))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Vec<u8>>, D::Error> {
        let list = Vec::<String>::deserialize(deserializer)?;
        let decoded: Option<_> = list.iter().map(|text| decode(text)).collect();
        decoded.ok_or_else(|| D::Error::custom("that is not hexadecimal"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode(&bytes)).unwrap(), bytes);
        assert_eq!(encode(&[0, 0x9f]), "009f");
        assert_eq!((decode("0"), decode("0g"), decode("é")), (None, None, None));
    }
}
