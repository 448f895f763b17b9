//! Key exchange groups alone: agreement, sizes, and shares that have to be refused.

use rustls::crypto::SupportedKxGroup;
use rustls::{Error, NamedGroup, PeerMisbehaved, ProtocolVersion};
use sandquic_rustls::kx_group::{ALL_KX_GROUPS, SECP256R1, SECP384R1, X25519, X25519MLKEM768};

const INVALID: Error = Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare);

fn complete(group: &dyn SupportedKxGroup, share: &[u8]) -> Result<Vec<u8>, Error> {
    group.start().unwrap().complete(share).map(|secret| secret.secret_bytes().to_vec())
}

#[test]
fn both_sides_agree() {
    for (group, client_len, server_len, secret_len) in [
        (X25519, 32, 32, 32),
        (SECP256R1, 65, 65, 32),
        (SECP384R1, 97, 97, 48),
        (X25519MLKEM768, 1216, 1120, 64),
    ] {
        let client = group.start().unwrap();
        assert_eq!(client.group(), group.name());
        assert!(client.ffdhe_group().is_none() && group.ffdhe_group().is_none());
        assert_eq!(client.pub_key().len(), client_len);
        let server = group.start_and_complete(client.pub_key()).unwrap();
        assert_eq!(server.group, group.name());
        assert_eq!(server.pub_key.len(), server_len);
        let secret = client.complete(&server.pub_key).unwrap();
        assert_eq!(secret.secret_bytes(), server.secret.secret_bytes());
        assert_eq!(secret.secret_bytes().len(), secret_len);
        let another = group.start_and_complete(group.start().unwrap().pub_key()).unwrap();
        assert_ne!(another.secret.secret_bytes(), secret.secret_bytes());
    }
    assert!(!X25519MLKEM768.usable_for_version(ProtocolVersion::TLSv1_2));
}

#[test]
fn the_hybrid_has_a_classical_half() {
    let client = X25519MLKEM768.start().unwrap();
    let (group, share) = client.hybrid_component().unwrap();
    assert_eq!(group, NamedGroup::X25519);
    let server = X25519.start_and_complete(share).unwrap();
    let secret = client.complete_hybrid_component(&server.pub_key).unwrap();
    assert_eq!(secret.secret_bytes(), server.secret.secret_bytes());
}

#[test]
fn shares_of_a_wrong_length() {
    for &group in ALL_KX_GROUPS {
        let share = group.start().unwrap().pub_key().to_vec();
        for len in
            [0, 1, 31, 32, 33, 64, 65, 66, 96, 97, 98, 1088, 1119, 1120, 1121, 1215, 1216, 1217, 65_535]
        {
            let mut other = share.clone();
            other.resize(len, 4);
            if len != share.len() {
                assert_eq!(group.start_and_complete(&other).err(), Some(INVALID), "{group:?} {len}");
            }
            let answer_len = if group.name() == NamedGroup::X25519MLKEM768 { 1120 } else { share.len() };
            if len != answer_len {
                assert_eq!(complete(group, &other).err(), Some(INVALID), "{group:?} {len}");
            }
        }
    }
}

#[test]
fn points_of_small_order() {
    // The order-8 subgroup of Curve25519 and its non-canonical forms (RFC 7748, 7).
    let p_minus_1 = [&[0xec][..], &[0xff; 30], &[0x7f]].concat();
    let p = [&[0xed][..], &[0xff; 30], &[0x7f]].concat();
    let p_plus_1 = [&[0xee][..], &[0xff; 30], &[0x7f]].concat();
    let zero = vec![0; 32];
    let one = [&[1][..], &[0; 31]].concat();
    for share in [zero, one, p_minus_1, p, p_plus_1] {
        assert_eq!(complete(X25519, &share).err(), Some(INVALID));
        let client = X25519MLKEM768.start().unwrap();
        let mut hybrid = client.pub_key().to_vec();
        hybrid[1184..].copy_from_slice(&share);
        assert_eq!(X25519MLKEM768.start_and_complete(&hybrid).err(), Some(INVALID));
        // The same from a server, to the whole and to the half.
        let server = X25519MLKEM768.start_and_complete(client.pub_key()).unwrap();
        let answer = [&server.pub_key[..1088], &share].concat();
        assert_eq!(client.complete(&answer).err(), Some(INVALID));
        let client = X25519MLKEM768.start().unwrap();
        assert_eq!(client.complete_hybrid_component(&share).err(), Some(INVALID));
    }
}

#[test]
fn points_off_the_curve_and_other_forms() {
    for group in [SECP256R1, SECP384R1] {
        let share = group.start().unwrap().pub_key().to_vec();
        let half = (share.len() - 1) / 2;
        assert_eq!(share[0], 4);
        let mut off = share.clone();
        off[share.len() - 1] ^= 1;
        assert_eq!(complete(group, &off).err(), Some(INVALID), "off the curve");
        let compressed = [&[2 + (share[share.len() - 1] & 1)], &share[1..=half]].concat();
        assert_eq!(complete(group, &compressed).err(), Some(INVALID), "compressed");
        assert_eq!(complete(group, &[0]).err(), Some(INVALID), "the point at infinity");
        let mut hybrid = share.clone();
        hybrid[0] = 6 + (share[share.len() - 1] & 1);
        assert_eq!(complete(group, &hybrid).err(), Some(INVALID), "the hybrid form");
        assert_eq!(
            complete(group, &[&[4][..], &vec![0xff; 2 * half]].concat()).err(),
            Some(INVALID),
            "too large"
        );
    }
}

#[test]
fn encapsulation_keys_out_of_range() {
    // FIPS 203, 7.2: every coefficient is below 3329.
    let mut share = X25519MLKEM768.start().unwrap().pub_key().to_vec();
    share[..3].fill(0xff);
    assert_eq!(X25519MLKEM768.start_and_complete(&share).err(), Some(INVALID));
}

#[test]
fn a_changed_ciphertext_gives_another_secret() {
    // ML-KEM rejects implicitly: the handshake then fails at its first protected message.
    let client = X25519MLKEM768.start().unwrap();
    let server = X25519MLKEM768.start_and_complete(client.pub_key()).unwrap();
    let mut share = server.pub_key.clone();
    share[100] ^= 1;
    let secret = client.complete(&share).unwrap();
    assert_ne!(secret.secret_bytes()[..32], server.secret.secret_bytes()[..32]);
    assert_eq!(secret.secret_bytes()[32..], server.secret.secret_bytes()[32..]);
}
