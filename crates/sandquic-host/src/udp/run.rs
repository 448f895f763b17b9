//! Datagrams on their way out: those to one destination in a row, to be sent by one call.

use std::io;
use std::net::SocketAddr;

use rustix::io::Errno;

/// Bytes that one call takes: the payload that fits an IP packet of 65,535 bytes, with IPv6's header.
pub(super) const MAX_RUN: usize = 65_487;

/// Datagrams of one size, of which the last may be shorter, to one destination.
#[derive(Debug, Default)]
pub(super) struct Run {
    buffer: Vec<u8>,
    /// Bytes that have been sent one by one already.
    sent: usize,
    segment: usize,
    datagrams: usize,
    to: Option<SocketAddr>,
    /// Whether they are sent one by one.
    apart: bool,
}

/// What one call of the system takes from a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Batch<'a> {
    /// The datagrams, one behind the other.
    pub(super) bytes: &'a [u8],
    /// The size of each but the last; `None` for a single one.
    pub(super) segment: Option<usize>,
    /// Where they go; `None` to the peer that the socket is connected to.
    pub(super) to: SocketAddr,
}

/// What became of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Flushed {
    /// Datagrams that the system took.
    pub(super) sent: u64,
    /// Datagrams that it refused.
    pub(super) failed: u64,
    /// Calls that were made.
    pub(super) calls: u64,
    /// Whether one of them took several datagrams.
    pub(super) merged: bool,
    /// The first error that was not about room.
    pub(super) error: Option<Errno>,
    /// Whether there was no room, so that some are left.
    pub(super) blocked: bool,
    /// Whether the system takes these datagrams only one by one.
    pub(super) unmergeable: bool,
}

impl Run {
    pub(super) fn is_empty(&self) -> bool {
        self.datagrams == 0
    }

    /// How many are left to be sent.
    pub(super) fn datagrams(&self) -> usize {
        self.datagrams
    }

    /// Whether a datagram may join: it goes where the others go, is no longer than they are, none was shorter, and
    /// there is room.
    pub(super) fn accepts(&self, datagram: &[u8], to: SocketAddr, max_segments: usize) -> bool {
        self.datagrams == 0
            || (self.to == Some(to)
                && datagram.len() <= self.segment
                // No byte would be no segment at all.
                && !datagram.is_empty()
                && self.buffer.len() == self.segment * self.datagrams
                && self.datagrams < max_segments
                && self.buffer.len() + datagram.len() <= MAX_RUN)
    }

    /// Adds a datagram that is accepted.
    pub(super) fn push(&mut self, datagram: &[u8], to: SocketAddr) {
        if self.datagrams == 0 {
            self.to = Some(to);
            self.segment = datagram.len();
        }
        self.datagrams += 1;
        self.buffer.extend_from_slice(datagram);
    }

    /// Whether no other datagram of its size could join, so that there is nothing to wait for.
    pub(super) fn is_full(&self, max_segments: usize) -> bool {
        self.datagrams >= max_segments || self.buffer.len() + self.segment > MAX_RUN || self.segment == 0
    }

    /// The size of its datagrams, or of the last one's that it held.
    pub(super) fn segment(&self) -> usize {
        self.segment
    }

    /// Has what is left sent one by one, each as soon as there is room for it alone.
    pub(super) fn part(&mut self) {
        self.apart = true;
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.buffer.clear();
        (self.sent, self.datagrams, self.apart) = (0, 0, false);
    }

    /// Sends it with `send`: in one call, or one by one where that was refused. Only what there was no room for is
    /// left.
    pub(super) fn flush(&mut self, mut send: impl FnMut(Batch<'_>) -> io::Result<()>) -> Flushed {
        let mut flushed = Flushed::default();
        let Some(to) = self.to.filter(|_| self.datagrams > 0) else { return flushed };
        let mut refused = None;
        if self.datagrams > 1 && self.sent == 0 && !self.apart {
            flushed.calls += 1;
            match send(Batch { bytes: &self.buffer, segment: Some(self.segment), to }) {
                Ok(()) => {
                    flushed.sent = self.datagrams as u64;
                    flushed.merged = true;
                    self.clear();
                    return flushed;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    flushed.blocked = true;
                    return flushed;
                }
                // The error may be about an earlier datagram (ECONNREFUSED), about all together (EINVAL, EMSGSIZE, EIO of a
                // device that cannot), or about some: each alone tells.
                Err(error) => refused = Some(errno(&error)),
            }
        }
        while self.datagrams > 0 {
            let stop = self.buffer.len().min(self.sent + self.segment);
            flushed.calls += 1;
            match send(Batch { bytes: &self.buffer[self.sent..stop], segment: None, to }) {
                Ok(()) => flushed.sent += 1,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    flushed.calls -= 1;
                    flushed.blocked = true;
                    break;
                }
                Err(error) => {
                    flushed.failed += 1;
                    flushed.error.get_or_insert(errno(&error));
                }
            }
            self.sent = stop;
            self.datagrams -= 1;
        }
        if let Some(refused) = refused {
            match refused {
                Errno::INVAL | Errno::MSGSIZE | Errno::IO | Errno::OPNOTSUPP => flushed.unmergeable = true,
                // It was about what had been sent before.
                _ => drop(flushed.error.get_or_insert(refused)),
            }
        }
        if self.datagrams == 0 {
            self.clear();
        }
        flushed
    }
}

/// The system's number of an error.
pub(super) fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(port: u16) -> SocketAddr {
        ([127, 0, 0, 1], port).into()
    }

    fn run(sizes: &[usize]) -> Run {
        let mut run = Run::default();
        for (at, &size) in sizes.iter().enumerate() {
            let datagram = vec![at as u8; size];
            assert!(run.accepts(&datagram, to(1), 64));
            run.push(&datagram, to(1));
        }
        run
    }

    /// The lengths of what was sent by one call each, with the segment.
    fn record(
        run: &mut Run,
        mut answer: impl FnMut(usize) -> io::Result<()>,
    ) -> (Vec<(usize, Option<usize>)>, Flushed) {
        let mut calls = Vec::new();
        let flushed = run.flush(|batch| {
            calls.push((batch.bytes.len(), batch.segment));
            answer(calls.len())
        });
        (calls, flushed)
    }

    #[test]
    fn what_joins_a_run() {
        let run = run(&[10, 10]);
        assert!(run.accepts(&[0; 10], to(1), 3));
        assert!(run.accepts(&[0; 9], to(1), 3), "the last one may be shorter");
        assert!(!run.accepts(&[0; 11], to(1), 3), "longer");
        assert!(!run.accepts(&[], to(1), 3), "no segment");
        assert!(!run.accepts(&[0; 10], to(2), 3), "elsewhere");
        assert!(!run.accepts(&[0; 10], to(1), 2), "too many");
        assert!(!self::run(&[10, 9]).accepts(&[0; 9], to(1), 3), "after a shorter one");
        assert!(!self::run(&[30_000, 30_000]).accepts(&[0; 6_000], to(1), 64), "too much");
        assert!(Run::default().accepts(&[], to(1), 1), "the first always");
    }

    #[test]
    fn a_run_is_one_call_and_a_single_datagram_a_plain_one() {
        let (calls, flushed) = record(&mut run(&[10, 10, 4]), |_| Ok(()));
        assert_eq!(calls, [(24, Some(10))]);
        assert_eq!((flushed.sent, flushed.calls, flushed.merged), (3, 1, true));
        let (calls, flushed) = record(&mut run(&[10]), |_| Ok(()));
        assert_eq!(calls, [(10, None)]);
        assert_eq!((flushed.sent, flushed.merged), (1, false));
        let (calls, _) = record(&mut run(&[0]), |_| Ok(()));
        assert_eq!(calls, [(0, None)]);
    }

    #[test]
    fn what_the_system_will_not_merge_goes_one_by_one() {
        for error in [Errno::INVAL, Errno::MSGSIZE, Errno::IO] {
            let mut run = run(&[10, 10, 4]);
            let (calls, flushed) =
                record(&mut run, |call| if call == 1 { Err(error.into()) } else { Ok(()) });
            assert_eq!(calls, [(24, Some(10)), (10, None), (10, None), (4, None)]);
            assert_eq!((flushed.sent, flushed.error, flushed.unmergeable), (3, None, true));
            assert!(run.is_empty());
        }
    }

    #[test]
    fn no_room_keeps_what_is_left() {
        let mut run = run(&[10, 10, 4]);
        let full = || Err(io::ErrorKind::WouldBlock.into());
        let (_, flushed) = record(&mut run, |_| full());
        assert!(flushed.blocked && flushed.sent == 0 && !run.is_empty());
        // One by one, and full again after the first.
        let (calls, flushed) = record(&mut run, |call| match call {
            1 => Err(Errno::INVAL.into()),
            2 => Ok(()),
            _ => full(),
        });
        assert_eq!((calls.len(), flushed.sent, flushed.blocked), (3, 1, true));
        assert!(!run.accepts(&[0; 10], to(1), 64), "what is half sent takes no more");
        let (calls, flushed) = record(&mut run, |_| Ok(()));
        assert_eq!(calls, [(10, None), (4, None)]);
        assert_eq!((flushed.sent, run.is_empty()), (2, true));
    }

    #[test]
    fn what_is_parted_goes_one_by_one() {
        let mut run = run(&[10, 10, 4]);
        run.part();
        let (calls, flushed) = record(&mut run, |call| match call {
            1 => Ok(()),
            _ => Err(io::ErrorKind::WouldBlock.into()),
        });
        assert_eq!(calls, [(10, None), (10, None)]);
        assert_eq!((flushed.sent, flushed.blocked), (1, true));
        let (calls, _) = record(&mut run, |_| Ok(()));
        assert_eq!(calls, [(10, None), (4, None)]);
        for _ in 0..2 {
            assert!(run.accepts(&[0; 10], to(1), 64));
            run.push(&[0; 10], to(1));
        }
        let (calls, _) = record(&mut run, |_| Ok(()));
        assert_eq!(calls, [(20, Some(10))], "the next ones are merged again");
    }

    #[test]
    fn errors_are_told_and_the_rest_is_sent() {
        // No memory for any.
        let (_, flushed) = record(&mut run(&[10, 10]), |_| Err(Errno::NOBUFS.into()));
        assert_eq!((flushed.sent, flushed.failed, flushed.error), (0, 2, Some(Errno::NOBUFS)));
        // None for the second alone.
        let (_, flushed) = record(&mut run(&[10, 10, 10]), |call| match call {
            1 | 3 => Err(Errno::NOBUFS.into()),
            _ => Ok(()),
        });
        assert_eq!((flushed.sent, flushed.failed, flushed.error), (2, 1, Some(Errno::NOBUFS)));
        // About a datagram of before: these are sent, and it is told.
        let (_, flushed) =
            record(
                &mut run(&[10, 10]),
                |call| if call == 1 { Err(Errno::CONNREFUSED.into()) } else { Ok(()) },
            );
        assert_eq!((flushed.sent, flushed.failed, flushed.error), (2, 0, Some(Errno::CONNREFUSED)));
    }
}
