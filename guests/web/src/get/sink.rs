//! Where a body goes: standard output, or a file that bears its name only once it is whole.
//!
//! While it grows the file is `FILE.part`, and `FILE.part.json` beside it says what it is a part of, so that
//! `--continue-at -` can ask for the rest of the same thing. Both stay when a transfer fails.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::failure::{Failure, status};
use super::options::Resume;

/// Bytes at the end of a part that are fetched again and compared, if the server gave nothing to tell versions by.
const OVERLAP: u64 = 4096;

/// Bytes of a file before `FILE.part.json` is written: small files are over before anybody interrupts them, and a part
/// without notes is compared.
const UNNOTED: u64 = 1 << 20;

/// What a part is a part of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origins {
    /// The URL without its query.
    pub(crate) resource: String,
    /// A validator that `If-Range` takes: a strong entity tag, or a date (RFC 9110, 13.1.5).
    pub(crate) validator: Option<String>,
    /// The length of the whole in bytes.
    pub(crate) length: Option<u64>,
}

/// What there is of a file already.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Prefix {
    /// Its length in bytes.
    pub(crate) length: u64,
    /// Bytes at its end that are fetched again, to be compared.
    pub(crate) overlap: u64,
    /// What it is a part of, if that is known.
    pub(crate) origins: Origins,
}

impl Prefix {
    /// The first byte to ask for.
    pub(crate) fn from(&self) -> u64 {
        self.length - self.overlap
    }
}

/// A file that is being fetched.
#[derive(Debug)]
pub(crate) struct Part {
    path: PathBuf,
    part: PathBuf,
    notes: PathBuf,
    file: Option<File>,
    /// What is to be noted, and the bytes that may still come before it is.
    pending: Option<(Origins, u64)>,
}

impl Part {
    /// The part of a file, which need not be there.
    pub(crate) fn of(path: &Path) -> Self {
        let beside = |end: &str| {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            PathBuf::from(name)
        };
        Self {
            path: path.into(),
            part: beside(".part"),
            notes: beside(".part.json"),
            file: None,
            pending: None,
        }
    }

    /// Looks for what there is to go on with. A file under its final name is taken too, as a copy: it may be the rest of
    /// another program's attempt.
    ///
    /// # Errors
    /// If it cannot be read, or is shorter than the offset that was asked for.
    pub(crate) fn prefix(&mut self, resume: Resume, resource: &str) -> Result<Option<Prefix>, Failure> {
        let mut length = match fs::metadata(&self.part) {
            Ok(found) => Some(found.len()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(Failure::read(&self.shown(), &error)),
        };
        if length.is_none() && fs::metadata(&self.path).is_ok_and(|found| found.is_file()) {
            length = Some(self.copy()?);
        }
        let Some(mut length) = length.filter(|length| *length > 0) else { return Ok(None) };
        let mut origins = self.read_notes();
        if origins.resource != resource {
            if !origins.resource.is_empty() && resume == Resume::Here {
                // It is a part of something else.
                return Ok(None);
            }
            origins = Origins::default();
        }
        let overlap = match resume {
            Resume::Here if origins.validator.is_some() => 0,
            Resume::Here => length.min(OVERLAP),
            Resume::At(offset) if offset > length => {
                let message = format!("--continue-at {offset}: {} has {length} bytes only", self.shown());
                return Err(Failure::new(status::RANGE, message));
            }
            Resume::At(offset) => {
                length = offset;
                0
            }
        };
        Ok(Some(Prefix { length, overlap, origins }))
    }

    /// Begins the file anew.
    pub(crate) fn begin(&mut self, origins: &Origins, create_dirs: bool) -> Result<(), Failure> {
        if create_dirs && let Some(directory) = self.path.parent() {
            fs::create_dir_all(directory)
                .map_err(|error| Failure::write(&directory.display().to_string(), &error))?;
        }
        if fs::metadata(&self.path).is_ok_and(|found| found.is_dir()) {
            return Err(Failure::write(
                &self.path.display().to_string(),
                &io::ErrorKind::IsADirectory.into(),
            ));
        }
        self.open(true)?;
        let _ = fs::remove_file(&self.notes);
        self.pending = Some((origins.clone(), UNNOTED));
        Ok(())
    }

    /// Goes on behind the first `length` bytes. What is there behind them is dropped.
    pub(crate) fn go_on(&mut self, length: u64, origins: &Origins) -> Result<(), Failure> {
        self.open(false)?;
        let file = self.file.as_mut().ok_or_else(closed)?;
        file.set_len(length)
            .and_then(|()| file.seek(SeekFrom::Start(length)))
            .map_err(|error| Failure::write(&self.part.display().to_string(), &error))?;
        self.pending = Some((origins.clone(), 0));
        Ok(())
    }

    fn open(&mut self, anew: bool) -> Result<(), Failure> {
        // Not cut to nothing before it is clear that nobody else is writing it.
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&self.part);
        let file = file.map_err(|error| Failure::write(&self.shown(), &error))?;
        if let Err(fs::TryLockError::WouldBlock) = file.try_lock() {
            let message = format!("cannot write {}: another transfer is writing it", self.shown());
            return Err(Failure::new(status::WRITE, message));
        }
        if anew {
            file.set_len(0).map_err(|error| Failure::write(&self.shown(), &error))?;
        }
        self.file = Some(file);
        Ok(())
    }

    /// The bytes of the part from an offset on.
    pub(crate) fn tail(&self, from: u64) -> Result<Vec<u8>, Failure> {
        let mut tail = Vec::new();
        File::open(&self.part)
            .and_then(|mut file| {
                file.seek(SeekFrom::Start(from))?;
                file.take(OVERLAP).read_to_end(&mut tail)
            })
            .map_err(|error| Failure::read(&self.shown(), &error))?;
        Ok(tail)
    }

    /// Gives the file its name. What bore it before is replaced, in one step.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        self.file = None;
        let noted = self.pending.take().is_none_or(|(_, left)| left == 0);
        fs::rename(&self.part, &self.path)
            .map_err(|error| Failure::write(&self.path.display().to_string(), &error))?;
        if noted {
            let _ = fs::remove_file(&self.notes);
        }
        Ok(())
    }

    /// How many bytes are kept for a later `--continue-at -`.
    pub(crate) fn kept(&self) -> Option<u64> {
        fs::metadata(&self.part).ok().map(|found| found.len()).filter(|length| *length > 0)
    }

    /// The name of the part, for messages.
    pub(crate) fn shown(&self) -> String {
        self.part.display().to_string()
    }

    fn copy(&self) -> Result<u64, Failure> {
        fs::copy(&self.path, &self.part).map_err(|error| {
            let _ = fs::remove_file(&self.part);
            Failure::write(&self.shown(), &error)
        })
    }

    /// What was noted; nothing if that cannot be read, and then the bytes themselves are compared.
    fn read_notes(&self) -> Origins {
        let mut text = Vec::new();
        let read = File::open(&self.notes).and_then(|file| file.take(1 << 16).read_to_end(&mut text));
        read.ok().and_then(|_| serde_json::from_slice(&text).ok()).unwrap_or_default()
    }

    /// Notes what the part is a part of. Without notes it is compared.
    fn write_notes(&mut self) {
        if let Some((origins, _)) = self.pending.take()
            && let Ok(text) = serde_json::to_vec(&origins)
            && fs::write(&self.notes, text).is_err()
        {
            let _ = fs::remove_file(&self.notes);
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // A file that is still open was not finished.
        if self.file.is_some() {
            self.write_notes();
        }
    }
}

impl Write for Part {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.as_mut().ok_or(io::ErrorKind::NotConnected)?.write(bytes)?;
        if let Some((_, left)) = &mut self.pending {
            *left = left.saturating_sub(written as u64);
            if *left == 0 {
                self.write_notes();
            }
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn closed() -> Failure {
    Failure::new(status::WRITE, "the file is closed")
}

/// Where the bytes of a body go.
#[derive(Debug)]
pub(crate) enum Sink {
    /// Standard output.
    Stdout,
    /// Nowhere.
    Null,
    /// What is no regular file is written as it is, under its name.
    Device(String, File),
    /// A file that is renamed at its end.
    File(Part),
}

impl Sink {
    /// Opens what is there and is no regular file, as a pipe or a terminal.
    pub(crate) fn file(path: &Path) -> Result<Self, Failure> {
        match fs::metadata(path) {
            Ok(found) if !found.is_file() && !found.is_dir() => {
                let shown = path.display().to_string();
                let file = OpenOptions::new().write(true).open(path);
                Ok(Self::Device(shown.clone(), file.map_err(|error| Failure::write(&shown, &error))?))
            }
            _ => Ok(Self::File(Part::of(path))),
        }
    }

    /// Writes all of the bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            Self::Null => Ok(()),
            Self::Stdout => write_stdout(bytes),
            Self::Device(path, file) => file.write_all(bytes).map_err(|error| Failure::write(path, &error)),
            Self::File(part) => part.write_all(bytes).map_err(|error| Failure::write(&part.shown(), &error)),
        }
    }
}

/// Writes to standard output, and does not leave anything behind in its buffer.
pub(crate) fn write_stdout(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(bytes)
        .and_then(|()| stdout.flush())
        .map_err(|error| Failure::write("standard output", &error))
}

#[cfg(all(test, not(target_family = "wasm")))]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_gets_its_name_at_its_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        fs::write(&path, "old").unwrap();
        let origins = Origins { resource: "r".into(), validator: Some("\"v\"".into()), length: Some(6) };
        let mut part = Part::of(&path);
        part.begin(&origins, false).unwrap();
        part.write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        drop(part);
        assert_eq!(names(directory.path()), ["f", "f.part", "f.part.json"]);

        let mut part = Part::of(&path);
        assert_eq!(part.kept(), Some(3));
        let prefix = part.prefix(Resume::Here, "r").unwrap().unwrap();
        assert_eq!(prefix, Prefix { length: 3, overlap: 0, origins: origins.clone() });
        part.go_on(3, &origins).unwrap();
        part.write_all(b"est").unwrap();
        part.finish().unwrap();
        assert_eq!((fs::read(&path).unwrap().as_slice(), names(directory.path()).len()), (&b"newest"[..], 1));
    }

    #[test]
    fn what_cannot_be_told_apart_is_compared() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        fs::write(&path, vec![7; 10_000]).unwrap();
        let mut part = Part::of(&path);
        let prefix = part.prefix(Resume::Here, "r").unwrap().unwrap();
        assert_eq!((prefix.length, prefix.from()), (10_000, 10_000 - OVERLAP));
        assert_eq!(part.tail(prefix.from()).unwrap(), vec![7; OVERLAP as usize]);
        // A file under its name stays as it is.
        assert_eq!(
            (names(directory.path()), fs::read(&path).unwrap().len()),
            (vec!["f".into(), "f.part".into()], 10_000)
        );
        // Nothing that belongs to another URL is gone on with.
        let mut part = Part::of(&path);
        part.begin(&Origins { resource: "other".into(), ..Origins::default() }, false).unwrap();
        part.write_all(b"x").unwrap();
        drop(part);
        let mut part = Part::of(&path);
        assert_eq!(part.prefix(Resume::Here, "r").unwrap(), None);
        assert_eq!(part.prefix(Resume::At(1), "r").unwrap().unwrap().length, 1);
        assert_eq!(part.prefix(Resume::At(2), "r").unwrap_err().status, status::RANGE);
    }

    #[test]
    fn two_transfers_do_not_write_one_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        let mut first = Part::of(&path);
        first.begin(&Origins::default(), false).unwrap();
        first.write_all(b"kept").unwrap();
        let error = Part::of(&path).begin(&Origins::default(), false).unwrap_err();
        assert!(error.message.contains("another transfer"), "{error}");
        first.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"kept");
        let error = Part::of(directory.path()).begin(&Origins::default(), false).unwrap_err();
        assert!(error.message.contains("it is a directory"), "{error}");
        let nowhere = directory.path().join("a/b");
        assert_eq!(Part::of(&nowhere).begin(&Origins::default(), false).unwrap_err().status, status::WRITE);
        Part::of(&nowhere).begin(&Origins::default(), true).unwrap();
    }
}
