//! What `command!` expands to natively.

use std::future::Future;
use std::process::ExitCode;

/// The body of `main`.
pub fn run_main<F>(run: impl FnOnce(Vec<String>) -> F) -> ExitCode
where
    F: Future<Output: Into<u8>>,
{
    let args = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    ExitCode::from(crate::block_on(async { run(args).await.into() }))
}
