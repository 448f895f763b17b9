//! Several instances of one program, each on a thread of its own, that share the UDP ports which they bind.
//!
//! A component has one thread; a server uses more cores with more instances. All are made of the same compiled code; each has
//! its thread, its runtime, its store and its memory. Two environment variables tell an instance which one it is
//! (`SANDQUIC_INSTANCE`) and the key of the run (`SANDQUIC_INSTANCE_KEY`), which is made anew each time; a server on
//! `sandquic` needs no more to make connection IDs that name it.
//!
//! A port that an instance binds by its number can be bound by the others too (`SO_REUSEPORT`); port 0 remains what it
//! always is, a free port for this one socket. The system spreads new clients over the sockets, by a hash of both
//! addresses, and keeps each with its socket. Where a datagram's destination connection ID names another instance, because
//! its client's address has changed, the socket that received it hands it over, through a bounded queue.
//!
//! One that traps does not disturb the others. It is reported, and made anew if it has run for a while: clients
//! of the one that is gone get stateless resets, from it or from another, and connect again. One that traps at its start
//! would do so again, and stays ended.

use std::num::NonZeroU16;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use sandquic_instance::{KEY_VARIABLE, Key, POSITION_VARIABLE, Position};

use crate::host::runtime;
use crate::options::{Network, RunOptions};
use crate::{Error, Host, Prepared, Program};
use steering::Group;

mod steering;

pub use sandquic_instance::MAX_INSTANCES;

/// How several instances of a program are run by [`Host::run_instances`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Instances {
    /// How many, up to [`MAX_INSTANCES`].
    pub count: NonZeroU16,
    /// How long an instance must have run to be made anew when it traps; `None` if it never is.
    pub restart_after: Option<Duration>,
}

impl Instances {
    /// So many instances; one that traps is made anew if it has run for a second.
    pub fn new(count: NonZeroU16) -> Self {
        Self { count, restart_after: Some(Duration::from_secs(1)) }
    }
}

/// How one instance ended.
#[derive(Debug)]
pub struct Ended<'a> {
    /// Its index, from 0.
    pub index: u16,
    /// Its exit status, or why it was ended.
    pub outcome: &'a Result<i32, Error>,
    /// Whether it is made anew.
    pub again: bool,
}

impl Host {
    /// Runs several instances of a program until all have ended, and returns how each did, in order of their indices.
    ///
    /// `options` is called for each when it is made, on its thread, with its index; `report` whenever one has ended, while
    /// the others run on. Where the network is granted, ports are shared as the [module](crate::instances) describes.
    ///
    /// # Errors
    /// Those of [`prepare`](Self::prepare), and [`Error::Setup`]: if there are more than [`MAX_INSTANCES`], if the host was
    /// set up with Wasmtime's own UDP sockets, which cannot share a port, or if this thread already runs a tokio runtime.
    pub fn run_instances(
        &self,
        program: &Program,
        instances: Instances,
        options: impl Fn(u16) -> RunOptions + Sync,
        report: impl Fn(Ended<'_>) + Sync,
    ) -> Result<Vec<Result<i32, Error>>, Error> {
        let setup = |detail: String| Error::Setup { detail };
        let count = instances.count.get();
        if count > MAX_INSTANCES {
            return Err(setup(format!("{count} instances are too many; run {MAX_INSTANCES} or fewer")));
        }
        if !self.shares_ports() {
            let detail = "Wasmtime's own UDP sockets cannot share a port; run instances on the batched ones";
            return Err(setup(detail.into()));
        }
        let mut key = [0; 32];
        getrandom::fill(&mut key)
            .map_err(|error| setup(format!("the system gives no randomness: {error}")))?;
        let run = Run {
            prepared: self.prepare(program)?,
            group: Arc::new(Group::new(count, Key::new(key))),
            key: Key::new(key),
            instances,
            options: &options,
            report: &report,
        };
        // Of one that has no thread of its own to tell it.
        let lost = |index, detail: String| {
            let outcome = Err(setup(detail));
            report(Ended { index, outcome: &outcome, again: false });
            outcome
        };
        thread::scope(|scope| {
            let threads: Vec<_> = (0..count)
                .map(|index| {
                    let run = &run;
                    let name = format!("instance {index}");
                    let thread =
                        thread::Builder::new().name(name).spawn_scoped(scope, move || run.one(index));
                    let thread = thread
                        .map_err(|error| lost(index, format!("there is no thread for an instance: {error}")));
                    (index, thread)
                })
                .collect();
            let outcomes = threads.into_iter().map(|(index, thread)| match thread {
                Ok(thread) => {
                    let panicked = |_| lost(index, "an instance's thread panicked".into());
                    thread.join().unwrap_or_else(panicked)
                }
                Err(outcome) => outcome,
            });
            Ok(outcomes.collect())
        })
    }
}

/// What the threads share.
struct Run<'a, O, R> {
    prepared: Prepared,
    group: Arc<Group>,
    key: Key,
    instances: Instances,
    options: &'a O,
    report: &'a R,
}

impl<O: Fn(u16) -> RunOptions, R: Fn(Ended<'_>)> Run<'_, O, R> {
    /// Runs one instance, again and again if need be.
    fn one(&self, index: u16) -> Result<i32, Error> {
        loop {
            let started = Instant::now();
            self.group.begin(index);
            let outcome = self.once(index);
            self.group.end(index);
            let again = matches!(outcome, Err(Error::Trap { .. } | Error::OutOfMemory { .. }))
                && self.instances.restart_after.is_some_and(|least| started.elapsed() >= least);
            (self.report)(Ended { index, outcome: &outcome, again });
            if !again {
                return outcome;
            }
        }
    }

    fn once(&self, index: u16) -> Result<i32, Error> {
        let mut options = (self.options)(index);
        let position = Position::new(index, self.instances.count.get());
        let position = position.ok_or_else(|| Error::Setup { detail: format!("no instance {index}") })?;
        options.env.retain(|(name, _)| name != POSITION_VARIABLE && name != KEY_VARIABLE);
        options.env.push((POSITION_VARIABLE.into(), position.to_string()));
        options.env.push((KEY_VARIABLE.into(), self.key.to_string()));
        if options.network != Network::Denied {
            Group::join(&self.group, index, &mut options.udp);
        }
        let runtime = runtime()?;
        let outcome = runtime.block_on(async { self.prepared.instance(options).await?.run().await });
        runtime.shutdown_background();
        outcome
    }
}
