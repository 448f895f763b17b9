//! One way through the relay: what it loses, what it holds back, and for how long. No sockets and no clock.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use quinn_udp::EcnCodepoint;
use serde::{Deserialize, Serialize};

/// What a group costs beside its bytes, for the bound on memory.
const OVERHEAD: usize = 128;

/// Datagrams that arrived together: each has `stride` bytes, the last one may have fewer.
#[derive(Debug)]
pub(super) struct Group<R> {
    pub(super) contents: Vec<u8>,
    pub(super) stride: usize,
    pub(super) ecn: Option<EcnCodepoint>,
    /// Where it is to go.
    pub(super) route: R,
    due: Instant,
}

impl<R> Group<R> {
    /// How many datagrams it has.
    pub(super) fn datagrams(&self) -> u64 {
        self.contents.len().div_ceil(self.stride) as u64
    }
}

/// A way with a share of losses and a delay. What goes in comes out in the same order.
#[derive(Debug)]
pub(super) struct Line<R> {
    dice: Dice,
    delay: Duration,
    queue: VecDeque<Group<R>>,
    room: Arc<Room>,
    pub(super) tally: Arc<Tally>,
}

/// What a line asks about each datagram that its dice let pass; it may change the bytes. `false`: lost.
pub(super) type Fate<'a> = &'a mut dyn FnMut(&mut [u8]) -> bool;

impl<R> Line<R> {
    /// `loss` is a share between 0 and 1.
    pub(super) fn new(seed: u64, loss: f64, delay: Duration, room: Arc<Room>, tally: Arc<Tally>) -> Self {
        Self { dice: Dice { state: seed, loss }, delay, queue: VecDeque::new(), room, tally }
    }

    /// Takes datagrams that arrived at `now`.
    pub(super) fn push(
        &mut self,
        now: Instant,
        contents: &[u8],
        stride: usize,
        ecn: Option<EcnCodepoint>,
        route: R,
        fate: Fate<'_>,
    ) {
        let stride = stride.max(1);
        let mut kept = Vec::with_capacity(contents.len());
        let mut lost = 0;
        for datagram in contents.chunks(stride) {
            let from = kept.len();
            kept.extend_from_slice(datagram);
            if self.dice.loses() || !fate(&mut kept[from..]) {
                kept.truncate(from);
                lost += 1;
            }
        }
        add(&self.tally.received, contents.len().div_ceil(stride) as u64);
        add(&self.tally.lost, lost);
        let group = Group { contents: kept, stride, ecn, route, due: now + self.delay };
        if group.contents.is_empty() {
            return;
        }
        if self.room.take(group.contents.len() + OVERHEAD) {
            self.queue.push_back(group);
        } else {
            add(&self.tally.overflowed, group.datagrams());
        }
    }

    /// When the next group is to go on.
    pub(super) fn due(&self) -> Option<Instant> {
        self.queue.front().map(|group| group.due)
    }

    /// The next group whose time has come by `now`.
    pub(super) fn pop(&mut self, now: Instant) -> Option<Group<R>> {
        let group = self.queue.pop_front_if(|group| group.due <= now)?;
        self.room.give(group.contents.len() + OVERHEAD);
        Some(group)
    }
}

/// Bytes that all lines together may hold.
#[derive(Debug)]
pub(super) struct Room(AtomicUsize);

impl Room {
    pub(super) fn new(bytes: usize) -> Arc<Self> {
        Arc::new(Self(AtomicUsize::new(bytes)))
    }

    fn take(&self, bytes: usize) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes)).is_ok()
    }

    fn give(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// What happened on a way, counted while it goes on.
#[derive(Debug, Default)]
pub(super) struct Tally {
    received: AtomicU64,
    sent: AtomicU64,
    lost: AtomicU64,
    overflowed: AtomicU64,
    failed: AtomicU64,
}

impl Tally {
    pub(super) fn sent(&self, datagrams: u64) {
        add(&self.sent, datagrams);
    }

    pub(super) fn failed(&self, datagrams: u64) {
        add(&self.failed, datagrams);
    }

    pub(super) fn counts(&self) -> Counts {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counts {
            received: of(&self.received),
            sent: of(&self.sent),
            lost: of(&self.lost),
            overflowed: of(&self.overflowed),
            failed: of(&self.failed),
        }
    }
}

fn add(count: &AtomicU64, datagrams: u64) {
    count.fetch_add(datagrams, Ordering::Relaxed);
}

/// Datagrams of one way through the relay. Those that are neither sent nor lost, overflowed or failed were still held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Arrived.
    pub received: u64,
    /// Sent on.
    pub sent: u64,
    /// Lost on purpose.
    pub lost: u64,
    /// Dropped because the relay held as much as it may.
    pub overflowed: u64,
    /// Refused by the system.
    pub failed: u64,
}

/// SplitMix64 (Steele, Lea and Flood 2014), asked once for each datagram.
#[derive(Debug)]
struct Dice {
    state: u64,
    loss: f64,
}

impl Dice {
    fn loses(&mut self) -> bool {
        if self.loss <= 0.0 {
            return false;
        }
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        // The upper 53 bits as a number from 0 to below 1.
        ((z >> 11) as f64) / ((1_u64 << 53) as f64) < self.loss
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::ZERO;

    /// Groups of ten numbered datagrams of eight bytes; returns the numbers that came out.
    fn carry(line: &mut Line<()>, start: Instant, datagrams: u64) -> Vec<u64> {
        let mut out = Vec::new();
        for first in (0..datagrams).step_by(10) {
            let contents: Vec<u8> = (first..first + 10).flat_map(u64::to_le_bytes).collect();
            line.push(start, &contents, 8, None, (), &mut |_| true);
            while let Some(group) = line.pop(start) {
                out.extend(group.contents.chunks(8).map(|n| u64::from_le_bytes(n.try_into().unwrap())));
            }
        }
        out
    }

    fn line(seed: u64, loss: f64, delay: Duration, room: usize) -> Line<()> {
        Line::new(seed, loss, delay, Room::new(room), Arc::new(Tally::default()))
    }

    #[test]
    fn the_share_that_is_lost_is_the_share_asked_for_and_the_seed_decides_which() {
        let start = Instant::now();
        for loss in [0.001, 0.01, 0.1, 0.5] {
            let mut one = line(7, loss, NOW, 1 << 20);
            let arrived = carry(&mut one, start, 100_000);
            let counts = one.tally.counts();
            assert_eq!((counts.received, counts.overflowed), (100_000, 0));
            assert_eq!(arrived.len() as u64 + counts.lost, 100_000);
            // Four standard deviations of the binomial distribution.
            let expected = 1e5 * loss;
            let bound = 4.0 * (expected * (1.0 - loss)).sqrt();
            assert!((counts.lost as f64 - expected).abs() <= bound, "{loss}: {} lost", counts.lost);
            assert!(arrived.is_sorted(), "out of order");
            assert_eq!(carry(&mut line(7, loss, NOW, 1 << 20), start, 100_000), arrived);
            assert_ne!(carry(&mut line(8, loss, NOW, 1 << 20), start, 100_000), arrived);
        }
        assert_eq!(carry(&mut line(7, 0.0, NOW, 1 << 20), start, 1_000).len(), 1_000);
        assert_eq!(carry(&mut line(7, 1.0, NOW, 1 << 20), start, 1_000).len(), 0);
    }

    #[test]
    fn nothing_leaves_before_its_time_and_the_order_is_kept() {
        let start = Instant::now();
        let millis = Duration::from_millis;
        let mut line = line(1, 0.0, millis(10), 1 << 20);
        for n in 0..5_u8 {
            line.push(start + millis(u64::from(n)), &[n], 1, None, (), &mut |_| true);
        }
        assert_eq!(line.due(), Some(start + millis(10)));
        assert!(line.pop(start + millis(10) - Duration::from_nanos(1)).is_none());
        for n in 0..5_u8 {
            let due = start + millis(10 + u64::from(n));
            assert!(n == 0 || line.pop(due - Duration::from_nanos(1)).is_none());
            assert_eq!(line.pop(due).unwrap().contents, [n]);
        }
        assert_eq!(line.due(), None);
    }

    #[test]
    fn what_finds_no_room_is_dropped_and_counted() {
        let start = Instant::now();
        let mut line = line(1, 0.0, Duration::from_secs(1), 10 * (2_400 + OVERHEAD));
        for _ in 0..25 {
            line.push(start, &[0; 2_400], 1_200, None, (), &mut |_| true);
        }
        let counts = line.tally.counts();
        assert_eq!((counts.received, counts.overflowed), (50, 30));
        // What leaves makes room again.
        let later = start + Duration::from_secs(1);
        assert_eq!(std::iter::from_fn(|| line.pop(later)).count(), 10);
        line.push(later, &[0; 2_400], 1_200, None, (), &mut |_| true);
        assert_eq!(line.tally.counts().overflowed, 30);
    }

    #[test]
    fn a_group_with_losses_is_still_a_group() {
        let mut line = line(3, 0.5, NOW, 1 << 20);
        let start = Instant::now();
        // Ten of 100 bytes and a short one.
        line.push(start, &[1; 1_042], 100, None, (), &mut |_| true);
        let group = line.pop(start).unwrap();
        let lost = line.tally.counts().lost;
        assert!((1..=10).contains(&lost));
        assert_eq!(group.datagrams() + lost, 11);
        assert!(group.contents.len().is_multiple_of(100) || group.contents.len() % 100 == 42);
    }
}
