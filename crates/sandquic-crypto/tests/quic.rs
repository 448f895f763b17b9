//! QUIC's packet protection: RFC 9001, appendix A, and masks one by one against batches.

mod common;

use aead::KeyInit;
use common::{Random, hex};
use sandquic_crypto::{
    chachapoly::ChaCha20Poly1305,
    gcm::Aes128Gcm,
    quic::{self, Aes128Mask, Aes256Mask, ChaCha20Mask},
};

fn array<const N: usize>(digits: &str) -> [u8; N] {
    hex(digits).try_into().unwrap()
}

/// Appendix A.2: the client's Initial packet, whose payload is padded to 1162 bytes.
#[test]
fn rfc9001_client_initial() {
    let cipher = Aes128Gcm::new(&array::<16>("1f369613dd76d5467730efcbe3b1a22d").into());
    let iv = array("fa044b2f42a3fd3b46fb255c");
    let crypto = "060040f1010000ed0303ebf8fa56f12939b9584a3896472ec40bb863cfd3e86804fe3a47f06a2b69484c\
        00000413011302010000c000000010000e00000b6578616d706c652e636f6dff01000100000a00080006001d0017001800100007000504616c706e\
        000500050100000000003300260024001d00209370b2c9caa47fbabaf4559fedba753de171fa71f50f1ce15d43e994ec74d748002b0003020304\
        000d0010000e0403050306030203080408050806002d00020101001c00024001003900320408ffffffffffffffff05048000ffff07048000ffff\
        0801100104800075300901100f088394c8f03e51570806048000ffff";
    let mut payload = hex(crypto);
    payload.resize(1162 + quic::TAG_LEN, 0);
    payload[1162..].fill(0);
    let mut header = hex("c300000001088394c8f03e5157080000449e00000002");
    quic::seal(&cipher, &iv, 2, &header, &mut payload).unwrap();
    let sample: [u8; 16] = payload[..16].try_into().unwrap();
    assert_eq!(sample, array("d1b1c98dd7689fb8ec11d242b123dc9b"));
    assert_eq!(payload[1162..], hex("e221af44860018ab0856972e194cd934"));
    let mask = Aes128Mask::new(&array::<16>("9f50449e04a0e810283a1e9933adedd2").into()).mask(&sample);
    assert_eq!(mask, array("437b9aec36"));
    header[0] ^= mask[0] & 0x0f;
    for (byte, mask) in header[18..].iter_mut().zip(&mask[1..]) {
        *byte ^= mask;
    }
    assert_eq!(header, hex("c000000001088394c8f03e5157080000449e7b9aec34"));
    let header = hex("c300000001088394c8f03e5157080000449e00000002");
    let opened = quic::open(&cipher, &iv, 2, &header, &mut payload).unwrap();
    assert_eq!(opened.len(), 1162);
    assert_eq!(opened[..4], hex("060040f1"));
}

/// Appendix A.5: a short packet with ChaCha20-Poly1305.
#[test]
fn rfc9001_chacha20_short_packet() {
    let cipher = ChaCha20Poly1305::new(
        &array::<32>("c6d98ff3441c3fe1b2182094f69caa2ed4b716b65488960a7a984979fb23e1c8").into(),
    );
    let iv = array("e0459b3474bdd0e44a41c144");
    assert_eq!(quic::nonce(&iv, 654_360_564), array("e0459b3474bdd0e46d417eb0"));
    let mut payload = [0; 17];
    payload[0] = 1;
    let header = hex("4200bff4");
    quic::seal(&cipher, &iv, 654_360_564, &header, &mut payload).unwrap();
    assert_eq!(payload, array("655e5cd55c41f69080575d7999c25a5bfb"));
    let mask = ChaCha20Mask::new(
        &array::<32>("25a282b9e82f06f21f488917a4fc8f1b73573685608597d0efcb076b0ab7a7a4").into(),
    );
    assert_eq!(mask.mask(&array("5e5cd55c41f69080575d7999c25a5bfb")), array("aefefe7d03"));
    assert_eq!(quic::open(&cipher, &iv, 654_360_564, &header, &mut payload).unwrap(), [1]);
}

#[test]
fn a_payload_without_room_for_the_tag_is_refused() {
    let cipher = Aes128Gcm::new(&[0; 16].into());
    for length in 0..16 {
        let mut payload = vec![7; length];
        assert!(quic::seal(&cipher, &[0; 12], 0, b"", &mut payload).is_err());
        assert!(quic::open(&cipher, &[0; 12], 0, b"", &mut payload).is_err());
        assert_eq!(payload, vec![7; length]);
    }
}

#[test]
fn batches_of_masks() {
    use aes::cipher::BlockCipherEncrypt;
    let mut random = Random::new(54);
    for count in 0..=20 {
        let samples: Vec<[u8; 16]> = (0..count).map(|_| random.array()).collect();
        let mut masks = vec![[0; 5]; count];

        let key: [u8; 16] = random.array();
        let ours = Aes128Mask::new(&key.into());
        ours.masks(&samples, &mut masks);
        for (mask, sample) in masks.iter().zip(&samples) {
            let mut block = (*sample).into();
            aes::Aes128::new(&key.into()).encrypt_block(&mut block);
            assert_eq!(mask, &block[..5]);
            assert_eq!(*mask, ours.mask(sample));
        }

        let key: [u8; 32] = random.array();
        let ours = Aes256Mask::new(&key.into());
        ours.masks(&samples, &mut masks);
        for (mask, sample) in masks.iter().zip(&samples) {
            let mut block = (*sample).into();
            aes::Aes256::new(&key.into()).encrypt_block(&mut block);
            assert_eq!(mask, &block[..5]);
            assert_eq!(*mask, ours.mask(sample));
        }

        let ours = ChaCha20Mask::new(&key.into());
        ours.masks(&samples, &mut masks);
        for (mask, sample) in masks.iter().zip(&samples) {
            use chacha20::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
            let (counter, nonce) = sample.split_first_chunk::<4>().unwrap();
            let nonce: [u8; 12] = nonce.try_into().unwrap();
            let mut cipher = chacha20::ChaCha20::new(&key.into(), &nonce.into());
            cipher.seek(64 * u64::from(u32::from_le_bytes(*counter)));
            let mut want = [0; 5];
            cipher.apply_keystream(&mut want);
            assert_eq!(*mask, want);
            assert_eq!(*mask, ours.mask(sample));
        }

        // Fewer masks than samples, and more.
        let mut fewer = vec![[0; 5]; count / 2];
        ours.masks(&samples, &mut fewer);
        assert_eq!(fewer, masks[..count / 2]);
        let mut more = vec![[9; 5]; count + 3];
        ours.masks(&samples, &mut more);
        assert_eq!(more[..count], masks);
        assert_eq!(more[count..], [[9; 5]; 3]);
    }
}
