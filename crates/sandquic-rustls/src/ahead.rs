//! Header masks made several at once.
//!
//! A mask takes one block of the cipher, and vector kernels make eight, or four, in little more than the time of one. But
//! a QUIC stack asks for one mask at a time: it learns a packet's number before it looks at the next packet. An endpoint
//! that has received several datagrams knows all their samples, though. It [tells](expect) them, and the first key that is asked
//! for the mask of one makes those of the samples that follow for the same connection.
//!
//! Samples are public. What is told wrongly, or never asked for, costs time and changes nothing.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::ciphers::{HeaderMask, MASK_LEN, SAMPLE_LEN};

/// The most masks that are made at once.
const BATCH: usize = 8;

/// The fewest samples in a row for which a batch is faster than a mask for each.
const LEAST: usize = 3;

/// Samples that are skipped, at most, to find one: packets that were dropped before their mask was needed.
const SKIPPED: usize = 4;

/// Whether telling samples pays: inside WebAssembly, where no instruction makes a block of AES in a few cycles.
pub const PAYS: bool = cfg!(target_family = "wasm");

/// A packet that will be opened soon.
#[derive(Debug, Clone, Copy)]
pub struct Expected {
    /// The same for packets of the same connection, as far as can be seen: something of its connection ID.
    pub connection: u64,
    /// Its sample (RFC 9001, 5.4.2).
    pub sample: [u8; SAMPLE_LEN],
}

struct Ahead {
    expected: Vec<Expected>,
    /// The one whose mask should be asked for next.
    next: usize,
    /// Masks of those from `first`, made with the key `key`.
    masks: [[u8; MASK_LEN]; BATCH],
    first: usize,
    made: usize,
    key: Id,
}

thread_local! {
    static AHEAD: RefCell<Ahead> = const {
        RefCell::new(Ahead {
            expected: Vec::new(),
            next: 0,
            masks: [[0; MASK_LEN]; BATCH],
            first: 0,
            made: 0,
            key: Id(0),
        })
    };
}

/// Tell which packets this thread will open next, in their order. They take the place of those that were told before.
pub fn expect(packets: impl Iterator<Item = Expected>) {
    AHEAD.with_borrow_mut(|ahead| {
        ahead.expected.clear();
        ahead.expected.extend(packets);
        (ahead.next, ahead.made) = (0, 0);
    });
}

/// A key, distinct from all that there have been.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Id(usize);

impl Id {
    pub(crate) fn new() -> Self {
        static LAST: AtomicUsize = AtomicUsize::new(0);
        // They are told apart within one batch of packets: that numbers are used again after 2^32 keys is as good as never.
        Self(LAST.fetch_add(1, Ordering::Relaxed).wrapping_add(1))
    }
}

/// The mask for `sample` with the key `key`, whose name is `id`.
pub(crate) fn mask<H: HeaderMask<KEY>, const KEY: usize>(
    key: &H,
    id: Id,
    sample: &[u8; SAMPLE_LEN],
) -> [u8; MASK_LEN] {
    AHEAD.with_borrow_mut(|ahead| ahead.mask(key, id, sample)).unwrap_or_else(|| key.mask(sample))
}

impl Ahead {
    fn mask<H: HeaderMask<KEY>, const KEY: usize>(
        &mut self,
        key: &H,
        id: Id,
        sample: &[u8; SAMPLE_LEN],
    ) -> Option<[u8; MASK_LEN]> {
        let coming = self.expected.get(self.next..)?;
        let at = self.next + coming.iter().take(SKIPPED).position(|expected| expected.sample == *sample)?;
        self.next = at + 1;
        if id != self.key || !(self.first..self.first + self.made).contains(&at) {
            let connection = self.expected[at].connection;
            let mut samples = [[0; SAMPLE_LEN]; BATCH];
            let row = self.expected[at..].iter().take_while(|expected| expected.connection == connection);
            let mut count = 0;
            for (to, from) in samples.iter_mut().zip(row) {
                *to = from.sample;
                count += 1;
            }
            if count < LEAST {
                return None;
            }
            key.masks(&samples[..count], &mut self.masks[..count]);
            (self.first, self.made, self.key) = (at, count, id);
        }
        Some(self.masks[at - self.first])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key that counts how often it is used.
    struct Counting {
        key: u8,
        single: AtomicUsize,
        batches: AtomicUsize,
    }

    impl Counting {
        fn of(&self, sample: &[u8; SAMPLE_LEN]) -> [u8; MASK_LEN] {
            std::array::from_fn(|i| sample[i] ^ self.key)
        }
    }

    impl HeaderMask<1> for Counting {
        fn new(key: &[u8; 1]) -> Self {
            Self { key: key[0], single: AtomicUsize::new(0), batches: AtomicUsize::new(0) }
        }

        fn mask(&self, sample: &[u8; SAMPLE_LEN]) -> [u8; MASK_LEN] {
            self.single.fetch_add(1, Ordering::Relaxed);
            self.of(sample)
        }

        fn masks(&self, samples: &[[u8; SAMPLE_LEN]], masks: &mut [[u8; MASK_LEN]]) {
            self.batches.fetch_add(1, Ordering::Relaxed);
            for (mask, sample) in masks.iter_mut().zip(samples) {
                *mask = self.of(sample);
            }
        }
    }

    fn packet(connection: u64, number: u8) -> Expected {
        Expected { connection, sample: [number; SAMPLE_LEN] }
    }

    /// Asks for the masks of packets, which must be right, and returns how many were made singly and how many batches.
    fn ask(key: &Counting, id: Id, numbers: impl IntoIterator<Item = u8>) -> (usize, usize) {
        for number in numbers {
            let sample = [number; SAMPLE_LEN];
            assert_eq!(mask(key, id, &sample), key.of(&sample), "{number}");
        }
        (key.single.swap(0, Ordering::Relaxed), key.batches.swap(0, Ordering::Relaxed))
    }

    #[test]
    fn a_row_is_made_in_batches() {
        let (key, id) = (Counting::new(&[9]), Id::new());
        expect((0..20).map(|number| packet(1, number)));
        assert_eq!(ask(&key, id, 0..20), (0, 3));
        // What was not told, or was asked for already, is made for itself.
        assert_eq!(ask(&key, id, [30, 5, 31]), (3, 0));
    }

    #[test]
    fn another_key_makes_its_own() {
        let (one, two) = (Counting::new(&[1]), Counting::new(&[2]));
        let (first, second) = (Id::new(), Id::new());
        expect((0..8).map(|number| packet(1, number)));
        assert_eq!(ask(&one, first, 0..4), (0, 1));
        // Four are left.
        assert_eq!(ask(&two, second, 4..8), (0, 1));
    }

    #[test]
    fn connections_that_alternate_make_no_batches() {
        let (one, two) = (Counting::new(&[1]), Counting::new(&[2]));
        let (first, second) = (Id::new(), Id::new());
        expect((0..8).map(|number| packet(u64::from(number % 2), number)));
        for number in 0..8 {
            let (key, id) = if number % 2 == 0 { (&one, first) } else { (&two, second) };
            assert_eq!(ask(key, id, [number]), (1, 0));
        }
    }

    #[test]
    fn packets_that_are_not_asked_for_are_skipped() {
        let (key, id) = (Counting::new(&[7]), Id::new());
        expect((0..16).map(|number| packet(1, number)));
        assert_eq!(ask(&key, id, [0, 3, 4, 7, 8, 11, 15]), (0, 2));
    }
}
