//! Component: a server of files over HTTP/3.
//!
//! The program is [`sandquic_web::serve`].

#![forbid(unsafe_code)]

/// The program: takes the arguments, its own name first, and returns the exit status.
pub async fn run(arguments: Vec<String>) -> u8 {
    sandquic_web::serve::run(arguments.get(1..).unwrap_or_default()).await
}

#[cfg(target_os = "wasi")]
sandquic::command!(run);
