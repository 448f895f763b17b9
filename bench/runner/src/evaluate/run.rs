//! The measurement itself: round by round what the record does not have, line by line.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use sandquic_report::record::{self, Cell, Line, Outcome, Provenance, Run};

use super::Args;
use super::estimate::Estimates;
use super::job::{describe, job, sizes};
use super::plan::Cost;
use super::progress::Progress;
use super::scenario::{self, Effort, Scenario, Target};
use super::store::{Store, divisor_key};
use crate::system::{Buffers, split_cpus};
use crate::transfer::certificate;
use crate::transfer::record::Setup;
use crate::transfer::session::{Failure, Job, Measured, Session};
use crate::{Context, Error, profile, provenance};

/// Socket buffers that are asked for, in bytes.
const BUFFER: u64 = 8 << 20;
/// What a run takes of which nothing is known.
const UNKNOWN: Cost = Cost { fixed: 0.3, each: 1.0 / 60e6 };

/// Measures what the record does not have.
pub(super) fn evaluate(args: &Args, path: &Path, context: &Context) -> Result<(), Error> {
    let began = Instant::now();
    let scenarios = scenario::load(&args.scenario, args.effort)?;
    let (store, problems) = Store::open(path)?;
    let provenance = provenance::collect(&context.engine);
    let mixture = store.mixture(&provenance, &args.effort.to_string());
    if let (Some(what), false) = (mixture, args.allow_mixed) {
        return Err(Error::failed(format!(
            "{} was measured with another {what}; give another file, or --allow-mixed to append to it all the same",
            path.display()
        )));
    }
    let minutes = args.minutes.or(match args.effort {
        Effort::Smoke => None,
        Effort::Quick => Some(6),
        Effort::Full => Some(90),
    });

    let cpus = if args.no_pin { None } else { split_cpus() };
    let buffers = Buffers { receive: BUFFER, send: BUFFER };
    let setup = Setup::collect(buffers, None, cpus.as_ref());
    let mut evaluation = Evaluation {
        session: Session {
            context,
            directory: certificate::issue()?,
            buffers,
            window: setup.window(),
            cpus: cpus.as_ref(),
        },
        effort: args.effort,
        store,
        provenance,
        setup: flatten(&setup)?,
        name: String::new(),
        estimates: Estimates::new(UNKNOWN),
        progress: Progress::new(),
        deadline: minutes.map(|minutes| began + Duration::from_secs(60 * u64::from(minutes))),
        minutes,
        unusable: BTreeMap::new(),
        perf: match scenarios.iter().any(|scenario| scenario.profiles > 0) {
            true => profile::available(),
            false => Ok(()),
        },
        skipped: Vec::new(),
        tally: Tally::default(),
        worked: 0.0,
    };
    for problem in &problems {
        evaluation.progress.note(&format!(
            "{} line {}: {}; the line is left out",
            path.display(),
            problem.line,
            problem.message
        ));
    }
    let outcome = evaluation.all(&scenarios);
    evaluation.progress.finish();
    outcome?;
    evaluation.conclude(path)
}

/// A measurement under way.
pub(super) struct Evaluation<'a> {
    pub(super) session: Session<'a>,
    pub(super) effort: Effort,
    pub(super) store: Store,
    pub(super) provenance: Provenance,
    pub(super) setup: BTreeMap<String, String>,
    /// The present session's name.
    pub(super) name: String,
    pub(super) estimates: Estimates,
    pub(super) progress: Progress,
    pub(super) deadline: Option<Instant>,
    pub(super) minutes: Option<u32>,
    /// Builds, and cells without scenario and size, that do not work, and why.
    pub(super) unusable: BTreeMap<String, String>,
    /// Whether profiles can be taken, or why not.
    pub(super) perf: Result<(), String>,
    pub(super) skipped: Vec<record::Skipped>,
    pub(super) tally: Tally,
    /// Seconds of runs so far.
    pub(super) worked: f64,
}

/// What became of all runs of this session.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) ok: u32,
    pub(super) mismatched: u32,
    pub(super) failed: u32,
    pub(super) profiles: u32,
    /// Builds and cells that do not work.
    pub(super) left_out: u32,
    /// Not done since the time was up.
    pub(super) missing: u32,
    /// Done by an earlier session.
    pub(super) found: u32,
}

/// A cell and what has to be done of it.
struct Todo<'a> {
    target: &'a Target,
    cell: Cell,
    /// Bytes or connections.
    amount: u64,
    runs_done: u32,
    profiles_done: u32,
}

impl Evaluation<'_> {
    fn all(&mut self, scenarios: &[Scenario]) -> Result<(), Error> {
        if scenarios.iter().all(|scenario| self.wanted(scenario).is_empty()) {
            let runs = |scenario: &Scenario| scenario.runs * scenario.targets().len() as u32;
            self.tally.found = scenarios.iter().map(runs).sum();
            return Ok(());
        }
        self.prepare(scenarios);
        let mut divisors = self.divisors(scenarios, true)?;
        self.begin_session(scenarios, &divisors)?;
        for (at, scenario) in scenarios.iter().enumerate() {
            let rest = &scenarios[at..];
            // Where it takes longer than the pilots told, the sizes of what has not begun are chosen anew.
            if self.seconds(rest, &divisors[at..]) > self.seconds_left() {
                let smaller = self.divisors(rest, false)?;
                if smaller != divisors[at..] {
                    divisors.truncate(at);
                    divisors.extend(smaller);
                    self.begin_session(scenarios, &divisors)?;
                }
            }
            let after = self.seconds(&scenarios[at + 1..], &divisors[at + 1..]);
            self.scenario(scenario, divisors[at], after)?;
        }
        Ok(())
    }

    /// Appends the line of a session with these sizes, and what is skipped in it.
    fn begin_session(&mut self, scenarios: &[Scenario], divisors: &[u32]) -> Result<(), Error> {
        self.provenance.unix_time = provenance::now();
        self.name = self.store.session_name(self.provenance.unix_time);
        let mut setup = self.setup.clone();
        if let Some(minutes) = self.minutes {
            setup.insert("minutes".into(), minutes.to_string());
        }
        for (scenario, &divisor) in scenarios.iter().zip(divisors) {
            setup.insert(divisor_key(&scenario.name), divisor.to_string());
            setup.insert(format!("sizes.{}", scenario.name), sizes(scenario, divisor));
            if divisor > 1 {
                self.progress.note(&format!("{}: {}", scenario.name, sizes(scenario, divisor)));
            }
        }
        self.store.append(&Line::Session(record::Session {
            session: self.name.clone(),
            effort: self.effort.to_string(),
            provenance: self.provenance.clone(),
            setup,
        }))?;
        for skipped in std::mem::take(&mut self.skipped) {
            self.store.append(&Line::Skipped(record::Skipped { session: self.name.clone(), ..skipped }))?;
        }
        Ok(())
    }

    /// How many profiles of each cell of a scenario are taken.
    pub(super) fn profiles(&self, scenario: &Scenario) -> u32 {
        if self.perf.is_ok() { scenario.profiles } else { 0 }
    }

    /// Runs what is missing of a scenario; `after` are the seconds of those after it.
    fn scenario(&mut self, scenario: &Scenario, divisor: u32, after: f64) -> Result<(), Error> {
        let targets = scenario.targets();
        let mut todo = Vec::new();
        for target in &targets {
            let cell = scenario.cell(target, divisor);
            if self.reason(&cell).is_some() {
                continue;
            }
            let done = self.store.done(&cell);
            self.tally.found += done.runs.min(scenario.runs);
            let amount = scenario.amount(target) / u64::from(divisor);
            todo.push(Todo { target, cell, amount, runs_done: done.runs, profiles_done: done.profiles });
        }
        let profiles = self.profiles(scenario);
        let runs = (1..=scenario.runs).map(|round| (round, false));
        for (round, profile) in runs.chain((1..=profiles).map(|round| (round, true))) {
            for at in 0..todo.len() {
                let done = if profile { todo[at].profiles_done } else { todo[at].runs_done };
                if done >= round {
                    continue;
                }
                if self.is_late() {
                    self.tally.missing += 1;
                    continue;
                }
                let left = after + self.left(scenario, &todo);
                if profile {
                    self.profile(scenario, &todo[at], round, left)?;
                    todo[at].profiles_done = round;
                } else {
                    self.one(scenario, &todo[at], round, left)?;
                    todo[at].runs_done = round;
                }
            }
        }
        Ok(())
    }

    /// Seconds that remain of a scenario.
    fn left(&self, scenario: &Scenario, todo: &[Todo<'_>]) -> f64 {
        let profiles = self.profiles(scenario);
        todo.iter()
            .map(|todo| {
                let run = self.estimates.next(&todo.cell, todo.amount);
                let profile = run + self.estimates.of_profile();
                f64::from(scenario.runs.saturating_sub(todo.runs_done)) * run
                    + f64::from(profiles.saturating_sub(todo.profiles_done)) * profile
            })
            .sum()
    }

    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// One run, tried again if there is no result, and its line.
    fn one(&mut self, scenario: &Scenario, todo: &Todo<'_>, round: u32, left: f64) -> Result<(), Error> {
        let what = format!("{} round {round} of {}: {}", scenario.name, scenario.runs, describe(&todo.cell));
        let seconds = self.estimates.next(&todo.cell, todo.amount);
        self.progress.begin(&what, self.worked, seconds, left);
        let job = job(scenario, todo.target, todo.amount, round);
        let bytes = job.content.bytes();
        let started = Instant::now();
        let mut result = self.run(&job);
        if let Err(Failure::Broken(error)) = &result {
            self.progress.note(&format!("{what}: {error}; it is tried again"));
            result = self.run(&job);
        }
        let (outcome, metrics) = match result {
            Ok(measured) => {
                self.tally.ok += 1;
                self.estimates.run(&todo.cell, todo.amount, measured.elapsed.as_secs_f64());
                (Outcome::Ok, measured.metrics(bytes))
            }
            Err(failure) => {
                self.progress.note(&format!("{what}: {failure}"));
                let message = failure.to_string();
                let outcome = match failure {
                    Failure::Mismatch(_) => {
                        self.tally.mismatched += 1;
                        Outcome::Mismatch(message)
                    }
                    Failure::Broken(_) => {
                        self.tally.failed += 1;
                        Outcome::Failed(message)
                    }
                };
                (outcome, BTreeMap::new())
            }
        };
        self.worked += started.elapsed().as_secs_f64();
        self.store.append(&Line::Run(Run {
            session: self.name.clone(),
            cell: todo.cell.clone(),
            round,
            outcome,
            metrics,
        }))
    }

    /// One profile, and its line.
    fn profile(&mut self, scenario: &Scenario, todo: &Todo<'_>, round: u32, left: f64) -> Result<(), Error> {
        let what = format!("{} profile {round}: {}", scenario.name, describe(&todo.cell));
        let run = self.estimates.next(&todo.cell, todo.amount);
        self.progress.begin(&what, self.worked, run + self.estimates.of_profile(), left);
        let started = Instant::now();
        let result = self.profiled(&job(scenario, todo.target, todo.amount, round));
        let seconds = started.elapsed().as_secs_f64();
        self.worked += seconds;
        let line = match result {
            Ok(profiled) => {
                self.tally.profiles += 1;
                self.estimates.profile(seconds - run);
                Line::Profile(record::Profile {
                    session: self.name.clone(),
                    cell: todo.cell.clone(),
                    round,
                    samples: profiled.samples,
                    cpu_s: profiled.cpu_s,
                    categories: profiled.categories,
                    symbols: profiled.symbols,
                })
            }
            Err(failure) => {
                self.tally.failed += 1;
                self.progress.note(&format!("{what}: {failure}"));
                Line::Skipped(record::Skipped {
                    session: self.name.clone(),
                    scenario: scenario.name.clone(),
                    what: format!("profile {round} of {}", describe(&todo.cell)),
                    why: failure.to_string(),
                })
            }
        };
        self.store.append(&line)
    }

    fn profiled(&self, job: &Job<'_>) -> Result<profile::Profiled, Failure> {
        let directory = tempfile::tempdir()
            .map_err(|error| Error::failed(format!("cannot make a directory for a profile: {error}")))?;
        let data = directory.path().join("perf.data");
        self.run(&Job { profile: Some(&data), ..*job })?;
        Ok(profile::read(&data)?)
    }

    fn run(&self, job: &Job<'_>) -> Result<Measured, Failure> {
        let bytes = job.content.bytes() as f64;
        self.session.run(job, &mut |done| self.progress.within(done as f64 / bytes))
    }

    /// Prints what became of it all.
    fn conclude(&self, path: &Path) -> Result<(), Error> {
        let Tally { ok, mismatched, failed, profiles, left_out, missing, found } = self.tally;
        let mut text = format!("{}: {ok} runs and {profiles} profiles measured", path.display());
        if found > 0 {
            text += &format!(", {found} runs were there");
        }
        writeln!(io::stdout(), "{text}").map_err(|error| Error::failed(format!("cannot print: {error}")))?;
        let mut wrong = Vec::new();
        if mismatched > 0 {
            wrong.push(format!("{mismatched} runs brought wrong bytes"));
        }
        if failed > 0 {
            wrong.push(format!("{failed} runs or profiles failed"));
        }
        if left_out > 0 {
            wrong.push(format!("{left_out} builds or cells were left out"));
        }
        if missing > 0 {
            wrong.push(format!("the time was up before {missing} runs; the same command takes it up again"));
        }
        if wrong.is_empty() { Ok(()) } else { Err(Error::failed(wrong.join("; "))) }
    }
}

/// The set-up as names and values.
fn flatten(setup: &Setup) -> Result<BTreeMap<String, String>, Error> {
    let value = serde_json::to_value(setup)
        .map_err(|error| Error::failed(format!("cannot write down the set-up: {error}")))?;
    let fields = value.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    Ok(fields
        .map(|(name, value)| (name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        .collect())
}
