//! Compiled code kept between runs, found by content.
//!
//! A program's code is one file in a directory that only its owner can write to. Its name is the SHA-256 of everything that
//! the code depends on: the engine with its version and settings, the kind of program, its bytes. It is written under
//! another name and renamed when it is whole, read to its end before it is used, and then mapped into memory: nothing is
//! copied or unpacked, and processes that run the same program share its pages. Only what is profiled is copied.

use std::env;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use sha2::{Digest, Sha256};
use wasmtime::component::Component;
use wasmtime::{Engine, Module};

use crate::options::{CACHE_DIR_VARIABLE, Cache, Profile};
use crate::{Error, Kind, Program};
use directory::Directory;
use entry::Placement;

mod directory;
mod entry;

/// The cache of one host.
pub(crate) struct Store {
    base: PathBuf,
    directory: Directory,
    placement: Placement,
    hits: AtomicUsize,
    misses: AtomicUsize,
}

/// A program that is compiled.
pub(crate) enum Code {
    Component(Component),
    Module(Module),
}

impl Code {
    /// Compiles.
    pub(crate) fn compile(engine: &Engine, program: &Program) -> wasmtime::Result<Self> {
        Ok(match program.kind() {
            Kind::Component => Self::Component(Component::from_binary(engine, program.bytes())?),
            Kind::Module => Self::Module(Module::from_binary(engine, program.bytes())?),
        })
    }

    fn serialize(&self) -> wasmtime::Result<Vec<u8>> {
        match self {
            Self::Component(component) => component.serialize(),
            Self::Module(module) => module.serialize(),
        }
    }
}

impl Store {
    /// Opens the cache. Only a directory that was named must be usable; the user's own may be missing, read-only or open to
    /// others, and then nothing is kept.
    pub(crate) fn open(choice: &Cache, profile: Profile) -> Result<Option<Self>, Error> {
        let placement = match profile {
            Profile::None => Placement::Mapped,
            Profile::PerfMap | Profile::JitDump => Placement::Copied,
        };
        let (base, named) = match choice {
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
        let open = || {
            let base = std::path::absolute(&base).map_err(|error| error.to_string())?;
            let directory = Directory::open(&base)?;
            Ok(Self { base, directory, placement, hits: AtomicUsize::new(0), misses: AtomicUsize::new(0) })
        };
        match open() {
            Ok(store) => Ok(Some(store)),
            Err(detail) if named => Err(Error::Cache { path: base, detail }),
            Err(_) => Ok(None),
        }
    }

    /// The directory that was chosen; the code is in one below.
    pub(crate) fn path(&self) -> &Path {
        &self.base
    }

    /// How many programs were found, and how many had to be compiled.
    pub(crate) fn uses(&self) -> (usize, usize) {
        (self.hits.load(Ordering::Relaxed), self.misses.load(Ordering::Relaxed))
    }

    /// The code of a program, which is compiled and kept if it is not there yet, or is not whole; and whether it is kept,
    /// which on a full disk, for example, it cannot be.
    pub(crate) fn code(
        &self,
        engine: &Engine,
        program: &Program,
    ) -> wasmtime::Result<(Code, wasmtime::Result<()>)> {
        let name = name(engine, program);
        if let Some(code) =
            self.directory.find(&name, |path| entry::load(engine, program.kind(), path, self.placement))
        {
            self.hits.fetch_add(1, Ordering::Relaxed);
            return Ok((code, Ok(())));
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        let code = Code::compile(engine, program)?;
        let kept = code
            .serialize()
            .and_then(|content| Ok(self.directory.write(&name, |file| entry::write(file, &content))?));
        Ok((code, kept))
    }
}

/// The name of a program's code.
fn name(engine: &Engine, program: &Program) -> String {
    let mut hasher = Sha256Hasher(Sha256::new());
    engine.precompile_compatibility_hash().hash(&mut hasher);
    let kind: &[u8] = match program.kind() {
        Kind::Component => b"component",
        Kind::Module => b"module",
    };
    hasher.write(kind);
    hasher.write(program.bytes());
    hasher.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A hash of the standard library's kind that no two inputs share.
struct Sha256Hasher(Sha256);

impl Hasher for Sha256Hasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Not what is wanted of it: 64 bits could be made to collide.
    fn finish(&self) -> u64 {
        let [first, ..] = self.0.clone().finalize().0.map(u64::from);
        first
    }
}

fn user_cache_dir() -> Option<PathBuf> {
    let variable = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    variable("XDG_CACHE_HOME")
        .or_else(|| variable("HOME").map(|home| home.join(".cache")))
        .or_else(|| variable("LOCALAPPDATA"))
        .map(|base| base.join("sandquic"))
}
