//! Tasks of the world: one thread, in the order in which they were woken.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

type BoxFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The number of the future that [`super::World::run`] was given.
const MAIN: u64 = 0;

/// Polls without time passing, after which the tasks are taken to be spinning.
const MAX_POLLS: u64 = 3_000_000;

#[derive(Default)]
pub(super) struct Tasks {
    futures: Mutex<HashMap<u64, (BoxFuture, Arc<TaskWaker>)>>,
    ready: Arc<Mutex<VecDeque<u64>>>,
    next: AtomicU64,
    polls: AtomicU64,
}

struct TaskWaker {
    id: u64,
    queued: AtomicBool,
    ready: Arc<Mutex<VecDeque<u64>>>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.queued.swap(true, Ordering::Relaxed) {
            self.ready.lock().unwrap().push_back(self.id);
        }
    }
}

impl Tasks {
    fn waker(&self, id: u64) -> Arc<TaskWaker> {
        Arc::new(TaskWaker { id, queued: AtomicBool::new(false), ready: self.ready.clone() })
    }

    pub(super) fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Handle<T> {
        let slot = Arc::new(Mutex::new(Slot { value: None, waker: None }));
        let result = slot.clone();
        let future = Box::pin(async move {
            let value = future.await;
            let mut slot = result.lock().unwrap();
            slot.value = Some(value);
            slot.waker.take().into_iter().for_each(Waker::wake);
        });
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let waker = self.waker(id);
        self.futures.lock().unwrap().insert(id, (future, waker.clone()));
        waker.wake();
        Handle(slot)
    }

    pub(super) fn polls(&self) -> u64 {
        self.polls.load(Ordering::Relaxed)
    }

    /// Poll everything that can run until nothing can. The result if `main` is done.
    pub(super) fn run_ready<T>(&self, mut main: Pin<&mut impl Future<Output = T>>) -> Option<T> {
        let main_waker = self.waker(MAIN);
        main_waker.wake_by_ref();
        for _ in 0..MAX_POLLS {
            let id = self.ready.lock().unwrap().pop_front()?;
            self.polls.fetch_add(1, Ordering::Relaxed);
            if id == MAIN {
                main_waker.queued.store(false, Ordering::Relaxed);
                let waker = Waker::from(main_waker.clone());
                if let Poll::Ready(result) = main.as_mut().poll(&mut Context::from_waker(&waker)) {
                    return Some(result);
                }
                continue;
            }
            // Out of the table while it runs, so that it can spawn.
            let Some((mut future, task)) = self.futures.lock().unwrap().remove(&id) else { continue };
            task.queued.store(false, Ordering::Relaxed);
            let waker = Waker::from(task.clone());
            if future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
                self.futures.lock().unwrap().insert(id, (future, task));
            }
        }
        panic!("tasks wake each other without end");
    }
}

/// A task in the background. Dropping it does not end it.
pub struct Handle<T>(Arc<Mutex<Slot<T>>>);

struct Slot<T> {
    value: Option<T>,
    waker: Option<Waker>,
}

impl<T> Future for Handle<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let mut slot = self.0.lock().unwrap();
        match slot.value.take() {
            Some(value) => Poll::Ready(value),
            None => {
                slot.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}
