//! Progress lines on standard error.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::say::complain;

/// The least time between two lines.
const PAUSE: Duration = Duration::from_millis(100);

/// How many bytes go by between two looks at the clock, which is a call of the host in a component.
const LOOK_EVERY: u64 = 1 << 20;

/// Sums the bytes of all connections and prints `progress BYTES`, at most ten times a second.
pub(crate) struct Progress {
    on: bool,
    bytes: Cell<u64>,
    next_look: Cell<u64>,
    printed: Cell<Instant>,
}

impl Progress {
    pub(crate) fn new(on: bool) -> Self {
        Self { on, bytes: Cell::new(0), next_look: Cell::new(LOOK_EVERY), printed: Cell::new(Instant::now()) }
    }

    pub(crate) fn add(&self, bytes: usize) {
        if !self.on {
            return;
        }
        let sum = self.bytes.get() + bytes as u64;
        self.bytes.set(sum);
        if sum < self.next_look.get() {
            return;
        }
        self.next_look.set(sum + LOOK_EVERY);
        let now = Instant::now();
        if now.duration_since(self.printed.get()) >= PAUSE {
            self.printed.set(now);
            complain(format_args!("progress {sum}"));
        }
    }

    /// The last line, with the whole sum.
    pub(crate) fn finish(&self) {
        if self.on {
            complain(format_args!("progress {}", self.bytes.get()));
        }
    }
}
