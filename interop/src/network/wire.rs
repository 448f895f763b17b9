//! What can be read of a datagram without keys: the kinds of its packets (RFC 8999, RFC 9000 section 17).

/// A kind of packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    /// Version Negotiation.
    VersionNegotiation,
    /// Initial without a token.
    Initial,
    /// Initial with a token, from a Retry or from a connection before.
    InitialWithToken,
    /// 0-RTT.
    ZeroRtt,
    /// Handshake.
    Handshake,
    /// Retry.
    Retry,
    /// 1-RTT.
    OneRtt,
    /// A long header of a version that is not 1.
    OtherVersion,
}

impl Kind {
    /// Whether a connection begins with it.
    pub(crate) fn is_first(self) -> bool {
        matches!(self, Self::Initial | Self::InitialWithToken | Self::OtherVersion)
    }
}

/// The version of RFC 9000.
const VERSION_1: u32 = 1;

/// The packets of a datagram, in their order. It ends where what follows cannot be read.
pub(crate) fn packets(datagram: &[u8]) -> Vec<Kind> {
    let mut found = Vec::new();
    let mut rest = datagram;
    while let Some((kind, after)) = packet(rest) {
        found.push(kind);
        rest = after;
        // Some fill the datagram with zeros behind the last packet.
        if rest.first().is_none_or(|first| *first == 0) {
            break;
        }
    }
    found
}

/// The first packet, and what is behind it.
fn packet(bytes: &[u8]) -> Option<(Kind, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    if first & 0x80 == 0 {
        return Some((Kind::OneRtt, &[]));
    }
    let (version, rest) = rest.split_first_chunk::<4>()?;
    let rest = skip_sized(skip_sized(rest)?)?;
    match u32::from_be_bytes(*version) {
        0 => return Some((Kind::VersionNegotiation, &[])),
        VERSION_1 => {}
        _ => return Some((Kind::OtherVersion, &[])),
    }
    let (kind, rest) = match first >> 4 & 3 {
        0 => {
            let (length, rest) = integer(rest)?;
            let kind = if length == 0 { Kind::Initial } else { Kind::InitialWithToken };
            (kind, rest.get(usize::try_from(length).ok()?..)?)
        }
        1 => (Kind::ZeroRtt, rest),
        2 => (Kind::Handshake, rest),
        _ => return Some((Kind::Retry, &[])),
    };
    let (length, rest) = integer(rest)?;
    Some((kind, rest.get(usize::try_from(length).ok()?..)?))
}

/// Skips a connection ID behind its length.
fn skip_sized(bytes: &[u8]) -> Option<&[u8]> {
    let (length, rest) = bytes.split_first()?;
    rest.get(usize::from(*length)..)
}

/// An integer of variable length (RFC 9000 section 16).
fn integer(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let first = *bytes.first()?;
    let (value, rest) = bytes.split_at_checked(1 << (first >> 6))?;
    Some((value[1..].iter().fold(u64::from(first & 0x3f), |sum, byte| sum << 8 | u64::from(*byte)), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A long header with connection IDs of 8 and 5 bytes.
    fn long(first: u8, version: u32, rest: &[u8]) -> Vec<u8> {
        let mut bytes = vec![first];
        bytes.extend(version.to_be_bytes());
        bytes.extend([8, 1, 2, 3, 4, 5, 6, 7, 8, 5, 1, 2, 3, 4, 5]);
        bytes.extend(rest);
        bytes
    }

    #[test]
    fn every_kind_is_known() {
        let initial = long(0xc3, 1, &[0, 0x40, 100]);
        for (bytes, kind) in [
            (long(0xc0, 0, &[0, 0, 0, 1]), Kind::VersionNegotiation),
            ([&initial[..], &[7; 100]].concat(), Kind::Initial),
            (long(0xc0, 1, &[3, 9, 9, 9, 2, 0, 0]), Kind::InitialWithToken),
            (long(0xd0, 1, &[1, 0]), Kind::ZeroRtt),
            (long(0xe0, 1, &[1, 0]), Kind::Handshake),
            (long(0xf0, 1, &[1, 2, 3]), Kind::Retry),
            (vec![0x40, 1, 2], Kind::OneRtt),
            (long(0xc0, 0x1a2a_3a4a, &[1, 2, 3]), Kind::OtherVersion),
        ] {
            assert_eq!(packets(&bytes), [kind]);
        }
    }

    #[test]
    fn packets_that_share_a_datagram_are_all_seen() {
        let together = [long(0xc0, 1, &[0, 2, 7, 7]), long(0xe0, 1, &[1, 0]), vec![0x41, 1]].concat();
        assert_eq!(packets(&together), [Kind::Initial, Kind::Handshake, Kind::OneRtt]);
        let filled = [long(0xc0, 1, &[0, 2, 7, 7]), vec![0; 30]].concat();
        assert_eq!(packets(&filled), [Kind::Initial]);
    }

    #[test]
    fn what_is_cut_off_ends_the_list() {
        let whole = long(0xc0, 1, &[0, 0x40, 100]);
        for length in 0..whole.len() {
            assert_eq!(packets(&whole[..length]), []);
        }
    }
}
