//! Why a transfer did not take place.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use sandquic::{ConnectionError, TransportErrorCode};

/// A message for the user: what was wrong and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The command line is wrong: exit status 2.
    Usage(String),
    /// The transfer failed: exit status 1.
    Failed(String),
}

impl Error {
    /// The exit status that stands for the error.
    pub fn status(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Failed(_) => 1,
        }
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

/// A file that cannot be opened, read or written.
pub(crate) fn file(what: &str, path: &str, error: &io::Error) -> Error {
    let hint = match error.kind() {
        io::ErrorKind::NotFound if cfg!(target_family = "wasm") => {
            "; a component sees only the directories that its host opens for it"
        }
        io::ErrorKind::PermissionDenied if cfg!(target_family = "wasm") => {
            "; the host may have opened the directory for reading only"
        }
        _ => "",
    };
    Error::Failed(format!("cannot {what} {path}: {error}{hint}"))
}

/// A socket that cannot be made.
pub(crate) fn socket(address: SocketAddr, error: &io::Error) -> Error {
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied if cfg!(target_family = "wasm") => {
            "; `sandquic run` and `wasmtime run -S` take inherit-network"
        }
        io::ErrorKind::AddrInUse => "; choose another port, or 0 for any",
        _ => "",
    };
    Error::Failed(format!("cannot open a UDP socket on {address}: {error}{hint}"))
}

/// A connection that never came to be.
pub(crate) fn connecting(address: SocketAddr, waited: Duration, error: &ConnectionError) -> Error {
    Error::Failed(match error {
        ConnectionError::TimedOut => format!(
            "no answer from {address} within {} s: is a server listening there, and does UDP get through?",
            waited.as_secs()
        ),
        ConnectionError::TransportError(transport)
            if transport.code == TransportErrorCode::CONNECTION_REFUSED =>
        {
            format!("{address} refused the connection: {}", reason(&transport.reason))
        }
        ConnectionError::TransportError(transport) => format!(
            "the handshake with {address} failed: {}; check --server-name, --ca and the server's certificate",
            reason(&transport.reason)
        ),
        ConnectionError::ConnectionClosed(close) => format!(
            "{address} ended the handshake: {} ({})",
            reason(&String::from_utf8_lossy(&close.reason)),
            close.error_code
        ),
        other => format!("cannot connect to {address}: {other}"),
    })
}

/// A connection that was lost after the handshake.
pub(crate) fn lost(address: SocketAddr, waited: Duration, error: &ConnectionError) -> Error {
    Error::Failed(match error {
        ConnectionError::TimedOut => format!(
            "{address} has not answered for {} s: it or the network between is gone; try again",
            waited.as_secs()
        ),
        ConnectionError::ApplicationClosed(close) => format!(
            "{address} closed the connection with code {}: {}",
            close.error_code,
            reason(&String::from_utf8_lossy(&close.reason))
        ),
        ConnectionError::Reset => {
            format!("{address} no longer knows the connection: it was restarted in between; try again")
        }
        other => format!("the connection to {address} was lost: {other}"),
    })
}

/// An error with what caused it, on one line.
pub(crate) fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// A peer's words, which may be missing, and may hold anything.
fn reason(text: &str) -> String {
    if text.is_empty() {
        return "it gave no reason".into();
    }
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect()
}
