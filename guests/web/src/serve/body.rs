//! The content of an answer: text, a file, or parts of a file, read a piece at a time.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use bytes::Bytes;

/// The content of an answer.
#[derive(Debug, Default)]
pub(super) struct Body {
    parts: VecDeque<Part>,
    file: Option<File>,
}

#[derive(Debug)]
enum Part {
    Bytes(Bytes),
    /// Of the file, not yet read from.
    Range {
        offset: u64,
        length: u64,
    },
    /// The rest of a range: the file is where it goes on.
    Rest(u64),
}

impl Body {
    /// A text.
    pub(super) fn text(text: impl Into<Bytes>) -> Self {
        Self { parts: VecDeque::from([Part::Bytes(text.into())]), file: None }
    }

    /// Parts of a file, to be added.
    pub(super) fn of_file(file: File) -> Self {
        Self { parts: VecDeque::new(), file: Some(file) }
    }

    /// Adds bytes.
    pub(super) fn push_bytes(&mut self, bytes: impl Into<Bytes>) {
        self.parts.push_back(Part::Bytes(bytes.into()));
    }

    /// Adds a range of the file.
    pub(super) fn push_range(&mut self, offset: u64, length: u64) {
        self.parts.push_back(Part::Range { offset, length });
    }

    /// In bytes.
    pub(super) fn length(&self) -> u64 {
        let length = |part: &Part| match part {
            Part::Bytes(bytes) => bytes.len() as u64,
            Part::Range { length, .. } | Part::Rest(length) => *length,
        };
        self.parts.iter().map(length).sum()
    }

    /// The next piece, of at most `most` bytes if it is read from the file; `None` at the end.
    ///
    /// # Errors
    /// What the system says; [`io::ErrorKind::UnexpectedEof`] if the file has become shorter.
    pub(super) fn next(&mut self, most: usize) -> io::Result<Option<Bytes>> {
        loop {
            let left = match self.parts.pop_front() {
                None => return Ok(None),
                Some(Part::Bytes(bytes)) if bytes.is_empty() => continue,
                Some(Part::Bytes(bytes)) => return Ok(Some(bytes)),
                Some(Part::Range { offset, length }) => {
                    if let Some(file) = &mut self.file {
                        file.seek(SeekFrom::Start(offset))?;
                    }
                    length
                }
                Some(Part::Rest(length)) => length,
            };
            if left == 0 {
                continue;
            }
            let mut piece = vec![0; usize::try_from(left).unwrap_or(usize::MAX).min(most)];
            let read = self.file.as_mut().map_or(Ok(0), |file| file.read(&mut piece))?;
            if read == 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file has become shorter"));
            }
            piece.truncate(read);
            self.parts.push_front(Part::Rest(left - read as u64));
            return Ok(Some(piece.into()));
        }
    }
}
