//! One file of compiled code: what the engine serialized, then a trailer that tells whether all of it is there.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use wasmtime::component::Component;
use wasmtime::{Engine, Module};
use xxhash_rust::xxh64::Xxh64;

use super::Code;
use crate::Kind;

/// The last bytes of a file: this mark, then the length of the code and its XXH64 with seed 0 (u64, little-endian). The
/// engine's own format is an ELF file, which leaves what follows it alone.
const MARK: [u8; 8] = *b"sandquic";

const TRAILER: usize = MARK.len() + 16;

/// Where an entry's code is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placement {
    /// In the file, mapped: nothing is copied, and processes share it.
    Mapped,
    /// In memory of its own. A profiler takes a function's name from the file that the function is mapped from, if there is
    /// one, and looks no further.
    Copied,
}

/// Read at once: little enough to stay in the processor's cache.
const PIECE: usize = 128 << 10;

/// Writes an entry.
pub(super) fn write(file: &mut File, code: &[u8]) -> io::Result<()> {
    let mut hash = Xxh64::new(0);
    hash.update(code);
    file.write_all(code)?;
    file.write_all(&trailer(code.len() as u64, hash.digest()))
}

fn trailer(length: u64, hash: u64) -> [u8; TRAILER] {
    let mut trailer = [0; TRAILER];
    trailer[..8].copy_from_slice(&MARK);
    trailer[8..16].copy_from_slice(&length.to_le_bytes());
    trailer[16..].copy_from_slice(&hash.to_le_bytes());
    trailer
}

/// Loads an entry; `None` if it is not whole, or of another engine.
pub(super) fn load(engine: &Engine, kind: Kind, path: &Path, placement: Placement) -> Option<Code> {
    if !is_whole(path).unwrap_or(false) {
        return None;
    }
    deserialize(engine, kind, path, placement).ok()
}

/// Whether the trailer belongs to the bytes before it. A disk that was full or lost its power, and a bit that has
/// changed, are found; who could write another trailer could write other code, and is kept out by the directory's rights.
fn is_whole(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let Some(length) = file.metadata()?.len().checked_sub(TRAILER as u64) else { return Ok(false) };
    let mut hash = Xxh64::new(0);
    let mut piece = vec![0; PIECE];
    let mut left = length;
    while left > 0 {
        let wanted = PIECE.min(usize::try_from(left).unwrap_or(PIECE));
        file.read_exact(&mut piece[..wanted])?;
        hash.update(&piece[..wanted]);
        left -= wanted as u64;
    }
    let mut found = [0; TRAILER];
    file.read_exact(&mut found)?;
    Ok(found == trailer(length, hash.digest()))
}

/// The code in a file.
#[allow(unsafe_code, reason = "the engine cannot check machine code")]
fn deserialize(engine: &Engine, kind: Kind, path: &Path, placement: Placement) -> wasmtime::Result<Code> {
    let content = match placement {
        Placement::Mapped => None,
        Placement::Copied => Some(fs::read(path)?),
    };
    // SAFETY: `entry::write` wrote the file from what an engine of the same version and settings serialized, since its name
    // is a collision-resistant hash of them, and its checksum shows that it is all there. Nobody but this process's user can
    // write to it or replace it (`Directory`), and this user's processes replace it whole, by another file: they never
    // change it, so that what is mapped stays what it is.
    unsafe {
        match (kind, content) {
            (Kind::Component, None) => Component::deserialize_file(engine, path).map(Code::Component),
            (Kind::Component, Some(content)) => Component::deserialize(engine, content).map(Code::Component),
            (Kind::Module, None) => Module::deserialize_file(engine, path).map(Code::Module),
            (Kind::Module, Some(content)) => Module::deserialize(engine, content).map(Code::Module),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cut_and_every_changed_byte_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("entry");
        for length in [0, 1, 77, 300] {
            let code: Vec<u8> = (0..length).map(|i| i as u8).collect();
            write(&mut File::create(&path).unwrap(), &code).unwrap();
            let whole = fs::read(&path).unwrap();
            assert!(is_whole(&path).unwrap());
            for cut in 0..whole.len() {
                fs::write(&path, &whole[..cut]).unwrap();
                assert!(!is_whole(&path).unwrap(), "{cut} of {}", whole.len());
            }
            for at in 0..whole.len() {
                let mut changed = whole.clone();
                changed[at] ^= 0x10;
                fs::write(&path, &changed).unwrap();
                assert!(!is_whole(&path).unwrap(), "byte {at}");
            }
            fs::write(&path, [&whole[..], &[0]].concat()).unwrap();
            assert!(!is_whole(&path).unwrap(), "with a byte more");
        }
    }

    #[test]
    fn more_than_a_piece_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("entry");
        for length in [PIECE - 1, PIECE, PIECE + 1, 3 * PIECE] {
            write(&mut File::create(&path).unwrap(), &vec![7; length]).unwrap();
            assert!(is_whole(&path).unwrap());
        }
    }
}
