//! A program that is compiled and linked, and its instances.

use wasmtime::component::{Component, Linker as ComponentLinker};
use wasmtime::{
    Engine, InstancePre, Linker, Module, PoolConcurrencyLimitError, Store, Trap, TypedFunc, WasmBacktrace,
};
use wasmtime_wasi::{I32Exit, p2, p3};

use crate::error::one_line;
use crate::host::wasi;
use crate::options::{Network, RunOptions};
use crate::state::{Memory, ModuleState, Refused, State};
use crate::udp::UdpCtx;
use crate::{Error, Program};

/// A program that is compiled and linked: its instances are made from it, each in a store of its own. It can be shared by
/// threads.
pub struct Prepared {
    program: Program,
    engine: Engine,
    command: CommandPre,
}

enum CommandPre {
    P3(p3::bindings::CommandPre<State>),
    P2(p2::bindings::CommandPre<State>),
    P1(InstancePre<ModuleState>),
}

impl Prepared {
    pub(crate) fn component(
        program: &Program,
        engine: &Engine,
        linker: &ComponentLinker<State>,
        component: &Component,
    ) -> Result<Self, Error> {
        let release = command_release(engine, program, component)?;
        let instance = linker.instantiate_pre(component).map_err(|error| missing(program, &error))?;
        let command = match release {
            Release::P3 => p3::bindings::CommandPre::new(instance).map(CommandPre::P3),
            Release::P2 => p2::bindings::CommandPre::new(instance).map(CommandPre::P2),
        };
        let command = command.map_err(|error| not_a_command(program, &error))?;
        Ok(Self { program: program.clone(), engine: engine.clone(), command })
    }

    pub(crate) fn module(
        program: &Program,
        engine: &Engine,
        linker: &Linker<ModuleState>,
        module: &Module,
    ) -> Result<Self, Error> {
        if module.get_export("_start").is_none() {
            let exports = list(module.exports().map(|export| export.name()));
            let detail = format!("it exports no function `_start`; it exports {exports}");
            return Err(Error::NotACommand { program: program.name().into(), detail });
        }
        let instance = linker.instantiate_pre(module).map_err(|error| missing(program, &error))?;
        Ok(Self { program: program.clone(), engine: engine.clone(), command: CommandPre::P1(instance) })
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Makes an instance, with memory of its own and what `options` grants it; needs a tokio runtime with io and time.
    ///
    /// # Errors
    /// [`Error::Preopen`]; [`Error::OutOfMemory`] if the instance needs more at its start than it is granted;
    /// [`Error::Full`] if the host's pool has no room for it; [`Error::Trap`] if a start function of it traps.
    pub async fn instance(&self, mut options: RunOptions) -> Result<Instance, Error> {
        let (program, engine) = (&self.program, &self.engine);
        let memory = Memory::new(options.max_memory);
        let extensions = std::mem::take(&mut options.extensions);
        let udp = match options.network {
            Network::Denied => UdpCtx::denied(),
            Network::All => UdpCtx::all(std::mem::take(&mut options.udp)),
        };
        let mut wasi = wasi(program, options)?;
        let failed = |error| not_made(program, error);
        let command = match &self.command {
            CommandPre::P3(command) => {
                let mut store = component_store(engine, State::new(wasi.build(), udp, extensions, memory));
                let command = command.instantiate_async(&mut store).await.map_err(failed)?;
                Command::P3(store, command)
            }
            CommandPre::P2(command) => {
                let mut store = component_store(engine, State::new(wasi.build(), udp, extensions, memory));
                let command = command.instantiate_async(&mut store).await.map_err(failed)?;
                Command::P2(store, command)
            }
            CommandPre::P1(instance) => {
                let mut store = Store::new(engine, ModuleState { wasi: wasi.build_p1(), memory });
                store.limiter(|state| &mut state.memory);
                let instance = instance.instantiate_async(&mut store).await.map_err(failed)?;
                let start = instance.get_typed_func(&mut store, "_start");
                let start = start.map_err(|error| not_a_command(program, &error))?;
                Command::P1(store, start)
            }
        };
        Ok(Instance { program: program.clone(), command })
    }
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").field("program", &self.program.name()).finish_non_exhaustive()
    }
}

fn component_store(engine: &Engine, state: State) -> Store<State> {
    let mut store = Store::new(engine, state);
    store.limiter(|state| state.memory());
    store
}

/// One instance of a program, ready to run.
pub struct Instance {
    program: Program,
    command: Command,
}

enum Command {
    P3(Store<State>, p3::bindings::Command),
    P2(Store<State>, p2::bindings::Command),
    P1(Store<ModuleState>, TypedFunc<(), ()>),
}

impl Instance {
    /// Runs the instance to its end and returns its exit status; needs the runtime that it was made in. What its UDP sockets
    /// hold at its end is sent, within [bounds](crate::udp::UdpCtx::drain).
    ///
    /// # Errors
    /// [`Error::Trap`], [`Error::OutOfMemory`], [`Error::Stopped`].
    pub async fn run(self) -> Result<i32, Error> {
        let outcome = match self.command {
            Command::P3(mut store, command) => {
                let outcome =
                    store.run_concurrent(async |store| command.wasi_cli_run().call_run(store).await).await;
                store.data().drain().await;
                outcome.and_then(|result| result)
            }
            Command::P2(mut store, command) => {
                let outcome = command.wasi_cli_run().call_run(&mut store).await;
                store.data().drain().await;
                outcome
            }
            Command::P1(mut store, start) => start.call_async(&mut store, ()).await.map(Ok),
        };
        match outcome {
            Ok(Ok(())) => Ok(0),
            Ok(Err(())) => Ok(1),
            Err(error) => exit_status(&self.program, error),
        }
    }
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Instance").field("program", &self.program.name()).finish_non_exhaustive()
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

/// Why an instance could not be made.
fn not_made(program: &Program, error: wasmtime::Error) -> Error {
    if error.is::<PoolConcurrencyLimitError>() {
        return Error::Full { program: program.name().into(), detail: one_line(&error) };
    }
    ended(program, error)
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
