//! One directory, and what is below it. A symbolic link that leads out of it is not followed: in the sandbox by the
//! host, natively by cap-std, which looks at each step of a path.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::SystemTime;

/// A directory.
#[derive(Debug)]
pub(super) struct Root {
    #[cfg(not(target_family = "wasm"))]
    directory: cap_std::fs::Dir,
    #[cfg(target_family = "wasm")]
    directory: std::path::PathBuf,
}

/// What is at a path.
#[derive(Debug)]
pub(super) enum Found {
    /// A file, open.
    File(File, Facts),
    /// A directory.
    Directory,
}

/// What is known of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Facts {
    /// In bytes.
    pub(super) length: u64,
    /// When it was last changed, where the system tells.
    pub(super) modified: Option<SystemTime>,
}

impl Facts {
    /// Times that the dates of HTTP cannot tell (before 1970, and from 9999 on) are left out.
    fn new(length: u64, modified: Option<SystemTime>) -> Self {
        const YEAR_9999: u64 = 253_370_764_800;
        let told = |time: &SystemTime| {
            time.duration_since(SystemTime::UNIX_EPOCH).is_ok_and(|since| since.as_secs() < YEAR_9999)
        };
        Self { length, modified: modified.filter(told) }
    }
}

/// An entry of a directory.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    /// `None` for a directory.
    pub(super) file: Option<Facts>,
}

/// The entries of a directory that are looked at.
pub(super) const MAX_ENTRIES: usize = 10_000;

impl Root {
    /// Opens what is at `path`.
    ///
    /// # Errors
    /// What the system says; [`io::ErrorKind::PermissionDenied`] for what is not below the directory, and for what is
    /// neither a file nor a directory.
    pub(super) fn find(&self, path: &Path) -> io::Result<Found> {
        // Looked at first: to open a pipe would wait for its other end.
        let metadata = self.metadata(path)?;
        if metadata.is_dir() {
            return Ok(Found::Directory);
        }
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is not a file"));
        }
        let file = self.open(path)?;
        let metadata = file.metadata()?;
        let facts = Facts::new(metadata.len(), metadata.modified().ok());
        Ok(Found::File(file, facts))
    }

    /// The entries of the directory at `path`, directories first, by name; of more than [`MAX_ENTRIES`] some. Those
    /// that cannot be looked at are left out.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn list(&self, path: &Path) -> io::Result<Vec<Entry>> {
        let names = self.names(path)?;
        let mut entries: Vec<Entry> = names
            .into_iter()
            .filter_map(|name| {
                let metadata = self.metadata(&path.join(&name)).ok()?;
                let file = (!metadata.is_dir()).then(|| Facts::new(metadata.len(), modified(&metadata)));
                Some(Entry { name, file })
            })
            .collect();
        entries.sort_by(|a, b| (a.file.is_some(), &a.name).cmp(&(b.file.is_some(), &b.name)));
        Ok(entries)
    }
}

#[cfg(not(target_family = "wasm"))]
impl Root {
    /// Opens the directory.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn open_directory(path: &str) -> io::Result<Self> {
        let directory = cap_std::fs::Dir::open_ambient_dir(path, cap_std::ambient_authority())?;
        Ok(Self { directory })
    }

    /// Makes a file that is not there yet, to write it.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn create_new(&self, path: &Path) -> io::Result<File> {
        let mut options = cap_std::fs::OpenOptions::new();
        Ok(self.directory.open_with(path, options.write(true).create_new(true))?.into_std())
    }

    /// Gives a file another name, in the place of what has it.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.directory.rename(from, &self.directory, to)
    }

    /// Removes a file.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn remove(&self, path: &Path) -> io::Result<()> {
        self.directory.remove_file(path)
    }

    /// Whether something is at `path`.
    pub(super) fn exists(&self, path: &Path) -> bool {
        self.directory.symlink_metadata(path).is_ok()
    }

    fn metadata(&self, path: &Path) -> io::Result<cap_std::fs::Metadata> {
        self.directory.metadata(path)
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        Ok(self.directory.open(path)?.into_std())
    }

    fn names(&self, path: &Path) -> io::Result<Vec<String>> {
        let entries = self.directory.read_dir(path)?.take(MAX_ENTRIES);
        Ok(entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect())
    }
}

#[cfg(target_family = "wasm")]
impl Root {
    /// Opens the directory.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn open_directory(path: &str) -> io::Result<Self> {
        std::fs::read_dir(path)?;
        Ok(Self { directory: path.into() })
    }

    /// Makes a file that is not there yet, to write it.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn create_new(&self, path: &Path) -> io::Result<File> {
        std::fs::OpenOptions::new().write(true).create_new(true).open(self.directory.join(path))
    }

    /// Gives a file another name, in the place of what has it.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(self.directory.join(from), self.directory.join(to))
    }

    /// Removes a file.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(self.directory.join(path))
    }

    /// Whether something is at `path`.
    pub(super) fn exists(&self, path: &Path) -> bool {
        std::fs::symlink_metadata(self.directory.join(path)).is_ok()
    }

    fn metadata(&self, path: &Path) -> io::Result<std::fs::Metadata> {
        std::fs::metadata(self.directory.join(path))
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        File::open(self.directory.join(path))
    }

    fn names(&self, path: &Path) -> io::Result<Vec<String>> {
        let entries = std::fs::read_dir(self.directory.join(path))?.take(MAX_ENTRIES);
        Ok(entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect())
    }
}

#[cfg(not(target_family = "wasm"))]
fn modified(metadata: &cap_std::fs::Metadata) -> Option<SystemTime> {
    metadata.modified().ok().map(cap_std::time::SystemTime::into_std)
}

#[cfg(target_family = "wasm")]
fn modified(metadata: &std::fs::Metadata) -> Option<SystemTime> {
    metadata.modified().ok()
}
