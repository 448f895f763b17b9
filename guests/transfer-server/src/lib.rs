//! Component: the server of a QUIC transfer.
//!
//! It serves one file, or a pattern of any length, and takes files that are sent to it. The protocol and the command
//! line are [`sandquic_transfer`]'s.

#![forbid(unsafe_code)]

/// The program: takes the arguments, its own name first, and returns the exit status.
pub async fn run(arguments: Vec<String>) -> u8 {
    sandquic_transfer::server(arguments.get(1..).unwrap_or_default(), &sandquic_transfer::SandquicProvider)
        .await
}

#[cfg(target_os = "wasi")]
sandquic::command!(run);
