//! The keys of stateless reset and address validation tokens.

mod common;

use common::hex;
use sandquic_rustls::token::{HandshakeTokenKey, HmacKey, InvalidToken};

/// RFC 4231, test cases 1, 2 and 6.
#[test]
fn hmac_sha256() {
    for (key, data, tag) in [
        (
            vec![0x0b; 20],
            b"Hi There".to_vec(),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
        ),
        (
            b"Jefe".to_vec(),
            b"what do ya want for nothing?".to_vec(),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        ),
        (
            vec![0xaa; 131],
            b"Test Using Larger Than Block-Size Key - Hash Key First".to_vec(),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
        ),
    ] {
        let key = HmacKey::new(&key);
        let mut signature = key.sign(&data).to_vec();
        assert_eq!(signature, hex(tag));
        key.verify(&data, &signature).unwrap();
        assert_eq!(key.verify(&data[1..], &signature), Err(InvalidToken));
        assert_eq!(key.verify(&data, &signature[..16]), Err(InvalidToken));
        assert_eq!(key.verify(&data, &[]), Err(InvalidToken));
        signature[31] ^= 1;
        assert_eq!(key.verify(&data, &signature), Err(InvalidToken));
    }
    assert_ne!(HmacKey::random().unwrap().sign(b""), HmacKey::random().unwrap().sign(b""));
}

#[test]
fn address_validation_tokens() {
    let master = HandshakeTokenKey::random().unwrap();
    for len in [0, 1, 64, 1000] {
        let content = vec![9; len];
        let mut token = content.clone();
        master.aead_from_hkdf(b"random").seal(&mut token, b"address").unwrap();
        assert_eq!(token.len(), len + 16);
        let open = |master: &HandshakeTokenKey, random: &[u8], token: &[u8], address: &[u8]| {
            let mut token = token.to_vec();
            master.aead_from_hkdf(random).open(&mut token, address).map(|content| content.to_vec())
        };
        assert_eq!(open(&master, b"random", &token, b"address").unwrap(), content);
        assert_eq!(open(&master, b"Random", &token, b"address"), Err(InvalidToken));
        assert_eq!(open(&master, b"random", &token, b"Address"), Err(InvalidToken));
        assert_eq!(open(&master, b"random", &token[..len + 15], b"address"), Err(InvalidToken));
        assert_eq!(open(&master, b"random", &[], b"address"), Err(InvalidToken));
        assert_eq!(
            open(&HandshakeTokenKey::random().unwrap(), b"random", &token, b"address"),
            Err(InvalidToken)
        );
        let mut changed = token.clone();
        changed[len / 2] ^= 1;
        assert_eq!(open(&master, b"random", &changed, b"address"), Err(InvalidToken));
        // The same secret makes the same keys: a token outlives a restart with a configured one.
        let mut token = content.clone();
        HandshakeTokenKey::new(&[5; 64]).aead_from_hkdf(b"random").seal(&mut token, b"").unwrap();
        assert_eq!(open(&HandshakeTokenKey::new(&[5; 64]), b"random", &token, b"").unwrap(), content);
    }
}
