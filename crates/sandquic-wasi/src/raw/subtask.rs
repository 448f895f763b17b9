//! A call of an import that did not return at once, as the executor of `wit-bindgen` waits for it.
//!
//! How executors and imports find each other, whatever version of `wit-bindgen` made them, is described in its
//! `rt/async_support/cabi.rs`: a task is found through a C symbol, and takes a callback for something to wait for.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::ptr;
use std::task::{Context, Poll, Waker};

/// What a call returns, in its lowest four bits, or later tells (component model, canonical ABI, `Subtask.State`).
pub(super) mod status {
    /// It has not read its parameters.
    pub(in crate::raw) const STARTING: u32 = 0;
    // 1 is for a call that has read them and not returned.
    /// It has returned.
    pub(in crate::raw) const RETURNED: u32 = 2;
    /// It was given up before it read its parameters.
    pub(super) const NOT_STARTED: u32 = 3;
}

/// A task of an executor. `version` says which of the later fields there are.
#[repr(C)]
struct Task {
    version: u32,
    ptr: *mut c_void,
    register: Register,
    unregister: Unregister,
    /// From version 2.
    vtable: *const Vtable,
}

type Callback = unsafe extern "C" fn(*mut c_void, u32);
type Register = unsafe extern "C" fn(*mut c_void, u32, Callback, *mut c_void) -> *mut c_void;
type Unregister = unsafe extern "C" fn(*mut c_void, u32) -> *mut c_void;

/// The beginning of every version's table.
#[repr(C)]
struct Vtable {
    register: Register,
    unregister: Unregister,
    clone: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    drop: unsafe extern "C" fn(*mut c_void),
}

unsafe extern "C" {
    /// Set the current task, and return what it was.
    fn wasip3_task_set(task: *mut Task) -> *mut Task;
}

#[link(wasm_import_module = "$root")]
unsafe extern "C" {
    #[link_name = "[subtask-cancel]"]
    fn subtask_cancel(handle: u32) -> u32;
    #[link_name = "[subtask-drop]"]
    fn subtask_drop(handle: u32);
}

/// A reference to a task, by which it can be told later that nobody waits any more.
struct Registered {
    /// The task as its owner knows it, to compare.
    task: *mut c_void,
    /// A reference of our own.
    ptr: *mut c_void,
    vtable: *const Vtable,
}

impl Drop for Registered {
    fn drop(&mut self) {
        // SAFETY: the reference was made by the table's `clone`, and this is its end.
        unsafe { ((*self.vtable).drop)(self.ptr) }
    }
}

/// What the executor's callback is given.
#[derive(Default)]
struct News {
    status: Cell<Option<u32>>,
    waker: RefCell<Option<Waker>>,
}

/// The callback.
///
/// # Safety
///
/// `news` is that of a [`Waiting`] that has been registered and not unregistered.
unsafe extern "C" fn told(news: *mut c_void, status: u32) {
    // SAFETY: a `Waiting` keeps it until it has unregistered, as the caller promises.
    let news = unsafe { &*news.cast::<News>() };
    news.status.set(Some(status));
    let waker = news.waker.take();
    waker.into_iter().for_each(Waker::wake);
}

/// At most one call that is waited for. Made once and used for many, so that waiting costs no memory.
#[derive(Default)]
pub(super) struct Waiting {
    /// The call under way.
    handle: Option<u32>,
    /// In memory that does not move, for the executor has a pointer to it.
    news: Box<News>,
    registered: Option<Registered>,
}

/// How a call ended that was given up.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum GivenUp {
    /// It had not begun.
    NotStarted,
    /// It had begun, and may have done its work; it returned nothing.
    Cancelled,
    /// It had returned.
    Returned,
}

impl Waiting {
    /// Whether a call is under way.
    pub(super) fn is_busy(&self) -> bool {
        self.handle.is_some()
    }

    /// Wait for the call that returned `packed`, which did not end at once.
    pub(super) fn start(&mut self, packed: u32) {
        debug_assert!(self.handle.is_none(), "one call at a time");
        self.handle = Some(packed >> 4);
        self.news.status.set(None);
    }

    /// Ready when the call has returned, or none is under way. The error says that nothing can wait here.
    pub(super) fn poll(&mut self, cx: &Context<'_>) -> Poll<Result<(), NoTask>> {
        let Some(handle) = self.handle else { return Poll::Ready(Ok(())) };
        if let Some(status) = self.news.status.take() {
            // The executor has forgotten the call, having told of it.
            self.registered = None;
            if status >= status::RETURNED {
                self.handle = None;
                // SAFETY: the call has returned, and its handle was not dropped before.
                unsafe { subtask_drop(handle) };
                return Poll::Ready(Ok(()));
            }
        }
        if let Err(e) = self.register(handle) {
            return Poll::Ready(Err(e));
        }
        let mut waker = self.news.waker.borrow_mut();
        match &mut *waker {
            Some(waker) => waker.clone_from(cx.waker()),
            None => *waker = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    /// Have the current task wait for the call, if it does not yet.
    fn register(&mut self, handle: u32) -> Result<(), NoTask> {
        // SAFETY: it is set back at once. A task that is current is valid until the executor makes another one current.
        let task = unsafe { wasip3_task_set(ptr::null_mut()) };
        // SAFETY: what was current before.
        unsafe { wasip3_task_set(task) };
        // SAFETY: null or valid, see above.
        let Some(task) = (unsafe { task.as_ref() }) else { return Err(NoTask) };
        if task.version < 2 {
            return Err(NoTask);
        }
        if self.registered.as_ref().is_some_and(|registered| registered.task == task.ptr) {
            return Ok(());
        }
        self.unregister(handle);
        // SAFETY: tasks of version 2 have the table, and it is valid for ever.
        let ptr = unsafe { ((*task.vtable).clone)(task.ptr) };
        self.registered = Some(Registered { task: task.ptr, ptr, vtable: task.vtable });
        let news: *const News = &raw const *self.news;
        // SAFETY: the task is valid, the handle is ours; `told` fits what it is given, which stays where it is until
        // `unregister` or `told` has been called.
        unsafe { (task.register)(task.ptr, handle, told, news.cast_mut().cast()) };
        Ok(())
    }

    fn unregister(&mut self, handle: u32) {
        if let Some(registered) = self.registered.take() {
            // SAFETY: our own reference to the task keeps it valid.
            unsafe { ((*registered.vtable).unregister)(registered.ptr, handle) };
        }
    }

    /// Give the call up, if one is under way. It has ended when this returns.
    pub(super) fn give_up(&mut self) -> Option<GivenUp> {
        let handle = self.handle.take()?;
        let known = self.news.status.take().filter(|status| *status >= status::RETURNED);
        let ended = known.unwrap_or_else(|| {
            self.unregister(handle);
            // SAFETY: a call under way whose end has not been told.
            unsafe { subtask_cancel(handle) }
        });
        self.registered = None;
        // SAFETY: it has ended.
        unsafe { subtask_drop(handle) };
        Some(match ended {
            status::RETURNED => GivenUp::Returned,
            status::NOT_STARTED => GivenUp::NotStarted,
            _ => GivenUp::Cancelled,
        })
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // Whoever has memory for the call's result gives it up first: see `Udp`.
        self.give_up();
    }
}

/// There is no task of the component model here: the call was polled outside `block_on` and of any export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoTask;
