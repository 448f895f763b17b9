//! What the host's functions find in the store of a program.

use std::any::Any;
use std::fmt;

use wasmtime::ResourceLimiter;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::p1::WasiP1Ctx;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::options::Extensions;
use crate::udp::{UdpCtx, UdpCtxView, UdpView};

/// The state of one run of a component. A function that [`Host::with_imports`](crate::Host::with_imports) added finds
/// it as the data of its store.
pub struct State {
    ctx: WasiCtx,
    udp: UdpCtx,
    table: ResourceTable,
    extensions: Extensions,
    memory: Memory,
}

impl State {
    pub(crate) fn new(ctx: WasiCtx, udp: UdpCtx, extensions: Extensions, memory: Memory) -> Self {
        Self { ctx, udp, table: ResourceTable::new(), extensions, memory }
    }

    /// The value of this type that the run was started with, in [`RunOptions::extensions`](crate::RunOptions).
    pub fn extension<T: Any + Send>(&self) -> Option<&T> {
        self.extensions.get()
    }

    /// The same, to change it.
    pub fn extension_mut<T: Any + Send>(&mut self) -> Option<&mut T> {
        self.extensions.get_mut()
    }

    /// The resources of this run that the component has handles to. WASI's own are in it too.
    pub fn table(&self) -> &ResourceTable {
        &self.table
    }

    /// The same, to add and remove some.
    pub fn table_mut(&mut self) -> &mut ResourceTable {
        &mut self.table
    }

    /// Sends what the program's sockets still hold.
    pub(crate) fn drain(&self) -> impl Future<Output = ()> + Send + use<> {
        self.udp.drain()
    }

    pub(crate) fn memory(&mut self) -> &mut Memory {
        &mut self.memory
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.ctx, table: &mut self.table }
    }
}

impl UdpView for State {
    fn udp(&mut self) -> UdpCtxView<'_> {
        UdpCtxView { ctx: &mut self.udp, table: &mut self.table }
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("extensions", &self.extensions).finish_non_exhaustive()
    }
}

/// The state of one run of a core module.
pub(crate) struct ModuleState {
    pub(crate) wasi: WasiP1Ctx,
    pub(crate) memory: Memory,
}

/// How much memory a program holds, all its linear memories and tables together, and how much it may.
pub(crate) struct Memory {
    granted: u64,
    used: u64,
    /// What was last let through, which is given back if the engine then cannot provide it.
    last: u64,
}

impl Memory {
    pub(crate) fn new(granted: u64) -> Self {
        Self { granted, used: 0, last: 0 }
    }

    /// Counts a growth, or refuses it. The program is ended then: a failed growth that it is merely told of would end
    /// as an `unreachable` somewhere in its allocator, which says nothing of the reason.
    fn grow(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
        unit: u64,
    ) -> wasmtime::Result<bool> {
        self.last = 0;
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let more = (desired.saturating_sub(current) as u64).saturating_mul(unit);
        let used = self.used.saturating_add(more);
        if used > self.granted {
            return Err(wasmtime::Error::new(Refused { granted: self.granted }));
        }
        (self.used, self.last) = (used, more);
        Ok(true)
    }

    fn take_back(&mut self) {
        self.used -= std::mem::take(&mut self.last);
    }
}

impl ResourceLimiter for Memory {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        self.grow(current, desired, maximum, 1)
    }

    fn memory_grow_failed(&mut self, _: wasmtime::Error) -> wasmtime::Result<()> {
        self.take_back();
        Ok(())
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        self.grow(current, desired, maximum, size_of::<usize>() as u64)
    }

    fn table_grow_failed(&mut self, _: wasmtime::Error) -> wasmtime::Result<()> {
        self.take_back();
        Ok(())
    }
}

/// A program asked for more memory than it was granted.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) granted: u64,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "more than {} bytes of memory", self.granted)
    }
}

impl std::error::Error for Refused {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_memories_and_tables_are_counted_together() {
        let mut memory = Memory::new(300_000);
        assert!(memory.memory_growing(0, 131_072, None).unwrap());
        assert!(memory.memory_growing(0, 131_072, Some(131_072)).unwrap());
        assert!(!memory.memory_growing(131_072, 196_608, Some(131_072)).unwrap(), "its own maximum");
        let elements = (300_000 - 2 * 131_072) / size_of::<usize>();
        assert!(memory.table_growing(0, elements + 1, None).is_err());
        assert!(memory.table_growing(0, elements, None).unwrap());
        assert!(memory.memory_growing(131_072, 196_608, None).unwrap_err().is::<Refused>());
    }

    #[test]
    fn what_the_engine_could_not_provide_is_given_back() {
        let mut memory = Memory::new(131_072);
        assert!(memory.memory_growing(0, 131_072, None).unwrap());
        memory.memory_grow_failed(wasmtime::Error::msg("no pages")).unwrap();
        assert!(memory.memory_growing(0, 131_072, None).unwrap());
        assert!(!memory.memory_growing(131_072, 262_144, Some(131_072)).unwrap());
        memory.memory_grow_failed(wasmtime::Error::msg("over its maximum")).unwrap();
        assert!(memory.memory_growing(131_072, 196_608, None).is_err(), "nothing was given back twice");
    }
}
