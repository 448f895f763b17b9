//! `sandquic bench evaluate`: the scenarios of the evaluation, measured into a record that grows line by line.
//!
//! What a record has already is not measured again, so an interrupted measurement is taken up by the same command. Within
//! a scenario all cells take turns, round by round. Where the time does not hold what a scenario asks for, its sizes are
//! reduced by a power of two, never its runs, and the session's set-up says so.

mod estimate;
mod job;
mod plan;
mod prepare;
mod progress;
mod run;
mod scenario;
mod store;

use std::io::{self, Write};
use std::path::PathBuf;

pub use scenario::Effort;

use crate::{Context, Error};

/// Command line of `sandquic bench evaluate`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Scenarios by name, or files that end in .toml, separated by commas; all that there are without it.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub scenario: Vec<String>,
    /// How much to measure.
    #[arg(long, value_enum, default_value_t = Effort::Quick)]
    pub effort: Effort,
    /// Minutes that it may take; sizes are reduced to fit. Without it 6 (quick), 90 (full), no limit (smoke).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub minutes: Option<u32>,
    /// The record: JSON lines are appended to this file, and what it has already is not measured again.
    #[arg(long, value_name = "FILE", required_unless_present = "list")]
    pub record: Option<PathBuf>,
    /// Also append to a record of another commit, effort, engine, compiler or processor.
    #[arg(long)]
    pub allow_mixed: bool,
    /// Leave it to the system on which processors the two ends run.
    #[arg(long)]
    pub no_pin: bool,
    /// Print the scenarios with their questions, and measure nothing.
    #[arg(long, conflicts_with_all = ["record", "scenario"])]
    pub list: bool,
}

/// Measures what the record does not have yet.
///
/// # Errors
/// [`Error::Usage`] for a scenario that does not exist. [`Error::Failed`] for one that is wrong, for a record that cannot
/// be written or belongs to something else, when even the smallest sizes do not fit into the time, and, after all that
/// could be measured was, when a run failed or was left out.
pub fn run(args: Args, context: &Context) -> Result<(), Error> {
    match (&args.record, args.list) {
        (Some(record), false) => run::evaluate(&args, record, context),
        _ => list(),
    }
}

fn list() -> Result<(), Error> {
    let mut out = io::stdout().lock();
    for scenario in scenario::list()? {
        writeln!(out, "{:16} {}\n{:16} {}", scenario.name, scenario.title, "", scenario.question)
            .map_err(|error| Error::failed(format!("cannot print: {error}")))?;
    }
    Ok(())
}
