//! From lines of records to what is known: cells with their means, ratios, breakdowns, ladders, lines.

pub mod cells;
mod gaps;
pub mod ladder;
pub mod profiles;
pub mod ratio;
mod reading;
pub mod regression;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::catalog::{self, CIPHERS, Kind};
use crate::record::{Cell, Session};
use crate::source::{Error, Source};

pub use cells::{CellSummary, GIB};
pub use ladder::{Change, Estimate, Step};
pub use profiles::{Breakdown, ProfileSummary};
pub use ratio::{Ratio, ratio};

/// The metric of the CPU time of the measured process.
pub const CPU: &str = "cpu_s_per_gib";
/// The metric of goodput.
pub const GOODPUT: &str = "goodput_mbps";

/// How a program starts that is not compiled when it is run.
pub const NATIVE_START: &str = "native";

/// What the records say.
#[derive(Debug, Clone)]
pub struct Analysis {
    /// Names of the records.
    pub records: Vec<String>,
    /// The sessions, in order.
    pub sessions: Vec<SessionInfo>,
    /// The cells, in the order in which they are shown.
    pub cells: Vec<CellSummary>,
    /// The profiles of each cell.
    pub profiles: Vec<ProfileSummary>,
    /// What was not measured: what the records say of it, and what is found missing.
    pub gaps: Vec<Gap>,
    /// What is wrong with the records.
    pub problems: Vec<String>,
}

/// A session and what it brought.
#[derive(Debug, Clone, Serialize)]
pub struct SessionInfo {
    /// The record that holds it.
    pub record: String,
    /// What it says of itself.
    #[serde(flatten)]
    pub session: Session,
    /// Runs in it, of any outcome.
    pub runs: usize,
    /// Profiles in it.
    pub profiles: usize,
}

/// Something that was not measured.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Gap {
    /// The scenario.
    pub scenario: String,
    /// What is missing.
    pub what: String,
    /// Why.
    pub why: String,
}

/// The ratio of one build to another in the headline.
#[derive(Debug, Clone, Serialize)]
pub struct BuildRatio {
    /// The metric: [`GOODPUT`] or [`CPU`].
    pub metric: &'static str,
    /// The cipher.
    pub cipher: String,
    /// The numerator's build.
    pub build: String,
    /// The denominator's build.
    pub to: String,
    /// The ratio.
    #[serde(flatten)]
    pub ratio: Ratio,
}

/// The CPU time of transfers over their length.
#[derive(Debug, Clone, Serialize)]
pub struct FixedCost {
    /// The scenario.
    pub scenario: String,
    /// The build.
    pub build: String,
    /// The cipher.
    pub cipher: String,
    /// `aot`, `jit` or [`NATIVE_START`].
    pub start: String,
    /// CPU seconds over GiB.
    #[serde(flatten)]
    pub line: regression::Line,
    /// What was measured: GiB, and the CPU time of a run in seconds.
    pub sizes: Vec<(f64, crate::stats::Summary)>,
}

impl Analysis {
    /// Analyses records. What cannot be used is named in [`Analysis::problems`]; the rest is used.
    ///
    /// # Errors
    /// [`Error::Nothing`] if nothing can be used, [`Error::Mixed`] if the sessions are not of the same code on the
    /// same machine and `mixed` is false, [`Error::Twice`] if a session is there twice.
    pub fn new(sources: Vec<Source>, mixed: bool) -> Result<Self, Error> {
        let mut reading = reading::Reading::default();
        for source in sources {
            reading.read(source)?;
        }
        reading.finish(mixed)
    }

    /// The cell of a bulk transfer of the headline: the longest, if there are several.
    pub fn headline(&self, build: &str, cipher: &str) -> Option<&CellSummary> {
        self.cells
            .iter()
            .filter(|summary| is_headline(&summary.cell, build, cipher) && summary.ok > 0)
            .max_by_key(|summary| summary.cell.bytes)
    }

    /// A metric of the headline.
    pub fn headline_mean(&self, build: &str, cipher: &str, metric: &str) -> Option<f64> {
        self.headline(build, cipher)?.mean(metric)
    }

    /// The builds of the headline that were measured with at least one cipher, in order.
    pub fn headline_builds(&self) -> Vec<&'static catalog::Build> {
        catalog::BUILDS
            .iter()
            .filter(|build| {
                CIPHERS.iter().any(|(cipher, _)| self.headline(build.name, cipher).is_some())
                    || self.cells.iter().any(|s| s.cell.scenario == "headline" && s.cell.build == build.name)
            })
            .collect()
    }

    /// The profiles of the headline.
    pub fn headline_profile(&self, build: &str, cipher: &str) -> Option<&ProfileSummary> {
        self.profiles
            .iter()
            .filter(|profile| is_headline(&profile.cell, build, cipher))
            .max_by_key(|profile| profile.cell.bytes)
    }

    /// The CPU time by category of the headline.
    pub fn breakdown(&self, build: &str, cipher: &str) -> Option<Breakdown> {
        let profile = self.headline_profile(build, cipher)?;
        let gib = profile.cell.bytes as f64 / GIB;
        let total = match self.headline_mean(build, cipher, CPU) {
            Some(total) => total,
            None if gib > 0.0 => profile.cpu_s / gib,
            None => return None,
        };
        let categories =
            profile.categories.iter().map(|(name, share)| (name.clone(), total * share.mean)).collect();
        Some(Breakdown { build: build.to_owned(), cipher: cipher.to_owned(), total, categories })
    }

    /// The scenarios, each with its kind, in the order in which they are shown.
    pub fn scenarios(&self) -> Vec<(Kind, String)> {
        let mut names: BTreeMap<&str, Vec<&Cell>> = BTreeMap::new();
        for summary in &self.cells {
            names.entry(&summary.cell.scenario).or_default().push(&summary.cell);
        }
        let mut scenarios: Vec<(Kind, String)> = names
            .into_iter()
            .map(|(name, cells)| (Kind::of(name, cells.iter().copied()), name.to_owned()))
            .collect();
        scenarios.sort();
        scenarios
    }

    /// The cells of a scenario.
    pub fn scenario(&self, name: &str) -> Vec<&CellSummary> {
        self.cells.iter().filter(|summary| summary.cell.scenario == name).collect()
    }

    /// The cell that a variant is compared with: the whole build in the same scenario with the same options, or in the
    /// headline.
    pub fn whole(&self, summary: &CellSummary) -> Option<&CellSummary> {
        let whole = catalog::find(&summary.cell.build)?.role.whole()?;
        let mut twin = summary.cell.clone();
        twin.build = whole.to_owned();
        let headline = || {
            (summary.cell.workload == "receive" && summary.cell.options.is_empty())
                .then(|| self.headline(whole, &summary.cell.cipher))
                .flatten()
        };
        self.cells.iter().find(|other| other.cell == twin && other.ok > 0).or_else(headline)
    }

    /// Every ratio of two builds of the headline.
    pub fn ratios(&self) -> Vec<BuildRatio> {
        let mut found = Vec::new();
        for metric in [GOODPUT, CPU] {
            for (cipher, _) in CIPHERS {
                for build in self.headline_builds() {
                    for to in self.headline_builds() {
                        if let Some(ratio) = self.build_ratio(metric, cipher, build.name, to.name)
                            && build.name != to.name
                        {
                            found.push(BuildRatio {
                                metric,
                                cipher: (*cipher).to_owned(),
                                build: build.name.to_owned(),
                                to: to.name.to_owned(),
                                ratio,
                            });
                        }
                    }
                }
            }
        }
        found
    }

    /// The ratio of two builds of the headline.
    pub fn build_ratio(&self, metric: &str, cipher: &str, build: &str, to: &str) -> Option<Ratio> {
        ratio(self.headline(build, cipher)?.metric(metric)?, self.headline(to, cipher)?.metric(metric)?)
    }

    /// CPU time over length, of every scenario whose cells say how they started.
    pub fn fixed_costs(&self) -> Vec<FixedCost> {
        let scenarios: BTreeSet<&str> = self
            .cells
            .iter()
            .filter(|summary| summary.cell.options.contains_key("start"))
            .map(|summary| summary.cell.scenario.as_str())
            .collect();
        let mut groups: BTreeMap<_, Vec<&CellSummary>> = BTreeMap::new();
        for summary in &self.cells {
            if !scenarios.contains(&summary.cell.scenario.as_str()) {
                continue;
            }
            // What runs outside the sandbox was compiled long before.
            let start = summary.cell.options.get("start").map_or(NATIVE_START, String::as_str);
            if summary.ok > 0 && summary.cell.workload == "receive" {
                let cell = &summary.cell;
                let cipher = CIPHERS.iter().position(|(name, _)| *name == cell.cipher);
                groups
                    .entry((&cell.scenario, cipher, catalog::rank(&cell.build), start))
                    .or_default()
                    .push(summary);
            }
        }
        groups
            .into_iter()
            .filter_map(|((scenario, _, _, start), cells)| {
                let gib = |summary: &CellSummary| summary.cell.bytes as f64 / GIB;
                let points: Vec<(f64, f64)> = cells
                    .iter()
                    .flat_map(|s| s.values.get("cpu_s").into_iter().flatten().map(move |cpu| (gib(s), *cpu)))
                    .collect();
                let mut sizes: Vec<_> =
                    cells.iter().filter_map(|s| Some((gib(s), *s.metric("cpu_s")?))).collect();
                sizes.sort_by(|a, b| a.0.total_cmp(&b.0));
                Some(FixedCost {
                    scenario: scenario.clone(),
                    build: cells[0].cell.build.clone(),
                    cipher: cells[0].cell.cipher.clone(),
                    start: start.to_owned(),
                    line: regression::fit(&points)?,
                    sizes,
                })
            })
            .collect()
    }

    /// What the sessions say of a scenario's sizes where they had to be reduced.
    pub fn reduced_sizes(&self, scenario: &str) -> Vec<&str> {
        let (divisor, sizes) = (format!("divisor.{scenario}"), format!("sizes.{scenario}"));
        let mut found: Vec<&str> = self
            .sessions
            .iter()
            .filter(|info| info.session.setup.get(&divisor).is_some_and(|divisor| divisor != "1"))
            .filter_map(|info| info.session.setup.get(&sizes).map(String::as_str))
            .collect();
        found.dedup();
        found
    }

    /// Whether a counted run had drops.
    pub fn has_drops(&self) -> bool {
        self.cells.iter().any(|summary| summary.runs_with_drops > 0)
    }
}

fn is_headline(cell: &Cell, build: &str, cipher: &str) -> bool {
    cell.scenario == "headline" && cell.workload == "receive" && cell.build == build && cell.cipher == cipher
}
