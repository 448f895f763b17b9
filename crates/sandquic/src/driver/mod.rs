//! The drivers: tasks, time and sockets of each platform behind the same names.

use std::io;
use std::time::Duration;

mod options;
mod task;

#[cfg(not(target_family = "wasm"))]
mod native;
#[cfg(not(target_family = "wasm"))]
use native as platform;

#[cfg(target_os = "wasi")]
mod wasi;
#[cfg(all(target_os = "wasi", not(feature = "wasip2")))]
mod wasip3;
#[cfg(all(target_os = "wasi", not(feature = "wasip2")))]
use self::wasip3 as platform;

#[cfg(all(target_os = "wasi", feature = "wasip2"))]
mod wasip2;
#[cfg(all(target_os = "wasi", feature = "wasip2"))]
use self::wasip2 as platform;

#[cfg(all(target_family = "wasm", not(target_os = "wasi")))]
compile_error!(
    "sandquic has drivers for native platforms and for WASI 0.3 and 0.2 (target wasm32-wasip2), not for this target"
);

#[cfg(not(target_family = "wasm"))]
pub use self::native::NativeRuntime;
pub use self::options::{SocketBuffers, SocketOptions};
#[cfg(target_os = "wasi")]
pub use self::platform::WasiRuntime;
pub use self::platform::{Sleep, UdpSocket};
pub use self::task::{JoinError, Task, block_on, spawn};

/// Wait for `duration`.
pub fn sleep(duration: Duration) -> Sleep {
    Sleep::new(duration)
}

/// Wait until standard input is at its end. What comes before is read and dropped.
///
/// WASI has no signals: this is how the one who started a component tells it to come to an end in good order.
pub async fn stdin_closed() {
    platform::stdin::closed().await;
}

/// What can become the socket of an endpoint: a [`UdpSocket`] or, natively, a [`std::net::UdpSocket`].
pub trait IntoSocket {
    /// The socket, for [`Endpoint::new`](crate::Endpoint::new).
    ///
    /// # Errors
    ///
    /// What the system says about it.
    fn into_socket(self) -> io::Result<UdpSocket>;
}

impl IntoSocket for UdpSocket {
    fn into_socket(self) -> io::Result<UdpSocket> {
        Ok(self)
    }
}

/// What the macros of this crate expand to; not for direct use.
pub mod __private {
    pub use super::platform::command::*;
}
