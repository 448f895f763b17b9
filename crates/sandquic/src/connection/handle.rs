//! Counted handles to the connections in the state of their endpoint.

use std::fmt;
use std::sync::Arc;

use quinn_proto::StreamId;

use crate::state::{Conn, Locked, Shared};

/// A counted handle to a connection in the state of its endpoint.
pub(crate) struct ConnRef {
    pub(crate) shared: Arc<Shared>,
    pub(crate) key: usize,
}

impl ConnRef {
    /// Take over a handle that is counted already.
    pub(crate) fn adopt(shared: Arc<Shared>, key: usize) -> Self {
        Self { shared, key }
    }

    /// Lock the endpoint and have access to the connection.
    pub(crate) fn lock(&self) -> LockedConn<'_> {
        LockedConn { state: self.shared.lock(), key: self.key }
    }
}

impl Clone for ConnRef {
    fn clone(&self) -> Self {
        self.shared.lock().retain(self.key);
        Self { shared: self.shared.clone(), key: self.key }
    }
}

impl Drop for ConnRef {
    fn drop(&mut self) {
        let runtime = &self.shared.runtime;
        self.shared.lock().release(|| runtime.now(), self.key);
    }
}

impl fmt::Debug for ConnRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnRef").field("id", &self.lock().conn().id).finish_non_exhaustive()
    }
}

/// A connection while its endpoint is locked.
pub(crate) struct LockedConn<'a> {
    pub(crate) state: Locked<'a>,
    key: usize,
}

impl<'a> LockedConn<'a> {
    pub(crate) fn conn(&mut self) -> &mut Conn {
        self.state.conn(self.key)
    }

    /// The connection has something to send.
    pub(crate) fn mark(&mut self) {
        self.state.mark(self.key);
    }

    /// Wake those who wait for the end of a stream to be sent on.
    pub(crate) fn wake_stopped(&mut self, id: StreamId) {
        let state = &mut *self.state;
        state.conns[self.key].wake_stopped(id, &mut state.wakes);
    }

    /// One more handle to the connection.
    pub(crate) fn handle(&mut self, shared: &Arc<Shared>) -> ConnRef {
        self.state.retain(self.key);
        ConnRef::adopt(shared.clone(), self.key)
    }
}
