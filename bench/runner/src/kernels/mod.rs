//! `sandquic bench kernels`: our primitives beside RustCrypto's crates and the paper's kernels, in Wasmtime, in V8 and
//! natively.
//!
//! The body that is timed (`guests/kernels`) is the same in every engine. Builds that differ by library alone are timed
//! in one process, sample by sample in turn; those that differ by target features or configuration are
//! modules of their own, whose processes take turns, `--rounds` times.

mod builds;
mod record;
mod session;

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sandquic_kernels::Request;

pub use builds::{Build, Engine};

use crate::choice::chosen;
use crate::output::Output;
use crate::{Context, Error, provenance};
use record::{Record, Setup};
use session::{Node, Session};

/// Command line of `sandquic bench kernels`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Engines, separated by commas; all that are there without it.
    #[arg(long, value_name = "LIST", value_enum, value_delimiter = ',')]
    pub engine: Vec<Engine>,
    /// Builds, separated by commas; all of them without it. One that an engine cannot run is left out there.
    #[arg(long, value_name = "LIST", value_enum, value_delimiter = ',')]
    pub build: Vec<Build>,
    /// Primitives, separated by commas; all of them without it.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = primitive())]
    pub primitive: Vec<String>,
    /// Lengths of messages in bytes, separated by commas. Masks and set-ups have their own.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        value_parser = length,
        default_value = "16,64,256,1024,1350,16384,1048576"
    )]
    pub bytes: Vec<usize>,
    /// Write the record as JSON to this file; - is standard output (the table then goes to standard error).
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Processes of each module, in turn.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub rounds: u32,
    /// Samples of each row in a round.
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = count)]
    pub repetitions: usize,
    /// Shortest time of a sample in microseconds.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(..=10_000_000))]
    pub sample_us: u64,
}

fn primitive() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(sandquic_kernels::primitives())
}

fn length(text: &str) -> Result<usize, String> {
    let most = sandquic_kernels::MAX_BYTES;
    match text.parse() {
        Ok(bytes) if (1..=most).contains(&bytes) => Ok(bytes),
        _ => Err(format!("a length is a number of bytes from 1 to {most}")),
    }
}

fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if (1..=10_000).contains(&count) => Ok(count),
        _ => Err("a number from 1 to 10000".into()),
    }
}

/// The libraries that one engine runs from one module.
struct Run {
    engine: Engine,
    module: &'static str,
    builds: Vec<(Build, &'static str)>,
}

/// Measures, prints the table and writes the record. `modules` are the names and binaries of what the caller embeds.
///
/// # Errors
/// [`Error::Usage`] if no chosen build runs on a chosen engine. [`Error::Failed`] if a module or an engine that is
/// needed is not there, if one fails, and if the record cannot be written.
pub fn run(args: Args, context: &Context, modules: &[(&str, &[u8])]) -> Result<(), Error> {
    let node = if args.engine.is_empty() || args.engine.contains(&Engine::V8) { Node::find()? } else { None };
    let mut engines = chosen(&args.engine);
    if args.engine.is_empty() && node.is_none() {
        // Nobody asked for it by name.
        engines.retain(|engine| *engine != Engine::V8);
        note("engine v8 is left out: there is no Node 20 or newer (`node`, or what SANDQUIC_NODE names)");
    }
    let runs = plan(&engines, &chosen(&args.build));
    if runs.is_empty() {
        return Err(Error::Usage("none of these builds runs on any of these engines".into()));
    }
    let session = Session { context, modules, node };
    for run in &runs {
        match run.engine {
            Engine::Wasmtime => drop(session.check(run.module)?),
            Engine::V8 => session.prepare_node(run.module)?,
            Engine::Native => (),
        }
    }
    let output = Output::open(args.json.as_deref())?;

    let setup = Setup {
        rounds: args.rounds,
        repetitions: args.repetitions,
        sample_us: args.sample_us,
        node: session.node.as_ref().map(|node| node.version.clone()),
    };
    let mut record = Record::new(provenance::collect(&context.engine), setup);
    let progress = progress(u64::from(args.rounds) * runs.len() as u64);
    for _ in 0..args.rounds {
        for run in &runs {
            progress.set_message(format!("{} {}", run.engine, run.module));
            let request = Request {
                libraries: run.builds.iter().map(|(_, library)| (*library).to_owned()).collect(),
                primitives: args.primitive.clone(),
                bytes: args.bytes.clone(),
                repetitions: args.repetitions,
                sample_us: args.sample_us,
            };
            for row in session.run(run.engine, run.module, &request)? {
                if let Some((build, _)) = run.builds.iter().find(|(_, library)| *library == row.library) {
                    record.add(run.engine, *build, row);
                }
            }
            progress.inc(1);
        }
    }
    progress.finish_and_clear();
    record.finish();
    output.write(&record.table(), &record)
}

/// Which processes a round has.
fn plan(engines: &[Engine], builds: &[Build]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for &engine in engines {
        for &build in builds.iter().filter(|build| build.runs_on(engine)) {
            let place = match engine {
                Engine::Native => build.native().map(|library| ("", library)),
                Engine::Wasmtime | Engine::V8 => build.module(),
            };
            let Some((module, library)) = place else { continue };
            match runs.iter_mut().find(|run| run.engine == engine && run.module == module) {
                Some(run) => run.builds.push((build, library)),
                None => runs.push(Run { engine, module, builds: vec![(build, library)] }),
            }
        }
    }
    runs
}

fn note(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

fn progress(steps: u64) -> ProgressBar {
    let target = if io::stderr().is_terminal() {
        ProgressDrawTarget::stderr_with_hz(5)
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(Some(steps), target);
    if let Ok(style) = ProgressStyle::with_template("{msg:34} {bar:20} {percent:>3} %, {eta} left") {
        bar.set_style(style);
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context() -> Context {
        Context { sandquic: "sandquic".into(), peer: "sandquic".into(), engine: "none".into() }
    }

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn parse(words: &[&str]) -> Result<Args, clap::Error> {
        let words = std::iter::once("kernels").chain(words.iter().copied());
        <Line as clap::Parser>::try_parse_from(words).map(|line| line.args)
    }

    #[test]
    fn unknown_names_are_refused_with_the_known_ones() {
        for (flag, known) in
            [("--engine", "native"), ("--build", "rustcrypto-soft"), ("--primitive", "sha256")]
        {
            let error = parse(&[flag, "nonsense"]).unwrap_err().to_string();
            assert!(error.contains("nonsense") && error.contains(known), "{error}");
        }
        for wrong in ["0", "-1", "x", "67108865"] {
            parse(&["--bytes", wrong]).unwrap_err();
        }
        assert_eq!(parse(&["--bytes", "16,64"]).unwrap().bytes, [16, 64]);
    }

    #[test]
    fn libraries_of_one_module_share_a_process() {
        let runs =
            plan(&[Engine::Wasmtime, Engine::V8], &[Build::Sandquic, Build::RustCrypto, Build::SandquicWide]);
        let shown: Vec<_> = runs.iter().map(|run| (run.engine, run.module, run.builds.len())).collect();
        assert_eq!(
            shown,
            [
                (Engine::Wasmtime, "kernels-simd128", 2),
                (Engine::Wasmtime, "kernels-wide", 1),
                (Engine::V8, "kernels-simd128", 2)
            ]
        );
        let error =
            run(parse(&["--engine", "native", "--build", "soft"]).unwrap(), &context(), &[]).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        let error =
            run(parse(&["--engine", "wasmtime", "--build", "soft"]).unwrap(), &context(), &[]).unwrap_err();
        assert!(error.to_string().contains("cargo xtask build"), "{error}");
    }

    #[test]
    fn a_native_run_leaves_a_record() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("kernels.json");
        let mut args =
            parse(&["--engine", "native", "--build", "sandquic,rustcrypto", "--bytes", "64"]).unwrap();
        (args.rounds, args.repetitions, args.sample_us) = (2, 3, 1);
        args.json = Some(file.clone());
        run(args, &context(), &[]).unwrap();
        let record: serde_json::Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        assert_eq!(record["schema_version"], 1);
        let rows = record["rows"].as_array().unwrap();
        let row =
            rows.iter().find(|row| row["primitive"] == "chacha20" && row["build"] == "sandquic").unwrap();
        assert_eq!((row["engine"].as_str(), row["bytes"].as_u64()), (Some("native"), Some(64)));
        assert!(row["ns"].as_f64() > Some(0.0) && row["ns_median"].as_f64() >= row["ns"].as_f64(), "{row}");
    }
}
