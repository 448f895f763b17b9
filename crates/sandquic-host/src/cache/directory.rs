//! A directory of files that are whole or absent, which only its owner can write to.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// Below the directory that was chosen, which others may use too.
const NAME: &str = "code";

/// What the files may take together, in bytes; beyond it the least recently used ones go.
const MAX_BYTES: u64 = 1 << 30;

/// The use of a file is noted no more often than this.
const NOTED: Duration = Duration::from_secs(24 * 60 * 60);

/// A file that was not finished is left over, not being written, after this time.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

/// How the name of a file that is being written ends.
const UNFINISHED: &str = ".part";

pub(super) struct Directory(PathBuf);

impl Directory {
    /// Makes the directory below `base` if it is missing, and checks it.
    pub(super) fn open(base: &Path) -> Result<Self, String> {
        let says = |error: io::Error| error.to_string();
        fs::create_dir_all(base).map_err(says)?;
        let path = base.join(NAME);
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(says(error)),
            _ => {}
        }
        // Not of what a link points to: a link may be anybody's.
        let metadata = fs::symlink_metadata(&path).map_err(says)?;
        if !metadata.is_dir() {
            return Err(format!("{NAME} in it is no directory"));
        }
        private(&metadata).map_err(|reason| format!("the directory {NAME} in it {reason}"))?;
        Ok(Self(path))
    }

    /// What `load` makes of a file, which is removed if it makes nothing of it.
    pub(super) fn find<T>(&self, name: &str, load: impl FnOnce(&Path) -> Option<T>) -> Option<T> {
        let path = self.0.join(name);
        let metadata = fs::symlink_metadata(&path).ok()?;
        let loaded = if metadata.is_file() && private(&metadata).is_ok() { load(&path) } else { None };
        if loaded.is_none() {
            let _ = fs::remove_file(&path);
            return None;
        }
        let age = metadata.modified().ok().and_then(|at| SystemTime::now().duration_since(at).ok());
        if age.is_some_and(|age| age > NOTED) {
            let _ = File::open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        }
        loaded
    }

    /// Writes a file: others see the whole of it, or nothing.
    pub(super) fn write(
        &self,
        name: &str,
        content: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let unfinished = self.0.join(format!("{name}.{}.{count}{UNFINISHED}", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = options
            .open(&unfinished)
            .and_then(|mut file| content(&mut file))
            .and_then(|()| fs::rename(&unfinished, self.0.join(name)));
        if written.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
        self.prune(MAX_BYTES);
        written
    }

    /// Removes what was never finished, and the least recently used files beyond the limit.
    fn prune(&self, limit: u64) {
        let now = SystemTime::now();
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.0).into_iter().flatten().flatten() {
            let path = entry.path();
            let Some((modified, metadata)) =
                entry.metadata().ok().and_then(|m| Some((m.modified().ok()?, m)))
            else {
                continue;
            };
            if path.extension() == Some(OsStr::new(&UNFINISHED[1..])) {
                if now.duration_since(modified).is_ok_and(|age| age > ABANDONED) {
                    let _ = fs::remove_file(&path);
                }
            } else if metadata.is_file() {
                files.push((modified, metadata.len(), path));
            }
        }
        files.sort_by_key(|(modified, ..)| std::cmp::Reverse(*modified));
        let mut total = 0;
        for (_, bytes, path) in files {
            total += bytes;
            if total > limit {
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// Whether nobody but this process's user can have written something, with the reason if somebody can.
#[cfg(unix)]
fn private(metadata: &fs::Metadata) -> Result<(), String> {
    use std::os::unix::fs::MetadataExt;

    let user = rustix::process::geteuid().as_raw();
    let (owner, mode) = (metadata.uid(), metadata.mode());
    if owner != user {
        return Err(format!("belongs to user {owner} and this program runs as user {user}"));
    }
    if mode & 0o022 != 0 {
        return Err(format!(
            "can be written to by others (mode {:03o}); take that right from them",
            mode & 0o777
        ));
    }
    Ok(())
}

/// Elsewhere the user's directories are nobody else's by default.
#[cfg(not(unix))]
fn private(_: &fs::Metadata) -> Result<(), String> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn content(directory: &Directory, name: &str) -> Option<Vec<u8>> {
        directory.find(name, |path| fs::read(path).ok())
    }

    fn put(directory: &Directory, name: &str, bytes: &[u8]) {
        directory.write(name, |file| file.write_all(bytes)).unwrap();
    }

    #[test]
    fn a_file_that_was_not_written_to_its_end_is_absent() {
        let base = tempfile::tempdir().unwrap();
        let directory = Directory::open(base.path()).unwrap();
        put(&directory, "a", b"first");
        let failed = directory.write("a", |file| {
            file.write_all(b"second, but not")?;
            Err(io::Error::other("the disk is full"))
        });
        assert!(failed.is_err());
        assert_eq!(content(&directory, "a").unwrap(), b"first");
        assert_eq!(fs::read_dir(&directory.0).unwrap().count(), 1, "nothing is left over");
    }

    #[test]
    fn what_cannot_be_loaded_is_removed() {
        let base = tempfile::tempdir().unwrap();
        let directory = Directory::open(base.path()).unwrap();
        put(&directory, "a", b"content");
        assert_eq!(directory.find("a", |_| None::<()>), None);
        assert_eq!(content(&directory, "a"), None);
    }

    #[test]
    fn the_least_recently_used_go() {
        let base = tempfile::tempdir().unwrap();
        let directory = Directory::open(base.path()).unwrap();
        let day = Duration::from_secs(24 * 60 * 60);
        for (age, name) in [(3, "old"), (5, "older"), (2, "new")] {
            put(&directory, name, &[0; 100]);
            let file = File::options().write(true).open(directory.0.join(name)).unwrap();
            file.set_modified(SystemTime::now() - day * age).unwrap();
        }
        // Its use makes it the newest.
        assert!(content(&directory, "older").is_some());
        let part = directory.0.join(format!("x{UNFINISHED}"));
        fs::write(&part, "").unwrap();
        directory.prune(250);
        assert!(content(&directory, "old").is_none());
        assert!(content(&directory, "older").is_some() && content(&directory, "new").is_some());
        assert!(part.exists(), "it may be being written");
        File::options().write(true).open(&part).unwrap().set_modified(SystemTime::now() - day).unwrap();
        directory.prune(250);
        assert!(!part.exists());
    }

    #[cfg(unix)]
    #[test]
    fn what_others_can_write_to_is_not_trusted() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let base = tempfile::tempdir().unwrap();
        let directory = Directory::open(base.path()).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        put(&directory, "a", b"content");
        let file = directory.0.join("a");
        assert_eq!((mode(&directory.0), mode(&file)), (0o700, 0o600));

        set(&file, 0o620);
        assert_eq!(content(&directory, "a"), None);
        assert!(!file.exists(), "and it is removed");

        let elsewhere = base.path().join("elsewhere");
        fs::write(&elsewhere, "content").unwrap();
        symlink(&elsewhere, &file).unwrap();
        assert_eq!(content(&directory, "a"), None);

        set(&directory.0, 0o770);
        let refused = Directory::open(base.path()).err().unwrap();
        assert!(refused.contains("can be written to by others (mode 770)"), "{refused}");

        fs::remove_dir_all(&directory.0).unwrap();
        let other = tempfile::tempdir().unwrap();
        symlink(other.path(), &directory.0).unwrap();
        assert!(Directory::open(base.path()).err().unwrap().contains("no directory"));
    }
}
