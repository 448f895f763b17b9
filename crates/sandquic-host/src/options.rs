//! What a host keeps and what a program is granted.

use std::path::PathBuf;

use wasmtime_wasi::p2::pipe::MemoryOutputPipe;

/// The environment variable that names the directory for compiled code.
pub const CACHE_DIR_VARIABLE: &str = "SANDQUIC_CACHE_DIR";

/// How a [`Host`](crate::Host) compiles. The default keeps compiled code and profiles nothing.
#[derive(Clone, Debug, Default)]
pub struct HostOptions {
    /// Where compiled code is kept.
    pub cache: Cache,
    /// What a profiler is told about compiled code.
    pub profile: Profile,
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

/// What one run is granted. The default is nothing at all: no arguments, no directories, no network, closed
/// standard streams.
#[derive(Debug, Default)]
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
}

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
