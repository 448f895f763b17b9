//! The components inside this binary.

use sandquic_host::{Error, Program};

use crate::Failure;

/// Name and binary of each component that was there when the command was built, in order of the names.
pub(crate) const EMBEDDED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/components.rs"));

/// What `cargo xtask build` makes beside the kernels' benchmarks: one of these that is not embedded was not built.
const KNOWN: &[&str] = &[
    "bench-client",
    "bench-client-simd128",
    "get",
    "get-wasip2",
    "serve",
    "serve-wasip2",
    "transfer-client",
    "transfer-client-wasip2",
    "transfer-client-wide",
    "transfer-server",
    "transfer-server-wasip2",
    "udp",
];

/// Opens a program by its path, or a built-in one by `@NAME`.
pub(crate) fn open(program: &str) -> Result<Program, Failure> {
    match program.strip_prefix('@') {
        Some(name) => embedded(name),
        None => Ok(Program::from_file(program)?),
    }
}

/// Opens a built-in program.
pub(crate) fn embedded(name: &str) -> Result<Program, Failure> {
    match EMBEDDED.iter().find(|(known, _)| *known == name) {
        Some((_, bytes)) => Program::from_bytes(name, *bytes).map_err(|error: Error| error.into()),
        None if KNOWN.contains(&name) || name.starts_with("kernels-") => {
            Err(Failure::Failed(format!("this sandquic was built without {name}; run `cargo xtask build`")))
        }
        None => {
            let names: Vec<&str> = EMBEDDED.iter().map(|(name, _)| *name).collect();
            let names = if names.is_empty() { "none".to_string() } else { names.join(", ") };
            Err(Failure::Usage(format!("no component {name} is built in; there are: {names}")))
        }
    }
}
