//! A simulated world: an executor, a clock and a network, without sleeping and without the system.
//!
//! Time passes only when no task can run: then it jumps to the next delivery or timer. What the network does to
//! datagrams comes from a seed.

#![allow(dead_code, unreachable_pub)]

mod executor;
mod link;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant, SystemTime};

use bytes::BytesMut;
use sandquic::udp::{Received, Transmit};
use sandquic::{AsyncTimer, AsyncUdpSocket, EcnCodepoint, Runtime, TimeSource};

pub use executor::Handle;
pub use link::{Link, Rng};

/// The largest number of steps of a simulation: one that runs away fails instead of hanging.
const MAX_EVENTS: u64 = 20_000_000;

/// A handle to the world.
#[derive(Clone)]
pub struct World(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    tasks: executor::Tasks,
    /// What simulated time is counted from.
    epoch: Instant,
    wall: SystemTime,
}

struct State {
    now: Duration,
    rng: Rng,
    link: Link,
    /// Decides about each datagram before the link does, if set.
    filter: Option<Filter>,
    sockets: HashMap<SocketAddr, Mailbox>,
    /// Deliveries to come, the next first.
    in_flight: BinaryHeap<Reverse<InFlight>>,
    sequence: u64,
    timers: BTreeMap<(Duration, u64), Waker>,
    next_timer: u64,
    /// Sockets that take nothing at present, and who waits for them.
    jammed: HashMap<SocketAddr, Option<Waker>>,
    /// Bytes and datagrams sent, by sender.
    sent: HashMap<SocketAddr, (u64, u64)>,
    /// All datagrams sent, if they are recorded.
    tape: Option<Vec<Datagram>>,
}

type Filter = Box<dyn FnMut(&Datagram) -> bool + Send>;

/// A datagram in the network.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Datagram {
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub bytes: Vec<u8>,
    ecn: Option<u8>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct InFlight {
    at: Duration,
    sequence: u64,
    datagram: Datagram,
}

#[derive(Default)]
struct Mailbox {
    generation: u64,
    queue: VecDeque<Datagram>,
    waker: Option<Waker>,
}

impl World {
    pub fn new(seed: u64, link: Link) -> Self {
        Self(Arc::new(Shared {
            state: Mutex::new(State {
                now: Duration::ZERO,
                rng: Rng::new(seed),
                link,
                filter: None,
                sockets: HashMap::new(),
                in_flight: BinaryHeap::new(),
                sequence: 0,
                timers: BTreeMap::new(),
                next_timer: 0,
                jammed: HashMap::new(),
                sent: HashMap::new(),
                tape: None,
            }),
            tasks: executor::Tasks::default(),
            epoch: Instant::now(),
            wall: SystemTime::now(),
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap()
    }

    /// How long the world has existed, in its own time.
    pub fn now(&self) -> Duration {
        self.state().now
    }

    /// Change the link from now on.
    pub fn set_link(&self, link: Link) {
        self.state().link = link;
    }

    /// Let `filter` see each datagram that is sent; it is lost if the filter says false.
    pub fn set_filter(&self, filter: impl FnMut(&Datagram) -> bool + Send + 'static) {
        self.state().filter = Some(Box::new(filter));
    }

    /// Let the socket at `addr` take nothing to send from now on, as if its buffer were full, or take it again.
    pub fn jam(&self, addr: SocketAddr, jammed: bool) {
        let waiting = {
            let mut state = self.state();
            match jammed {
                true => state.jammed.insert(addr, None).flatten(),
                false => state.jammed.remove(&addr).flatten(),
            }
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Bytes and datagrams that were sent from `addr`.
    pub fn sent(&self, addr: SocketAddr) -> (u64, u64) {
        self.state().sent.get(&addr).copied().unwrap_or_default()
    }

    /// Record all datagrams from now on.
    pub fn record(&self) {
        self.state().tape = Some(Vec::new());
    }

    /// What was recorded so far.
    pub fn recorded(&self) -> Vec<Datagram> {
        self.state().tape.take().unwrap_or_default()
    }

    /// Put a datagram into the network without asking the link.
    pub fn inject(&self, from: SocketAddr, to: SocketAddr, bytes: Vec<u8>) {
        let mut state = self.state();
        let at = state.now;
        state.schedule(at, Datagram { from, to, bytes, ecn: None });
    }

    /// A socket at `addr`. One that was there before is cut off: it neither sends nor receives any more.
    pub fn bind(&self, addr: SocketAddr) -> Arc<dyn AsyncUdpSocket> {
        let mut state = self.state();
        let mailbox = state.sockets.entry(addr).or_default();
        mailbox.generation += 1;
        mailbox.queue.clear();
        Arc::new(SimSocket { world: self.clone(), addr, generation: mailbox.generation })
    }

    /// Run a task in the background.
    pub fn spawn<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> Handle<T> {
        self.0.tasks.spawn(future)
    }

    /// How often tasks have been polled so far.
    pub fn polls(&self) -> u64 {
        self.0.tasks.polls()
    }

    /// Wait in simulated time.
    pub async fn sleep(&self, duration: Duration) {
        let mut timer = SimTimer::new(self.clone(), self.now() + duration);
        std::future::poll_fn(|cx| timer.poll_expired(cx)).await;
    }

    /// Run `main` and everything spawned until `main` is done.
    pub fn run<T>(&self, main: impl Future<Output = T>) -> T {
        let mut main = std::pin::pin!(main);
        for _ in 0..MAX_EVENTS {
            if let Some(result) = self.0.tasks.run_ready(main.as_mut()) {
                return result;
            }
            if !self.advance() {
                panic!("nothing can ever happen again, but the test waits: a wake-up was lost");
            }
        }
        panic!("the simulation runs away");
    }

    /// Let time pass until something happens.
    fn advance(&self) -> bool {
        let mut wakers = Vec::new();
        {
            let state = &mut *self.state();
            let delivery = state.in_flight.peek().map(|Reverse(next)| next.at);
            let timer = state.timers.first_key_value().map(|((at, _), _)| *at);
            let Some(next) = delivery.into_iter().chain(timer).min() else { return false };
            state.now = state.now.max(next);
            while state.in_flight.peek().is_some_and(|Reverse(next)| next.at <= state.now) {
                let Reverse(InFlight { datagram, .. }) = state.in_flight.pop().unwrap();
                if let Some(mailbox) = state.sockets.get_mut(&datagram.to) {
                    mailbox.queue.push_back(datagram);
                    wakers.extend(mailbox.waker.take());
                }
            }
            while state.timers.first_key_value().is_some_and(|((at, _), _)| *at <= state.now) {
                wakers.extend(state.timers.pop_first().map(|(_, waker)| waker));
            }
        }
        wakers.into_iter().for_each(Waker::wake);
        true
    }

    /// The runtime of this world.
    pub fn runtime(&self) -> Arc<dyn Runtime> {
        Arc::new(self.clone())
    }

    /// The wall clock of this world.
    pub fn time_source(&self) -> Arc<dyn TimeSource> {
        Arc::new(self.clone())
    }

    fn instant(&self, at: Duration) -> Instant {
        self.0.epoch + at
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").finish_non_exhaustive()
    }
}

impl State {
    fn schedule(&mut self, at: Duration, datagram: Datagram) {
        self.sequence += 1;
        self.in_flight.push(Reverse(InFlight { at, sequence: self.sequence, datagram }));
    }

    fn send(&mut self, datagram: Datagram) {
        let sent = self.sent.entry(datagram.from).or_default();
        sent.0 += datagram.bytes.len() as u64;
        sent.1 += 1;
        if let Some(tape) = &mut self.tape {
            tape.push(datagram.clone());
        }
        if let Some(filter) = &mut self.filter
            && !filter(&datagram)
        {
            return;
        }
        if datagram.bytes.len() > self.link.mtu {
            return;
        }
        let now = self.now;
        for (delay, bytes) in self.link.carry(now, &mut self.rng, &datagram.bytes) {
            let copy = Datagram { bytes, ..datagram.clone() };
            self.schedule(now + delay, copy);
        }
    }
}

impl Runtime for World {
    fn new_timer(&self, i: Instant) -> Pin<Box<dyn AsyncTimer>> {
        let deadline = i.saturating_duration_since(self.0.epoch);
        Box::pin(SimTimer::new(self.clone(), deadline))
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        drop(World::spawn(self, future));
    }

    fn now(&self) -> Instant {
        self.instant(World::now(self))
    }
}

impl TimeSource for World {
    fn now(&self) -> SystemTime {
        self.0.wall + World::now(self)
    }
}

struct SimTimer {
    world: World,
    id: u64,
    deadline: Duration,
}

impl SimTimer {
    fn new(world: World, deadline: Duration) -> Self {
        let id = {
            let mut state = world.state();
            state.next_timer += 1;
            state.next_timer
        };
        Self { world, id, deadline }
    }

    fn poll_expired(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.world.state();
        if state.now >= self.deadline {
            return Poll::Ready(());
        }
        state.timers.insert((self.deadline, self.id), cx.waker().clone());
        Poll::Pending
    }
}

impl AsyncTimer for SimTimer {
    fn reset(self: Pin<&mut Self>, i: Instant) {
        let this = self.get_mut();
        this.world.state().timers.remove(&(this.deadline, this.id));
        this.deadline = i.saturating_duration_since(this.world.0.epoch);
    }

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.get_mut().poll_expired(cx)
    }
}

impl Drop for SimTimer {
    fn drop(&mut self) {
        self.world.state().timers.remove(&(self.deadline, self.id));
    }
}

impl fmt::Debug for SimTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimTimer").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct SimSocket {
    world: World,
    addr: SocketAddr,
    generation: u64,
}

impl AsyncUdpSocket for SimSocket {
    fn poll_send(&self, cx: &mut Context<'_>, transmit: &Transmit<'_>) -> Poll<io::Result<()>> {
        let mut state = self.world.state();
        if let Some(waiting) = state.jammed.get_mut(&self.addr) {
            *waiting = Some(cx.waker().clone());
            return Poll::Pending;
        }
        if state.sockets.get(&self.addr).is_some_and(|mailbox| mailbox.generation == self.generation) {
            for segment in transmit.segments() {
                state.send(Datagram {
                    from: self.addr,
                    to: transmit.destination,
                    bytes: segment.to_vec(),
                    ecn: transmit.ecn.map(|ecn| ecn as u8),
                });
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_recv(&self, cx: &mut Context<'_>, max: usize, out: &mut Vec<Received>) -> Poll<io::Result<()>> {
        let mut state = self.world.state();
        let Some(mailbox) = state.sockets.get_mut(&self.addr) else { return Poll::Pending };
        if mailbox.generation != self.generation {
            return Poll::Pending;
        }
        if mailbox.queue.is_empty() {
            mailbox.waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let count = mailbox.queue.len().min(max);
        out.extend(mailbox.queue.drain(..count).map(|datagram| Received {
            ecn: datagram.ecn.and_then(EcnCodepoint::from_bits),
            ..Received::datagram(BytesMut::from(&datagram.bytes[..]), datagram.from)
        }));
        Poll::Ready(Ok(()))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.addr)
    }

    fn max_transmit_segments(&self) -> usize {
        10
    }

    fn may_fragment(&self) -> bool {
        false
    }
}
