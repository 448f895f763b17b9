//! Where a measurement's table and record go.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde::Serialize;

use crate::Error;

/// The places that `--json FILE` chose. The table goes to standard output, or to standard error if the record does.
pub(crate) struct Output {
    record: Option<(Box<dyn Write>, String)>,
    table: Box<dyn Write>,
}

impl Output {
    /// Opens the record's file. Called before measuring: a long measurement should not end at a file that cannot be
    /// written.
    pub(crate) fn open(json: Option<&Path>) -> Result<Self, Error> {
        let record: Option<(Box<dyn Write>, String)> = match json {
            None => None,
            Some(path) if path.as_os_str() == "-" => {
                let record = Some((Box::new(io::stdout()) as _, "the record to standard output".into()));
                return Ok(Self { record, table: Box::new(io::stderr()) });
            }
            Some(path) => {
                let name = path.display().to_string();
                let file = File::create(path)
                    .map_err(|error| Error::failed(format!("cannot write {name}: {error}")))?;
                Some((Box::new(BufWriter::new(file)), name))
            }
        };
        Ok(Self { record, table: Box::new(io::stdout()) })
    }

    /// Prints the table, then writes the record as indented JSON.
    pub(crate) fn write(mut self, table: &str, record: &impl Serialize) -> Result<(), Error> {
        self.table
            .write_all(table.as_bytes())
            .map_err(|error| Error::failed(format!("cannot print the table: {error}")))?;
        let Some((mut out, name)) = self.record else { return Ok(()) };
        serde_json::to_writer_pretty(&mut out, record)
            .map_err(io::Error::from)
            .and_then(|()| out.write_all(b"\n"))
            .and_then(|()| out.flush())
            .map_err(|error| Error::failed(format!("cannot write {name}: {error}")))
    }
}
