//! What the sockets of a run have done.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A handle to counts that every socket of a run adds to. Clones read the same counts, also after the run.
#[derive(Clone, Default)]
pub struct Counters(Arc<Cells>);

#[derive(Default)]
pub(super) struct Cells {
    pub(super) received: Cell,
    pub(super) receive_calls: Cell,
    pub(super) gro_batches: Cell,
    pub(super) sent: Cell,
    pub(super) send_calls: Cell,
    pub(super) gso_batches: Cell,
    pub(super) late_errors: Cell,
    pub(super) dropped: Cell,
    pub(super) refused: Cell,
    pub(super) steered_in: Cell,
    pub(super) steered_out: Cell,
    pub(super) steered_lost: Cell,
    pub(super) yields: Cell,
}

/// One count. Nothing is ordered by it.
#[derive(Default)]
pub(super) struct Cell(AtomicU64);

impl Cell {
    pub(super) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counts at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Datagrams that the system handed over, those that were refused or steered to others among them.
    pub received: u64,
    /// System calls that asked for datagrams.
    pub receive_calls: u64,
    /// Messages in which the system had put together more than one datagram (`UDP_GRO`).
    pub gro_batches: u64,
    /// Datagrams that the system took.
    pub sent: u64,
    /// System calls that sent.
    pub send_calls: u64,
    /// Calls that sent more than one datagram (`UDP_SEGMENT`).
    pub gso_batches: u64,
    /// Datagrams that the system refused after their `send` had returned.
    pub late_errors: u64,
    /// Datagrams given up after their `send` had returned: their socket was closed or their guest had ended, and for a while
    /// the system had no room for them.
    pub dropped: u64,
    /// Datagrams dropped since their peer may not be received from.
    pub refused: u64,
    /// Datagrams that another instance's socket received for this one.
    pub steered_in: u64,
    /// Datagrams that were handed to another instance.
    pub steered_out: u64,
    /// Datagrams that another instance had no room for.
    pub steered_lost: u64,
    /// Times that a program was made to wait, since it called too often without waiting by itself.
    pub yields: u64,
}

impl Counters {
    /// Counts that start at zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// The counts now.
    pub fn read(&self) -> Counts {
        let cells = &self.0;
        Counts {
            received: cells.received.get(),
            receive_calls: cells.receive_calls.get(),
            gro_batches: cells.gro_batches.get(),
            sent: cells.sent.get(),
            send_calls: cells.send_calls.get(),
            gso_batches: cells.gso_batches.get(),
            late_errors: cells.late_errors.get(),
            dropped: cells.dropped.get(),
            refused: cells.refused.get(),
            steered_in: cells.steered_in.get(),
            steered_out: cells.steered_out.get(),
            steered_lost: cells.steered_lost.get(),
            yields: cells.yields.get(),
        }
    }

    pub(super) fn cells(&self) -> &Cells {
        &self.0
    }
}

impl fmt::Debug for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.read().fmt(f)
    }
}
