//! What `command!` expands to under WASI.

use std::future::Future;

pub use wasip3::cli::command::export;
pub use wasip3::exports::cli::run::Guest;

/// The body of `wasi:cli/run`.
///
/// # Errors
///
/// For exit status 1, which is all that the export itself can say.
pub async fn run_main<F>(run: impl FnOnce(Vec<String>) -> F) -> Result<(), ()>
where
    F: Future<Output: Into<u8>>,
{
    let args = wasip3::cli::environment::get_arguments();
    match crate::driver::task::run(async { run(args).await.into() }).await {
        0 => Ok(()),
        1 => Err(()),
        status => {
            wasip3::cli::exit::exit_with_code(status);
            Err(())
        }
    }
}
