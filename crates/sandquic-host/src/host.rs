//! The engine: compiles, instantiates, runs.

use std::env;
use std::path::{Path, PathBuf};

use wasmtime::component::{Component, Linker as ComponentLinker};
use wasmtime::{CacheConfig, Config, Engine, Linker, Module, ProfilingStrategy, Store, Trap, WasmBacktrace};
use wasmtime_wasi::p2::pipe::MemoryInputPipe;
use wasmtime_wasi::{FsPerms, I32Exit, WasiCtxBuilder, p1, p2, p3};

use crate::error::one_line;
use crate::options::{CACHE_DIR_VARIABLE, Cache, HostOptions, Input, Network, Output, Profile, RunOptions};
use crate::state::{Memory, ModuleState, Refused, State};
use crate::{Error, Kind, Program, perfmap};

/// The engine underneath, with its version: `wasmtime 48.0.8`.
pub const ENGINE: &str = concat!("wasmtime ", env!("SANDQUIC_WASMTIME_VERSION"));

/// Native stack that a guest may use. Rust guests keep their larger frames in linear memory.
const MAX_WASM_STACK: usize = 1 << 20;

/// The stack of a guest with what the host's own functions need on top.
const FIBER_STACK: usize = MAX_WASM_STACK + (1 << 20);

/// An engine with its cache of compiled code: makes [`Program`]s run.
pub struct Host {
    engine: Engine,
    cache: Option<wasmtime::Cache>,
    components: ComponentLinker<State>,
    modules: Linker<ModuleState>,
    profile: Profile,
}

impl Host {
    /// Sets the engine up.
    ///
    /// # Errors
    /// [`Error::Cache`] if a directory for compiled code was named and cannot be used; [`Error::Setup`] if the
    /// engine does not work on this machine.
    pub fn new(options: HostOptions) -> Result<Self, Error> {
        Self::with_imports(options, |_| Ok(()))
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
        let cache = open_cache(&options.cache)?;
        let mut config = Config::new();
        config
            .wasm_component_model_async(true)
            .wasm_wide_arithmetic(true)
            .max_wasm_stack(MAX_WASM_STACK)
            .async_stack_size(FIBER_STACK)
            .cache(cache.clone())
            .profiler(match options.profile {
                Profile::None => ProfilingStrategy::None,
                Profile::PerfMap => ProfilingStrategy::PerfMap,
                Profile::JitDump => ProfilingStrategy::JitDump,
            });
        let engine = Engine::new(&config).map_err(setup)?;
        let mut components = ComponentLinker::new(&engine);
        p2::add_to_linker_async(&mut components).map_err(setup)?;
        p3::add_to_linker(&mut components).map_err(setup)?;
        add(&mut components).map_err(setup)?;
        let mut modules = Linker::new(&engine);
        p1::add_to_linker_async(&mut modules, |state: &mut ModuleState| &mut state.wasi).map_err(setup)?;
        Ok(Self { engine, cache, components, modules, profile: options.profile })
    }

    /// The directory that compiled code is kept in, if any.
    pub fn cache_dir(&self) -> Option<&Path> {
        self.cache.as_ref().map(|cache| cache.directory().as_path())
    }

    /// How many programs this host took from its cache, and how many it had to compile.
    pub fn cache_uses(&self) -> (usize, usize) {
        self.cache.as_ref().map_or((0, 0), |cache| (cache.cache_hits(), cache.cache_misses()))
    }

    /// Compiles a program, so that a later run finds its code on disk. A host without a cache only checks it.
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub fn compile(&self, program: &Program) -> Result<(), Error> {
        match program.kind() {
            Kind::Component => self.component(program).map(drop),
            Kind::Module => self.module(program).map(drop),
        }
    }

    /// Runs a program to its end, on this thread, and returns its exit status.
    ///
    /// # Errors
    /// Any [`Error`]. [`Error::Setup`] if this thread already runs a tokio runtime: await
    /// [`run_async`](Self::run_async) there.
    pub fn run(&self, program: &Program, options: RunOptions) -> Result<i32, Error> {
        if tokio::runtime::Handle::try_current().is_ok() {
            let detail = "this thread already runs a tokio runtime; await `Host::run_async` there".into();
            return Err(Error::Setup { detail });
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(|error| Error::Setup { detail: error.to_string() })?;
        let status = runtime.block_on(self.run_async(program, options));
        // A name look-up that is still going on must not keep a program that has ended.
        runtime.shutdown_background();
        status
    }

    /// Runs a program to its end and returns its exit status; needs a tokio runtime with io and time.
    ///
    /// # Errors
    /// Any [`Error`].
    pub async fn run_async(&self, program: &Program, mut options: RunOptions) -> Result<i32, Error> {
        let memory = Memory::new(options.max_memory);
        let extensions = std::mem::take(&mut options.extensions);
        let mut wasi = wasi(program, options)?;
        match program.kind() {
            Kind::Component => {
                self.run_component(program, State::new(wasi.build(), extensions, memory)).await
            }
            Kind::Module => self.run_module(program, ModuleState { wasi: wasi.build_p1(), memory }).await,
        }
    }

    async fn run_component(&self, program: &Program, state: State) -> Result<i32, Error> {
        let component = self.component(program)?;
        let release = command_release(&self.engine, program, &component)?;
        let instance =
            self.components.instantiate_pre(&component).map_err(|error| missing(program, &error))?;
        let mut store = Store::new(&self.engine, state);
        store.limiter(|state| state.memory());
        let outcome = match release {
            Release::P3 => {
                let command =
                    p3::bindings::CommandPre::new(instance).map_err(|e| not_a_command(program, &e))?;
                let command = command.instantiate_async(&mut store).await;
                let command = command.map_err(|error| ended(program, error))?;
                match store.run_concurrent(async |store| command.wasi_cli_run().call_run(store).await).await {
                    Ok(result) => result,
                    Err(error) => Err(error),
                }
            }
            Release::P2 => {
                let command =
                    p2::bindings::CommandPre::new(instance).map_err(|e| not_a_command(program, &e))?;
                let command = command.instantiate_async(&mut store).await;
                let command = command.map_err(|error| ended(program, error))?;
                command.wasi_cli_run().call_run(&mut store).await
            }
        };
        match outcome {
            Ok(Ok(())) => Ok(0),
            Ok(Err(())) => Ok(1),
            Err(error) => exit_status(program, error),
        }
    }

    async fn run_module(&self, program: &Program, state: ModuleState) -> Result<i32, Error> {
        let module = self.module(program)?;
        if module.get_export("_start").is_none() {
            let exports = list(module.exports().map(|export| export.name()));
            let detail = format!("it exports no function `_start`; it exports {exports}");
            return Err(Error::NotACommand { program: program.name().into(), detail });
        }
        let instance = self.modules.instantiate_pre(&module).map_err(|error| missing(program, &error))?;
        let mut store = Store::new(&self.engine, state);
        store.limiter(|state| &mut state.memory);
        let instance = instance.instantiate_async(&mut store).await.map_err(|error| ended(program, error))?;
        let start = instance
            .get_typed_func::<(), ()>(&mut store, "_start")
            .map_err(|error| not_a_command(program, &error))?;
        match start.call_async(&mut store, ()).await {
            Ok(()) => Ok(0),
            Err(error) => exit_status(program, error),
        }
    }

    fn component(&self, program: &Program) -> Result<Component, Error> {
        Component::from_binary(&self.engine, program.bytes()).map_err(|error| invalid(program, &error))
    }

    fn module(&self, program: &Program) -> Result<Module, Error> {
        Module::from_binary(&self.engine, program.bytes()).map_err(|error| invalid(program, &error))
    }
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

/// The release of WASI whose `run` a component exports.
enum Release {
    P2,
    P3,
}

fn command_release(engine: &Engine, program: &Program, component: &Component) -> Result<Release, Error> {
    let ty = component.component_type();
    let names: Vec<String> = ty.exports(engine).map(|(name, _)| name.to_string()).collect();
    let releases: Vec<&str> = names.iter().filter_map(|name| name.strip_prefix("wasi:cli/run@")).collect();
    if releases.iter().any(|release| release.starts_with("0.3.")) {
        return Ok(Release::P3);
    }
    if releases.iter().any(|release| release.starts_with("0.2.")) {
        return Ok(Release::P2);
    }
    let detail = format!(
        "it does not export wasi:cli/run of WASI 0.2 or 0.3; it exports {}",
        list(names.iter().map(String::as_str))
    );
    Err(Error::NotACommand { program: program.name().into(), detail })
}

/// The first few of some names, as a phrase.
fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const SHOWN: usize = 4;
    let names: Vec<&str> = names.collect();
    match names.len() {
        0 => "nothing".into(),
        n if n <= SHOWN => names.join(", "),
        n => format!("{} and {} more", names[..SHOWN].join(", "), n - SHOWN),
    }
}

/// Grants what the options say.
fn wasi(program: &Program, options: RunOptions) -> Result<WasiCtxBuilder, Error> {
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

/// Opens the cache. Only a directory that was named must be usable; the user's own may be missing or read-only.
fn open_cache(choice: &Cache) -> Result<Option<wasmtime::Cache>, Error> {
    let (directory, named) = match choice {
        Cache::Off => return Ok(None),
        Cache::Directory(directory) => (directory.clone(), true),
        Cache::Default => match env::var_os(CACHE_DIR_VARIABLE).filter(|value| !value.is_empty()) {
            Some(directory) => (PathBuf::from(directory), true),
            None => match user_cache_dir() {
                Some(directory) => (directory, false),
                None => return Ok(None),
            },
        },
    };
    let open = || -> Result<wasmtime::Cache, String> {
        let absolute = std::path::absolute(&directory).map_err(|error| error.to_string())?;
        std::fs::create_dir_all(&absolute).map_err(|error| error.to_string())?;
        let mut config = CacheConfig::new();
        // Entries are never compressed again in the background: that would run beside a measurement.
        config.with_directory(absolute).with_optimized_compression_usage_counter_threshold(u64::MAX);
        wasmtime::Cache::new(config).map_err(|error| one_line(&error))
    };
    match open() {
        Ok(cache) => Ok(Some(cache)),
        Err(detail) if named => Err(Error::Cache { path: directory, detail }),
        Err(_) => Ok(None),
    }
}

fn user_cache_dir() -> Option<PathBuf> {
    let variable = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    variable("XDG_CACHE_HOME")
        .or_else(|| variable("HOME").map(|home| home.join(".cache")))
        .or_else(|| variable("LOCALAPPDATA"))
        .map(|base| base.join("sandquic"))
}

fn setup(error: wasmtime::Error) -> Error {
    Error::Setup { detail: one_line(&error) }
}

fn invalid(program: &Program, error: &wasmtime::Error) -> Error {
    Error::Invalid { program: program.name().into(), detail: one_line(error) }
}

fn missing(program: &Program, error: &wasmtime::Error) -> Error {
    Error::MissingImport { program: program.name().into(), detail: one_line(error) }
}

fn not_a_command(program: &Program, error: &wasmtime::Error) -> Error {
    Error::NotACommand { program: program.name().into(), detail: one_line(error) }
}

/// The status of a program that left through an exit call, or why it was ended.
fn exit_status(program: &Program, error: wasmtime::Error) -> Result<i32, Error> {
    match error.downcast_ref::<I32Exit>() {
        Some(&I32Exit(status)) => Ok(status),
        None => Err(ended(program, error)),
    }
}

/// A trap or a failed call of the host, in one line with the innermost functions.
fn ended(program: &Program, error: wasmtime::Error) -> Error {
    let program = program.name().to_string();
    let functions = error.downcast_ref::<WasmBacktrace>().map(innermost).unwrap_or_default();
    if let Some(&Refused { granted }) = error.downcast_ref() {
        return Error::OutOfMemory { program, granted, functions };
    }
    match error.downcast_ref::<Trap>() {
        Some(trap) => {
            let kind = trap.to_string();
            let kind = kind.strip_prefix("wasm trap: ").unwrap_or(&kind);
            Error::Trap { program, detail: format!("{kind}{functions}") }
        }
        // The root cause carries the reason; what wraps it is the backtrace.
        None => Error::Stopped { program, detail: format!("{}{functions}", error.root_cause()) },
    }
}

fn innermost(backtrace: &WasmBacktrace) -> String {
    const SHOWN: usize = 4;
    let names: Vec<String> = backtrace
        .frames()
        .iter()
        .filter_map(|frame| frame.func_name())
        .map(|name| format!("{:#}", rustc_demangle::demangle(name)))
        // The machinery of a panic stands between the trap and the function that panicked.
        .filter(|name| !is_panic_machinery(name))
        .take(SHOWN)
        .collect();
    if names.is_empty() { String::new() } else { format!(" (in {})", names.join(", called by ")) }
}

fn is_panic_machinery(name: &str) -> bool {
    [
        "std::panicking::",
        "core::panicking::",
        "std::sys::",
        "std::process::abort",
        "__rustc::",
        "rust_panic",
        "abort",
    ]
    .iter()
    .any(|start| name.starts_with(start))
}
