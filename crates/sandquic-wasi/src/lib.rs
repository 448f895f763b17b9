//! UDP of WASI for a loop that moves many datagrams: the calls that bring and take them, without futures and without an
//! allocation for each datagram.
//!
//! For WASI 0.3 `Udp` calls `udp-socket.receive` and `udp-socket.send` directly. A call that is ready at once, as nearly every one
//! under load is, costs the call and nothing else; one that has to wait is waited for by the executor of `wit-bindgen`
//! whose task polls it. What is received lies in a pool of buffers which the host writes to, and returns to it when
//! the last reference to it is dropped. What is sent is read by the host from where it lies.
//!
//! With the feature `wasip2`, `Incoming` receives lists of datagrams of WASI 0.2 into such a pool.
//!
//! This crate has all `unsafe` of sandquic's WASI driver, in `src/raw/`. On other platforms it is empty.

#![deny(unsafe_code)]

#[cfg(target_os = "wasi")]
mod address;
// The pool can be tested anywhere.
#[cfg(any(target_os = "wasi", test))]
#[allow(unsafe_code, reason = "calls of the component ABI; each has its reason")]
mod raw;

#[cfg(all(target_os = "wasi", feature = "wasip2"))]
pub use raw::Incoming;
#[cfg(target_os = "wasi")]
pub use raw::Udp;
