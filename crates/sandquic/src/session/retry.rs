//! The integrity tag of Retry packets (RFC 9001, 5.8): AES-128-GCM with a key and a nonce that all the world knows.

use rustls::quic::Version;
use sandquic_rustls::ciphers::{Aead, Ciphers, DefaultCiphers};

const TAG_LEN: usize = 16;

/// Key and nonce of a version.
struct Secret([u8; 16], [u8; 12]);

/// RFC 9001, 5.8.
const V1: Secret = Secret(
    [0xbe, 0x0c, 0x69, 0x0b, 0x9f, 0x66, 0x57, 0x5a, 0x1d, 0x76, 0x6b, 0x54, 0xe3, 0x68, 0xc8, 0x4e],
    [0x46, 0x15, 0x99, 0xd3, 0x5d, 0x63, 0x2b, 0xf2, 0x23, 0x98, 0x25, 0xbb],
);
/// draft-ietf-quic-tls-29 to -32, 5.8.
const DRAFT: Secret = Secret(
    [0xcc, 0xce, 0x18, 0x7e, 0xd0, 0x9a, 0x09, 0xd0, 0x57, 0x28, 0x15, 0x5a, 0x6c, 0xb9, 0x6b, 0xe1],
    [0xe5, 0x49, 0x30, 0xf9, 0x7f, 0x21, 0x36, 0xf0, 0x53, 0x0a, 0x8c, 0x1c],
);

/// The tag over a Retry packet given in `parts`, which answers an Initial packet with the given destination
/// connection ID.
pub(super) fn tag(version: Version, orig_dst_cid: &[u8], parts: &[&[u8]]) -> [u8; TAG_LEN] {
    let Secret(key, nonce) = match version {
        Version::V1Draft => &DRAFT,
        _ => &V1,
    };
    // The Retry Pseudo-Packet, figure 8.
    let mut pseudo =
        Vec::with_capacity(1 + orig_dst_cid.len() + parts.iter().map(|part| part.len()).sum::<usize>());
    pseudo.push(orig_dst_cid.len() as u8);
    pseudo.extend_from_slice(orig_dst_cid);
    parts.iter().for_each(|part| pseudo.extend_from_slice(part));
    <DefaultCiphers as Ciphers>::Aes128Gcm::new(key)
        .seal(nonce, &pseudo, &mut [])
        .expect("a datagram is short enough for AES-GCM")
}

/// Whether a Retry packet, its tag at the end of `payload`, answers our Initial packet.
pub(super) fn is_valid(version: Version, orig_dst_cid: &[u8], header: &[u8], payload: &[u8]) -> bool {
    // The key is public, so there is no secret that the time of the comparison could tell.
    payload
        .split_last_chunk::<TAG_LEN>()
        .is_some_and(|(payload, received)| tag(version, orig_dst_cid, &[header, payload]) == *received)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9001, A.4.
    const ORIGINAL: [u8; 8] = [0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08];
    const PACKET: [u8; 36] = [
        0xff, 0x00, 0x00, 0x00, 0x01, 0x00, 0x08, 0xf0, 0x67, 0xa5, 0x50, 0x2a, 0x42, 0x62, 0xb5, 0x74, 0x6f,
        0x6b, 0x65, 0x6e, 0x04, 0xa2, 0x65, 0xba, 0x2e, 0xff, 0x4d, 0x82, 0x90, 0x58, 0xfb, 0x3f, 0x0f, 0x24,
        0x96, 0xba,
    ];

    #[test]
    fn rfc_9001_a4() {
        let (packet, expected) = PACKET.split_last_chunk::<16>().unwrap();
        assert_eq!(tag(Version::V1, &ORIGINAL, &[packet]), *expected);
        let (header, rest) = PACKET.split_at(15);
        assert!(is_valid(Version::V1, &ORIGINAL, header, rest));
    }

    #[test]
    fn anything_else_is_invalid() {
        let (header, rest) = PACKET.split_at(15);
        assert!(!is_valid(Version::V1Draft, &ORIGINAL, header, rest));
        assert!(!is_valid(Version::V1, &ORIGINAL[1..], header, rest));
        for bit in 0..rest.len() * 8 {
            let mut rest = rest.to_vec();
            rest[bit / 8] ^= 1 << (bit % 8);
            assert!(!is_valid(Version::V1, &ORIGINAL, header, &rest));
        }
        for len in 0..rest.len() {
            assert!(!is_valid(Version::V1, &ORIGINAL, header, &rest[..len]));
        }
    }
}
