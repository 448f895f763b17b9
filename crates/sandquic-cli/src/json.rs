//! Where `--json FILE` leads to.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use crate::Failure;

/// Writes to standard output. A reader that wants no more, such as `head`, is no failure.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Failed(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes one JSON object and a line end to a file, or to standard output for `-`.
pub(crate) fn write_json(path: &Path, object: &serde_json::Value) -> Result<(), Failure> {
    let text = format!("{object:#}\n");
    if path == Path::new("-") {
        return print(&text);
    }
    fs::write(path, text)
        .map_err(|error| Failure::Failed(format!("cannot write {}: {error}", path.display())))
}
