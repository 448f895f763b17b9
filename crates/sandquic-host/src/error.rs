//! What can go wrong before, while and because a program runs.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a program could not be run, or did not run to its end.
///
/// A program that ends with a status other than 0 is no error: see [`Host::run`](crate::Host::run). Each message is
/// one line that says what was wrong and, where something can be done, what to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The program's file could not be read.
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The bytes are not a WebAssembly binary.
    NotWasm {
        /// The program's name.
        program: String,
        /// What they are instead.
        found: String,
    },
    /// The binary is damaged, or uses what this engine does not support.
    Invalid {
        /// The program's name.
        program: String,
        /// The compiler's words.
        detail: String,
    },
    /// The binary is sound but nothing that can be run: it has no entry point.
    NotACommand {
        /// The program's name.
        program: String,
        /// What is missing and what is there instead.
        detail: String,
    },
    /// The program imports something that this host does not provide.
    MissingImport {
        /// The program's name.
        program: String,
        /// The import.
        detail: String,
    },
    /// A directory that was to be opened for the program could not be opened.
    Preopen {
        /// The directory on the host.
        path: PathBuf,
        /// Why.
        detail: String,
    },
    /// The directory for compiled code cannot be used.
    Cache {
        /// The directory.
        path: PathBuf,
        /// Why.
        detail: String,
    },
    /// The engine or its runtime could not be set up on this machine.
    Setup {
        /// Why.
        detail: String,
    },
    /// The host's pool of instances has no room for another.
    Full {
        /// The program's name.
        program: String,
        /// What there is no more of.
        detail: String,
    },
    /// The program trapped: WebAssembly's form of a crash.
    Trap {
        /// The program's name.
        program: String,
        /// The kind of trap, and the innermost functions where they are known.
        detail: String,
    },
    /// The program asked for more memory than it was granted, and was ended.
    OutOfMemory {
        /// The program's name.
        program: String,
        /// What it was granted ([`RunOptions::max_memory`](crate::RunOptions)), in bytes.
        granted: u64,
        /// The innermost functions, in brackets, where they are known.
        functions: String,
    },
    /// The host stopped the program, because a call that it made could not be carried out.
    Stopped {
        /// The program's name.
        program: String,
        /// Why.
        detail: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { path, source } if source.kind() == io::ErrorKind::NotFound => {
                write!(f, "no such file: {}; give the path of a .wasm file", path.display())
            }
            Self::Read { path, source } => write!(f, "cannot read {}: {source}", path.display()),
            Self::NotWasm { program, found } => write!(
                f,
                "{program} is not a WebAssembly binary: {found}; give a component or a core module (.wasm)"
            ),
            Self::Invalid { program, detail } => {
                write!(f, "{program} is damaged or needs what this engine lacks: {detail}")
            }
            Self::NotACommand { program, detail } => write!(f, "{program} is not a command: {detail}"),
            Self::MissingImport { program, detail } => write!(
                f,
                "{program} imports what this host does not provide: {detail}; \
                 it provides WASI 0.2 and 0.3 to components and WASI 0.1 to core modules"
            ),
            Self::Preopen { path, detail } => {
                write!(f, "cannot open the directory {} for the program: {detail}", path.display())
            }
            Self::Cache { path, detail } => write!(
                f,
                "cannot keep compiled code in {}: {detail}; name another directory in {}",
                path.display(),
                crate::CACHE_DIR_VARIABLE
            ),
            Self::Setup { detail } => write!(f, "cannot start the engine: {detail}"),
            Self::Full { program, detail } => write!(
                f,
                "there is no room for another instance of {program}: {detail}; \
                 end one first, or make the pool larger (HostOptions::allocation)"
            ),
            Self::Trap { program, detail } => write!(f, "{program} trapped: {detail}"),
            Self::OutOfMemory { program, granted, functions } => write!(
                f,
                "{program} trapped: it needs more than the {} of memory that it was granted{functions}",
                show_bytes(*granted)
            ),
            Self::Stopped { program, detail } => write!(f, "{program} was stopped by the host: {detail}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// A size in whole MiB or KiB, else in bytes.
fn show_bytes(bytes: u64) -> String {
    [("MiB", 20), ("KiB", 10)]
        .into_iter()
        .find(|(_, shift)| bytes >= 1 << shift && bytes.is_multiple_of(1 << shift))
        .map_or_else(|| format!("{bytes} bytes"), |(unit, shift)| format!("{} {unit}", bytes >> shift))
}

/// The messages of an error and its causes, on one line.
pub(crate) fn one_line(error: &wasmtime::Error) -> String {
    let mut line = String::new();
    for cause in error.chain() {
        let text = cause.to_string();
        // A cause often repeats the end of what wraps it.
        if line.ends_with(&text) {
            continue;
        }
        if !line.is_empty() {
            line.push_str(": ");
        }
        line.push_str(&text);
    }
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
