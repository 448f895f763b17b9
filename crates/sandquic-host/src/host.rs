//! The engine: compiles, instantiates, runs.

use std::path::Path;
use std::sync::OnceLock;

use tokio::runtime::{self, Runtime};
use wasmtime::component::Linker as ComponentLinker;
use wasmtime::{Config, Engine, Linker, PoolingAllocationConfig, ProfilingStrategy};
use wasmtime_wasi::cli::AsyncStdinStream;
use wasmtime_wasi::p2::pipe::MemoryInputPipe;
use wasmtime_wasi::{FsPerms, WasiCtxBuilder, p1, p2, p3};

use crate::cache::{Code, Store};
use crate::error::one_line;
use crate::options::{Allocation, HostOptions, Input, Network, Output, Profile, RunOptions, Udp};
use crate::prepared::Prepared;
use crate::state::{ModuleState, State};
use crate::{Error, Program, perfmap};

/// The engine underneath, with its version: `wasmtime 48.0.8`.
pub const ENGINE: &str = concat!("wasmtime ", env!("SANDQUIC_WASMTIME_VERSION"));

/// Native stack that a guest may use. Rust guests keep their larger frames in linear memory.
const MAX_WASM_STACK: usize = 1 << 20;

/// The stack of a guest with what the host's own functions need on top.
const FIBER_STACK: usize = MAX_WASM_STACK + (1 << 20);

/// An engine with its cache of compiled code: makes [`Program`]s run.
pub struct Host {
    engine: Engine,
    cache: Option<Store>,
    components: OnceLock<ComponentLinker<State>>,
    profile: Profile,
    udp: Udp,
}

impl Host {
    /// Sets the engine up.
    ///
    /// # Errors
    /// [`Error::Cache`] if a directory for compiled code was named and cannot be used; [`Error::Setup`] if the
    /// engine does not work on this machine.
    pub fn new(options: HostOptions) -> Result<Self, Error> {
        Self::without_imports(options)
    }

    /// Sets the engine up with imports of the embedder's own for components, beside WASI's.
    ///
    /// `add` defines them. What they need during a run is put into [`RunOptions::extensions`] and found in [`State`].
    /// An import of WASI is replaced after `allow_shadowing(true)`. Core modules get nothing but WASI 0.1.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// use sandquic_host::wasmtime::StoreContextMut;
    /// use sandquic_host::{Host, HostOptions, RunOptions, State};
    ///
    /// /// What a run was started with; the embedder keeps the other half.
    /// struct Tickets(Arc<AtomicU32>);
    ///
    /// # fn main() -> Result<(), sandquic_host::Error> {
    /// // interface tickets { next: func() -> u32; }
    /// let host = Host::with_imports(HostOptions::default(), |linker| {
    ///     linker.instance("acme:shop/tickets")?.func_wrap("next", |store: StoreContextMut<'_, State>, ()| {
    ///         let tickets = store.data().extension::<Tickets>();
    ///         Ok((tickets.map_or(0, |tickets| tickets.0.fetch_add(1, Ordering::Relaxed)),))
    ///     })
    /// })?;
    /// let mut options = RunOptions::inherit();
    /// options.extensions.insert(Tickets(Arc::new(AtomicU32::new(100))));
    /// # let _ = host;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`new`](Self::new); [`Error::Setup`] with what `add` returned.
    pub fn with_imports(
        options: HostOptions,
        add: impl FnOnce(&mut ComponentLinker<State>) -> wasmtime::Result<()>,
    ) -> Result<Self, Error> {
        let host = Self::without_imports(options)?;
        let mut linker = component_linker(&host.engine, host.udp).map_err(setup)?;
        add(&mut linker).map_err(setup)?;
        let _ = host.components.set(linker);
        Ok(host)
    }

    fn without_imports(options: HostOptions) -> Result<Self, Error> {
        let cache = Store::open(&options.cache, options.profile)?;
        let mut config = Config::new();
        config
            .wasm_component_model_async(true)
            .wasm_wide_arithmetic(true)
            .max_wasm_stack(MAX_WASM_STACK)
            .async_stack_size(FIBER_STACK)
            .profiler(match options.profile {
                Profile::None => ProfilingStrategy::None,
                Profile::PerfMap => ProfilingStrategy::PerfMap,
                Profile::JitDump => ProfilingStrategy::JitDump,
            });
        if let Allocation::Pooled(instances) = options.allocation {
            config.allocation_strategy(pool(instances));
        }
        let engine = Engine::new(&config).map_err(setup)?;
        Ok(Self { engine, cache, components: OnceLock::new(), profile: options.profile, udp: options.udp })
    }

    /// Whether UDP sockets can share a port.
    pub(crate) fn shares_ports(&self) -> bool {
        self.udp == Udp::Batched
    }

    /// The directory that compiled code is kept in, if any.
    pub fn cache_dir(&self) -> Option<&Path> {
        self.cache.as_ref().map(Store::path)
    }

    /// How many programs this host took from its cache, and how many it had to compile.
    pub fn cache_uses(&self) -> (usize, usize) {
        self.cache.as_ref().map_or((0, 0), Store::uses)
    }

    /// Compiles a program, so that a later run finds its code on disk. A host without a cache only checks it.
    ///
    /// # Errors
    /// [`Error::Invalid`]; [`Error::Cache`] if the code cannot be kept.
    pub fn compile(&self, program: &Program) -> Result<(), Error> {
        let Some(cache) = &self.cache else { return self.code(program).map(drop) };
        let (_, kept) = cache.code(&self.engine, program).map_err(|error| invalid(program, &error))?;
        kept.map_err(|error| Error::Cache { path: cache.path().to_owned(), detail: format!("{error:#}") })
    }

    /// Runs a program to its end, on this thread, and returns its exit status.
    ///
    /// # Errors
    /// Any [`Error`]. [`Error::Setup`] if this thread already runs a tokio runtime: await
    /// [`run_async`](Self::run_async) there.
    pub fn run(&self, program: &Program, options: RunOptions) -> Result<i32, Error> {
        if runtime::Handle::try_current().is_ok() {
            let detail = "this thread already runs a tokio runtime; await `Host::run_async` there".into();
            return Err(Error::Setup { detail });
        }
        let runtime = runtime()?;
        let status = runtime.block_on(self.run_async(program, options));
        // A name look-up that is still going on must not keep a program that has ended.
        runtime.shutdown_background();
        status
    }

    /// Runs a program to its end and returns its exit status; needs a tokio runtime with io and time.
    ///
    /// # Errors
    /// Any [`Error`].
    pub async fn run_async(&self, program: &Program, options: RunOptions) -> Result<i32, Error> {
        self.prepare(program)?.instance(options).await?.run().await
    }

    /// Compiles and links a program: what all its instances need.
    ///
    /// # Errors
    /// [`Error::Invalid`], [`Error::NotACommand`], [`Error::MissingImport`].
    pub fn prepare(&self, program: &Program) -> Result<Prepared, Error> {
        match self.code(program)? {
            Code::Component(component) => {
                Prepared::component(program, &self.engine, self.components()?, &component)
            }
            Code::Module(module) => Prepared::module(program, &self.engine, &self.modules()?, &module),
        }
    }

    fn code(&self, program: &Program) -> Result<Code, Error> {
        let code = match &self.cache {
            // That it cannot be kept does not keep the program from running.
            Some(cache) => cache.code(&self.engine, program).map(|(code, _)| code),
            None => Code::compile(&self.engine, program),
        };
        code.map_err(|error| invalid(program, &error))
    }

    /// WASI's functions for components; made when the first is run, unless the embedder has added to them.
    fn components(&self) -> Result<&ComponentLinker<State>, Error> {
        if let Some(linker) = self.components.get() {
            return Ok(linker);
        }
        let linker = component_linker(&self.engine, self.udp).map_err(setup)?;
        Ok(self.components.get_or_init(|| linker))
    }

    fn modules(&self) -> Result<Linker<ModuleState>, Error> {
        let mut linker = Linker::new(&self.engine);
        p1::add_to_linker_async(&mut linker, |state: &mut ModuleState| &mut state.wasi).map_err(setup)?;
        Ok(linker)
    }
}

/// A runtime of the calling thread alone.
pub(crate) fn runtime() -> Result<Runtime, Error> {
    runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(|error| Error::Setup { detail: error.to_string() })
}

fn component_linker(engine: &Engine, udp: Udp) -> wasmtime::Result<ComponentLinker<State>> {
    let mut linker = ComponentLinker::new(engine);
    p2::add_to_linker_async(&mut linker)?;
    p3::add_to_linker(&mut linker)?;
    if udp == Udp::Batched {
        crate::udp::add_to_linker(&mut linker)?;
    }
    Ok(linker)
}

/// Room for so many instances at once. What one instance may have of each is ample for a component that was linked of
/// several modules: the adapters between them are instances too.
fn pool(instances: u32) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    let each = |most: u32| instances.saturating_mul(most);
    pool.total_component_instances(instances)
        .total_core_instances(each(16))
        .total_memories(each(2))
        .total_tables(each(8))
        .total_stacks(each(8))
        .max_memories_per_component(2)
        .max_core_instances_per_component(16)
        .max_tables_per_component(8);
    pool
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("engine", &ENGINE).field("cache_dir", &self.cache_dir()).finish()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if self.profile == Profile::PerfMap {
            // With its mangled names the file still serves.
            let _ = perfmap::demangle(&perfmap::path());
        }
    }
}

/// Grants what the options say.
pub(crate) fn wasi(program: &Program, options: RunOptions) -> Result<WasiCtxBuilder, Error> {
    let mut wasi = WasiCtxBuilder::new();
    wasi.arg(program.name()).args(&options.args).envs(&options.env);
    // The guest waits for its files in any case; a second thread would only add the hand-over.
    wasi.allow_blocking_current_thread(true);
    for preopen in &options.preopens {
        let permissions = if preopen.writable { FsPerms::ReadWrite } else { FsPerms::ReadOnly };
        let refuse = |detail: String| Error::Preopen { path: preopen.host.clone(), detail };
        if !preopen.host.is_dir() {
            let detail = match preopen.host.metadata() {
                Ok(_) => "it is a file; give the directory that holds it".to_string(),
                Err(error) => error.to_string(),
            };
            return Err(refuse(detail));
        }
        wasi.preopened_dir(&preopen.host, &preopen.guest, permissions)
            .map_err(|error| refuse(one_line(&error)))?;
    }
    // Without a grant the builder's own default stands: no address may be used, no name looked up.
    if options.network == Network::All {
        wasi.inherit_network().allow_udp(true).allow_tcp(true).allow_ip_name_lookup(true);
    }
    match options.stdin {
        Input::Closed => {}
        Input::Inherit => drop(wasi.inherit_stdin()),
        Input::Bytes(bytes) => drop(wasi.stdin(MemoryInputPipe::new(bytes))),
        Input::Pipe(reader) => drop(wasi.stdin(AsyncStdinStream::new(reader.0))),
    }
    match options.stdout {
        Output::Discard => {}
        Output::Inherit => drop(wasi.inherit_stdout()),
        Output::Captured(captured) => drop(wasi.stdout(captured.0)),
    }
    match options.stderr {
        Output::Discard => {}
        Output::Inherit => drop(wasi.inherit_stderr()),
        Output::Captured(captured) => drop(wasi.stderr(captured.0)),
    }
    Ok(wasi)
}

fn setup(error: wasmtime::Error) -> Error {
    Error::Setup { detail: one_line(&error) }
}

fn invalid(program: &Program, error: &wasmtime::Error) -> Error {
    Error::Invalid { program: program.name().into(), detail: one_line(error) }
}
