//! What a peer sends: a file, or bytes of a pattern. Read in chunks, never as a whole.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use xxhash_rust::xxh64::Xxh64;

use crate::Error;

/// Size of a chunk: large enough that its cost does not count, small enough to stay in the cache.
const CHUNK: usize = 64 << 10;

/// Content of known length that can be read any number of times.
#[derive(Debug, Clone)]
pub(super) enum Content {
    /// The first so many bytes of a pattern in which no two chunks of 64 KiB are the same.
    Pattern(u64),
    /// A file and its length when it was opened.
    File(PathBuf, u64),
}

impl Content {
    pub(super) fn file(path: &Path) -> Result<Self, Error> {
        let unreadable = |error: io::Error| Error::failed(format!("cannot read {}: {error}", path.display()));
        let metadata = File::open(path).and_then(|file| file.metadata()).map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(Error::failed(format!("{} is not a file", path.display())));
        }
        Ok(Self::File(path.to_owned(), metadata.len()))
    }

    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Pattern(len) | Self::File(_, len) => *len,
        }
    }

    pub(super) fn chunks(&self) -> Result<Chunks, Error> {
        let source = match self {
            Self::Pattern(_) => Source::Pattern { base: noise(), index: 0 },
            Self::File(path, _) => Source::File(
                File::open(path)
                    .map_err(|error| Error::failed(format!("cannot read {}: {error}", path.display())))?,
                path.clone(),
            ),
        };
        Ok(Chunks { source, left: self.len() })
    }

    /// XXH64 of the whole content, seed 0.
    pub(super) fn hash(&self) -> Result<u64, Error> {
        let mut hasher = Xxh64::new(0);
        let mut chunks = self.chunks()?;
        while let Some(chunk) = chunks.next()? {
            hasher.update(&chunk);
        }
        Ok(hasher.digest())
    }
}

/// The content from its beginning, chunk by chunk.
pub(super) struct Chunks {
    source: Source,
    left: u64,
}

enum Source {
    Pattern { base: Vec<u8>, index: u64 },
    File(File, PathBuf),
}

impl Chunks {
    /// The next chunk; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Bytes>, Error> {
        if self.left == 0 {
            return Ok(None);
        }
        let size = CHUNK.min(usize::try_from(self.left).unwrap_or(CHUNK));
        let chunk = match &mut self.source {
            Source::Pattern { base, index } => {
                let mut chunk = base[..size].to_vec();
                let stamp = index.to_le_bytes();
                let stamped = size.min(stamp.len());
                chunk[..stamped].copy_from_slice(&stamp[..stamped]);
                *index += 1;
                chunk
            }
            Source::File(file, path) => {
                let mut chunk = vec![0; size];
                file.read_exact(&mut chunk).map_err(|error| match error.kind() {
                    io::ErrorKind::UnexpectedEof => {
                        Error::failed(format!("{} became shorter while it was sent", path.display()))
                    }
                    _ => Error::failed(format!("cannot read {}: {error}", path.display())),
                })?;
                chunk
            }
        };
        self.left -= size as u64;
        Ok(Some(Bytes::from(chunk)))
    }
}

/// One chunk of bytes without visible order: the high bytes of a 64-bit linear congruential generator with Knuth's
/// multiplier (MMIX).
fn noise() -> Vec<u8> {
    let mut state = 1_u64;
    (0..CHUNK)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use xxhash_rust::xxh64::xxh64;

    use super::*;

    fn collect(content: &Content) -> Vec<u8> {
        let mut all = Vec::new();
        let mut chunks = content.chunks().unwrap();
        while let Some(chunk) = chunks.next().unwrap() {
            all.extend_from_slice(&chunk);
        }
        all
    }

    #[test]
    fn a_pattern_has_its_length_and_no_chunk_twice() {
        for len in [0, 1, 7, 8, 65_535, 65_536, 65_537, 200_000] {
            let content = Content::Pattern(len);
            let bytes = collect(&content);
            assert_eq!(bytes.len() as u64, len);
            assert_eq!(content.hash().unwrap(), xxh64(&bytes, 0));
        }
        let bytes = collect(&Content::Pattern(3 * CHUNK as u64));
        assert_ne!(bytes[..CHUNK], bytes[CHUNK..2 * CHUNK]);
        assert_ne!(bytes[CHUNK..2 * CHUNK], bytes[2 * CHUNK..]);
    }

    #[test]
    fn a_file_is_read_whole() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let bytes: Vec<u8> = (0..150_001_u32).map(|i| (i % 251) as u8).collect();
        file.write_all(&bytes).unwrap();
        let content = Content::file(file.path()).unwrap();
        assert_eq!(content.len(), 150_001);
        assert_eq!(collect(&content), bytes);
        // Cut behind its back.
        file.as_file().set_len(10).unwrap();
        let error = content.hash().unwrap_err().to_string();
        assert!(error.contains("became shorter"), "{error}");
    }

    #[test]
    fn what_is_no_file_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let error = Content::file(directory.path()).unwrap_err().to_string();
        assert!(error.ends_with("is not a file"), "{error}");
        let error = Content::file(&directory.path().join("absent")).unwrap_err().to_string();
        assert!(error.starts_with("cannot read ") && error.contains("absent"), "{error}");
    }
}
