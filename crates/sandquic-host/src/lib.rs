//! Runs WASI programs on Wasmtime: components of WASI 0.3 and 0.2, and core modules of WASI 0.1.
//!
//! A program gets what [`RunOptions`] grants and nothing else: arguments, environment, directories, standard
//! streams and, only where it was asked for, the network. Compiled code is kept on disk, found by the content of
//! the program and the settings of the compiler, and mapped from there, so that a second start compiles nothing and takes
//! a few milliseconds. [`Host::prepare`] does once what every instance of a program needs; an instance then takes
//! microseconds.
//!
//! ```no_run
//! use sandquic_host::{Host, HostOptions, Network, Program, RunOptions};
//!
//! # fn main() -> Result<(), sandquic_host::Error> {
//! let host = Host::new(HostOptions::default())?;
//! let program = Program::from_file("transfer-client.wasm")?;
//! let mut options = RunOptions::inherit();
//! options.args = vec!["--help".into()];
//! options.network = Network::All;
//! let status = host.run(&program, options)?;
//! # std::process::exit(status)
//! # }
//! ```
//!
//! A program may have [`DEFAULT_MAX_MEMORY`] bytes of memory; [`RunOptions::max_memory`] grants less or more.
//! [`Host::with_imports`] adds interfaces of the embedder's own to those of WASI.
//!
//! Components have the UDP sockets of [`udp`], which move many datagrams by one call of the system, or Wasmtime's own.
//! [`Host::run_instances`] runs several instances of a server, on as many threads, which share its port.
//!
//! One program runs on one thread, on a current-thread tokio runtime: readiness of a socket is seen by the thread
//! that runs the guest, not passed to it by another. Files are read and written on that thread too.

// Lifted in one place: to map compiled code (`cache/entry.rs`).
#![deny(unsafe_code)]

mod cache;
mod error;
mod host;
pub mod instances;
mod options;
mod perfmap;
mod prepared;
mod program;
mod state;
pub mod udp;

pub use error::Error;
pub use host::{ENGINE, Host};
pub use instances::Instances;
pub use options::{
    Allocation, CACHE_DIR_VARIABLE, Cache, Captured, DEFAULT_MAX_MEMORY, Extensions, HostOptions, Input,
    Network, Output, Pipe, PipeReader, Preopen, Profile, RunOptions, Udp,
};
pub use prepared::{Instance, Prepared};
pub use program::{Kind, Program};
pub use state::State;
/// The engine, for what [`Host::with_imports`] defines.
pub use wasmtime;
