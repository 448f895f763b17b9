//! Every kernel against AES by the book.

use super::{blocks, ctr, key::Key};
use crate::{
    backend,
    simd::{Kernel, portable},
};

/// FIPS 197 step by step.
pub(crate) mod model {
    fn mul(a: u8, b: u8) -> u8 {
        let (mut a, mut product) = (u16::from(a), 0);
        for i in 0..8 {
            if b >> i & 1 == 1 {
                product ^= a;
            }
            a <<= 1;
            if a & 0x100 != 0 {
                a ^= 0x11b;
            }
        }
        product as u8
    }

    pub(crate) fn sub(x: u8) -> u8 {
        let inverse = (0..=255).find(|&y| mul(x, y) == 1).unwrap_or(0);
        (0..5).fold(0x63, |sum, i| sum ^ inverse.rotate_left(i))
    }

    pub(crate) struct Aes {
        keys: Vec<[u8; 16]>,
        sbox: Vec<u8>,
    }

    impl Aes {
        pub(crate) fn new(key: &[u8]) -> Self {
            let sbox: Vec<u8> = (0..=255).map(sub).collect();
            let n = key.len() / 4;
            let mut words: Vec<[u8; 4]> = key.chunks(4).map(|w| w.try_into().unwrap()).collect();
            let mut rcon = 1;
            for i in n..4 * (n + 7) {
                let mut t = words[i - 1];
                if i % n == 0 {
                    t.rotate_left(1);
                    t = t.map(|b| sbox[usize::from(b)]);
                    t[0] ^= rcon;
                    rcon = mul(rcon, 2);
                } else if n == 8 && i % n == 4 {
                    t = t.map(|b| sbox[usize::from(b)]);
                }
                words.push(core::array::from_fn(|j| words[i - n][j] ^ t[j]));
            }
            let keys = words.chunks(4).map(|w| w.concat().try_into().unwrap()).collect();
            Self { keys, sbox }
        }

        pub(crate) fn encrypt(&self, mut block: [u8; 16]) -> [u8; 16] {
            let add = |block: [u8; 16], key: &[u8; 16]| core::array::from_fn(|i| block[i] ^ key[i]);
            block = add(block, &self.keys[0]);
            for (i, key) in self.keys.iter().enumerate().skip(1) {
                block = block.map(|b| self.sbox[usize::from(b)]);
                block = core::array::from_fn(|i| block[(i + 4 * (i % 4)) % 16]);
                if i + 1 < self.keys.len() {
                    block = core::array::from_fn(|i| {
                        let at = |k: usize| block[i / 4 * 4 + (i + k) % 4];
                        mul(at(0), 2) ^ mul(at(1), 3) ^ at(2) ^ at(3)
                    });
                }
                block = add(block, key);
            }
            block
        }
    }
}

fn bytes(seed: u64, out: &mut [u8]) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for byte in out {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *byte = (state >> 32) as u8;
    }
}

/// Runs a test on a kernel of software, natively in spite of AES-NI, by expanding the key for it.
fn soft_key(key: &[u8]) -> Key {
    Key::new_soft::<portable::V128>(key)
}

#[test]
fn s_box_of_every_byte() {
    // One block holds sixteen inputs; the model's S-box follows from the definition.
    for high in 0..16u8 {
        let key = [0u8; 16];
        let block: [u8; 16] = core::array::from_fn(|i| high << 4 | i as u8);
        let mut got = [block];
        blocks::Encrypt { key: &Key::new(&key), blocks: &mut got }.dispatch();
        assert_eq!(got[0], model::Aes::new(&key).encrypt(block));
    }
}

#[test]
fn blocks_in_any_number() {
    for size in [16, 24, 32] {
        for count in 1..=20 {
            let mut key = vec![0; size];
            bytes(count as u64 + size as u64, &mut key);
            let mut flat = vec![0; 16 * count];
            bytes(count as u64 + 1000, &mut flat);
            let plain: Vec<[u8; 16]> = flat.as_chunks().0.to_vec();
            let model = model::Aes::new(&key);
            let want: Vec<[u8; 16]> = plain.iter().map(|block| model.encrypt(*block)).collect();

            let expanded = Key::new(&key);
            let mut got = plain.clone();
            blocks::Encrypt { key: &expanded, blocks: &mut got }.dispatch();
            assert_eq!(got, want, "AES-{}, {count} blocks", 8 * size);
            blocks::Decrypt { key: &expanded, blocks: &mut got }.dispatch();
            assert_eq!(got, plain, "AES-{}, {count} blocks, decryption", 8 * size);

            let portable = soft_key(&key);
            Kernel::run::<portable::V128>(blocks::Encrypt { key: &portable, blocks: &mut got });
            assert_eq!(got, want, "AES-{}, {count} blocks, portable", 8 * size);
            Kernel::run::<portable::V128>(blocks::Decrypt { key: &portable, blocks: &mut got });
            assert_eq!(got, plain, "AES-{}, {count} blocks, portable decryption", 8 * size);

            // The vectors of this machine, whatever instructions it has besides.
            let soft = backend::dispatch_narrow(super::key::NewSoft { key: &key });
            backend::dispatch_narrow(blocks::Encrypt { key: &soft, blocks: &mut got });
            assert_eq!(got, want, "AES-{}, {count} blocks, vectors", 8 * size);
            backend::dispatch_narrow(blocks::Decrypt { key: &soft, blocks: &mut got });
            assert_eq!(got, plain, "AES-{}, {count} blocks, decryption on vectors", 8 * size);
        }
    }
}

#[test]
fn counter_mode() {
    for size in [16, 24, 32] {
        let mut key = vec![0; size];
        bytes(size as u64, &mut key);
        let model = model::Aes::new(&key);
        let keys =
            [Key::new(&key), backend::dispatch_narrow(super::key::NewSoft { key: &key }), soft_key(&key)];
        for start in [0u32, 1, 2, 0xf4, 0xf8, 0xf9, 0xff, 0x100, 0xffff_fff0, 0xffff_ffff] {
            for length in
                [0usize, 1, 15, 16, 17, 48, 63, 64, 65, 100, 127, 128, 129, 255, 256, 300, 600, 5000]
            {
                for masked in [false, true] {
                    let mut block = [0; 16];
                    bytes(7, &mut block);
                    let mut plain = vec![0; length];
                    bytes(length as u64, &mut plain);
                    let stream = |with: &dyn Fn([u8; 16], u32) -> [u8; 16]| {
                        let mut stream = Vec::new();
                        for i in 0..length.div_ceil(16) as u32 + 1 {
                            stream.extend_from_slice(&model.encrypt(with(block, start.wrapping_add(i))));
                        }
                        stream
                    };
                    let big = |mut block: [u8; 16], counter: u32| {
                        block[12..].copy_from_slice(&counter.to_be_bytes());
                        block
                    };
                    let little = |mut block: [u8; 16], counter: u32| {
                        block[..4].copy_from_slice(&counter.to_le_bytes());
                        block
                    };
                    let expect = |stream: &[u8]| {
                        let (mask, rest) = stream.split_at(if masked { 16 } else { 0 });
                        let out: Vec<u8> = plain.iter().zip(rest).map(|(p, k)| p ^ k).collect();
                        (mask.to_vec(), out)
                    };
                    let name = format!("AES-{}, from {start:#x}, {length} bytes, mask {masked}", 8 * size);
                    macro_rules! check {
                        ($layout:expr, $with:expr) => {
                            let want = expect(&stream(&$with));
                            for (which, key) in keys.iter().enumerate() {
                                if which == 2 && length > 300 {
                                    continue;
                                }
                                let mut data = plain.clone();
                                let mut mask = [0; 16];
                                let kernel = ctr::Ctr {
                                    key,
                                    layout: $layout,
                                    block: $with(block, start),
                                    mask: masked.then_some(&mut mask),
                                    data: &mut data,
                                };
                                match which {
                                    0 => kernel.dispatch(),
                                    1 => backend::dispatch_narrow(kernel),
                                    _ => Kernel::run::<portable::V128>(kernel),
                                }
                                assert_eq!(data, want.1, "{name}, kernel {which}");
                                assert_eq!(&mask[..want.0.len()], want.0, "{name}, kernel {which}, the mask");
                            }
                        };
                    }
                    check!(ctr::BigEndian, big);
                    check!(ctr::LittleEndian, little);
                }
            }
        }
    }
}
