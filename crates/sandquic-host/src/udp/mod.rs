//! UDP in batches underneath `wasi:sockets`: what a guest sees stays as it is, what the system sees is many datagrams a
//! call.
//!
//! A `receive` takes a datagram out of what one call of the system has brought (`UDP_GRO`, `recvmmsg`), as a slice of
//! that buffer. A `send` adds to a run of datagrams to one destination, which goes out in one call (`UDP_SEGMENT`) when a
//! datagram comes that does not fit it, when it is full, and in any case when the guest waits, for whatever it be. So
//! nearly all calls of a guest are done at once, which is what costs a runtime least. Systems without these offloads get
//! the plain calls.
//!
//! What a guest has sent is sent also if it closes the socket or ends at once, by a trap too: where the system has no room,
//! that is waited for until for three seconds nothing has been taken ([`UdpCtx::drain`]), and what is left is counted.
//!
//! An error that the system reports after its `send` has returned is returned by the socket's next one, which sends
//! nothing itself. A guest that calls without ever waiting is made to wait every 256 calls.
//!
//! A store's guest must run within a tokio runtime with io and time; on a current-thread one its batches are longest.
//!
//! ```
//! use sandquic_host::udp::{self, UdpCtx, UdpCtxView, UdpOptions, UdpView};
//! use sandquic_host::wasmtime::component::{Linker, ResourceTable};
//! use sandquic_host::wasmtime::{Config, Engine, Result, Store};
//! use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
//!
//! struct State {
//!     wasi: WasiCtx,
//!     udp: UdpCtx,
//!     table: ResourceTable,
//! }
//!
//! impl WasiView for State {
//!     fn ctx(&mut self) -> WasiCtxView<'_> {
//!         WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
//!     }
//! }
//!
//! impl UdpView for State {
//!     fn udp(&mut self) -> UdpCtxView<'_> {
//!         UdpCtxView { ctx: &mut self.udp, table: &mut self.table }
//!     }
//! }
//!
//! # fn main() -> Result<()> {
//! let engine = Engine::new(Config::new().wasm_component_model_async(true))?;
//! let mut linker = Linker::<State>::new(&engine);
//! wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
//! wasmtime_wasi::p3::add_to_linker(&mut linker)?;
//! // In place of the sockets that these have just defined.
//! udp::add_to_linker(&mut linker)?;
//! let options = UdpOptions::default();
//! let counters = options.counters.clone();
//! let state =
//!     State { wasi: WasiCtx::builder().build(), udp: UdpCtx::all(options), table: ResourceTable::new() };
//! let store = Store::new(&engine, state);
//! // ... instantiate and run; then, in an async function: store.data().udp.drain().await
//! println!("{} datagrams by {} calls", counters.read().received, counters.read().receive_calls);
//! # let _ = store;
//! # Ok(())
//! # }
//! ```

mod context;
mod counters;
mod inbox;
mod p2;
mod p3;
mod ports;
mod ring;
mod run;
mod socket;
mod system;
mod turn;

pub use context::{UdpCtx, UdpCtxView, UdpOptions, UdpView};
pub use counters::{Counters, Counts};
pub use inbox::{Inbox, Steer};

use wasmtime::component::{Linker, Resource};

/// Replaces the UDP sockets of `wasi:sockets` 0.3 and 0.2 in a linker that `wasmtime_wasi` has filled.
///
/// Turns [`Linker::allow_shadowing`] off in the end, as it is by default.
///
/// # Errors
/// The engine's, if it cannot have functions that wait.
pub fn add_to_linker<T: UdpView>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    let added = p3::add_to_linker(linker).and_then(|()| p2::add_to_linker(linker));
    linker.allow_shadowing(false);
    added
}

/// Parameters of a method of a resource, which is the first of them.
trait Method<R: 'static> {
    fn handle(&self) -> &Resource<R>;
}

impl<R: 'static> Method<R> for (Resource<R>,) {
    fn handle(&self) -> &Resource<R> {
        &self.0
    }
}

impl<R: 'static, A> Method<R> for (Resource<R>, A) {
    fn handle(&self) -> &Resource<R> {
        &self.0
    }
}
