//! How long a run will take, from what runs like it took.

use std::collections::BTreeMap;

use sandquic_report::record::Cell;

use super::plan::Cost;

/// Seconds that a profile takes more than a run, until one has been seen.
const PROFILE_SECONDS: f64 = 2.0;

/// What has been learnt about the time that runs take.
#[derive(Debug)]
pub(crate) struct Estimates {
    /// By cell, with neither scenario nor size.
    pilots: BTreeMap<Cell, Cost>,
    /// Seconds and number of the runs of a cell.
    seen: BTreeMap<Cell, (f64, u32)>,
    profiles: (f64, u32),
    /// What runs took, and what the pilots had told of them.
    took: f64,
    told: f64,
    /// Of what there was no pilot.
    unknown: Cost,
}

impl Estimates {
    /// Knows nothing, and takes `unknown` for everything.
    pub(crate) fn new(unknown: Cost) -> Self {
        Self {
            pilots: BTreeMap::new(),
            seen: BTreeMap::new(),
            profiles: (0.0, 0),
            took: 0.0,
            told: 0.0,
            unknown,
        }
    }

    /// What a pilot of a cell (with neither scenario nor size) cost.
    pub(crate) fn pilot(&mut self, key: Cell, cost: Cost) {
        self.pilots.insert(key, cost);
    }

    /// A run of a cell took so long; `amount` are its bytes or connections.
    pub(crate) fn run(&mut self, cell: &Cell, amount: u64, seconds: f64) {
        if let Some(cost) = self.pilots.get(&key(cell)) {
            self.took += seconds;
            self.told += cost.seconds(amount);
        }
        let (sum, count) = self.seen.entry(cell.clone()).or_default();
        *sum += seconds;
        *count += 1;
    }

    /// A profile took so much longer than a run.
    pub(crate) fn profile(&mut self, more: f64) {
        self.profiles.0 += more.max(0.0);
        self.profiles.1 += 1;
    }

    /// What runs of a cell of a scenario that has not begun will cost, by its pilot and by what pilots were worth so far.
    pub(crate) fn cost(&self, cell: &Cell) -> Cost {
        let cost = self.pilots.get(&key(cell)).copied().unwrap_or(self.unknown);
        // Not before there is something to go by.
        let drift = if self.told > 5.0 { (self.took / self.told).clamp(0.5, 3.0) } else { 1.0 };
        Cost { fixed: cost.fixed * drift, each: cost.each * drift }
    }

    /// How long the next run of a cell will take.
    pub(crate) fn next(&self, cell: &Cell, amount: u64) -> f64 {
        match self.seen.get(cell) {
            Some((sum, count)) => sum / f64::from(*count),
            None => self.cost(cell).seconds(amount),
        }
    }

    /// How much longer than a run a profile takes.
    pub(crate) fn of_profile(&self) -> f64 {
        let (sum, count) = self.profiles;
        if count == 0 { PROFILE_SECONDS } else { sum / f64::from(count) }
    }
}

/// What cells have in common whose runs differ in size alone.
pub(crate) fn key(cell: &Cell) -> Cell {
    Cell { scenario: String::new(), bytes: 0, ..cell.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(scenario: &str, bytes: u64) -> Cell {
        Cell {
            scenario: scenario.into(),
            workload: "receive".into(),
            build: "native-quinn".into(),
            cipher: "aes-128-gcm".into(),
            bytes,
            options: BTreeMap::new(),
        }
    }

    #[test]
    fn what_was_measured_replaces_what_was_guessed() {
        let mut estimates = Estimates::new(Cost { fixed: 1.0, each: 0.5 });
        assert_eq!(estimates.next(&cell("a", 10), 10), 6.0);
        estimates.pilot(key(&cell("a", 1)), Cost { fixed: 0.0, each: 1.0 });
        // The same build in another scenario has the same pilot.
        assert_eq!(estimates.next(&cell("b", 10), 10), 10.0);
        estimates.run(&cell("b", 10), 10, 20.0);
        assert_eq!(estimates.next(&cell("b", 10), 10), 20.0);
        // Pilots told half of what it took.
        assert_eq!(estimates.next(&cell("a", 40), 40), 80.0);
        assert_eq!(estimates.of_profile(), PROFILE_SECONDS);
        estimates.profile(5.0);
        estimates.profile(7.0);
        assert_eq!(estimates.of_profile(), 6.0);
    }
}
