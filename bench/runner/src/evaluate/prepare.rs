//! Before anything counts: what works, what it takes, and the sizes with which the rest fits into the time.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use sandquic_report::record::{self, Cell};

use super::estimate::key;
use super::job::{cost, describe, job};
use super::plan::{Load, Work, fit};
use super::run::Evaluation;
use super::scenario::{Effort, Scenario, Target, Workload};
use crate::Error;
use crate::transfer::session::{Content, Failure, Job};
use crate::transfer::{Build, Cipher};

/// Bytes of the transfer that fills the cache of compiled code.
const WARM_UP: u64 = 1 << 20;
/// Most bytes of a pilot, and most connections.
const PILOT_BYTES: u64 = 8 << 20;
const PILOT_CONNECTIONS: u64 = 20;
/// What the plan may take of the time that is left: runs are never as long as they were.
const PLANNED_SHARE: f64 = 0.85;

impl Evaluation<'_> {
    /// Finds out what works and what it takes.
    pub(super) fn prepare(&mut self, scenarios: &[Scenario]) {
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
    pub(super) fn pilots(&mut self, scenarios: &[Scenario]) {
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
    pub(super) fn wanted(&self, scenario: &Scenario) -> Vec<Target> {
        let divisor = self.store.settled_divisor(&scenario.name).unwrap_or(1);
        let missing = |target: &Target| {
            let done = self.store.done(&scenario.cell(target, divisor));
            done.runs < scenario.runs || done.profiles < self.profiles(scenario)
        };
        scenario.targets().into_iter().filter(missing).collect()
    }

    /// Why a cell cannot be measured.
    pub(super) fn reason(&self, cell: &Cell) -> Option<&String> {
        self.unusable.get(&cell.build).or_else(|| self.unusable.get(&describe(&key(cell))))
    }

    pub(super) fn skip_unusable(&mut self, scenario: &Scenario) {
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
    pub(super) fn skip_profiles(&mut self, scenarios: &[Scenario]) {
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
    pub(super) fn load(&self, scenario: &Scenario, divisor: Option<u32>) -> Load {
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
    pub(super) fn divisors(&self, scenarios: &[Scenario], refuse: bool) -> Result<Vec<u32>, Error> {
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

    /// What remains of scenarios with these sizes.
    pub(super) fn seconds(&self, scenarios: &[Scenario], divisors: &[u32]) -> f64 {
        let load =
            |(scenario, &divisor): (&Scenario, &u32)| self.load(scenario, Some(divisor)).seconds(divisor);
        scenarios.iter().zip(divisors).map(load).sum()
    }

    /// Seconds until the time is up.
    pub(super) fn seconds_left(&self) -> f64 {
        self.deadline.map_or(f64::INFINITY, |deadline| {
            deadline.saturating_duration_since(Instant::now()).as_secs_f64()
        })
    }
}
