//! `cargo xtask bench`: builds, then measures.

use std::path::{Path, PathBuf};

use crate::cmd::Cmd;
use crate::workspace::Workspace;
use crate::{Error, Result, build, fail, unknown_argument};

pub(crate) const HELP: &str = "\
Builds everything, then measures: the whole evaluation with its report, or what `sandquic bench` is told.

usage: cargo xtask bench --quick [OPTIONS]    the evaluation in at most 6 minutes
       cargo xtask bench --full [OPTIONS]     the evaluation in at most 90 minutes
       cargo xtask bench kernels|transfer|evaluate [OPTIONS]

  --minutes N        so long instead; sizes are reduced to fit, runs are not
  --record FILE      the record [default: target/bench/quick.jsonl, target/bench/full.jsonl]
  --scenario LIST    only these scenarios

The record grows run by run: the same command takes up an interrupted evaluation. The report is made into the folder
beside it that has its name without .jsonl. `target/release/sandquic bench --help` lists the options of the rest.
";

pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<()> {
    match args.first().map(String::as_str) {
        None => Err(Error::Usage(format!("xtask: bench needs to know what to measure\n\n{HELP}"))),
        Some(first) if first.starts_with("--") => evaluation(workspace, &Evaluation::parse(args)?),
        Some(_) => {
            build::run(workspace, &[])?;
            command(workspace, "bench").args(args).run()
        }
    }
}

/// What `--quick` and `--full` come with.
#[derive(Debug, PartialEq, Eq)]
struct Evaluation {
    effort: &'static str,
    record: Option<String>,
    /// Handed on: `--minutes N`, `--scenario LIST`.
    more: Vec<String>,
}

impl Evaluation {
    fn parse(args: &[String]) -> Result<Self> {
        let (mut effort, mut record, mut more) = (None, None, Vec::new());
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value =
                || args.next().ok_or_else(|| Error::Usage(format!("xtask: {arg} needs a value\n\n{HELP}")));
            match arg.as_str() {
                "--quick" | "--full" if effort.is_some() => {
                    return Err(Error::Usage(format!("xtask: one of --quick and --full, once\n\n{HELP}")));
                }
                "--quick" => effort = Some("quick"),
                "--full" => effort = Some("full"),
                "--record" => record = Some(value()?.clone()),
                "--minutes" | "--scenario" => {
                    let value = value()?.clone();
                    more.extend([arg.clone(), value]);
                }
                _ => return Err(unknown_argument(arg, HELP)),
            }
        }
        let effort =
            effort.ok_or_else(|| Error::Usage(format!("xtask: bench needs --quick or --full\n\n{HELP}")))?;
        Ok(Self { effort, record, more })
    }

    /// The record and the folder of its report.
    fn paths(&self, workspace: &Workspace) -> (PathBuf, PathBuf) {
        let record = match &self.record {
            Some(path) => PathBuf::from(path),
            None => workspace.target("bench").join(format!("{}.jsonl", self.effort)),
        };
        let mut report = record.with_extension("");
        if report == record {
            report = record.with_extension("report");
        }
        (record, report)
    }
}

fn evaluation(workspace: &Workspace, evaluation: &Evaluation) -> Result<()> {
    let (record, report) = evaluation.paths(workspace);
    build::run(workspace, &[])?;
    let measured = command(workspace, "bench evaluate")
        .args(["--effort", evaluation.effort])
        .args(&evaluation.more)
        .arg("--record")
        .arg(&record)
        .run();
    // What is there is worth a report, whatever failed.
    if !has_lines(&record) {
        measured?;
        fail!("{} is empty: nothing was measured", record.display());
    }
    command(workspace, "report").arg(&record).arg("--out").arg(&report).run()?;
    measured
}

fn has_lines(record: &Path) -> bool {
    std::fs::metadata(record).is_ok_and(|found| found.len() > 0)
}

fn command(workspace: &Workspace, words: &str) -> Cmd {
    Cmd::new(workspace.sandquic()).words(words).dir(workspace.root())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Evaluation> {
        Evaluation::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn an_evaluation_is_told_what_it_may_take() {
        let evaluation = parse("--full --minutes 30 --record r.jsonl --scenario mtu").unwrap();
        assert_eq!((evaluation.effort, evaluation.record.as_deref()), ("full", Some("r.jsonl")));
        assert_eq!(evaluation.more, ["--minutes", "30", "--scenario", "mtu"]);
        for line in ["--minutes 5", "--quick --full", "--quick --minutes", "--quick --jobs 3", "--quick x"] {
            assert!(matches!(parse(line), Err(Error::Usage(_))), "{line}");
        }
    }

    #[test]
    fn the_report_is_beside_the_record() {
        let workspace = Workspace::find().unwrap();
        let (record, report) = parse("--quick").unwrap().paths(&workspace);
        assert!(record.ends_with("bench/quick.jsonl") && report.ends_with("bench/quick"));
        let (_, report) = parse("--quick --record a/r").unwrap().paths(&workspace);
        assert_eq!(report, Path::new("a/r.report"));
    }
}
