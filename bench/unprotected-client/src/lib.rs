//! Component: the client of a QUIC transfer whose packets are not protected, for the evaluation's ceiling.
//!
//! The flags are those of the transfer-client component, with `--ciphers unprotected` among them.

#![forbid(unsafe_code)]

/// The program: takes the arguments, its own name first, and returns the exit status.
pub async fn run(arguments: Vec<String>) -> u8 {
    let flags = arguments.get(1..).unwrap_or_default();
    sandquic_transfer::client(flags, &sandquic_unprotected::OnlyUnprotected).await
}

#[cfg(target_os = "wasi")]
sandquic::command!(run);
