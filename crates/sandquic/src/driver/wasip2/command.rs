//! What `command!` expands to under WASI 0.2.

use std::future::Future;
use std::io::Write;

pub use ::wasip2::cli::command::export;
pub use ::wasip2::exports::cli::run::Guest;

/// The body of `wasi:cli/run`.
///
/// # Errors
///
/// For exit status 1, which is all that the export itself can say.
#[expect(clippy::result_unit_err, reason = "the export's own type")]
pub fn run_main<F>(run: impl FnOnce(Vec<String>) -> F) -> Result<(), ()>
where
    F: Future<Output: Into<u8>>,
{
    let args = ::wasip2::cli::environment::get_arguments();
    let status = crate::block_on(async { run(args).await.into() });
    // What has no end of line yet; if nobody takes it then nobody can be told.
    let _ = std::io::stdout().flush();
    match status {
        0 => Ok(()),
        1 => Err(()),
        status => {
            ::wasip2::cli::exit::exit_with_code(status);
            Err(())
        }
    }
}
