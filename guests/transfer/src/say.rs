//! What the two programs print.

use std::fmt::Display;
use std::io::{self, Write};

use crate::Error;

/// A line on standard output that is lost if nobody reads it any more: that ends no transfer.
pub(crate) fn say(line: impl Display) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// A line on standard error, likewise.
pub(crate) fn complain(line: impl Display) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// A line on standard output that is what the program was run for.
pub(crate) fn report(line: impl Display) -> Result<(), Error> {
    writeln!(io::stdout(), "{line}")
        .map_err(|error| Error::Failed(format!("cannot write to standard output: {error}")))
}
