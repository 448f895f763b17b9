//! Running other programs: standard input closed, the command shown, a limit on time, output passed on by line.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, IsTerminal, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use crate::{Error, Result, fail};

/// A program about to be run.
pub(crate) struct Cmd {
    inner: Command,
    shown: Vec<String>,
    limit: Option<Duration>,
}

/// What a program that was captured wrote and how it ended.
pub(crate) struct Captured {
    /// Whether it exited with 0.
    pub(crate) success: bool,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

impl Cmd {
    /// `program`, without what `cargo run` put into this process's environment.
    pub(crate) fn new(program: impl AsRef<OsStr>) -> Self {
        let mut inner = Command::new(program.as_ref());
        inner.stdin(Stdio::null());
        for (name, value) in std::env::vars_os() {
            let Some(name) = name.to_str() else { continue };
            // Build scripts watch some of these; a value of ours would rebuild what it touches.
            if ["CARGO", "OUT_DIR", "CARGO_PRIMARY_PACKAGE"].contains(&name)
                || ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"]
                    .iter()
                    .any(|p| name.starts_with(p))
            {
                inner.env_remove(name);
            }
            // Of `cargo run` as well: another toolchain's compiler must not load this one's libraries.
            if name == "LD_LIBRARY_PATH" {
                let kept: Vec<_> = std::env::split_paths(&value)
                    .filter(|dir| {
                        !dir.components().any(|c| c.as_os_str() == "toolchains" || c.as_os_str() == "target")
                    })
                    .collect();
                match std::env::join_paths(&kept) {
                    Ok(joined) if !kept.is_empty() => inner.env(name, joined),
                    _ => inner.env_remove(name),
                };
            }
        }
        Self { inner, shown: vec![program.as_ref().to_string_lossy().into_owned()], limit: None }
    }

    /// Adds one argument.
    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.shown.push(arg.as_ref().to_string_lossy().into_owned());
        self.inner.arg(arg);
        self
    }

    /// Adds arguments.
    pub(crate) fn args(self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        args.into_iter().fold(self, Self::arg)
    }

    /// Adds arguments from a line, cut at white space.
    pub(crate) fn words(self, line: &str) -> Self {
        self.args(line.split_whitespace())
    }

    /// Sets an environment variable.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.inner.env(name, value);
        self
    }

    /// Removes an environment variable.
    pub(crate) fn env_remove(mut self, name: &str) -> Self {
        self.inner.env_remove(name);
        self
    }

    /// Runs in `dir`.
    pub(crate) fn dir(mut self, dir: &Path) -> Self {
        self.inner.current_dir(dir);
        self
    }

    /// Ends the program, and what it started, after `limit`.
    pub(crate) fn limit(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// The command as one would type it.
    pub(crate) fn line(&self) -> String {
        let quoted = self.shown.iter().map(|word| match word.contains([' ', '"', '\'', '$', '*']) {
            true => format!("'{word}'"),
            false => word.clone(),
        });
        quoted.collect::<Vec<_>>().join(" ")
    }

    /// Shows and runs the command; its output goes where ours goes.
    pub(crate) fn run(mut self) -> Result<()> {
        eprintln!("  $ {}", self.line());
        let mut child = self.spawn()?;
        let status = self.wait(&mut child)?;
        self.check(status)
    }

    /// Shows and runs the command, passing each line of both outputs on and to `each`. Tells whether it succeeded.
    pub(crate) fn tee(mut self, mut each: impl FnMut(&str)) -> Result<bool> {
        eprintln!("  $ {}", self.line());
        self.inner.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.spawn()?;
        let (lines, arrived) = channel();
        forward(child.stdout.take(), lines.clone());
        forward(child.stderr.take(), lines);
        let deadline = self.limit.map(|limit| Instant::now() + limit);
        loop {
            let line = match deadline {
                None => arrived.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(at) => arrived.recv_timeout(at.saturating_duration_since(Instant::now())),
            };
            match line {
                Ok(line) => {
                    eprintln!("{line}");
                    each(&line);
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => return Err(self.too_long(&mut child)),
            }
        }
        Ok(self.wait(&mut child)?.success())
    }

    /// Runs the command silently. An error only if it could not be started or took too long.
    pub(crate) fn capture(mut self) -> Result<Captured> {
        self.inner.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.spawn()?;
        // Both are read at once, or a full pipe would stop the program.
        let stderr = read_in_thread(child.stderr.take());
        let stdout = read_in_thread(child.stdout.take());
        let status = self.wait(&mut child)?;
        Ok(Captured {
            success: status.success(),
            stdout: stdout.join().unwrap_or_default(),
            stderr: stderr.join().unwrap_or_default(),
        })
    }

    /// Runs the command silently and returns its standard output; if it fails, an error with what it said.
    pub(crate) fn read(self) -> Result<String> {
        let line = self.line();
        let done = self.capture()?;
        if !done.success {
            fail!("`{line}` failed:\n{}", done.stderr.trim_end());
        }
        Ok(done.stdout)
    }

    fn spawn(&mut self) -> Result<Child> {
        // A group of its own can be ended whole. Not at a terminal, whose Ctrl-C would then not reach it.
        if self.limit.is_some() && !std::io::stdin().is_terminal() {
            self.inner.process_group(0);
        }
        self.inner.spawn().map_err(|error| {
            Error::Failed(match error.kind() {
                std::io::ErrorKind::NotFound => {
                    format!("`{}` is not installed (or not on PATH)", self.shown[0])
                }
                _ => format!("cannot run `{}`: {error}", self.line()),
            })
        })
    }

    fn wait(&self, child: &mut Child) -> Result<ExitStatus> {
        let failed = |error| Error::Failed(format!("cannot wait for `{}`: {error}", self.line()));
        let Some(limit) = self.limit else { return child.wait().map_err(failed) };
        let started = Instant::now();
        loop {
            if let Some(status) = child.try_wait().map_err(failed)? {
                return Ok(status);
            }
            if started.elapsed() > limit {
                return Err(self.too_long(child));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn too_long(&self, child: &mut Child) -> Error {
        // An own group has the child's id; at a terminal the child alone is ended.
        if !std::io::stdin().is_terminal() {
            let _ = Command::new("kill")
                .args(["-KILL", "--", &format!("-{}", child.id())])
                .stderr(Stdio::null())
                .status();
        }
        let _ = child.kill();
        let _ = child.wait();
        let limit = self.limit.unwrap_or_default().as_secs();
        Error::Failed(format!("`{}` was ended: it had not finished after {limit} s", self.line()))
    }

    fn check(&self, status: ExitStatus) -> Result<()> {
        if !status.success() {
            fail!("`{}` failed ({status})", self.line());
        }
        Ok(())
    }
}

fn forward(pipe: Option<impl Read + Send + 'static>, lines: Sender<String>) {
    let Some(pipe) = pipe else { return };
    std::thread::spawn(move || {
        let mut reader = BufReader::new(pipe);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
            if lines.send(String::from_utf8_lossy(&line).trim_end().to_owned()).is_err() {
                break;
            }
            line.clear();
        }
    });
}

fn read_in_thread(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_captured_and_failures_are_told() {
        assert_eq!(Cmd::new("echo").words("a b").read().unwrap(), "a b\n");
        let failed = Cmd::new("sh").args(["-c", "echo why >&2; exit 3"]).read().unwrap_err();
        assert!(failed.message().contains("why"), "{}", failed.message());
        let absent = Cmd::new("no-such-program-anywhere").capture().err().unwrap();
        assert!(absent.message().contains("not installed"), "{}", absent.message());
    }

    #[test]
    fn a_program_that_takes_too_long_is_ended() {
        let started = Instant::now();
        let error = Cmd::new("sleep").arg("30").limit(Duration::from_millis(100)).run().unwrap_err();
        assert!(error.message().contains("had not finished"), "{}", error.message());
        assert!(started.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn lines_of_both_outputs_are_passed_on() {
        let mut lines = Vec::new();
        assert!(
            Cmd::new("sh")
                .args(["-c", "echo out; echo err >&2"])
                .tee(|line| lines.push(line.to_owned()))
                .unwrap()
        );
        lines.sort();
        assert_eq!(lines, ["err", "out"]);
    }
}
