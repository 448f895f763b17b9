//! The one place that waits: pollables and timers of the thread behind a single `wasi:io/poll`.
//!
//! A pollable is made once, with what it belongs to, and asked for only while a task waits for it. Pollables are
//! level-triggered, so nothing is lost between a call that found nothing and the wait for more. The host's timer is
//! kept too while it comes no later than the earliest deadline: to be woken for nothing costs less than to make
//! another each time a deadline moves.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use ::wasip2::clocks::monotonic_clock;
use ::wasip2::io::poll::{Pollable, poll};
use slab::Slab;

/// Nanoseconds for which tasks may run on before the host is asked what else has happened. A driver asks its own socket
/// at every turn.
const LOOK_AFTER: u64 = 500_000;

thread_local! {
    static REACTOR: RefCell<Reactor> = RefCell::new(Reactor::new());
}

/// Use the reactor. Nothing within may wake a task or drop a waker: both can run code that comes back here.
fn with<T>(f: impl FnOnce(&mut Reactor) -> T) -> T {
    REACTOR.with_borrow_mut(f)
}

struct Reactor {
    /// One moment on both clocks: the standard library's and the host's in nanoseconds.
    anchor: (Instant, u64),
    /// The host's clock when it was last read.
    now: u64,
    /// The same when the host was last asked what has happened.
    looked: u64,
    /// Whether that was since the last turn.
    fresh: bool,
    sources: Slab<Entry>,
    /// By deadline, on the host's clock, and the timer's own number.
    timers: BTreeMap<(u64, u64), Waker>,
    next_timer: u64,
    /// The host's timer, and when it expires.
    alarm: Option<(u64, Pollable)>,
    /// Always ready: keeps a look at the others from waiting.
    ready: Option<Pollable>,
    /// What has something to send before the next wait.
    unflushed: Vec<Weak<dyn Flush>>,
}

struct Entry {
    pollable: Pollable,
    waker: Option<Waker>,
}

impl Reactor {
    fn new() -> Self {
        let now = monotonic_clock::now();
        Self {
            anchor: (Instant::now(), now),
            now,
            looked: now,
            fresh: true,
            sources: Slab::new(),
            timers: BTreeMap::new(),
            next_timer: 0,
            alarm: None,
            ready: None,
            unflushed: Vec::new(),
        }
    }

    fn clock(&mut self) -> u64 {
        self.now = monotonic_clock::now();
        self.fresh = true;
        self.now
    }

    /// Take the wakers of the timers that are due.
    fn expire(&mut self, wakers: &mut Vec<Waker>) {
        while let Some(timer) = self.timers.first_entry()
            && timer.key().0 <= self.now
        {
            wakers.push(timer.remove());
        }
    }

    /// Ask the host what has happened, waiting for it if `wait`, and take the wakers of those concerned.
    fn turn(&mut self, wait: bool, wakers: &mut Vec<Waker>) {
        if !wait {
            // Mostly a driver has just read it.
            if !self.fresh {
                self.clock();
            }
            self.fresh = false;
            self.expire(wakers);
            if self.now.saturating_sub(self.looked) < LOOK_AFTER {
                return;
            }
        }
        let waiting: Vec<usize> =
            self.sources.iter().filter(|(_, entry)| entry.waker.is_some()).map(|(key, _)| key).collect();
        if waiting.is_empty() && (!wait || self.timers.is_empty()) {
            assert!(!wait, "every task waits for something that no socket and no timer can bring about");
            return;
        }
        if wait
            && let Some((&(deadline, _), _)) = self.timers.first_key_value()
            && self.alarm.as_ref().is_none_or(|(set, _)| deadline < *set)
        {
            self.alarm = Some((deadline, monotonic_clock::subscribe_instant(deadline)));
        }
        let last = match (wait, self.timers.is_empty()) {
            (true, true) => None,
            (true, false) => self.alarm.as_ref().map(|(_, pollable)| pollable),
            (false, _) => Some(&*self.ready.get_or_insert_with(|| monotonic_clock::subscribe_duration(0))),
        };
        let pollables: Vec<&Pollable> =
            waiting.iter().map(|&key| &self.sources[key].pollable).chain(last).collect();
        let happened = poll(&pollables);
        self.looked = self.now;
        for at in happened {
            match waiting.get(at as usize) {
                Some(&key) => wakers.extend(self.sources[key].waker.take()),
                None if wait => {
                    self.alarm = None;
                    self.clock();
                    self.expire(wakers);
                }
                None => {}
            }
        }
    }
}

/// Run `future` to its end, waiting for the host whenever it has to wait.
///
/// # Panics
///
/// If it can never go on: it waits, and neither a socket nor a timer does.
pub(in crate::driver) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let woken = Arc::new(Woken(AtomicBool::new(true)));
    let waker = Waker::from(woken.clone());
    let mut wakers = Vec::new();
    loop {
        if woken.0.swap(false, Ordering::Relaxed)
            && let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker))
        {
            return output;
        }
        flush();
        with(|reactor| reactor.turn(!woken.0.load(Ordering::Relaxed), &mut wakers));
        wakers.drain(..).for_each(Waker::wake);
    }
}

/// Whether the future of a [`block_on`] wants to be polled.
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What gathers things to send, so that they leave in few calls.
pub(super) trait Flush {
    /// Send them now. Called once after [`flush_later`].
    fn flush(&self);
}

/// Have `what` flushed before the next wait, and after a bounded number of tasks in any case.
pub(super) fn flush_later(what: Weak<dyn Flush>) {
    with(|reactor| reactor.unflushed.push(what));
}

fn flush() {
    while let Some(next) = with(|reactor| reactor.unflushed.pop()) {
        if let Some(next) = next.upgrade() {
            next.flush();
        }
    }
}

/// The current time.
pub(super) fn now() -> Instant {
    with(|reactor| {
        let now = reactor.clock();
        reactor.anchor.0 + Duration::from_nanos(now.saturating_sub(reactor.anchor.1))
    })
}

/// The current time on the host's clock.
pub(super) fn clock() -> u64 {
    with(Reactor::clock)
}

/// A time on the host's clock.
pub(super) fn nanoseconds(i: Instant) -> u64 {
    with(|reactor| {
        let since = i.saturating_duration_since(reactor.anchor.0).as_nanos();
        reactor.anchor.1.saturating_add(u64::try_from(since).unwrap_or(u64::MAX))
    })
}

/// A pollable that one task at a time can wait for. It is dropped with this: before the resource that it is of.
#[derive(Debug)]
pub(super) struct Source(usize);

impl Source {
    pub(super) fn new(pollable: Pollable) -> Self {
        let entry = Entry { pollable, waker: None };
        Self(with(|reactor| reactor.sources.insert(entry)))
    }

    /// Have a task woken when it is ready, once.
    pub(super) fn wait(&self, waker: &Waker) {
        let waker = waker.clone();
        drop(with(|reactor| reactor.sources[self.0].waker.replace(waker)));
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        drop(with(|reactor| reactor.sources.remove(self.0)));
    }
}

/// A timer that one task at a time can wait for.
#[derive(Debug)]
pub(super) struct Alarm {
    deadline: u64,
    id: u64,
    /// Whether the reactor knows of it, or has ended it.
    started: bool,
}

impl Alarm {
    /// Expires at `deadline`, on the host's clock.
    pub(super) fn new(deadline: u64) -> Self {
        let id = with(|reactor| {
            reactor.next_timer += 1;
            reactor.next_timer
        });
        Self { deadline, id, started: false }
    }

    /// Let it expire at `deadline` instead.
    pub(super) fn set(&mut self, deadline: u64) {
        self.stop();
        self.deadline = deadline;
    }

    pub(super) fn poll(&mut self, cx: &Context<'_>) -> Poll<()> {
        let waker = cx.waker().clone();
        let key = (self.deadline, self.id);
        let (poll, unused) = with(|reactor| match reactor.timers.get_mut(&key) {
            Some(waiting) => (Poll::Pending, Some(std::mem::replace(waiting, waker))),
            None if self.started || self.deadline <= reactor.now => (Poll::Ready(()), Some(waker)),
            None => (Poll::Pending, reactor.timers.insert(key, waker)),
        });
        self.started = poll.is_pending();
        drop(unused);
        poll
    }

    fn stop(&mut self) {
        if std::mem::take(&mut self.started) {
            drop(with(|reactor| reactor.timers.remove(&(self.deadline, self.id))));
        }
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.stop();
    }
}
