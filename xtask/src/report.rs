//! Counting what passed and what failed, and telling it.

use std::time::Duration;

/// What a set of checks came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Checks that passed.
    pub(crate) passed: u64,
    /// Checks that failed.
    pub(crate) failed: u64,
    /// Tests that were left out (marked `ignore`).
    pub(crate) ignored: u64,
    /// One entry for each failure: what failed, and the remedy.
    pub(crate) failures: Vec<String>,
}

impl Tally {
    /// One failure.
    pub(crate) fn failure(what: String) -> Self {
        Self { failed: 1, failures: vec![what], ..Self::default() }
    }

    /// Counts one check; `Err` holds what failed and the remedy.
    pub(crate) fn check(&mut self, name: &str, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => {
                self.passed += 1;
                eprintln!("ok    {name}");
            }
            Err(why) => {
                eprintln!("FAIL  {name}\n{}", indent(&why));
                self.add(Self::failure(format!("{name}\n{}", indent(&why))));
            }
        }
    }

    /// Adds another tally to this one.
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
        self.failures.extend(other.failures);
    }

    /// Takes a line of a test harness: sums its result lines and notes the names of tests that failed.
    pub(crate) fn harness_line(&mut self, line: &str) {
        if let Some(result) = line.strip_prefix("test result: ") {
            self.passed += number_before(result, " passed");
            self.failed += number_before(result, " failed");
            self.ignored += number_before(result, " ignored");
        } else if let Some(name) =
            line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED"))
        {
            self.failures.push(name.to_owned());
        }
    }
}

/// The number that stands before `word` in a result line of the test harness.
fn number_before(line: &str, word: &str) -> u64 {
    let Some(at) = line.find(word) else { return 0 };
    let digits = line[..at].rsplit(|c: char| !c.is_ascii_digit()).next();
    digits.and_then(|digits| digits.parse().ok()).unwrap_or_default()
}

/// Each line moved to the right.
pub(crate) fn indent(text: &str) -> String {
    text.trim_end().lines().map(|line| format!("      {line}")).collect::<Vec<_>>().join("\n")
}

/// Minutes and seconds.
pub(crate) fn time(took: Duration) -> String {
    match took.as_secs() {
        0..60 => format!("{:.1} s", took.as_secs_f64()),
        s => format!("{} min {:02} s", s / 60, s % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_are_summed() {
        let mut tally = Tally::default();
        for line in [
            "running 3 tests",
            "test a::b ... ok",
            "test a::c ... FAILED",
            "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 4 filtered out; finished in 0.01s",
            "test result: ok. 30 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s",
        ] {
            tally.harness_line(line);
        }
        assert_eq!(tally, Tally { passed: 42, failed: 3, ignored: 1, failures: vec!["a::c".to_owned()] });
    }

    #[test]
    fn times_are_readable() {
        assert_eq!(time(Duration::from_millis(1_500)), "1.5 s");
        assert_eq!(time(Duration::from_secs(125)), "2 min 05 s");
    }
}
