//! The turns of a guest: what it does between two waits.
//!
//! Datagrams are held back only within a turn. Its first call of a socket wakes a task, which runs as soon as the
//! guest waits for anything, since both are tasks of one thread; the task sends what is there. On a runtime of many
//! threads it may run earlier, which only makes runs shorter.
//!
//! What the system has no room for is sent by a task for each such socket, for as long as it takes while the guest has the
//! socket, and within bounds once it has not.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use rustix::io::Errno;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::{JoinHandle, JoinSet};

use super::socket::Socket;

/// Calls that a guest makes in one turn before it is made to wait: others then get theirs, as do timers and the
/// system's news of sockets. One wait costs about 3 microseconds.
const MAX_CALLS: u32 = 256;

#[derive(Default)]
pub(super) struct Turns {
    calls: AtomicU32,
    begun: Notify,
    ended: Notify,
    unsent: Mutex<Vec<Arc<Socket>>>,
    task: Mutex<Option<JoinHandle<()>>>,
    drains: Mutex<JoinSet<()>>,
    finished: OnceLock<Instant>,
}

impl Turns {
    /// Starts the task, unless it runs already.
    ///
    /// # Errors
    /// If this thread is in no tokio runtime.
    pub(super) fn start(self: &Arc<Self>) -> Result<(), &'static str> {
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        if task.is_none() {
            let runtime = Handle::try_current()
                .map_err(|_| "sockets need a tokio runtime with io and time enabled on the guest's thread")?;
            let turns = self.clone();
            *task = Some(runtime.spawn(async move {
                loop {
                    turns.begun.notified().await;
                    turns.end();
                    turns.ended.notify_waiters();
                }
            }));
        }
        Ok(())
    }

    /// Counts a call that is done at once, and says whether the guest must wait a moment now.
    pub(super) fn call(&self) -> bool {
        let before = self.calls.fetch_add(1, Ordering::Relaxed);
        if before == 0 {
            self.begun.notify_one();
        }
        before + 1 >= MAX_CALLS
    }

    /// Ends the turn: waits until the task has run, and with it the thread's other tasks. (To wake oneself would not do:
    /// the engine polls what waits without going back to the runtime.)
    pub(super) async fn pause(&self) {
        let ended = self.ended.notified();
        self.begun.notify_one();
        ended.await;
    }

    /// Has the task send what a socket holds, once the guest waits.
    pub(super) fn send_later(&self, socket: &Arc<Socket>) {
        self.unsent.lock().unwrap_or_else(PoisonError::into_inner).push(socket.clone());
    }

    /// Forgets a socket that holds nothing any more, so that it is closed when its guest drops it.
    pub(super) fn forget(&self, socket: &Arc<Socket>) {
        let mut unsent = self.unsent.lock().unwrap_or_else(PoisonError::into_inner);
        unsent.retain(|other| !Arc::ptr_eq(other, socket));
    }

    /// Sends what all sockets hold.
    fn end(&self) {
        self.calls.store(0, Ordering::Relaxed);
        self.send();
    }

    /// Sends what all sockets hold, and says whether there was anything.
    pub(super) fn send(&self) -> bool {
        let sockets = self.take();
        let any = !sockets.is_empty();
        for socket in sockets {
            if socket.flush_late().is_err() {
                let mut drains = self.drains.lock().unwrap_or_else(PoisonError::into_inner);
                // Those that are done.
                while drains.try_join_next().is_some() {}
                drains.spawn(async move { socket.drain().await });
            }
        }
        any
    }

    fn take(&self) -> Vec<Arc<Socket>> {
        std::mem::take(&mut *self.unsent.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// When the guest ended, if it has.
    pub(super) fn finished(&self) -> Option<Instant> {
        self.finished.get().copied()
    }

    /// Sends what all sockets hold, now that their guest has ended, and waits for room within bounds.
    pub(super) async fn finish(&self) {
        let _ = self.finished.set(Instant::now());
        self.end_task();
        self.send();
        let mut drains = std::mem::take(&mut *self.drains.lock().unwrap_or_else(PoisonError::into_inner));
        while drains.join_next().await.is_some() {}
    }

    /// Ends all tasks, and sends what there is room for.
    pub(super) fn stop(&self) {
        self.end_task();
        self.drains.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
        for socket in self.take() {
            let _: Result<(), Errno> = socket.flush_late();
        }
    }

    fn end_task(&self) {
        if let Some(task) = self.task.lock().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
    }
}
