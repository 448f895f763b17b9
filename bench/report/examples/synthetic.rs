//! Writes a synthetic record to standard output: for looking at a report without a measurement.

#[path = "../tests/synthetic/mod.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod synthetic;

use std::io::{self, Write as _};

fn main() -> io::Result<()> {
    io::stdout().write_all(&synthetic::text(&synthetic::lines()))
}
