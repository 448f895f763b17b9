//! Sets of tasks that wait for the same event.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Waker};

/// Tickets are never given twice, so that one outlives its set harmlessly.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// The place of one future in a [`Waiters`]; `None` until it has waited once.
pub(crate) type Ticket = Option<u64>;

/// The wakers of all futures that wait for one event. A future keeps one place however often it is polled, and
/// gives it up when it is dropped, so the set is never larger than the number of live futures.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    wakers: BTreeMap<u64, Waker>,
}

impl Waiters {
    /// Have the task of `cx` woken at the next event.
    pub(crate) fn wait(&mut self, ticket: &mut Ticket, cx: &Context<'_>) {
        let id = *ticket.get_or_insert_with(|| NEXT.fetch_add(1, Ordering::Relaxed));
        match self.wakers.get_mut(&id) {
            Some(waker) => waker.clone_from(cx.waker()),
            None => {
                self.wakers.insert(id, cx.waker().clone());
            }
        }
    }

    /// Give up the place of a future that is no longer interested.
    pub(crate) fn leave(&mut self, ticket: Ticket) {
        if let Some(id) = ticket {
            self.wakers.remove(&id);
        }
    }

    /// Whether a future waits.
    pub(crate) fn has(&self, ticket: Ticket) -> bool {
        ticket.is_some_and(|id| self.wakers.contains_key(&id))
    }

    /// Whether nobody waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.wakers.is_empty()
    }

    /// The event has happened: move all wakers to `out`.
    pub(crate) fn notify(&mut self, out: &mut Vec<Waker>) {
        while let Some((_, waker)) = self.wakers.pop_first() {
            out.push(waker);
        }
    }
}
