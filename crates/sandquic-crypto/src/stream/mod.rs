//! What ChaCha, Salsa and AES in counter mode share: a keystream of numbered 64-byte blocks made into a `cipher` stream.

use cipher::{OverflowError, SeekNum, StreamCipherError};

use crate::wipe::wipe;

mod apply;
mod rows;
mod slots;

pub(crate) use apply::{BlockFunction, Pass, apply, blocks};
pub(crate) use rows::each_row;
pub(crate) use slots::{SLOTS, Slots};

/// Bytes in a block of the keystream.
pub(crate) const BLOCK: usize = 64;

/// A keystream in blocks with numbers.
pub(crate) trait Keystream {
    /// The number of blocks that may be used.
    const BLOCKS: u64;

    /// Xors blocks `first`, `first + 1`, ... into all of `data`. If `data` ends inside a block, that block of
    /// the keystream is left in `last`, whose content is undefined otherwise.
    ///
    /// The caller has checked that the blocks are below [`BLOCKS`](Self::BLOCKS).
    fn apply(&self, first: u64, data: &mut [u8], last: &mut [u8; BLOCK]);
}

/// A keystream, the place in it and the block that was begun.
#[derive(Clone)]
pub(crate) struct Stream<K: Keystream> {
    core: K,
    /// The block to be made next.
    next: u64,
    /// Bytes used of `block`, 1 to 64; 64 also when none has been made.
    used: u8,
    /// Block `next - 1` where `used` is below 64.
    block: [u8; BLOCK],
}

impl<K: Keystream> Stream<K> {
    pub(crate) fn new(core: K) -> Self {
        Self { core, next: 0, used: BLOCK as u8, block: [0; BLOCK] }
    }

    /// An error if fewer than `len` bytes are left.
    #[inline]
    pub(crate) fn check_remaining(&self, len: usize) -> Result<(), StreamCipherError> {
        let buffered = BLOCK - usize::from(self.used);
        let blocks = len.saturating_sub(buffered).div_ceil(BLOCK) as u64;
        // Beyond the end is only where unchecked calls have gone.
        if blocks > K::BLOCKS.saturating_sub(self.next) { Err(StreamCipherError) } else { Ok(()) }
    }

    /// Xors the keystream into `data`. The caller has called [`check_remaining`](Self::check_remaining).
    #[inline]
    pub(crate) fn apply(&mut self, mut data: &mut [u8]) {
        let used = usize::from(self.used);
        if used < BLOCK {
            let n = data.len().min(BLOCK - used);
            let (head, rest) = data.split_at_mut(n);
            xor(head, &self.block[used..used + n]);
            self.used += n as u8;
            data = rest;
        }
        if data.is_empty() {
            return;
        }
        self.core.apply(self.next, data, &mut self.block);
        // Saturating: after an unchecked call beyond the end, checked ones are to fail.
        self.next = self.next.saturating_add(data.len().div_ceil(BLOCK) as u64);
        self.used = match data.len() % BLOCK {
            0 => BLOCK as u8,
            n => n as u8,
        };
    }

    // Positions go through `SeekNum` as blocks of one byte. With its own division by the size of a block, it
    // panics at negative numbers and overflows at the last positions that a type can hold.

    pub(crate) fn try_current_pos<T: SeekNum>(&self) -> Result<T, OverflowError> {
        let unused = BLOCK as u128 - u128::from(self.used);
        T::from_block_byte(u128::from(self.next) * BLOCK as u128 - unused, 1, 1)
    }

    pub(crate) fn try_seek<T: SeekNum>(&mut self, pos: T) -> Result<(), StreamCipherError> {
        let (pos, _): (u128, u8) = pos.into_block_byte(1).map_err(|_| StreamCipherError)?;
        if pos > u128::from(K::BLOCKS) * BLOCK as u128 {
            return Err(StreamCipherError);
        }
        self.next = (pos / BLOCK as u128) as u64;
        self.used = BLOCK as u8;
        let byte = (pos % BLOCK as u128) as usize;
        if byte != 0 {
            // Bytes that nobody sees leave the block behind.
            let mut skipped = [0; BLOCK];
            self.apply(&mut skipped[..byte]);
            wipe(&mut skipped);
        }
        Ok(())
    }
}

#[cfg(feature = "zeroize")]
impl<K: Keystream> Drop for Stream<K> {
    fn drop(&mut self) {
        wipe(&mut self.block);
    }
}

/// Xors a mask of the same length into some bytes.
#[inline(always)]
pub(crate) fn xor(data: &mut [u8], mask: &[u8]) {
    for (byte, mask) in data.iter_mut().zip(mask) {
        *byte ^= mask;
    }
}

/// Sixteen words as the bytes of a block.
#[inline(always)]
pub(crate) fn to_bytes(words: &[u32; 16]) -> [u8; BLOCK] {
    let mut bytes = [0; BLOCK];
    for (chunk, word) in bytes.chunks_exact_mut(4).zip(words) {
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// `N` words from 4 `N` bytes.
#[inline(always)]
pub(crate) fn to_words<const N: usize>(bytes: &[u8]) -> [u32; N] {
    let mut words = [0; N];
    for (word, chunk) in words.iter_mut().zip(bytes.chunks_exact(4)) {
        *word = u32::from_le_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]);
    }
    words
}

/// An expression for each of the four quarter rounds. A loop would be unrolled too late for its arrays of vectors to
/// become registers.
macro_rules! each_of_four {
    ($i:ident => $e:expr) => {{
        {
            let $i = 0;
            $e;
        }
        {
            let $i = 1;
            $e;
        }
        {
            let $i = 2;
            $e;
        }
        {
            let $i = 3;
            $e;
        }
    }};
}
pub(crate) use each_of_four;

/// The traits of `cipher` for a type whose field 0 is a [`Stream`]: from a key, or from an `inner` block cipher, whose
/// key is then the type's.
macro_rules! impl_stream_cipher {
    ($name:ident <$($param:ident : $bound:ident),*>, key $key:ty, nonce $nonce:ty) => {
        impl<$($param: $bound),*> cipher::KeySizeUser for $name<$($param),*> {
            type KeySize = $key;
        }
        impl_stream_cipher!($name<$($param: $bound),*>, inner, nonce $nonce);
    };
    ($name:ident <$($param:ident : $bound:ident),*>, inner, nonce $nonce:ty) => {
        impl<$($param: $bound),*> cipher::IvSizeUser for $name<$($param),*> {
            type IvSize = $nonce;
        }
        impl<$($param: $bound),*> cipher::StreamCipher for $name<$($param),*> {
            #[inline]
            fn check_remaining(&self, data_len: usize) -> Result<(), cipher::StreamCipherError> {
                self.0.check_remaining(data_len)
            }
            #[inline]
            fn unchecked_apply_keystream_inout(&mut self, buf: cipher::InOutBuf<'_, '_, u8>) {
                self.0.apply(buf.into_out_with_copied_in());
            }
            #[inline]
            fn unchecked_write_keystream(&mut self, buf: &mut [u8]) {
                buf.fill(0);
                self.0.apply(buf);
            }
        }
        impl<$($param: $bound),*> cipher::StreamCipherSeek for $name<$($param),*> {
            fn try_current_pos<T: cipher::SeekNum>(&self) -> Result<T, cipher::OverflowError> {
                self.0.try_current_pos()
            }
            fn try_seek<T: cipher::SeekNum>(&mut self, pos: T) -> Result<(), cipher::StreamCipherError> {
                self.0.try_seek(pos)
            }
        }
        #[cfg(feature = "zeroize")]
        impl<$($param: $bound),*> zeroize::ZeroizeOnDrop for $name<$($param),*> {}
    };
}
pub(crate) use impl_stream_cipher;
