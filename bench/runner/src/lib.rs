#![doc = include_str!("../README.md")]
//!
//! # For the caller
//! - [`kernels`]: `sandquic bench kernels`.
//! - [`transfer`]: `sandquic bench transfer`.
//! - [`udp`]: `sandquic bench udp`.
//! - [`evaluate`]: `sandquic bench evaluate`.
//! - [`connections`]: `sandquic bench connections`.
//! - [`soak`]: `sandquic bench soak`.
//! - [`profile`]: CPU time of a process by category.
//! - [`peer`]: `sandquic bench-peer`, the native ends of such a transfer.
//!
//! This crate never links the sandbox's host: the caller gives the path of the `sandquic` program ([`Context`]), which
//! is started as a child for every end that is measured.
#![forbid(unsafe_code)]

pub mod connections;
pub mod evaluate;
pub mod kernels;
pub mod peer;
pub mod profile;
pub mod provenance;
pub mod soak;
pub mod transfer;
pub mod udp;
pub mod units;

mod choice;
mod error;
mod output;
mod system;

use std::path::PathBuf;

pub use error::Error;

/// What the caller of a measurement must tell: which program to start, and what it embeds.
#[derive(Debug, Clone)]
pub struct Context {
    /// The program whose `run` subcommand runs a component, normally [`std::env::current_exe`].
    pub sandquic: PathBuf,
    /// The program whose `bench-peer` subcommand calls [`peer::run`], normally [`std::env::current_exe`].
    pub peer: PathBuf,
    /// The engine that runs components, with its version, for the record's provenance: `wasmtime 48.0.8`.
    pub engine: String,
}
