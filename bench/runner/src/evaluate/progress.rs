//! How far a measurement is: a bar with the time left on a terminal, a line now and then elsewhere.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Without a terminal: the shortest time between two lines.
const LINE_INTERVAL: Duration = Duration::from_secs(15);

/// The progress of a whole measurement, in seconds of estimated work.
pub(crate) struct Progress {
    bar: ProgressBar,
    terminal: bool,
    last_line: Option<Instant>,
    /// Work before the present run, and the present run itself.
    done: f64,
    present: f64,
}

impl Progress {
    pub(crate) fn new() -> Self {
        let terminal = io::stderr().is_terminal();
        let target =
            if terminal { ProgressDrawTarget::stderr_with_hz(5) } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(1), target);
        if let Ok(style) = ProgressStyle::with_template("{bar:20} {percent:>3} %, {prefix:18} {wide_msg}") {
            bar.set_style(style);
        }
        Self { bar, terminal, last_line: None, done: 0.0, present: 0.0 }
    }

    /// A run of `present` seconds begins; `done` seconds of work lie behind it and `left` before its end.
    pub(crate) fn begin(&mut self, what: &str, done: f64, present: f64, left: f64) {
        (self.done, self.present) = (done, present);
        self.bar.set_length(ticks(done + left).max(1));
        self.bar.set_position(ticks(done));
        self.bar.set_prefix(show_left(left));
        self.bar.set_message(what.to_owned());
        if !self.terminal && self.last_line.is_none_or(|last| last.elapsed() >= LINE_INTERVAL) {
            self.last_line = Some(Instant::now());
            let all = done + left;
            if all > 0.0 {
                self.note(&format!("{:3.0} %, {}: {what}", 100.0 * done / all, show_left(left)));
            } else {
                self.note(what);
            }
        }
    }

    /// That share of the present run is done.
    pub(crate) fn within(&self, share: f64) {
        self.bar.set_position(ticks(self.done + self.present * share.clamp(0.0, 1.0)));
    }

    /// Prints a line that stays.
    pub(crate) fn note(&self, line: &str) {
        self.bar.suspend(|| {
            let _ = writeln!(io::stderr(), "{line}");
        });
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn ticks(seconds: f64) -> u64 {
    (seconds.max(0.0) * 100.0) as u64
}

fn show_left(seconds: f64) -> String {
    match seconds.max(0.0).round() as u64 {
        seconds @ 0..90 => format!("{seconds} s left"),
        seconds => format!("{} min left", seconds.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_shown_in_its_unit() {
        assert_eq!(show_left(-1.0), "0 s left");
        assert_eq!(show_left(89.4), "89 s left");
        assert_eq!(show_left(91.0), "2 min left");
        assert_eq!(show_left(5_400.0), "90 min left");
    }
}
