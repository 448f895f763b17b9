//! The bytes that are transferred, and their checksum.

use std::fs::File;
use std::io::{self, Read};

use bytes::Bytes;
use xxhash_rust::xxh64::Xxh64;

/// How much of a file is read, and handed to a stream, at a time.
pub(crate) const CHUNK: usize = 256 * 1024;

/// The period of the pattern: a prime, so that a shift by whole packets or blocks changes the content.
const PERIOD: usize = 1_048_573;

/// Content without a file: a repeated block of pseudo-random bytes, the same in every build. Costs nothing to make
/// while it is sent.
#[derive(Clone, Debug)]
pub struct Pattern {
    block: Bytes,
    length: u64,
}

impl Pattern {
    /// The first `length` bytes of the pattern.
    pub fn new(length: u64) -> Self {
        // SplitMix64 from a fixed seed: eight bytes a step.
        let mut state = 0x5eed_u64;
        let mut block = Vec::with_capacity(PERIOD + 8);
        while block.len() < PERIOD {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            block.extend_from_slice(&(z ^ (z >> 31)).to_le_bytes());
        }
        block.truncate(PERIOD);
        Self { block: block.into(), length }
    }

    /// Its length in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Its bytes in order, in pieces that share one block of memory.
    pub fn chunks(&self) -> impl Iterator<Item = Bytes> + Send + use<> {
        let Self { block, length } = self.clone();
        let mut sent = 0;
        std::iter::from_fn(move || {
            let start = usize::try_from(sent % PERIOD as u64).expect("less than PERIOD");
            let left = usize::try_from(length - sent).unwrap_or(usize::MAX);
            let size = CHUNK.min(PERIOD - start).min(left);
            sent += size as u64;
            (size > 0).then(|| block.slice(start..start + size))
        })
    }

    /// Its XXH64.
    pub fn checksum(&self) -> u64 {
        checksum(self.chunks().map(Ok)).expect("no piece is an error").1
    }
}

/// The length and the XXH64, seed 0, of some pieces.
///
/// # Errors
/// The first error among the pieces.
pub fn checksum(pieces: impl Iterator<Item = io::Result<Bytes>>) -> io::Result<(u64, u64)> {
    let mut hash = Xxh64::new(0);
    let mut length = 0;
    for piece in pieces {
        let piece = piece?;
        hash.update(&piece);
        length += piece.len() as u64;
    }
    Ok((length, hash.digest()))
}

/// A file's content in pieces, up to its end.
pub(crate) fn file_chunks(mut file: File) -> impl Iterator<Item = io::Result<Bytes>> + Send {
    std::iter::from_fn(move || {
        let mut piece = vec![0; CHUNK];
        match file.read(&mut piece) {
            Ok(0) => None,
            Ok(size) => {
                piece.truncate(size);
                Some(Ok(piece.into()))
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Some(Ok(Bytes::new())),
            Err(error) => Some(Err(error)),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pattern_has_its_length_and_repeats_after_the_period() {
        for length in [0, 1, CHUNK as u64, PERIOD as u64, 3 * PERIOD as u64 + 17] {
            let content: Vec<u8> = Pattern::new(length).chunks().flatten().collect();
            assert_eq!(content.len() as u64, length);
            for at in PERIOD..content.len() {
                assert_eq!(content[at], content[at - PERIOD], "at {at}");
            }
        }
    }

    #[test]
    fn the_checksum_is_xxh64_of_the_whole() {
        // XXH64 of nothing and of "abc" with seed 0, from the reference implementation.
        assert_eq!(Pattern::new(0).checksum(), 0xef46_db37_51d8_e999);
        let pieces = [Ok(Bytes::from_static(b"a")), Ok(Bytes::from_static(b"bc"))];
        assert_eq!(checksum(pieces.into_iter()).unwrap(), (3, 0x44bc_2cf5_ad77_0999));
        let content: Vec<u8> = Pattern::new(2_000_003).chunks().flatten().collect();
        assert_eq!(Pattern::new(2_000_003).checksum(), xxhash_rust::xxh64::xxh64(&content, 0));
    }

    #[test]
    fn no_part_of_the_pattern_is_a_shift_of_its_neighbour() {
        let content: Vec<u8> = Pattern::new(100_000).chunks().flatten().collect();
        for shift in [1, 1_200, 1_452, 4_096] {
            assert_ne!(content[..10_000], content[shift..shift + 10_000]);
        }
    }
}
