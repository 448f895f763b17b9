//! What the tests of the AEADs share.
#![allow(dead_code, reason = "every test file uses another part")]

use aead::{AeadInOut, KeyInit, Payload, array::Array, inout::InOutBuf};

/// A xorshift generator: the same bytes on every machine.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let word = self.next().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }

    pub(crate) fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.fill(&mut bytes);
        bytes
    }

    pub(crate) fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

/// Bytes of hexadecimal digits; white space is skipped.
pub(crate) fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16).expect("a hexadecimal digit") as u8)
        .collect();
    assert!(digits.len().is_multiple_of(2), "an odd number of hexadecimal digits");
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// Whether `SANDQUIC_TEST_GRID=small` asks for a reduced grid, for slow engines.
pub(crate) fn small() -> bool {
    std::env::var_os("SANDQUIC_TEST_GRID").is_some_and(|grid| grid == "small")
}

/// Compares an AEAD with another at every message length 0..=1200 and associated data 0..=40, both ways, and at random
/// lengths up to 64 KiB. The small grid has lengths 0..=300 and those around multiples of 128.
pub(crate) fn check_grid<Ours, Theirs>(name: &str)
where
    Ours: AeadInOut + KeyInit,
    Theirs:
        AeadInOut<NonceSize = Ours::NonceSize, TagSize = Ours::TagSize> + KeyInit<KeySize = Ours::KeySize>,
{
    let mut random = Random::new(name.len() as u64);
    let mut key = Array::default();
    let mut nonce = Array::default();
    let lengths: Vec<usize> = if small() {
        (0..=300).chain((300..=1200).filter(|n| (n + 1) % 128 < 3)).collect()
    } else {
        (0..=1200).collect()
    };
    let message = random.bytes(1200);
    let aad = random.bytes(40);
    let mut ours_buffer = vec![0; 1200];
    let mut theirs_buffer = vec![0; 1200];
    for length in lengths {
        random.fill(&mut key);
        let ours = Ours::new(&key);
        let theirs = Theirs::new(&key);
        // The small grid takes the lengths of associated data in turn.
        let aad_lengths = if small() { length % 41..=length % 41 } else { 0..=40 };
        for aad_length in aad_lengths {
            random.fill(&mut nonce);
            let aad = &aad[..aad_length];
            let data = &mut ours_buffer[..length];
            data.copy_from_slice(&message[..length]);
            let their_data = &mut theirs_buffer[..length];
            their_data.copy_from_slice(data);
            let tag = ours.encrypt_inout_detached(&nonce, aad, data.into()).unwrap();
            let their_tag = theirs.encrypt_inout_detached(&nonce, aad, their_data.into()).unwrap();
            assert_eq!(data, their_data, "{name}: {length} bytes, {aad_length} of associated data");
            assert_eq!(tag, their_tag, "{name}: {length} bytes, {aad_length} of associated data, the tag");
            ours.decrypt_inout_detached(&nonce, aad, data.into(), &tag).unwrap_or_else(|_| {
                panic!("{name}: {length} bytes, {aad_length} of associated data, does not open")
            });
            assert_eq!(
                data,
                &message[..length],
                "{name}: {length} bytes, {aad_length} of associated data, opened"
            );
        }
    }
    let rounds = if small() { 4 } else { 40 };
    for _ in 0..rounds {
        let length = random.below(65_537);
        let aad_length = random.below(2000);
        // Not aligned: the buffers begin at an odd place.
        let message = random.bytes(length + 3);
        let aad = &random.bytes(aad_length);
        random.fill(&mut key);
        random.fill(&mut nonce);
        let (ours, theirs) = (Ours::new(&key), Theirs::new(&key));
        let (mut data, mut their_data) = (message.clone(), message.clone());
        let tag = ours.encrypt_inout_detached(&nonce, aad, (&mut data[3..]).into()).unwrap();
        let their_tag = theirs.encrypt_inout_detached(&nonce, aad, (&mut their_data[3..]).into()).unwrap();
        assert!(data == their_data, "{name}: {length} bytes, {aad_length} of associated data");
        assert_eq!(tag, their_tag, "{name}: {length} bytes, {aad_length} of associated data, the tag");
        ours.decrypt_inout_detached(&nonce, aad, (&mut data[3..]).into(), &tag).unwrap();
        assert!(data == message, "{name}: {length} bytes, {aad_length} of associated data, opened");
    }
}

/// Flips every bit of nonce, tag, associated data and ciphertext of messages of several lengths, one at a time, and
/// some of the key: nothing opens, and nothing of the plaintext is left in the buffer.
pub(crate) fn check_forgeries<A: AeadInOut + KeyInit>() {
    let mut random = Random::new(99);
    let mut key = Array::default();
    let mut nonce = Array::default();
    for length in [0, 1, 16, 33, 64, 150, 200, 300, 513] {
        random.fill(&mut key);
        random.fill(&mut nonce);
        let cipher = A::new(&key);
        let plain = random.bytes(length);
        let aad = random.bytes(length % 23);
        let mut sealed = plain.clone();
        let tag = cipher.encrypt_inout_detached(&nonce, &aad, sealed.as_mut_slice().into()).unwrap();

        let refused = |cipher: &A, nonce: &_, aad: &[u8], sealed: &[u8], tag: &_, what: &str| {
            let mut data = sealed.to_vec();
            let opened = cipher.decrypt_inout_detached(nonce, aad, data.as_mut_slice().into(), tag);
            assert!(opened.is_err(), "{length} bytes opened with a flipped bit of {what}");
            // Sixteen equal bytes in a place would be no accident.
            for (got, plain) in data.chunks_exact(16).zip(plain.chunks_exact(16)) {
                assert_ne!(got, plain, "{length} bytes: plaintext left after a flipped bit of {what}");
            }
        };
        for bit in 0..8 * nonce.len() {
            let mut nonce = nonce.clone();
            nonce[bit / 8] ^= 1 << (bit % 8);
            refused(&cipher, &nonce, &aad, &sealed, &tag, "the nonce");
        }
        for bit in 0..8 * tag.len() {
            let mut tag = tag.clone();
            tag[bit / 8] ^= 1 << (bit % 8);
            refused(&cipher, &nonce, &aad, &sealed, &tag, "the tag");
        }
        for bit in 0..8 * aad.len() {
            let mut aad = aad.clone();
            aad[bit / 8] ^= 1 << (bit % 8);
            refused(&cipher, &nonce, &aad, &sealed, &tag, "the associated data");
        }
        for bit in 0..8 * sealed.len() {
            let mut sealed = sealed.clone();
            sealed[bit / 8] ^= 1 << (bit % 8);
            refused(&cipher, &nonce, &aad, &sealed, &tag, "the ciphertext");
        }
        for bit in (0..8 * key.len()).step_by(5) {
            let mut key = key.clone();
            key[bit / 8] ^= 1 << (bit % 8);
            refused(&A::new(&key), &nonce, &aad, &sealed, &tag, "the key");
        }
        // Longer and shorter.
        let mut longer = sealed.clone();
        longer.push(0);
        assert!(cipher.decrypt_inout_detached(&nonce, &aad, longer.as_mut_slice().into(), &tag).is_err());
        if let Some((_, shorter)) = sealed.clone().split_last_mut() {
            assert!(cipher.decrypt_inout_detached(&nonce, &aad, shorter.into(), &tag).is_err());
        }
        assert!(cipher.decrypt_inout_detached(&nonce, &aad, sealed.as_mut_slice().into(), &tag).is_ok());
        assert_eq!(sealed, plain);
    }
}

/// From one buffer to another: as in place, the input stays, and of what does not open nothing arrives.
pub(crate) fn check_buffers_apart<A: AeadInOut + KeyInit>() {
    let mut random = Random::new(7);
    let mut key = Array::default();
    let mut nonce = Array::default();
    random.fill(&mut key);
    random.fill(&mut nonce);
    let cipher = A::new(&key);
    for length in [0, 1, 15, 16, 17, 48, 49, 127, 128, 129, 255, 256, 257, 500, 2048, 5000] {
        let (plain, aad) = (random.bytes(length), random.bytes(length % 41));
        let mut together = plain.clone();
        let tag = cipher.encrypt_inout_detached(&nonce, &aad, together.as_mut_slice().into()).unwrap();

        let (from, mut to) = (plain.clone(), vec![0xa5; length]);
        let apart = InOutBuf::new(&from, &mut to).unwrap();
        assert_eq!(cipher.encrypt_inout_detached(&nonce, &aad, apart).unwrap(), tag, "{length} bytes");
        assert!(to == together && from == plain, "{length} bytes sealed");

        let (from, mut to) = (together.clone(), vec![0xa5; length]);
        let apart = InOutBuf::new(&from, &mut to).unwrap();
        cipher.decrypt_inout_detached(&nonce, &aad, apart, &tag).unwrap();
        assert!(to == plain && from == together, "{length} bytes opened");

        let mut wrong = tag.clone();
        wrong[length % 16] ^= 0x40;
        let apart = InOutBuf::new(&from, &mut to).unwrap();
        assert!(cipher.decrypt_inout_detached(&nonce, &aad, apart, &wrong).is_err());
        assert!(to.iter().all(|byte| *byte == 0), "{length} bytes: something is left of what did not open");
        assert!(from == together);
    }
}

/// A payload of a message and associated data.
pub(crate) fn payload<'a>(msg: &'a [u8], aad: &'a [u8]) -> Payload<'a, 'a> {
    Payload { msg, aad }
}
