//! The generators against `rand_chacha`'s and `chacha20`'s.

use chacha20::rand_core::{Rng, SeedableRng};
use sandquic_crypto::chacha::{ChaCha8Rng, ChaCha12Rng, ChaCha20Rng};

use crate::grid;

const SEED: [u8; 32] = *b"the seed of a generator, as bits";

macro_rules! generators {
    ($($module:ident $name:ident;)*) => {$(
        mod $module {
            use super::*;

            type Both = (rand_chacha::$name, chacha20::$name);

            fn all(pos: u128) -> ($name, Both) {
                let mut ours = $name::from_seed(SEED);
                let mut a = rand_chacha::$name::from_seed(SEED);
                let mut b = chacha20::$name::from_seed(SEED);
                assert_eq!(ours.get_word_pos(), 0);
                ours.set_word_pos(pos);
                a.set_word_pos(pos);
                b.set_word_pos(pos);
                (ours, (a, b))
            }

            /// A mixture of calls, with the position after each.
            fn mixed(pos: u128, stream: Option<u64>) {
                let (mut ours, (mut a, mut b)) = all(pos);
                if let Some(stream) = stream {
                    // `chacha20` goes to position 0.
                    ours.set_stream(stream);
                    a.set_stream(stream);
                    b.set_stream(stream);
                    b.set_word_pos(pos);
                    assert_eq!(ours.get_stream(), stream);
                }
                for i in 0..600usize {
                    match i % 5 {
                        0 | 3 => {
                            let x = ours.next_u32();
                            assert_eq!((x, x), (a.next_u32(), b.next_u32()), "call {i} from {pos}");
                        }
                        1 => {
                            let x = ours.next_u64();
                            assert_eq!((x, x), (a.next_u64(), b.next_u64()), "call {i} from {pos}");
                        }
                        _ => {
                            let len = (i * 7) % 611;
                            let (mut x, mut y, mut z) = (vec![0; len], vec![1; len], vec![2; len]);
                            ours.fill_bytes(&mut x);
                            a.fill_bytes(&mut y);
                            b.fill_bytes(&mut z);
                            assert!(x == y && x == z, "call {i} from {pos}");
                        }
                    }
                    assert_eq!(ours.get_word_pos(), a.get_word_pos() % (1 << 68), "call {i} from {pos}");
                }
            }

            #[test]
            fn mixed_calls() {
                mixed(0, None);
                mixed(5, Some(77));
                mixed(1_000_000_007, Some(u64::MAX));
            }

            /// 2^32 blocks, where the counter's second word begins to count.
            #[test]
            fn carry() {
                for back in 0..80 {
                    mixed((1 << 36) - 3 * back, None);
                }
            }

            /// The counter starts again after 2^64 blocks.
            #[test]
            fn period() {
                let mut ours = $name::from_seed(SEED);
                ours.set_word_pos((1 << 68) - 21);
                let mut end = [0; 200];
                ours.fill_bytes(&mut end);
                assert_eq!(ours.get_word_pos(), 50 - 21);
                let mut start = [0; 116];
                $name::from_seed(SEED).fill_bytes(&mut start);
                assert_eq!(end[84..], start);
            }

            #[test]
            fn lengths() {
                for len in 0..=grid::max_len() {
                    let (mut ours, (mut a, _)) = all(3);
                    let (mut x, mut y) = (vec![0; len], vec![1; len]);
                    ours.fill_bytes(&mut x);
                    a.fill_bytes(&mut y);
                    assert!(x == y, "length {len}");
                    assert_eq!(ours.next_u32(), a.next_u32(), "after length {len}");
                }
            }

            #[test]
            fn identity() {
                let (mut ours, _) = all(123);
                let copy = ours.clone();
                assert_eq!(ours, copy);
                assert_eq!(ours.get_seed(), SEED);
                ours.next_u32();
                assert_ne!(ours, copy);
                let mut other = copy.clone();
                other.set_stream(1);
                assert_ne!(other, copy);
                other.set_stream(0);
                assert_eq!(other, copy);
                let mut seed = SEED;
                seed[31] ^= 1;
                let mut other = $name::from_seed(seed);
                other.set_word_pos(123);
                assert_ne!(other, copy);
                assert_eq!(format!("{ours:?}"), concat!(stringify!($name), " { .. }"));
                let seeded = $name::seed_from_u64(5).next_u64();
                assert_eq!(seeded, rand_chacha::$name::seed_from_u64(5).next_u64());
            }
        }
    )*};
}

generators! {
    rounds8 ChaCha8Rng;
    rounds12 ChaCha12Rng;
    rounds20 ChaCha20Rng;
}

/// 8 MiB in one call: what is larger than the buffer does not go through it.
#[test]
fn large_fill() {
    let len = if grid::small() { 100_003 } else { 8 << 20 };
    let (mut ours, mut other) = (ChaCha20Rng::from_seed(SEED), rand_chacha::ChaCha20Rng::from_seed(SEED));
    assert_eq!(ours.next_u32(), other.next_u32());
    let (mut x, mut y) = (vec![0; len], vec![1; len]);
    ours.fill_bytes(&mut x);
    other.fill_bytes(&mut y);
    assert!(x == y);
}
