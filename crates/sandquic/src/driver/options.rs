//! Options of sockets.

/// How to set up a socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketOptions {
    pub(crate) recv_buffer: Option<usize>,
    pub(crate) send_buffer: Option<usize>,
    pub(crate) offloads: bool,
}

impl Default for SocketOptions {
    fn default() -> Self {
        Self { recv_buffer: None, send_buffer: None, offloads: true }
    }
}

impl SocketOptions {
    /// The system's buffer sizes, and whatever offloads it has.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ask for a receive buffer of this many bytes. The system may grant less:
    /// see [`Endpoint::socket_buffers`](crate::Endpoint::socket_buffers). On Linux a process with the right to do so
    /// (CAP_NET_ADMIN) gets it even beyond `net.core.rmem_max`.
    #[must_use]
    pub fn recv_buffer(mut self, bytes: usize) -> Self {
        self.recv_buffer = Some(bytes);
        self
    }

    /// Ask for a send buffer of this many bytes, as for [`recv_buffer`](Self::recv_buffer).
    #[must_use]
    pub fn send_buffer(mut self, bytes: usize) -> Self {
        self.send_buffer = Some(bytes);
        self
    }

    /// Whether several datagrams may pass in one system call: segmentation offload for sending and receiving,
    /// `recvmmsg`, ECN and path MTU discovery, where the system has them. Without, each datagram is a plain
    /// `sendto` or `recvfrom`. No effect under WASI, which has single datagrams only.
    #[must_use]
    pub fn offloads(mut self, enabled: bool) -> Self {
        self.offloads = enabled;
        self
    }
}

/// The sizes of a socket's buffers in bytes, as the system reports them. Linux counts its own bookkeeping too, so it
/// reports twice what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketBuffers {
    /// For datagrams that have arrived.
    pub recv: usize,
    /// For datagrams to be sent.
    pub send: usize,
}
