//! Component: the client of a QUIC transfer.
//!
//! It receives a file, or sends one, over one QUIC connection or several, and prints what arrived. The protocol and
//! the command line are [`sandquic_transfer`]'s. With the feature `baselines` the flag `--ciphers` takes RustCrypto's
//! crates or the paper's kernels instead of the product's ciphers, for the comparison in the benchmarks.

#![forbid(unsafe_code)]

#[cfg(feature = "baselines")]
mod baselines;

#[cfg(feature = "baselines")]
use baselines::Baselines as Ciphers;
#[cfg(not(feature = "baselines"))]
use sandquic_transfer::SandquicProvider as Ciphers;

/// The program: takes the arguments, its own name first, and returns the exit status.
pub async fn run(arguments: Vec<String>) -> u8 {
    sandquic_transfer::client(arguments.get(1..).unwrap_or_default(), &Ciphers).await
}

#[cfg(target_os = "wasi")]
sandquic::command!(run);
