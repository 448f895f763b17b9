//! Programs of others: what they say goes to a file, and they end when told or when dropped.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A running program; killed when dropped.
pub(crate) struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts a program whose outputs both go to `log`.
    pub(crate) fn start(command: &mut Command, log: &Path) -> Result<Self, String> {
        let program = command.get_program().to_string_lossy().into_owned();
        let mut open = || -> io::Result<Child> {
            let file = File::create(log)?;
            command.stdin(Stdio::piped()).stdout(file.try_clone()?).stderr(file).spawn()
        };
        let child = open().map_err(|error| format!("cannot start {program}: {error}"))?;
        Ok(Self { child, log: log.to_owned() })
    }

    /// Waits for the end, at most so long.
    pub(crate) fn wait(&mut self, patience: Duration) -> Result<Option<ExitStatus>, String> {
        let until = Instant::now() + patience;
        loop {
            let status =
                self.child.try_wait().map_err(|error| format!("cannot wait for a program: {error}"))?;
            if status.is_some() || Instant::now() >= until {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// What it has said so far.
    pub(crate) fn said(&self) -> String {
        read(&self.log)
    }

    /// Closes its standard input and asks it to end (SIGTERM); it is killed when it does not.
    pub(crate) fn stop(mut self) -> Result<Option<ExitStatus>, String> {
        drop(self.child.stdin.take());
        let id = self.child.id().to_string();
        let _ = Command::new("kill").args(["-TERM", &id]).stderr(Stdio::null()).status();
        self.wait(Duration::from_secs(5))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// A log as text; empty if there is none.
pub(crate) fn read(log: &Path) -> String {
    fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// Runs a short command to its end and returns both outputs, standard output first.
pub(crate) fn output(command: &mut Command) -> Result<(bool, String), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let done =
        command.stdin(Stdio::null()).output().map_err(|error| format!("cannot run {program}: {error}"))?;
    let text = [done.stdout, done.stderr].concat();
    Ok((done.status.success(), String::from_utf8_lossy(&text).into_owned()))
}

/// The end of a log, at most so many lines, each cut after 300 characters.
pub(crate) fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let cut = |line: &&str| line.chars().take(300).collect::<String>();
    all[all.len().saturating_sub(lines)..].iter().map(cut).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_heard_waited_for_and_stopped() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let mut short =
            Process::start(Command::new("sh").args(["-c", "echo out; echo err >&2; exit 3"]), &log).unwrap();
        assert_eq!(short.wait(Duration::from_secs(20)).unwrap().unwrap().code(), Some(3));
        assert_eq!(short.said(), "out\nerr\n");
        let started = Instant::now();
        let mut long = Process::start(Command::new("sleep").arg("600"), &log).unwrap();
        assert!(long.wait(Duration::from_millis(30)).unwrap().is_none());
        assert!(long.stop().unwrap().is_some());
        assert!(started.elapsed() < Duration::from_secs(30));
        assert!(Process::start(&mut Command::new("/no/such/program"), &log).is_err());
    }

    #[test]
    fn the_end_of_a_log_is_cut() {
        assert_eq!(tail("a\n\nb\nc\n", 2), "b\nc");
        assert_eq!(tail(&"x".repeat(1_000), 5).len(), 300);
    }
}
