//! Component: a client of HTTP/3.
//!
//! The program is [`sandquic_web::get`].

#![forbid(unsafe_code)]

/// The program: takes the arguments, its own name first, and returns the exit status.
pub async fn run(arguments: Vec<String>) -> u8 {
    sandquic_web::get::run(arguments.get(1..).unwrap_or_default()).await
}

#[cfg(target_os = "wasi")]
sandquic::command!(run);
