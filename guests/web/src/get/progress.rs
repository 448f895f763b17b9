//! A bar on standard error.

use std::cell::{Cell, RefCell};
use std::io::Write;
use std::time::{Duration, Instant};

/// The least time between two pictures.
const PAUSE: Duration = Duration::from_millis(100);
/// How many bytes go by between two looks at the clock, which is a call of the host in a component.
const LOOK_EVERY: u64 = 256 << 10;
/// Characters of the bar.
const WIDTH: u64 = 25;

/// The sum of all transfers.
pub(crate) struct Progress {
    on: bool,
    started: Instant,
    /// Bytes that have come or gone.
    bytes: Cell<u64>,
    /// Bytes that are known to come or go.
    expected: Cell<u64>,
    /// Transfers that do not say how much there is.
    unknown: Cell<u32>,
    next_look: Cell<u64>,
    drawn: Cell<Option<Instant>>,
    /// The longest line so far, to be overwritten.
    line: RefCell<usize>,
}

impl Progress {
    pub(crate) fn new(on: bool) -> Self {
        Self {
            on,
            started: Instant::now(),
            bytes: Cell::new(0),
            expected: Cell::new(0),
            unknown: Cell::new(0),
            next_look: Cell::new(0),
            drawn: Cell::new(None),
            line: RefCell::new(0),
        }
    }

    /// Another body begins, of that many bytes if it says so.
    pub(crate) fn expect(&self, bytes: Option<u64>) {
        match bytes {
            Some(bytes) => self.expected.set(self.expected.get().saturating_add(bytes)),
            None => self.unknown.set(self.unknown.get() + 1),
        }
    }

    pub(crate) fn add(&self, bytes: usize) {
        let sum = self.bytes.get() + bytes as u64;
        self.bytes.set(sum);
        if !self.on || sum < self.next_look.get() {
            return;
        }
        self.next_look.set(sum + LOOK_EVERY);
        let now = Instant::now();
        if self.drawn.get().is_none_or(|drawn| now.duration_since(drawn) >= PAUSE) {
            self.drawn.set(Some(now));
            self.draw(now);
        }
    }

    /// Makes room for another line.
    pub(crate) fn clear(&self) {
        let mut line = self.line.borrow_mut();
        if *line > 0 {
            eprint!("\r{:1$}\r", "", *line);
            *line = 0;
        }
    }

    /// The last picture stays.
    pub(crate) fn finish(&self) {
        if self.on && (self.drawn.get().is_some() || self.bytes.get() > 0) {
            self.draw(Instant::now());
            eprintln!();
            *self.line.borrow_mut() = 0;
        }
    }

    fn draw(&self, now: Instant) {
        let expected = (self.unknown.get() == 0).then(|| self.expected.get());
        let text = picture(self.bytes.get(), expected, now.duration_since(self.started));
        let mut line = self.line.borrow_mut();
        let mut stderr = std::io::stderr().lock();
        // Nothing can be done about a terminal that is gone.
        let _ = write!(stderr, "\r{text:<0$}", *line).and_then(|()| stderr.flush());
        *line = text.chars().count();
    }
}

fn picture(bytes: u64, expected: Option<u64>, elapsed: Duration) -> String {
    let rate = bytes as f64 / elapsed.as_secs_f64().max(1e-3);
    let speed = format!("{}/s", size(rate));
    let Some(expected) = expected.filter(|expected| *expected > 0) else {
        return format!("{:>10}  {speed:>12}", size(bytes as f64));
    };
    let done = (bytes.min(expected) as f64 / expected as f64 * WIDTH as f64) as u64;
    let bar: String = (0..WIDTH).map(|at| if at < done { '#' } else { '.' }).collect();
    let percent = bytes.min(expected).saturating_mul(100) / expected;
    let left = expected.saturating_sub(bytes) as f64 / rate.max(1.0);
    let left = if bytes < expected { format!("  {} left", clock(left)) } else { String::new() };
    let of = format!("{} of {}", size(bytes as f64), size(expected as f64));
    format!("{percent:>3}% [{bar}] {of:>22}  {speed:>12}{left}")
}

fn size(bytes: f64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{value:.0} B") } else { format!("{value:.1} {}", units[unit]) }
}

fn clock(seconds: f64) -> String {
    let seconds = seconds.min(359_999.0) as u64;
    match seconds / 3600 {
        0 => format!("{}:{:02}", seconds / 60, seconds % 60),
        hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_say_how_far_and_how_fast() {
        let second = Duration::from_secs(1);
        assert_eq!(
            picture(1 << 20, Some(4 << 20), second),
            " 25% [######...................]     1.0 MiB of 4.0 MiB     1.0 MiB/s  0:03 left"
        );
        assert_eq!(
            picture(500, Some(500), second),
            "100% [#########################]         500 B of 500 B       500 B/s"
        );
        assert_eq!(picture(1536, None, second), "   1.5 KiB     1.5 KiB/s");
        // A server that sends more than it said is not followed beyond the end.
        assert!(picture(600, Some(500), second).starts_with("100% [#########################]"));
        assert_eq!(picture(0, Some(1 << 40), Duration::ZERO).split("  ").last(), Some("99:59:59 left"));
    }
}
