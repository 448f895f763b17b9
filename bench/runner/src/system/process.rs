//! Children: their output line by line, a deadline, and their CPU time.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeVal;

use super::CpuList;
use crate::Error;

/// Longer lines of a child are cut here, so that one without line ends cannot fill the memory.
const LINE_LIMIT: u64 = 16 << 10;

/// Held while a child is reaped: the system adds a child's CPU time to the total of all children when it is waited
/// for, so the difference of that total is one child's time only if no other is reaped in between.
static REAPING: Mutex<()> = Mutex::new(());

/// CPU time of an ended child, of all its threads and of the descendants that it waited for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CpuTime {
    /// In its own code.
    pub(crate) user: Duration,
    /// In the kernel on its behalf.
    pub(crate) system: Duration,
}

impl CpuTime {
    /// User and system time.
    pub(crate) fn total(self) -> Duration {
        self.user + self.system
    }
}

/// What a child did.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// It wrote a line on its standard output.
    Out(String),
    /// It wrote a line on its standard error.
    Err(String),
    /// It closed both.
    Closed,
    /// Nothing, for as long as was asked.
    Quiet,
}

/// A running child, killed when dropped. It ends by itself when its standard input, held here, is closed, if it
/// watches that.
pub(crate) struct Process {
    name: String,
    child: Child,
    events: Receiver<Event>,
    open_outputs: usize,
}

impl Process {
    /// Starts a command; `name` is what messages call it.
    pub(crate) fn spawn(name: &str, command: &mut Command, cpus: Option<&CpuList>) -> Result<Self, Error> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let spawned = match cpus {
            Some(cpus) => cpus
                .pinned(|| command.spawn())
                .map_err(|error| Error::failed(format!("cannot pin {name} to processors {cpus}: {error}")))?,
            None => command.spawn(),
        };
        let mut child = spawned.map_err(|error| {
            let program = command.get_program().to_string_lossy();
            Error::failed(format!("cannot start {name} ({program}): {error}"))
        })?;
        let (sender, events) = channel();
        let mut open_outputs = 0;
        if let Some(stdout) = child.stdout.take() {
            open_outputs += 1;
            forward(stdout, sender.clone(), Event::Out);
        }
        if let Some(stderr) = child.stderr.take() {
            open_outputs += 1;
            forward(stderr, sender, Event::Err);
        }
        Ok(Self { name: name.to_owned(), child, events, open_outputs })
    }

    /// What messages call it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it prints `listening ADDRESS`, and gives the rest of that line. A line on its standard error is a complaint.
    pub(crate) fn listening(&mut self, deadline: Instant) -> Result<String, Error> {
        let complaint = loop {
            match self.next_event(deadline.saturating_duration_since(Instant::now())) {
                Event::Out(line) => {
                    if let Some(address) = line.strip_prefix("listening ") {
                        return Ok(address.to_owned());
                    }
                }
                Event::Err(line) => break format!("says: {line}"),
                Event::Closed => break "has ended before it listened".to_owned(),
                Event::Quiet => break "does not begin to listen".to_owned(),
            }
        };
        Err(Error::failed(format!("{} {complaint}", self.name)))
    }

    /// Waits for the next event, at most this long.
    pub(crate) fn next_event(&mut self, patience: Duration) -> Event {
        let until = Instant::now() + patience;
        loop {
            if self.open_outputs == 0 {
                return Event::Closed;
            }
            match self.events.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Event::Closed) => self.open_outputs -= 1,
                Ok(event) => return event,
                Err(RecvTimeoutError::Timeout) => return Event::Quiet,
                Err(RecvTimeoutError::Disconnected) => self.open_outputs = 0,
            }
        }
    }

    /// Waits for the end, at most until the deadline; `None` if the child still runs then.
    pub(crate) fn wait_until(&mut self, deadline: Instant) -> Result<Option<(ExitStatus, CpuTime)>, Error> {
        loop {
            if let Some(ended) = self.try_wait()? {
                return Ok(Some(ended));
            }
            if Instant::now() >= deadline {
                return Ok(None);
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn try_wait(&mut self) -> Result<Option<(ExitStatus, CpuTime)>, Error> {
        let failed =
            |error: &dyn std::fmt::Display| Error::failed(format!("cannot wait for a child: {error}"));
        let _alone = REAPING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let before = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|error| failed(&error))?;
        let Some(status) = self.child.try_wait().map_err(|error| failed(&error))? else { return Ok(None) };
        let after = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|error| failed(&error))?;
        let difference =
            |time: fn(&Usage) -> TimeVal| duration(time(&after)).saturating_sub(duration(time(&before)));
        Ok(Some((
            status,
            CpuTime { user: difference(Usage::user_time), system: difference(Usage::system_time) },
        )))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Ok(None) = self.try_wait() {
            let _ = self.child.kill();
            let _alone = REAPING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let _ = self.child.wait();
        }
    }
}

fn duration(time: TimeVal) -> Duration {
    let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
    let micros = u64::try_from(time.tv_usec()).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_micros(micros)
}

/// Sends each line of an output, then [`Event::Closed`].
fn forward(output: impl Read + Send + 'static, sender: Sender<Event>, event: fn(String) -> Event) {
    thread::spawn(move || {
        let mut reader = BufReader::new(output);
        let mut line = Vec::new();
        loop {
            line.clear();
            match reader.by_ref().take(LINE_LIMIT).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
            let text = String::from_utf8_lossy(line.trim_ascii_end()).into_owned();
            if sender.send(event(text)).is_err() {
                break;
            }
        }
        let _ = sender.send(Event::Closed);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Process {
        Process::spawn("a shell", Command::new("sh").args(["-c", script]), None).unwrap()
    }

    #[test]
    fn lines_and_status_arrive() {
        let mut process = shell("echo one; echo two >&2; exit 7");
        let mut seen = Vec::new();
        loop {
            match process.next_event(Duration::from_secs(20)) {
                Event::Closed => break,
                Event::Quiet => panic!("the shell says nothing"),
                event => seen.push(event),
            }
        }
        seen.sort_by_key(|event| matches!(event, Event::Err(_)));
        assert_eq!(seen, [Event::Out("one".into()), Event::Err("two".into())]);
        let (status, _) = process.wait_until(Instant::now() + Duration::from_secs(20)).unwrap().unwrap();
        assert_eq!(status.code(), Some(7));
    }

    #[test]
    fn cpu_time_is_that_of_the_child() {
        let mut busy = shell("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done");
        let mut idle = shell("sleep 0.3");
        let deadline = Instant::now() + Duration::from_secs(60);
        let (_, idle_time) = idle.wait_until(deadline).unwrap().unwrap();
        let (_, busy_time) = busy.wait_until(deadline).unwrap().unwrap();
        assert!(busy_time.user + busy_time.system > Duration::from_millis(30), "{busy_time:?}");
        assert!(idle_time.user + idle_time.system < Duration::from_millis(30), "{idle_time:?}");
    }

    #[test]
    fn a_deadline_passes_and_the_child_is_killed() {
        let started = Instant::now();
        let mut process = shell("exec sleep 600");
        assert_eq!(process.next_event(Duration::from_millis(50)), Event::Quiet);
        assert!(process.wait_until(started + Duration::from_millis(100)).unwrap().is_none());
        drop(process);
        assert!(started.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn an_absent_program_is_named() {
        let error = Process::spawn("the peer", &mut Command::new("/no/such/program"), None).err().unwrap();
        assert!(error.to_string().contains("the peer (/no/such/program)"), "{error}");
    }
}
