//! What one call of the system has received, datagram by datagram.

use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use bytes::{Bytes, BytesMut};
use quinn_udp::{BATCH_SIZE, RecvMeta};

/// Room for one message, in bytes: the most that one receive offload gives, and 33 cache lines more. Without these
/// all messages would begin in the same set of the processor's cache.
const SLOT: usize = 65_536 + 33 * 64;

/// The room for a batch of messages. Pages that no message reached are never touched.
const ROOM: usize = SLOT * BATCH_SIZE;

/// A buffer between two batches: sockets that wait hold none.
#[derive(Default)]
pub(super) struct Spare(Mutex<Option<BytesMut>>);

impl Spare {
    fn take(&self) -> BytesMut {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        // The one place that zeroes: once for each buffer, by the system, as its pages are first touched.
        kept.unwrap_or_else(|| BytesMut::zeroed(ROOM))
    }

    fn keep(&self, buffer: BytesMut) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(buffer);
    }
}

/// Datagrams that wait for the guest, in the order in which they arrived. They stay in the buffer that the system put
/// them into and are handed out as slices of it.
#[derive(Default)]
pub(super) struct Ring {
    whole: Option<Bytes>,
    /// The messages that are left, the next one last.
    messages: Vec<Message>,
}

/// Datagrams of one peer that lie one behind the other: `stride` bytes each but the last, which may be shorter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    start: usize,
    end: usize,
    stride: usize,
    /// Where they come from.
    pub(super) from: SocketAddr,
}

impl Message {
    /// How many datagrams it holds. One of no bytes is one.
    pub(super) fn datagrams(&self) -> usize {
        (self.end - self.start).div_ceil(self.stride).max(1)
    }

    /// The message in pieces of one datagram each.
    fn split(self) -> impl Iterator<Item = Self> {
        (0..self.datagrams()).map(move |at| {
            let start = self.start + at * self.stride;
            Self { start, end: (start + self.stride).min(self.end), ..self }
        })
    }
}

impl Ring {
    /// The next datagram.
    pub(super) fn pop(&mut self) -> Option<(Bytes, SocketAddr)> {
        let message = self.messages.last_mut()?;
        let stop = message.end.min(message.start + message.stride);
        let datagram = self.whole.as_ref()?.slice(message.start..stop);
        let from = message.from;
        message.start = stop;
        if stop == message.end {
            self.messages.pop();
        }
        Some((datagram, from))
    }

    /// How many datagrams are left.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.messages.iter().map(Message::datagrams).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Fills an empty ring with one call of the system, and returns how many messages came. Fewer than
    /// [`BATCH_SIZE`]: there were no more.
    pub(super) fn fill(
        &mut self,
        spare: &Spare,
        receive: impl FnOnce(&mut [IoSliceMut<'_>], &mut [RecvMeta]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        debug_assert!(self.is_empty());
        let mut buffer = self.reclaim().unwrap_or_else(|| spare.take());
        let mut metas = [RecvMeta::default(); BATCH_SIZE];
        let received = {
            let mut slots = buffer.chunks_exact_mut(SLOT);
            let mut slots: [IoSliceMut<'_>; BATCH_SIZE] =
                std::array::from_fn(|_| IoSliceMut::new(slots.next().unwrap_or_default()));
            receive(&mut slots, &mut metas)
        };
        let count = match received {
            Ok(count) => count,
            Err(error) => {
                spare.keep(buffer);
                return Err(error);
            }
        };
        self.messages.extend(metas[..count].iter().enumerate().rev().map(|(at, meta)| {
            let start = at * SLOT;
            let len = meta.len.min(SLOT);
            Message { start, end: start + len, stride: meta.stride.clamp(1, SLOT), from: meta.addr }
        }));
        self.whole = Some(buffer.freeze());
        Ok(count)
    }

    /// Drops the messages that `keep` refuses.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&Message) -> bool) {
        // From the first to arrive, which is the last here.
        for at in (0..self.messages.len()).rev() {
            if !keep(&self.messages[at]) {
                self.messages.remove(at);
            }
        }
    }

    /// Takes out the datagrams that `take` takes. The order of the others stays.
    pub(super) fn divert(&mut self, mut take: impl FnMut(&[u8], SocketAddr) -> bool) {
        let Some(whole) = &self.whole else { return };
        let mut left = Vec::with_capacity(self.messages.len());
        for &message in self.messages.iter().rev() {
            let taken: Vec<bool> =
                message.split().map(|one| take(&whole[one.start..one.end], one.from)).collect();
            if !taken.contains(&true) {
                left.push(message);
                continue;
            }
            left.extend(message.split().zip(taken).filter(|(_, taken)| !taken).map(|(one, _)| one));
        }
        left.reverse();
        self.messages = left;
    }

    /// Gives the buffer of an empty ring back, before the guest waits.
    pub(super) fn rest(&mut self, spare: &Spare) {
        if self.messages.is_empty()
            && let Some(buffer) = self.reclaim()
        {
            spare.keep(buffer);
        }
    }

    /// The buffer, unless a datagram of it is still held by somebody; then it is theirs.
    fn reclaim(&mut self) -> Option<BytesMut> {
        self.whole.take()?.try_into_mut().ok().filter(|buffer| buffer.len() == ROOM)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(port: u16) -> SocketAddr {
        ([127, 0, 0, 1], port).into()
    }

    /// A ring with messages of these peers, lengths and strides; byte `n` of message `m` is `m + n`.
    fn ring(spare: &Spare, messages: &[(u16, usize, usize)]) -> Ring {
        let mut ring = Ring::default();
        let count = ring.fill(spare, |slots, metas| {
            for (at, &(port, len, stride)) in messages.iter().enumerate() {
                for (n, byte) in slots[at][..len].iter_mut().enumerate() {
                    *byte = (at + n) as u8;
                }
                (metas[at].addr, metas[at].len, metas[at].stride) = (peer(port), len, stride);
            }
            Ok(messages.len())
        });
        assert_eq!(count.unwrap(), messages.len());
        ring
    }

    #[test]
    fn messages_come_apart_at_their_stride_in_order() {
        let mut ring = ring(&Spare::default(), &[(1, 10, 4), (2, 0, 0), (1, 6, 3), (3, 5, 9)]);
        assert_eq!(ring.len(), 7);
        let expected: [(u16, &[u8]); 7] = [
            (1, &[0, 1, 2, 3]),
            (1, &[4, 5, 6, 7]),
            (1, &[8, 9]),
            (2, &[]),
            (1, &[2, 3, 4]),
            (1, &[5, 6, 7]),
            (3, &[3, 4, 5, 6, 7]),
        ];
        for (port, data) in expected {
            assert_eq!(ring.pop(), Some((Bytes::from_static(data), peer(port))));
        }
        assert_eq!(ring.pop(), None);
    }

    #[test]
    fn a_buffer_is_used_again_and_only_when_nobody_reads_it() {
        let spare = Spare::default();
        let mut first = ring(&spare, &[(1, 3, 3)]);
        let (held, _) = first.pop().unwrap();
        let address = held.as_ptr();
        drop(held);
        first.rest(&spare);
        let mut second = ring(&spare, &[(1, 3, 3)]);
        let (held, _) = second.pop().unwrap();
        assert_eq!(held.as_ptr(), address);
        second.rest(&spare);
        let mut third = ring(&spare, &[(1, 4, 4), (1, 1, 1)]);
        assert_ne!(third.pop().unwrap().0.as_ptr(), address);
        assert_eq!(&held[..], [0, 1, 2], "nothing was written over what is held");
    }

    #[test]
    fn an_error_costs_no_buffer() {
        let spare = Spare::default();
        let mut ring = Ring::default();
        let failed = ring.fill(&spare, |_, _| Err(io::ErrorKind::WouldBlock.into()));
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert!(spare.0.lock().unwrap().is_some());
    }

    #[test]
    fn some_are_refused_and_some_go_elsewhere() {
        let mut ring = ring(&Spare::default(), &[(1, 9, 4), (2, 8, 4), (3, 7, 4)]);
        ring.retain(|message| message.from != peer(2));
        let mut seen = Vec::new();
        ring.divert(|datagram, from| {
            seen.push((datagram.to_vec(), from.port()));
            datagram.contains(&4)
        });
        let all = [(vec![0, 1, 2, 3], 1), (vec![4, 5, 6, 7], 1), (vec![8], 1), (vec![2, 3, 4, 5], 3)];
        assert_eq!(seen[..4], all);
        let left: Vec<_> = std::iter::from_fn(|| ring.pop()).map(|(data, _)| data.to_vec()).collect();
        assert_eq!(left, [vec![0, 1, 2, 3], vec![8], vec![6, 7, 8]]);
    }
}
