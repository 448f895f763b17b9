//! CPU time by category: a receiver is sampled with `perf`, and each sample is put into a category by the name of the
//! function that it fell into. The categories and how a profile is made by hand are in docs/profile.md, the rules in
//! `rules.toml` beside this file.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::{path::Path, process::Command};
//!
//! use sandquic_bench::profile;
//!
//! profile::available()?;
//! let data = Path::new("perf.data");
//! let mut receiver = Command::new("sandquic-bench");
//! receiver.args(["bench-peer", "client", "--connect", "127.0.0.1:4433", "--ca", "ca.pem"]);
//! profile::wrap(receiver, data).status()?;
//! let profile = profile::read(data)?;
//! assert!(profile.categories["crypto"] > 0.0);
//! # Ok(())
//! # }
//! ```

mod perf;
mod rules;
mod script;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

pub use perf::{FREQUENCY, available, wrap};
pub use rules::Rules;
use sandquic_report::record::Symbol;

use crate::Error;
use script::Tally;

/// The categories, in the order in which tables name them.
pub const CATEGORIES: [&str; 8] =
    ["crypto", "copy", "socket-io", "runtime", "alloc", "quic-proto", "ack-loss", "other"];

/// How many symbols of each category a profile keeps.
pub const HEAVIEST: usize = 30;

/// The category of what no rule matches.
const OTHER: &str = "other";

/// Most CPU time, as a share of the whole, that may have fallen into functions without names.
const MOST_NAMELESS: f64 = 0.05;

/// What a profile says.
#[derive(Debug, Clone, PartialEq)]
pub struct Profiled {
    /// Samples that were taken.
    pub samples: u64,
    /// User and system time of the process that was sampled, all threads and its whole life, in seconds: the sum of the
    /// sampling periods.
    pub cpu_s: f64,
    /// Share of CPU time of each of [`CATEGORIES`], from 0 to 1; together 1.
    pub categories: BTreeMap<String, f64>,
    /// The [`HEAVIEST`] symbols of each category, heaviest first, categories in the order of [`CATEGORIES`].
    pub symbols: Vec<Symbol>,
    /// The part of `other` that no rule names, as a share of the whole: the rest of it is the application's own work.
    pub unmatched: f64,
    /// The [`HEAVIEST`] symbols that no rule matches, heaviest first.
    pub unmatched_symbols: Vec<Symbol>,
    /// The symbol maps that the engine wrote for this profile.
    pub maps: Vec<PathBuf>,
}

/// Reads what [`wrap`] recorded, by the rules of this crate, and removes the symbol maps that the engine left for it.
///
/// # Errors
/// [`Error::Failed`] if `perf` cannot read the file, if it holds no samples or none of the kernel's, or if more than one
/// sample in twenty fell into code without names, so that the shares would mean nothing.
pub fn read(data: &Path) -> Result<Profiled, Error> {
    let profiled = read_by(data, &Rules::built_in()?)?;
    for map in &profiled.maps {
        // One that is gone is what was wanted; one that stays is only in the way.
        let _ = fs::remove_file(map);
    }
    Ok(profiled)
}

/// Reads what [`wrap`] recorded, by these rules, and keeps the engine's symbol maps, so that it can be read again.
///
/// # Errors
/// Those of [`read`].
pub fn read_by(data: &Path, rules: &Rules) -> Result<Profiled, Error> {
    classify(perf::tally(data)?, rules)
}

fn classify(tally: Tally, rules: &Rules) -> Result<Profiled, Error> {
    tally.check_names(MOST_NAMELESS)?;
    let (samples, total) = (tally.samples(), tally.weight());
    if total == 0 {
        return Err(Error::failed("the profile holds no samples: the process was too short-lived"));
    }
    let share = |weight: u64| weight as f64 / total as f64;

    // Whole numbers until the end, so that the same samples give the same shares whatever their order.
    let mut weights: BTreeMap<&str, u64> = CATEGORIES.map(|name| (name, 0)).into();
    let mut by_category: BTreeMap<&str, Vec<Symbol>> = BTreeMap::new();
    let (mut unmatched, mut unmatched_symbols) = (0, Vec::new());
    let maps = tally.maps();
    for (symbol, object, weight) in tally.into_symbols() {
        let rule = rules.first_match(&symbol, &object);
        let category = rule.map_or(OTHER, |rule| rule.category());
        *weights.entry(category).or_default() += weight;
        let symbol = Symbol { category: category.to_owned(), symbol, object, share: share(weight) };
        if rule.is_none() {
            unmatched += weight;
            unmatched_symbols.push(symbol.clone());
        }
        by_category.entry(category).or_default().push(symbol);
    }
    let symbols = CATEGORIES
        .iter()
        .filter_map(|category| by_category.remove(category))
        .flat_map(|symbols| heaviest(symbols, HEAVIEST))
        .collect();
    Ok(Profiled {
        samples,
        cpu_s: total as f64 / 1e9,
        categories: weights.into_iter().map(|(name, weight)| (name.to_owned(), share(weight))).collect(),
        symbols,
        unmatched: share(unmatched),
        unmatched_symbols: heaviest(unmatched_symbols, HEAVIEST),
        maps,
    })
}

fn heaviest(mut symbols: Vec<Symbol>, count: usize) -> Vec<Symbol> {
    symbols.sort_by(|a, b| {
        b.share.total_cmp(&a.share).then_with(|| (&a.symbol, &a.object).cmp(&(&b.symbol, &b.object)))
    });
    symbols.truncate(count);
    symbols
}

#[cfg(test)]
mod tests;
