//! What is sent with a request.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use bytes::Bytes;

use super::failure::{Failure, status};
use super::options::Body;

/// Bytes that are read at a time.
const PIECE: usize = 64 << 10;

/// A body that is being sent.
pub(crate) enum Source {
    /// These bytes.
    Bytes(Bytes),
    /// What is left of a file that had a length when it was opened.
    File { path: PathBuf, file: File, left: u64 },
    /// What is left of standard input.
    Stdin,
}

impl Source {
    /// Opens the body. `None` if there is none.
    pub(crate) fn open(body: &Body) -> Result<Option<Self>, Failure> {
        match body {
            Body::None => Ok(None),
            Body::Bytes(bytes) => Ok(Some(Self::Bytes(bytes.clone()))),
            Body::Stdin => Ok(Some(Self::Stdin)),
            Body::File(path) => {
                let failed = |error: io::Error| Failure::read(&path.display().to_string(), &error);
                let file = File::open(path).map_err(failed)?;
                let found = file.metadata().map_err(failed)?;
                if found.is_dir() {
                    return Err(failed(io::ErrorKind::IsADirectory.into()));
                }
                Ok(Some(Self::File { path: path.clone(), file, left: found.len() }))
            }
        }
    }

    /// Its length in bytes, where it is known.
    pub(crate) fn length(&self) -> Option<u64> {
        match self {
            Self::Bytes(bytes) => Some(bytes.len() as u64),
            Self::File { left, .. } => Some(*left),
            Self::Stdin => None,
        }
    }

    /// The next bytes; nothing at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        match self {
            Self::Bytes(bytes) => {
                let piece = bytes.split_to(bytes.len().min(PIECE));
                Ok((!piece.is_empty()).then_some(piece))
            }
            Self::File { left: 0, .. } => Ok(None),
            Self::File { path, file, left } => {
                let most = usize::try_from(*left).unwrap_or(PIECE).min(PIECE);
                let path = path.display().to_string();
                match read(file, most).map_err(|error| Failure::read(&path, &error))? {
                    Some(piece) => {
                        *left -= piece.len() as u64;
                        Ok(Some(piece))
                    }
                    None => {
                        let message = format!("cannot read {path}: it has become shorter by {left} bytes");
                        Err(Failure::new(status::READ, message))
                    }
                }
            }
            Self::Stdin => {
                read(&mut io::stdin().lock(), PIECE).map_err(|error| Failure::read("standard input", &error))
            }
        }
    }
}

fn read(from: &mut impl Read, most: usize) -> io::Result<Option<Bytes>> {
    let mut piece = vec![0; most];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return Ok(None),
            Ok(length) => {
                piece.truncate(length);
                return Ok(Some(piece.into()));
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(all(test, not(target_family = "wasm")))]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_sent_as_long_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        std::fs::write(&path, vec![1; PIECE + 1]).unwrap();
        let body = Body::File(path.clone());
        let mut source = Source::open(&body).unwrap().unwrap();
        assert_eq!(source.length(), Some(PIECE as u64 + 1));
        assert_eq!(source.next().unwrap().unwrap().len(), PIECE);
        // What is added meanwhile is not announced, so it is not sent.
        std::fs::write(&path, vec![1; PIECE + 100]).unwrap();
        assert_eq!((source.next().unwrap().unwrap().len(), source.next().unwrap()), (1, None));
        let mut source = Source::open(&body).unwrap().unwrap();
        std::fs::write(&path, "short").unwrap();
        assert_eq!(source.next().unwrap().unwrap().len(), 5);
        let error = source.next().unwrap_err();
        assert!(error.status == status::READ && error.message.contains("shorter"), "{error}");
        assert_eq!(Source::open(&Body::File(directory.path().into())).err().unwrap().status, status::READ);
    }
}
