//! Records as they come: files, and what can be wrong with them.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::record::{self, Record};

/// The largest file that is read, in bytes.
const LARGEST: u64 = 1 << 30;

/// A record and where it came from.
#[derive(Debug, Clone)]
pub struct Source {
    /// The name to call it by.
    pub name: String,
    /// What it holds.
    pub record: Record,
}

/// Why there is no report.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    Io(PathBuf, io::Error),
    /// The file is larger than a record can sensibly be.
    TooLarge(PathBuf, u64),
    /// The file is one JSON object and not a record of the evaluation.
    OtherForm(PathBuf, String),
    /// There is no line that can be used; with what is wrong with those that are there.
    Nothing(Vec<String>),
    /// The records are not of the same code on the same machine; with what differs.
    Mixed(String),
    /// A session is there twice.
    Twice(String),
    /// A text has no place for what is to be put into it.
    Marker(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Self::TooLarge(path, bytes) => {
                write!(f, "{}: {bytes} bytes are no record; at most {LARGEST} are read", path.display())
            }
            Self::OtherForm(path, kind) => write!(
                f,
                "{}: this is {kind}, one JSON object; a report is made from the JSON lines that \
                 `sandquic bench evaluate --record FILE` writes",
                path.display()
            ),
            Self::Nothing(problems) => {
                f.write_str("there is nothing to report: no run or profile could be used")?;
                for problem in problems.iter().take(5) {
                    write!(f, "; {problem}")?;
                }
                match problems.len() {
                    0..=5 => Ok(()),
                    more => write!(f, "; and {} more", more - 5),
                }
            }
            Self::Mixed(what) => write!(
                f,
                "the sessions are not of the same code on the same machine ({what}), so their runs are no \
                 repetitions of one another; report them apart, or merge them with --allow-mixed"
            ),
            Self::Twice(session) => write!(f, "session {session} is given twice; leave one of them out"),
            Self::Marker(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Error {}

impl Source {
    /// Reads a record from a file.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::TooLarge`], or [`Error::OtherForm`] for a record of another command.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let io = |error| Error::Io(path.to_owned(), error);
        let bytes = fs::metadata(path).map_err(io)?.len();
        if bytes > LARGEST {
            return Err(Error::TooLarge(path.to_owned(), bytes));
        }
        let text = fs::read(path).map_err(io)?;
        if let Some(kind) = other_form(&text) {
            return Err(Error::OtherForm(path.to_owned(), kind));
        }
        let record = record::parse(&text[..]).map_err(io)?;
        // The name goes into documents: no path of one machine.
        let name = crate::embed::relative(path, Path::new("."));
        Ok(Self { name, record })
    }
}

/// What the text is, if it is one object of another command's and not JSON lines.
fn other_form(text: &[u8]) -> Option<String> {
    let serde_json::Value::Object(object) = serde_json::from_slice(text).ok()? else { return None };
    if object.contains_key("type") {
        // A record of a single line.
        return None;
    }
    Some(match object.get("kind").and_then(|kind| kind.as_str()) {
        Some(kind) => format!("a record of `sandquic bench {kind}`"),
        None => "not a record of an evaluation".to_owned(),
    })
}
