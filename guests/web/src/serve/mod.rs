//! `sandquic serve`: a server of the files in a directory.

use clap::Parser;

/// The command line of the server.
#[derive(Debug, Clone, Parser)]
#[command(name = "sandquic serve")]
pub struct Args {
    /// The directory whose files are served.
    #[arg(value_name = "DIR")]
    pub directory: String,
}

/// Serves until standard input is at its end, and returns the exit status: 0, 1 (failed) or 2 (usage).
///
/// `arguments` are those after the program's name.
pub async fn run(arguments: &[String]) -> u8 {
    let words = std::iter::once("sandquic serve").chain(arguments.iter().map(String::as_str));
    match Args::try_parse_from(words) {
        Ok(_) => 0,
        Err(error) => {
            eprintln!("{error}");
            2
        }
    }
}
