//! Runs WASI components and core modules on Wasmtime, for programs that carry their own transport.
