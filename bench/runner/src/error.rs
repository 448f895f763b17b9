//! Errors by who is to blame: the command line, or what happened while it was carried out.

use std::fmt;

/// Why a command of this crate did not do what was asked.
///
/// The message is one line, starts in lower case and says what was wrong and, where it can, what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The command line asks for something that does not exist or makes no sense.
    Usage(String),
    /// It was understood but failed.
    Failed(String),
}

impl Error {
    /// The exit status of a command that ends with this error: 2 for usage, otherwise 1.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Failed(_) => 1,
        }
    }

    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(message) | Self::Failed(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Error {}
