//! All `unsafe`.

#[cfg(all(target_os = "wasi", feature = "wasip2"))]
mod incoming;
mod pool;
#[cfg(target_os = "wasi")]
mod realloc;
#[cfg(target_os = "wasi")]
mod subtask;
#[cfg(target_os = "wasi")]
mod udp;

#[cfg(all(target_os = "wasi", feature = "wasip2"))]
pub use incoming::Incoming;
#[cfg(target_os = "wasi")]
pub use udp::Udp;

/// A list of bytes that the host made.
///
/// # Safety
///
/// The host made it with our allocator, and nobody else has it.
#[cfg(target_os = "wasi")]
unsafe fn own(at: *mut u8, len: usize) -> Vec<u8> {
    if len == 0 {
        return Vec::new();
    }
    // SAFETY: the host asked for exactly so many bytes, as the caller promises.
    unsafe { Vec::from_raw_parts(at, len, len) }
}
