//! Secrets of connections for programs that decode captures.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use rustls::KeyLog;

/// Appends the secrets to a file in the format of `SSLKEYLOGFILE`, which Wireshark and tshark read.
#[derive(Debug)]
pub struct KeyLogFile(Mutex<File>);

impl KeyLogFile {
    /// Opens or makes the file; natively only its owner may read it.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(path: &str) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Ok(Self(Mutex::new(options.open(path)?)))
    }
}

impl KeyLog for KeyLogFile {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let mut line = format!("{label} ");
        line.extend(client_random.iter().map(|byte| format!("{byte:02x}")));
        line.push(' ');
        line.extend(secret.iter().map(|byte| format!("{byte:02x}")));
        line.push('\n');
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A connection does not fail because its log cannot be written.
        let _ = file.write_all(line.as_bytes());
    }
}
