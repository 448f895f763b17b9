//! The measurement itself: pilots, sizes that fit, then round by round what the record does not have.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use sandquic_report::record::{self, Cell, Line, Outcome, Provenance, Run};

use super::Args;
use super::estimate::{Estimates, key};
use super::plan::{Cost, Load, Work, fit};
use super::progress::Progress;
use super::scenario::{self, Effort, Scenario, Start, Target, Workload};
use super::store::{Store, divisor_key};
use crate::peer::Mode;
use crate::system::{Buffers, split_cpus};
use crate::transfer::record::Setup;
use crate::transfer::session::{self, Content, Failure, Job, Measured, Relay, Session};
use crate::transfer::{Build, Cipher, certificate};
use crate::units::show_size;
use crate::{Context, Error, profile, provenance};

/// Socket buffers that are asked for, in bytes.
const BUFFER: u64 = 8 << 20;
/// Bytes of the transfer that fills the cache of compiled code.
const WARM_UP: u64 = 1 << 20;
/// Most bytes of a pilot, and most connections.
const PILOT_BYTES: u64 = 8 << 20;
const PILOT_CONNECTIONS: u64 = 20;
/// What the plan may take of the time that is left: runs are never as long as they were.
const PLANNED_SHARE: f64 = 0.85;
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
        perf: profile::available(),
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
struct Evaluation<'a> {
    session: Session<'a>,
    effort: Effort,
    store: Store,
    provenance: Provenance,
    setup: BTreeMap<String, String>,
    /// The present session's name.
    name: String,
    estimates: Estimates,
    progress: Progress,
    deadline: Option<Instant>,
    minutes: Option<u32>,
    /// Builds, and cells without scenario and size, that do not work, and why.
    unusable: BTreeMap<String, String>,
    /// Whether profiles can be taken, or why not.
    perf: Result<(), String>,
    skipped: Vec<record::Skipped>,
    tally: Tally,
    /// Seconds of runs so far.
    worked: f64,
}

/// What became of all runs of this session.
#[derive(Debug, Default)]
struct Tally {
    ok: u32,
    mismatched: u32,
    failed: u32,
    profiles: u32,
    /// Builds and cells that do not work.
    left_out: u32,
    /// Not done since the time was up.
    missing: u32,
    /// Done by an earlier session.
    found: u32,
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

    /// What remains of scenarios with these sizes.
    fn seconds(&self, scenarios: &[Scenario], divisors: &[u32]) -> f64 {
        let load =
            |(scenario, &divisor): (&Scenario, &u32)| self.load(scenario, Some(divisor)).seconds(divisor);
        scenarios.iter().zip(divisors).map(load).sum()
    }

    /// Seconds until the time is up.
    fn seconds_left(&self) -> f64 {
        self.deadline.map_or(f64::INFINITY, |deadline| {
            deadline.saturating_duration_since(Instant::now()).as_secs_f64()
        })
    }

    /// Finds out what works and what it takes.
    fn prepare(&mut self, scenarios: &[Scenario]) {
        let mut builds: Vec<(Build, Cipher)> = Vec::new();
        for scenario in scenarios {
            for target in self.wanted(scenario) {
                if !builds.iter().any(|(build, _)| *build == target.build) {
                    builds.push((target.build, target.cipher));
                }
            }
        }
        for (build, cipher) in builds {
            self.progress.begin(&format!("trying {build}"), 0.0, 0.0, 0.0);
            let job = Job::receive(build, cipher, Content::Pattern(WARM_UP), Duration::from_secs(120));
            let works = build.check(self.session.context).map_err(Failure::from);
            if let Err(failure) = works.and_then(|()| self.session.run(&job, &mut |_| {})) {
                self.unusable.insert(build.to_string(), failure.to_string());
            }
        }
        if self.effort != Effort::Smoke {
            self.pilots(scenarios);
        }
        for scenario in scenarios {
            self.skip_unusable(scenario);
        }
        self.skip_profiles(scenarios);
    }

    /// Runs each kind of cell once, small.
    fn pilots(&mut self, scenarios: &[Scenario]) {
        let mut piloted = BTreeSet::new();
        for scenario in scenarios {
            for target in self.wanted(scenario) {
                let key = key(&scenario.cell(&target, 1));
                if self.unusable.contains_key(&target.build.to_string()) || !piloted.insert(key.clone()) {
                    continue;
                }
                let most = match scenario.workload {
                    Workload::Connect => PILOT_CONNECTIONS,
                    Workload::Receive | Workload::Send => PILOT_BYTES,
                };
                let amount = most.min(scenario.smallest()).min(scenario.least.max(1));
                self.progress.begin(&format!("trying {}", describe(&key)), 0.0, 0.0, 0.0);
                let job = job(scenario, &target, amount, 0);
                match self.session.run(&job, &mut |_| {}) {
                    Ok(measured) => self.estimates.pilot(key, cost(&measured, amount)),
                    Err(failure) => {
                        self.unusable.insert(describe(&key), failure.to_string());
                    }
                }
            }
        }
    }

    /// Targets of which something is missing in the record, whatever sizes will be chosen.
    fn wanted(&self, scenario: &Scenario) -> Vec<Target> {
        let divisor = self.store.settled_divisor(&scenario.name).unwrap_or(1);
        let missing = |target: &Target| {
            let done = self.store.done(&scenario.cell(target, divisor));
            done.runs < scenario.runs || done.profiles < self.profiles(scenario)
        };
        scenario.targets().into_iter().filter(missing).collect()
    }

    /// Why a cell cannot be measured.
    fn reason(&self, cell: &Cell) -> Option<&String> {
        self.unusable.get(&cell.build).or_else(|| self.unusable.get(&describe(&key(cell))))
    }

    fn skip_unusable(&mut self, scenario: &Scenario) {
        for target in self.wanted(scenario) {
            let cell = scenario.cell(&target, 1);
            let Some(why) = self.reason(&cell).cloned() else { continue };
            let what = if self.unusable.contains_key(&cell.build) {
                cell.build.clone()
            } else {
                describe(&key(&cell))
            };
            let skipped =
                record::Skipped { session: String::new(), scenario: scenario.name.clone(), what, why };
            if !self.skipped.contains(&skipped) {
                self.progress.note(&format!(
                    "{}: {} does not work and is left out: {}",
                    skipped.scenario, skipped.what, skipped.why
                ));
                self.skipped.push(skipped);
                self.tally.left_out += 1;
            }
        }
    }

    /// Says of which scenarios there will be no profiles.
    fn skip_profiles(&mut self, scenarios: &[Scenario]) {
        let Err(why) = &self.perf else { return };
        let without: Vec<&Scenario> = scenarios.iter().filter(|scenario| scenario.profiles > 0).collect();
        if !without.is_empty() {
            self.progress.note(&format!("no profiles are taken: {why}"));
        }
        self.skipped.extend(without.into_iter().map(|scenario| record::Skipped {
            session: String::new(),
            scenario: scenario.name.clone(),
            what: "profiles".into(),
            why: why.clone(),
        }));
    }

    /// What remains of a scenario.
    fn load(&self, scenario: &Scenario, divisor: Option<u32>) -> Load {
        let settled = self.store.settled_divisor(&scenario.name);
        let at = settled.or(divisor).unwrap_or(1);
        let mut work = Vec::new();
        for target in scenario.targets() {
            let cell = scenario.cell(&target, at);
            if self.reason(&cell).is_some() {
                continue;
            }
            let done = self.store.done(&cell);
            let mut cost = self.estimates.cost(&cell);
            let amount = scenario.amount(&target);
            work.push(Work { cost, amount, times: scenario.runs.saturating_sub(done.runs) });
            cost.fixed += self.estimates.of_profile();
            work.push(Work { cost, amount, times: self.profiles(scenario).saturating_sub(done.profiles) });
        }
        Load { work, largest_divisor: scenario.largest_divisor(), settled, weight: scenario.weight }
    }

    /// The divisors of scenarios that have not begun.
    fn divisors(&self, scenarios: &[Scenario], refuse: bool) -> Result<Vec<u32>, Error> {
        let loads: Vec<Load> = scenarios.iter().map(|scenario| self.load(scenario, None)).collect();
        let seconds = self.seconds_left() * PLANNED_SHARE;
        match fit(&loads, seconds) {
            Ok(divisors) => Ok(divisors),
            Err(least) if refuse => {
                let spent =
                    self.minutes.map_or(0.0, |minutes| f64::from(minutes) * 60.0 - seconds / PLANNED_SHARE);
                let minutes = ((least / PLANNED_SHARE + spent) / 60.0).ceil();
                Err(Error::failed(format!(
                    "even the smallest sizes do not fit into {} min; give --minutes {minutes} or fewer scenarios \
                     (--scenario)",
                    self.minutes.unwrap_or(0)
                )))
            }
            // It has begun: as much as the time holds.
            Err(_) => Ok(loads.iter().map(|load| load.settled.unwrap_or(load.largest_divisor)).collect()),
        }
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
    fn profiles(&self, scenario: &Scenario) -> u32 {
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

/// The run of a target with this amount of bytes or connections.
fn job<'a>(scenario: &Scenario, target: &'a Target, amount: u64, round: u32) -> Job<'a> {
    let (workload, bytes) = match scenario.workload {
        Workload::Receive => (session::Workload::Receive, amount),
        Workload::Send => (session::Workload::Send, amount),
        Workload::Connect => {
            // The scenario was checked.
            let mode = target.option("mode").and_then(|mode| Mode::from_str(mode, false).ok());
            let mode = mode.unwrap_or(Mode::Full);
            let connections = u32::try_from(amount).unwrap_or(u32::MAX);
            (session::Workload::Connect { connections, mode }, target.bytes)
        }
    };
    let impaired = target.option("loss_percent").is_some() || target.option("delay_ms").is_some();
    let relay = impaired.then(|| Relay {
        loss_percent: target.option("loss_percent").unwrap_or("0"),
        delay_ms: target.option("delay_ms").unwrap_or("0"),
        // The same losses for all builds of a round.
        seed: u64::from(round) + 1,
    });
    // A transfer through a relay may be slow; 16 Mb/s is slow without one.
    let slowest = if impaired { 20_000 } else { 2_000_000 };
    Job {
        workload,
        build: target.build,
        cipher: target.cipher,
        content: Content::Pattern(bytes),
        mtu: target.option("mtu"),
        relay,
        just_in_time: target.option("start").is_some_and(|start| start == Start::Jit.to_string()),
        profile: None,
        timeout: Duration::from_secs(120 + bytes / slowest),
    }
}

/// What a pilot says about the cost of runs.
fn cost(measured: &Measured, amount: u64) -> Cost {
    let seconds = measured.told.seconds();
    Cost { fixed: (measured.elapsed.as_secs_f64() - seconds).max(0.0), each: seconds / amount.max(1) as f64 }
}

/// Build, cipher, size and options in one line.
fn describe(cell: &Cell) -> String {
    let mut text = format!("{} {}", cell.build, cell.cipher);
    if cell.bytes > 0 {
        text += &format!(" {}", show_size(cell.bytes));
    } else if cell.workload != Workload::Receive.to_string() {
        text += &format!(" {}", cell.workload);
    }
    for (name, value) in &cell.options {
        text += &format!(" {name}={value}");
    }
    text
}

/// The sizes of a scenario with this divisor, and what they would have been.
fn sizes(scenario: &Scenario, divisor: u32) -> String {
    let show = |divisor: u32| match scenario.workload {
        Workload::Connect => format!("{} connections", scenario.connections / divisor),
        Workload::Receive | Workload::Send => {
            let sizes: Vec<String> =
                scenario.bytes.iter().map(|bytes| show_size(bytes / u64::from(divisor))).collect();
            sizes.join(", ")
        }
    };
    match divisor {
        1 => show(1),
        _ => format!("{} instead of {}, to fit into the time", show(divisor), show(1)),
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
