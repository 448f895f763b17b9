//! One round of one module: in a process of its own, or in this one natively.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use sandquic_kernels::{Request, Row};
use tempfile::TempDir;

use super::builds::Engine;
use crate::{Context, Error};

const NODE_SCRIPT: &str = include_str!("node.mjs");

/// Starts engines.
pub(super) struct Session<'a> {
    pub(super) context: &'a Context,
    /// Names and binaries of the modules that the caller holds.
    pub(super) modules: &'a [(&'a str, &'a [u8])],
    pub(super) node: Option<Node>,
}

/// Node, with the script and the modules in files.
pub(super) struct Node {
    program: PathBuf,
    pub(super) version: String,
    files: TempDir,
}

impl Node {
    /// The `node` of the path or of `$SANDQUIC_NODE`, if there is one that is new enough.
    pub(super) fn find() -> Result<Option<Self>, Error> {
        let program = std::env::var_os("SANDQUIC_NODE").map_or_else(|| "node".into(), PathBuf::from);
        let Ok(output) = Command::new(&program).arg("--version").stdin(Stdio::null()).output() else {
            return Ok(None);
        };
        if !output.status.success() {
            return Ok(None);
        }
        let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if major(&version) < Some(20) {
            return Ok(None);
        }
        let files = tempfile::tempdir()
            .map_err(|error| Error::failed(format!("cannot make a temporary directory: {error}")))?;
        write(&files, "node.mjs", NODE_SCRIPT.as_bytes())?;
        Ok(Some(Self { program, version, files }))
    }
}

impl Node {
    /// V8 has relaxed SIMD on by default since version 11.4: Node 20 has not, and 21 knows the flag no more.
    fn needs_flag_for_relaxed_simd(&self) -> bool {
        major(&self.version) < Some(21)
    }
}

/// The first number of a version like `v20.11.1`.
fn major(version: &str) -> Option<u32> {
    version.trim_start_matches('v').split('.').next()?.parse().ok()
}

fn write(directory: &TempDir, name: &str, bytes: &[u8]) -> Result<(), Error> {
    std::fs::write(directory.path().join(name), bytes)
        .map_err(|error| Error::failed(format!("cannot write {name} to a temporary directory: {error}")))
}

impl Session<'_> {
    /// Whether the module is there, or that it is not and what to do.
    pub(super) fn check(&self, module: &str) -> Result<&[u8], Error> {
        self.modules.iter().find(|(name, _)| *name == module).map(|(_, bytes)| *bytes).ok_or_else(|| {
            Error::failed(format!("this sandquic was built without {module}; run `cargo xtask build`"))
        })
    }

    /// Puts the module where Node finds it.
    pub(super) fn prepare_node(&self, module: &str) -> Result<(), Error> {
        match &self.node {
            Some(node) => write(&node.files, &format!("{module}.wasm"), self.check(module)?),
            None => Err(Error::failed(
                "engine v8 needs Node 20 or newer: install it, name it in SANDQUIC_NODE, or leave v8 out of --engine",
            )),
        }
    }

    /// Measures once; `module` is of no concern natively.
    pub(super) fn run(&self, engine: Engine, module: &str, request: &Request) -> Result<Vec<Row>, Error> {
        let told = |message: String| Error::failed(format!("{engine} {module}: {message}"));
        let mut command = match (engine, &self.node) {
            (Engine::Native, _) => {
                let mut rows = Vec::new();
                sandquic_kernels::run(request, |row| rows.push(row)).map_err(told)?;
                return Ok(rows);
            }
            (Engine::Wasmtime, _) => {
                let mut command = Command::new(&self.context.sandquic);
                command.arg("run").arg(format!("@{module}")).arg("--");
                command
            }
            (Engine::V8, Some(node)) => {
                let mut command = Command::new(&node.program);
                // Optimised from the start: what is measured shall not depend on when it warms up.
                command.args(["--no-warnings", "--no-liftoff"]);
                if node.needs_flag_for_relaxed_simd() {
                    command.arg("--experimental-wasm-relaxed-simd");
                }
                command.arg(node.files.path().join("node.mjs"));
                command.arg(node.files.path().join(format!("{module}.wasm")));
                command
            }
            (Engine::V8, None) => return Err(told("there is no Node".into())),
        };
        let text = serde_json::to_string(request).map_err(|error| told(error.to_string()))?;
        let output =
            command.arg(text).stdin(Stdio::null()).output().map_err(|error| {
                told(format!("cannot start {}: {error}", command.get_program().display()))
            })?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            return Err(told(why.trim().lines().last().unwrap_or("it failed and said nothing").to_owned()));
        }
        String::from_utf8_lossy(&output.stdout)
            .lines()
            .map(|line| {
                serde_json::from_str(line)
                    .map_err(|error| told(format!("it printed something that is no row: {error}")))
            })
            .collect()
    }
}
