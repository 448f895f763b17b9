//! Why a transfer failed, with the exit status that curl has for it.

use std::fmt;
use std::io;

/// The exit statuses, with curl's numbers and meanings; 2 is the project's own for a wrong command line, as it is curl's.
pub(crate) mod status {
    /// The URL has a scheme that is not served here.
    pub(crate) const SCHEME: u8 = 1;
    /// The command line is wrong.
    pub(crate) const USAGE: u8 = 2;
    /// The URL cannot be read.
    pub(crate) const URL: u8 = 3;
    /// The host has no address.
    pub(crate) const RESOLVE: u8 = 6;
    /// No connection came about.
    pub(crate) const CONNECT: u8 = 7;
    /// Less came than was announced.
    pub(crate) const PARTIAL: u8 = 18;
    /// The server answered with a status of 400 or more, and `--fail` is given.
    pub(crate) const HTTP: u8 = 22;
    /// What came could not be written.
    pub(crate) const WRITE: u8 = 23;
    /// What is to be sent could not be read.
    pub(crate) const READ: u8 = 26;
    /// A time limit is over.
    pub(crate) const TIMEOUT: u8 = 28;
    /// The server does not give the range that was asked for.
    pub(crate) const RANGE: u8 = 33;
    /// The TLS handshake failed.
    pub(crate) const TLS: u8 = 35;
    /// Too many redirects.
    pub(crate) const REDIRECTS: u8 = 47;
    /// Sending failed.
    pub(crate) const SEND: u8 = 55;
    /// Receiving failed.
    pub(crate) const RECEIVE: u8 = 56;
    /// The server's certificate cannot be trusted.
    pub(crate) const CERTIFICATE: u8 = 60;
    /// The body is larger than `--max-filesize`.
    pub(crate) const TOO_LARGE: u8 = 63;
    /// The file of authorities cannot be used.
    pub(crate) const AUTHORITIES: u8 = 77;
    /// The server's key is none of those that were pinned.
    pub(crate) const PIN: u8 = 90;
    /// HTTP/3 itself went wrong.
    pub(crate) const HTTP3: u8 = 95;
    /// QUIC itself went wrong.
    pub(crate) const QUIC: u8 = 96;
}

/// Why a transfer failed: an exit status and what to tell the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// One of [`status`].
    pub(crate) status: u8,
    /// What was wrong and what to do, on one line.
    pub(crate) message: String,
    /// Whether the same request may well succeed later.
    pub(crate) transient: bool,
}

impl Failure {
    pub(crate) fn new(status: u8, message: impl Into<String>) -> Self {
        let message: String = message.into();
        // A peer's words may be in it: no control characters reach the terminal.
        let message = message.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        Self { status, message, transient: status == status::TIMEOUT }
    }

    /// A failure that `--retry` takes up.
    pub(crate) fn transient(status: u8, message: impl Into<String>) -> Self {
        Self { transient: true, ..Self::new(status, message) }
    }

    /// A file that cannot be read.
    pub(crate) fn read(path: &str, error: &io::Error) -> Self {
        Self::new(status::READ, format!("cannot read {path}: {}", reason(error)))
    }

    /// A file that cannot be written.
    pub(crate) fn write(path: &str, error: &io::Error) -> Self {
        Self::new(status::WRITE, format!("cannot write {path}: {}", reason(error)))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// What the system says, and for a full disk the same words on every system.
pub(crate) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull => "the disk is full; free some space".into(),
        io::ErrorKind::QuotaExceeded => "the disk quota is used up; free some space".into(),
        io::ErrorKind::FileTooLarge => "the file is larger than the system allows".into(),
        io::ErrorKind::NotFound => "no such file or directory".into(),
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        io::ErrorKind::BrokenPipe => "the reader has closed it".into(),
        io::ErrorKind::IsADirectory => "it is a directory".into(),
        io::ErrorKind::NotADirectory => "a part of the path is a file".into(),
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only".into(),
        _ => error.to_string(),
    }
}
