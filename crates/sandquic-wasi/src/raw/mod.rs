//! All `unsafe`.

mod pool;
#[cfg(target_os = "wasi")]
mod realloc;
#[cfg(target_os = "wasi")]
mod subtask;
#[cfg(target_os = "wasi")]
mod udp;

pub use pool::Pool;
#[cfg(target_os = "wasi")]
pub use udp::Udp;
