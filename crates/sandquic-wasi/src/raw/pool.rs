//! Memory for datagrams that somebody else writes.

use std::ptr::NonNull;

use bytes::{BufMut, BytesMut};

/// Bytes of one block. Datagrams of 1,452 bytes fill one to 97 %.
const BLOCK: usize = 32 << 10;
/// The least room that is offered: a datagram of an Ethernet frame fits.
const LEAST: usize = 2 << 10;
/// Blocks of one pool. The reader of a stream may leave what arrived for it where it is, and one datagram holds its whole
/// block: beyond this many, datagrams get memory of their own, which they hold alone.
const BLOCKS: usize = 64;

/// Blocks of memory that datagrams are written to one after another. A datagram is a [`BytesMut`] that shares its block;
/// a block is used again when all its datagrams have been dropped. So there is no allocation per datagram, neither for
/// its bytes nor for counting references to them.
#[derive(Debug, Default)]
pub(super) struct Pool {
    /// The unwritten end of each block, which holds a reference to the whole. The last is the one in use.
    blocks: Vec<BytesMut>,
}

impl Pool {
    /// A pool without any block yet.
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Where the next datagram may be written, and how long it may be, in bytes. `None` if too many blocks are in use.
    pub(super) fn room(&mut self) -> Option<(NonNull<u8>, usize)> {
        if self.blocks.last().is_none_or(|block| block.capacity() < LEAST) && !self.next_block() {
            return None;
        }
        let room = self.blocks.last_mut()?.spare_capacity_mut();
        Some((NonNull::from(&mut *room).cast(), room.len()))
    }

    /// The datagram of `len` bytes that was written to [`room`](Self::room).
    ///
    /// # Safety
    ///
    /// So many bytes have been written there since the last call of `room`, and no more than it said.
    pub(super) unsafe fn take(&mut self, len: usize) -> BytesMut {
        let block = self.blocks.last_mut().expect("`room` was asked, and made one");
        // SAFETY: they are initialised and within the capacity, as the caller promises.
        unsafe { block.advance_mut(len) };
        block.split()
    }

    /// One of several datagrams that were written to [`room`](Self::room): of `len` bytes, at `at`. In the order in which
    /// they lie there none is copied.
    ///
    /// # Safety
    ///
    /// So many bytes have been written there since the last call of `room`, within what it said, and are given once.
    #[cfg(any(all(target_os = "wasi", feature = "wasip2"), test))]
    pub(super) unsafe fn take_at(&mut self, at: *const u8, len: usize) -> BytesMut {
        let block = self.blocks.last_mut().expect("`room` was asked, and made one");
        if std::ptr::eq(block.spare_capacity_mut().as_ptr().cast(), at) {
            // SAFETY: as the caller promises.
            return unsafe { self.take(len) };
        }
        // SAFETY: as the caller promises; nothing writes there before the next call of `room`.
        unsafe { std::slice::from_raw_parts(at, len) }.into()
    }

    /// Put a block last that nobody refers to any more, the last used first, since it may still be in the cache; or a new one.
    fn next_block(&mut self) -> bool {
        // Asked for whole, so that it begins at its beginning again.
        if let Some(free) = self.blocks.iter_mut().rposition(|block| block.try_reclaim(BLOCK)) {
            let last = self.blocks.len() - 1;
            self.blocks.swap(free, last);
        } else if self.blocks.len() < BLOCKS {
            self.blocks.push(BytesMut::with_capacity(BLOCK));
        } else {
            return false;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a datagram as a host does.
    fn write(pool: &mut Pool, bytes: &[u8]) -> Option<BytesMut> {
        let (room, len) = pool.room()?;
        assert!(bytes.len() <= len);
        // SAFETY: there is room for so many bytes, in memory that the pool owns alone.
        unsafe { room.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) };
        // SAFETY: they have been written just now.
        Some(unsafe { pool.take(bytes.len()) })
    }

    #[test]
    fn datagrams_share_blocks_and_keep_their_bytes() {
        let mut pool = Pool::new();
        let kept: Vec<BytesMut> =
            (0..200_u8).map(|i| write(&mut pool, &[i; 1_452]).expect("room for 200")).collect();
        for (i, datagram) in kept.iter().enumerate() {
            assert!(datagram.iter().all(|byte| usize::from(*byte) == i), "datagram {i}");
            assert_eq!(datagram.len(), 1_452);
        }
        assert_eq!(pool.blocks.len(), 200_usize.div_ceil(BLOCK / 1_452));
    }

    #[test]
    fn several_are_taken_in_any_order() {
        let mut pool = Pool::new();
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [0, 2, 1]] {
            let (room, _) = pool.room().expect("room");
            // SAFETY: there is room for so many bytes.
            unsafe { room.copy_from_nonoverlapping(NonNull::from(b"aaabbbccc").cast(), 9) };
            let taken = order.map(|i| {
                // SAFETY: they have been written just now, and each is taken once.
                unsafe { pool.take_at(room.as_ptr().wrapping_add(3 * i), 3) }
            });
            let expected = order.map(|i| [b"aaa", b"bbb", b"ccc"][i]);
            assert_eq!(
                taken.each_ref().map(|taken| &taken[..]),
                expected.map(|bytes| &bytes[..]),
                "{order:?}"
            );
        }
    }

    #[test]
    fn a_block_is_used_again_when_its_datagrams_are_gone() {
        let mut pool = Pool::new();
        let mut seen = std::collections::BTreeSet::new();
        for i in 0..10_000_u32 {
            let datagram = write(&mut pool, &i.to_le_bytes().repeat(300)).expect("room");
            seen.insert(datagram.as_ptr() as usize);
            assert_eq!(datagram[..4], i.to_le_bytes());
        }
        assert!(pool.blocks.len() <= 2, "{} blocks", pool.blocks.len());
        assert!(seen.len() <= 2 * (BLOCK / 1_200), "{} places", seen.len());
    }

    #[test]
    fn memory_is_bounded_whatever_is_kept() {
        let mut pool = Pool::new();
        let mut kept = Vec::new();
        while let Some(datagram) = write(&mut pool, &[7; 1_200]) {
            kept.push(datagram);
            assert!(kept.len() <= BLOCKS * (BLOCK / 1_200), "there is no end");
        }
        assert_eq!(pool.blocks.len(), BLOCKS);
        // One that is let go does not free its block, all of a block do.
        kept.remove(0);
        assert!(pool.room().is_none());
        kept.truncate(kept.len() / 2);
        assert!(pool.room().is_some());
    }

    #[test]
    fn an_empty_datagram_takes_no_room() {
        let mut pool = Pool::new();
        let before = pool.room().expect("room");
        assert!(write(&mut pool, &[]).expect("room").is_empty());
        assert_eq!(pool.room(), Some(before));
    }
}
