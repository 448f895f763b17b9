#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]

use core::fmt;
use core::hash::Hasher;
use core::str::FromStr;

use siphasher::sip::SipHasher24;

/// The environment variable that tells an instance its [`Position`]: `INDEX/COUNT`.
pub const POSITION_VARIABLE: &str = "SANDQUIC_INSTANCE";

/// The environment variable with the [`Key`] that all instances of a run have: 64 hexadecimal digits.
pub const KEY_VARIABLE: &str = "SANDQUIC_INSTANCE_KEY";

/// The most instances that an address can have.
pub const MAX_INSTANCES: u16 = 256;

/// Which instance of how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    index: u8,
    count: u16,
}

impl Position {
    /// The instance with an index, counted from 0, of `count`; `None` unless `index < count <= MAX_INSTANCES`.
    pub fn new(index: u16, count: u16) -> Option<Self> {
        let index = u8::try_from(index).ok()?;
        (u16::from(index) < count && count <= MAX_INSTANCES).then_some(Self { index, count })
    }

    /// The index, from 0.
    pub fn index(self) -> u8 {
        self.index
    }

    /// How many there are.
    pub fn count(self) -> u16 {
        self.count
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Position {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (index, count) = text.split_once('/').ok_or(Invalid::Position)?;
        let number = |text: &str| text.parse().map_err(|_| Invalid::Position);
        Self::new(number(index)?, number(count)?).ok_or(Invalid::Position)
    }
}

/// A variable has not the form that it must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Invalid {
    /// [`POSITION_VARIABLE`].
    Position,
    /// [`KEY_VARIABLE`].
    Key,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Position => write!(
                f,
                "{POSITION_VARIABLE} must be INDEX/COUNT with 0 <= INDEX < COUNT <= {MAX_INSTANCES}, as 0/2"
            ),
            Self::Key => {
                write!(f, "{KEY_VARIABLE} must be 64 hexadecimal digits, the same for all instances")
            }
        }
    }
}

impl core::error::Error for Invalid {}

/// The key of a run: 32 secret random bytes. It is shown as hexadecimal digits, for the variable, and not by `Debug`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl Key {
    /// A key of these bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The code of connection IDs under this key.
    pub fn connection_ids(&self) -> ConnectionIds {
        let half = |at: usize| u64::from_le_bytes(core::array::from_fn(|i| self.0[at + i]));
        ConnectionIds { key: (half(0), half(8)) }
    }

    /// The part of the key from which instances derive what else they share, such as the keys of tokens. It says nothing
    /// about connection IDs, nor they about it.
    pub fn secret(&self) -> &[u8] {
        &self.0[16..]
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").finish_non_exhaustive()
    }
}

impl FromStr for Key {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let digit = |byte: u8| char::from(byte).to_digit(16).ok_or(Invalid::Key);
        let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return Err(Invalid::Key) };
        let mut bytes = [0; 32];
        if pairs.len() != bytes.len() {
            return Err(Invalid::Key);
        }
        for (byte, pair) in bytes.iter_mut().zip(pairs) {
            *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
        }
        Ok(Self(bytes))
    }
}

/// Connection IDs that name an instance to who has the key.
#[derive(Clone)]
pub struct ConnectionIds {
    key: (u64, u64),
}

impl ConnectionIds {
    /// The length of every such connection ID, in bytes.
    pub const LEN: usize = 8;

    /// The bytes of it that must be random.
    pub const NONCE_LEN: usize = 5;

    /// The connection ID with a nonce, of an instance.
    pub fn encode(&self, index: u8, nonce: [u8; Self::NONCE_LEN]) -> [u8; Self::LEN] {
        let [a, b, c, d, e] = nonce;
        let [mask, check @ ..] = self.hash(nonce);
        [a, b, c, d, e, index ^ mask, check[0], check[1]]
    }

    /// The index of the instance that made a connection ID; `None` if it is none of ours.
    pub fn decode(&self, cid: &[u8]) -> Option<u8> {
        let &[a, b, c, d, e, masked, ref check @ ..] = <&[u8; Self::LEN]>::try_from(cid).ok()?;
        let [mask, expected @ ..] = self.hash([a, b, c, d, e]);
        (*check == expected).then_some(masked ^ mask)
    }

    /// As [`decode`](Self::decode), for the destination connection ID of a datagram's first packet (RFC 8999, 5; all
    /// packets of a datagram have the same: RFC 9000, 12.2).
    pub fn destination(&self, datagram: &[u8]) -> Option<u8> {
        let (&first, rest) = datagram.split_first()?;
        let cid = match first & LONG_HEADER {
            0 => rest.get(..Self::LEN)?,
            _ => {
                // After the version: the length, then the connection ID itself.
                let (&len, rest) = rest.get(4..)?.split_first()?;
                rest.get(..usize::from(len))?
            }
        };
        self.decode(cid)
    }

    fn hash(&self, nonce: [u8; Self::NONCE_LEN]) -> [u8; 3] {
        let mut hasher = SipHasher24::new_with_keys(self.key.0, self.key.1);
        hasher.write(&nonce);
        let [a, b, c, ..] = hasher.finish().to_le_bytes();
        [a, b, c]
    }
}

impl fmt::Debug for ConnectionIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionIds").finish_non_exhaustive()
    }
}

/// The bit of the first byte that tells long headers from short ones.
const LONG_HEADER: u8 = 0x80;

#[cfg(test)]
mod tests {
    extern crate std;

    use std::collections::HashSet;
    use std::string::ToString;
    use std::vec::Vec;

    use super::*;

    fn key(seed: u8) -> Key {
        Key::new(core::array::from_fn(|i| (i as u8).wrapping_mul(37) ^ seed))
    }

    #[test]
    fn variables_are_read_as_they_are_written() {
        for (index, count) in [(0, 1), (1, 2), (255, 256)] {
            let position = Position::new(index, count).unwrap();
            assert_eq!(position.to_string().parse(), Ok(position));
            assert_eq!((u16::from(position.index()), position.count()), (index, count));
        }
        assert_eq!(key(7).to_string().parse(), Ok(key(7)));
        assert_eq!(key(7).to_string().to_uppercase().parse(), Ok(key(7)));
        assert!(!std::format!("{:?}", key(7)).contains("25"), "keys are not told");
    }

    #[test]
    fn other_forms_are_refused() {
        for text in
            ["", "1", "/", "1/", "/2", "2/2", "-1/2", "0/0", "0/257", "256/256", "0/2/3", "0x0/2", "a/b"]
        {
            assert_eq!(text.parse::<Position>(), Err(Invalid::Position), "{text}");
        }
        let good = key(1).to_string();
        for text in
            ["", &good[1..], &good[2..], &std::format!("{good}00"), &good.replace('0', "g"), &"é".repeat(32)]
        {
            assert_eq!(text.parse::<Key>(), Err(Invalid::Key), "{text}");
        }
    }

    #[test]
    fn the_index_comes_back_and_only_with_the_key() {
        let (ours, theirs) = (key(1).connection_ids(), key(2).connection_ids());
        let mut mistaken = 0;
        for index in 0..=255 {
            for n in 0..64_u8 {
                let cid = ours.encode(index, [n, index, 3, n ^ 0x55, 9]);
                assert_eq!(ours.decode(&cid), Some(index));
                mistaken += u32::from(theirs.decode(&cid).is_some());
                assert_eq!(ours.decode(&cid[..7]), None);
                for bit in (0..5 * 8).chain(6 * 8..8 * 8) {
                    let mut other = cid;
                    other[bit / 8] ^= 1 << (bit % 8);
                    mistaken += u32::from(ours.decode(&other).is_some());
                }
            }
        }
        // Of a million, 16 are expected.
        assert!(mistaken < 64, "{mistaken}");
    }

    #[test]
    fn connection_ids_of_one_instance_look_random() {
        let ids = key(3).connection_ids();
        let nonce = |n: u32| {
            let [a, b, c, d] = n.to_le_bytes();
            [a, b, c, d, 0]
        };
        let bytes: HashSet<u8> = (0..2_000).map(|n| ids.encode(1, nonce(n))[5]).collect();
        assert_eq!(bytes.len(), 256, "the byte of the index takes every value");
    }

    /// SipHash-2-4 of 00 01 02 03 04 under the key 00 .. 0f: the paper's vectors (Aumasson, Bernstein, 2012).
    #[test]
    fn the_hash_is_the_published_one() {
        let ids = Key::new(core::array::from_fn(|i| i as u8)).connection_ids();
        // vectors_sip64, length 5: 8d a6 99 cd 64 55 76 18.
        assert_eq!(ids.encode(0, [0, 1, 2, 3, 4]), [0, 1, 2, 3, 4, 0x8d, 0xa6, 0x99]);
    }

    #[test]
    fn the_destination_is_found_in_both_headers() {
        let ids = key(5).connection_ids();
        let cid = ids.encode(3, [1, 2, 3, 4, 5]);
        let short: Vec<u8> = [&[0x40], &cid[..], &[9; 20]].concat();
        let long: Vec<u8> = [&[0xc0, 0, 0, 0, 1, 8], &cid[..], &[0; 30]].concat();
        assert_eq!(ids.destination(&short), Some(3));
        assert_eq!(ids.destination(&long), Some(3));
        // A random one of the same length, and lengths that we never make.
        assert_eq!(ids.destination(&[&[0xc0, 0, 0, 0, 1, 8][..], &[7; 40]].concat()), None);
        for len in [0, 7, 9, 20, 255] {
            assert_eq!(ids.destination(&[&[0xc0, 0, 0, 0, 1, len], &cid[..], &[0; 250]].concat()), None);
        }
        for datagram in [&short, &long] {
            let end = if datagram[0] & LONG_HEADER == 0 { 9 } else { 14 };
            for cut in 0..end {
                assert_eq!(ids.destination(&datagram[..cut]), None);
            }
        }
    }
}
