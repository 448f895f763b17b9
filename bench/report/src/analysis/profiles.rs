//! Profiles of one cell, averaged, and the breakdown of CPU time that follows.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::catalog::CATEGORIES;
use crate::record::{Cell, Profile, Symbol};
use crate::stats::Summary;

/// Symbols that are kept of each category.
pub const SYMBOLS: usize = 30;

/// The profiles of a cell.
#[derive(Debug, Clone, Serialize)]
pub struct ProfileSummary {
    /// What was measured.
    #[serde(flatten)]
    pub cell: Cell,
    /// How many profiles there are.
    pub profiles: usize,
    /// Samples of all of them.
    pub samples: u64,
    /// CPU time of the measured process, in seconds a run.
    pub cpu_s: f64,
    /// The share of each category, from 0 to 1.
    pub categories: BTreeMap<String, Summary>,
    /// The heaviest symbols of each category, heaviest first; shares are means over the profiles.
    pub symbols: Vec<Symbol>,
}

/// CPU time by category, in seconds a GiB.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Breakdown {
    /// The build.
    pub build: String,
    /// The cipher.
    pub cipher: String,
    /// All of it: the mean of the counted runs, or of the profiled ones if none counts.
    pub total: f64,
    /// Each category: the total times its mean share.
    pub categories: BTreeMap<String, f64>,
}

impl Breakdown {
    /// The time of a category, in seconds a GiB.
    pub fn category(&self, name: &str) -> f64 {
        self.categories.get(name).copied().unwrap_or(0.0)
    }

    /// The share of a category, from 0 to 1.
    pub fn share(&self, name: &str) -> f64 {
        if self.total > 0.0 { self.category(name) / self.total } else { 0.0 }
    }
}

pub(super) fn summarize(profiles: &[Profile]) -> Vec<ProfileSummary> {
    let mut cells: BTreeMap<&Cell, Vec<&Profile>> = BTreeMap::new();
    for profile in profiles {
        cells.entry(&profile.cell).or_default().push(profile);
    }
    let mut summaries: Vec<ProfileSummary> =
        cells.into_iter().filter_map(|(cell, profiles)| one(cell, &profiles)).collect();
    summaries.sort_by_cached_key(|summary| super::cells::sort_key(&summary.cell));
    summaries
}

fn one(cell: &Cell, profiles: &[&Profile]) -> Option<ProfileSummary> {
    let count = profiles.len() as f64;
    let mut categories = BTreeMap::new();
    for category in CATEGORIES {
        let shares: Vec<f64> =
            profiles.iter().map(|p| p.categories.get(category.name).copied().unwrap_or(0.0)).collect();
        categories.insert(category.name.to_owned(), Summary::of(&shares)?);
    }
    let mut shares: BTreeMap<(&str, &str, &str), f64> = BTreeMap::new();
    for symbol in profiles.iter().flat_map(|profile| &profile.symbols) {
        *shares.entry((&symbol.category, &symbol.symbol, &symbol.object)).or_default() +=
            symbol.share / count;
    }
    let mut symbols = Vec::new();
    for category in CATEGORIES {
        let mut heaviest: Vec<_> = shares.iter().filter(|((of, ..), _)| *of == category.name).collect();
        heaviest.sort_by(|a, b| b.1.total_cmp(a.1));
        symbols.extend(heaviest.into_iter().take(SYMBOLS).map(|((category, symbol, object), share)| {
            Symbol {
                category: (*category).to_owned(),
                symbol: (*symbol).to_owned(),
                object: (*object).to_owned(),
                share: *share,
            }
        }));
    }
    Some(ProfileSummary {
        cell: cell.clone(),
        profiles: profiles.len(),
        samples: profiles.iter().map(|profile| profile.samples).sum(),
        cpu_s: profiles.iter().map(|profile| profile.cpu_s).sum::<f64>() / count,
        categories,
        symbols,
    })
}
