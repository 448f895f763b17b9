//! What a host keeps and what a program is granted.

use std::any::{Any, type_name};
use std::fmt;
use std::path::PathBuf;

use tokio::io::DuplexStream;
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;

use crate::udp::UdpOptions;

/// The environment variable that names the directory for compiled code.
pub const CACHE_DIR_VARIABLE: &str = "SANDQUIC_CACHE_DIR";

/// How a [`Host`](crate::Host) compiles. The default keeps compiled code and profiles nothing.
#[derive(Clone, Debug, Default)]
pub struct HostOptions {
    /// Where compiled code is kept.
    pub cache: Cache,
    /// What a profiler is told about compiled code.
    pub profile: Profile,
    /// Where the memory of instances comes from.
    pub allocation: Allocation,
    /// Whose UDP sockets components get.
    pub udp: Udp,
}

/// Whose UDP sockets components get. Core modules have none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Udp {
    /// Those of [`udp`](crate::udp), which move many datagrams by one call of the system.
    #[default]
    Batched,
    /// Wasmtime's own, which move one.
    Stock,
}

/// Where the memory of instances comes from: their linear memories, tables and stacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Allocation {
    /// From the system, when an instance is made.
    #[default]
    OnDemand,
    /// From a pool that the host keeps, for this many instances at once; an instance beyond them cannot be made. Making and
    /// ending an instance then takes fewer system calls, and threads that do so do not wait for each other as long. The pool
    /// takes address space, 4 GiB for every memory, and no memory that is not used.
    Pooled(u32),
}

/// Where compiled code is kept between runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cache {
    /// In the directory that [`CACHE_DIR_VARIABLE`] names; else in `sandquic` under the user's cache directory
    /// (`$XDG_CACHE_HOME`, `$HOME/.cache`, `%LOCALAPPDATA%`). Where the latter cannot be made, nothing is kept.
    #[default]
    Default,
    /// In this directory, which is made if it is missing.
    Directory(PathBuf),
    /// Nowhere: every run compiles.
    Off,
}

/// What a profiler is told about compiled code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// Nothing.
    #[default]
    None,
    /// A file `/tmp/perf-PID.map`, from which `perf report` names the guest's functions. Names of Rust functions are
    /// mangled in it until the host is dropped.
    PerfMap,
    /// Records that `perf inject --jit` merges into a profile, with the machine code.
    JitDump,
}

/// The memory that a program may have unless [`RunOptions::max_memory`] says otherwise, in bytes: 1 GiB.
pub const DEFAULT_MAX_MEMORY: u64 = 1 << 30;

/// What one run is granted. The default is next to nothing: no arguments, no directories, no network, closed standard
/// streams, and [`DEFAULT_MAX_MEMORY`].
#[derive(Debug)]
pub struct RunOptions {
    /// The arguments after the program's name, which the host passes as the first.
    pub args: Vec<String>,
    /// Environment variables. Nothing is inherited.
    pub env: Vec<(String, String)>,
    /// Directories that the program can open files in.
    pub preopens: Vec<Preopen>,
    /// Whether the program may use sockets.
    pub network: Network,
    /// Standard input.
    pub stdin: Input,
    /// Standard output.
    pub stdout: Output,
    /// Standard error.
    pub stderr: Output,
    /// The memory that the program may have, in bytes: all its linear memories and tables together. One that asks for
    /// more is ended with [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub max_memory: u64,
    /// How UDP sockets are made, and where they count what they do. Nothing to Wasmtime's own.
    pub udp: UdpOptions,
    /// State for the functions that [`Host::with_imports`](crate::Host::with_imports) added.
    pub extensions: Extensions,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            args: Vec::new(),
            env: Vec::new(),
            preopens: Vec::new(),
            network: Network::Denied,
            stdin: Input::Closed,
            stdout: Output::Discard,
            stderr: Output::Discard,
            max_memory: DEFAULT_MAX_MEMORY,
            udp: UdpOptions::default(),
            extensions: Extensions::default(),
        }
    }
}

impl RunOptions {
    /// Nothing but the standard streams of this process.
    pub fn inherit() -> Self {
        Self { stdin: Input::Inherit, stdout: Output::Inherit, stderr: Output::Inherit, ..Self::default() }
    }
}

/// A directory of the host, and the name under which the program sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preopen {
    /// The directory on the host.
    pub host: PathBuf,
    /// Its path inside the sandbox.
    pub guest: String,
    /// Whether files may be written, made and removed.
    pub writable: bool,
}

impl Preopen {
    /// Reads `HOST[::GUEST]`; without a second part the program sees the directory under the path that it has outside.
    pub fn parse(text: &str, writable: bool) -> Self {
        let (host, guest) = text.split_once("::").unwrap_or((text, text));
        Self { host: host.into(), guest: guest.into(), writable }
    }
}

/// Whether a program may use sockets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// No: making a socket or looking up a name fails with an access error.
    #[default]
    Denied,
    /// UDP, TCP and name look-up, to and from every address.
    All,
}

/// Standard input.
#[derive(Debug, Default)]
pub enum Input {
    /// At its end from the start.
    #[default]
    Closed,
    /// That of this process.
    Inherit,
    /// These bytes.
    Bytes(Vec<u8>),
    /// Open and without bytes until the other end is dropped; see [`Input::pipe`].
    Pipe(PipeReader),
}

impl Input {
    /// An input that is at its end once the other end, the [`Pipe`], is dropped: how a program that has no signals is
    /// told to come to an end.
    pub fn pipe() -> (Self, Pipe) {
        // Not `simplex`, whose halves share the stream: dropping one would not end it.
        let (reader, writer) = tokio::io::duplex(1);
        (Self::Pipe(PipeReader(reader)), Pipe(writer))
    }
}

/// Keeps an [`Input::Pipe`] open; dropping it closes it, from whatever thread.
#[derive(Debug)]
pub struct Pipe(#[allow(dead_code, reason = "it is there to be dropped")] DuplexStream);

/// The program's end of an [`Input::Pipe`].
#[derive(Debug)]
pub struct PipeReader(pub(crate) DuplexStream);

/// Standard output or standard error.
#[derive(Debug, Default)]
pub enum Output {
    /// Accepted and dropped.
    #[default]
    Discard,
    /// That of this process.
    Inherit,
    /// Kept in memory; see [`Output::captured`].
    Captured(Captured),
}

impl Output {
    /// An output that is kept in memory, up to `limit` bytes, and the handle to read it with. A program that
    /// writes more is stopped or sees its stream closed.
    pub fn captured(limit: usize) -> (Self, Captured) {
        let captured = Captured(MemoryOutputPipe::new(limit));
        (Self::Captured(captured.clone()), captured)
    }
}

/// What a program has written to an [`Output`] that is kept in memory. Clones read the same bytes.
#[derive(Clone, Debug)]
pub struct Captured(pub(crate) MemoryOutputPipe);

impl Captured {
    /// The bytes written so far.
    pub fn bytes(&self) -> Vec<u8> {
        self.0.contents().to_vec()
    }

    /// The same as text; what is not UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.contents()).into_owned()
    }
}

/// Values that an embedder's functions find in [`State`](crate::State) during a run, one of each type.
///
/// A value that is wanted after the run is kept by the embedder too, behind an [`Arc`](std::sync::Arc).
#[derive(Default)]
pub struct Extensions(Vec<(&'static str, Box<dyn Any + Send>)>);

impl Extensions {
    /// Adds a value, and returns the one of this type that it takes the place of.
    pub fn insert<T: Any + Send>(&mut self, value: T) -> Option<T> {
        let old = self.0.iter().position(|(_, held)| held.is::<T>()).map(|at| self.0.swap_remove(at).1);
        self.0.push((type_name::<T>(), Box::new(value)));
        old.and_then(|old| old.downcast().ok()).map(|old| *old)
    }

    /// The value of this type.
    pub fn get<T: Any + Send>(&self) -> Option<&T> {
        self.0.iter().find_map(|(_, value)| value.downcast_ref())
    }

    /// The value of this type, to change it.
    pub fn get_mut<T: Any + Send>(&mut self) -> Option<&mut T> {
        self.0.iter_mut().find_map(|(_, value)| value.downcast_mut())
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_hold_one_value_of_a_type() {
        let mut extensions = Extensions::default();
        assert_eq!(extensions.get::<u32>(), None);
        assert_eq!(extensions.insert(1u32), None);
        assert_eq!(extensions.insert("one"), None);
        assert_eq!(extensions.insert(2u32), Some(1));
        *extensions.get_mut::<u32>().unwrap() += 1;
        assert_eq!((extensions.get::<u32>(), extensions.get::<&str>()), (Some(&3), Some(&"one")));
        assert_eq!(extensions.get::<u64>(), None);
        assert_eq!(format!("{extensions:?}"), r#"["&str", "u32"]"#);
    }

    #[test]
    fn directories_are_read_with_and_without_a_second_name() {
        let preopen =
            |host: &str, guest: &str| Preopen { host: host.into(), guest: guest.into(), writable: false };
        assert_eq!(Preopen::parse("a/b", false), preopen("a/b", "a/b"));
        assert_eq!(Preopen::parse("a::/b", false), preopen("a", "/b"));
    }
}
