//! The log on standard error: a line each, with the time in UTC.

use std::fmt::Arguments;
use std::io::Write;
use std::time::SystemTime;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::args::LogLevel;

/// Writes what its level allows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Log(pub(super) LogLevel);

impl Log {
    /// A line about a connection.
    pub(super) fn connection(self, line: Arguments<'_>) {
        self.line(LogLevel::Connections, line);
    }

    /// A line about a request.
    pub(super) fn request(self, line: Arguments<'_>) {
        self.line(LogLevel::Requests, line);
    }

    fn line(self, level: LogLevel, line: Arguments<'_>) {
        if self.0 >= level {
            // In one call, which in the sandbox is one of the host's. Nothing is left to do if it is closed.
            let line = format!("{} {line}\n", utc(SystemTime::now()));
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
    }
}

/// A time as RFC 3339 has it, in whole seconds.
pub(super) fn utc(time: SystemTime) -> String {
    let time = OffsetDateTime::from(time);
    time.replace_nanosecond(0).unwrap_or(time).format(&Rfc3339).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_rfc_3339() {
        let time = SystemTime::UNIX_EPOCH + Duration::from_millis(951_782_400_500);
        assert_eq!(utc(time), "2000-02-29T00:00:00Z");
    }
}
