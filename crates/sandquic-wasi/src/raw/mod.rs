//! All `unsafe`.

mod pool;
#[cfg(target_os = "wasi")]
mod realloc;
#[cfg(target_os = "wasi")]
mod subtask;
#[cfg(target_os = "wasi")]
mod udp;

#[cfg(target_os = "wasi")]
pub use udp::Udp;
