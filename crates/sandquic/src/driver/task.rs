//! Tasks: one executor for the thread that is in [`block_on`].

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use async_executor::LocalExecutor;

use super::platform;
use crate::runtime::MaybeSend;

/// Tasks that run, while there are any to run, before the system is asked about timers and sockets. The executor's own
/// `run` asks after 200, during which a driver at full load handles 50,000 datagrams and everything else is late.
const BEFORE_YIELD: usize = 16;

thread_local! {
    /// The executor of the innermost [`block_on`] of this thread.
    static CURRENT: RefCell<Option<Rc<LocalExecutor<'static>>>> = const { RefCell::new(None) };
}

/// Run `future` to its end in this thread, together with the tasks that are [spawned](spawn) meanwhile and the
/// drivers of the endpoints that are made meanwhile.
///
/// Tasks that are still running when `future` is done are dropped, and their endpoints fail. Natively the thread
/// also waits for the system's sockets and timers itself. A [`command!`](crate::command!) is in such a call already.
pub fn block_on<F: Future>(future: F) -> F::Output {
    platform::block_on(run(future))
}

/// Run `future` with an executor of its own.
pub(super) async fn run<F: Future>(future: F) -> F::Output {
    let executor = Rc::new(LocalExecutor::new());
    let _restore = Enter::new(executor.clone());
    let mut future = pin!(future);
    let mut tasks = pin!(async {
        loop {
            for _ in 0..BEFORE_YIELD {
                executor.tick().await;
            }
            yield_now().await;
        }
    });
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(output),
        Poll::Pending => tasks.as_mut().poll(cx),
    })
    .await
    // The tasks are dropped here, while what drives them is still there.
}

/// Let the system tell what else has happened.
async fn yield_now() {
    let mut yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Sets the current executor until it is dropped.
struct Enter(Option<Rc<LocalExecutor<'static>>>);

impl Enter {
    fn new(executor: Rc<LocalExecutor<'static>>) -> Self {
        Self(CURRENT.with(|current| current.borrow_mut().replace(executor)))
    }
}

impl Drop for Enter {
    fn drop(&mut self) {
        let previous = self.0.take();
        // Dropped only after the borrow has ended: its tasks may look for the current executor.
        let ended = CURRENT.with(|current| std::mem::replace(&mut *current.borrow_mut(), previous));
        drop(ended);
    }
}

/// Run `future` in the background: within [`block_on`] in the same thread, elsewhere in this crate's own thread
/// (natively). Dropping the [`Task`] does not end it. A panic of it ends the `block_on` that it is within, too.
pub fn spawn<F>(future: F) -> Task<F::Output>
where
    F: Future<Output: MaybeSend> + MaybeSend + 'static,
{
    let shared = Arc::new(Mutex::new(Slot { value: None, ended: false, waker: None }));
    let result = Promise(shared.clone());
    spawn_boxed(Box::pin(async move {
        let value = future.await;
        result.0.lock().unwrap_or_else(PoisonError::into_inner).value = Some(value);
    }));
    Task(shared)
}

/// A future of the platform's kind.
#[cfg(not(target_os = "wasi"))]
pub(super) type BoxFuture = Pin<Box<dyn Future<Output = ()> + Send>>;
#[cfg(target_os = "wasi")]
pub(super) type BoxFuture = Pin<Box<dyn Future<Output = ()>>>;

/// Run `future` in the background.
pub(super) fn spawn_boxed(future: BoxFuture) {
    let current = CURRENT.with(|current| current.borrow().clone());
    match current {
        Some(executor) => executor.spawn(future).detach(),
        None => platform::spawn_elsewhere(future),
    }
}

/// A task in the background. Awaiting it waits for its result.
#[derive(Debug)]
pub struct Task<T>(Arc<Mutex<Slot<T>>>);

#[derive(Debug)]
struct Slot<T> {
    value: Option<T>,
    ended: bool,
    waker: Option<Waker>,
}

impl<T> Future for Task<T> {
    type Output = Result<T, JoinError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !slot.ended {
            slot.waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(slot.value.take().ok_or(JoinError(())))
    }
}

/// The running side of a [`Task`]. Dropped when the task is over, in whatever way.
struct Promise<T>(Arc<Mutex<Slot<T>>>);

impl<T> Drop for Promise<T> {
    fn drop(&mut self) {
        let waker = {
            let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            slot.ended = true;
            slot.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }
}

/// The task was dropped before it was done: it panicked, or [`block_on`] returned before it.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the task was dropped before it was done")]
pub struct JoinError(());
