//! The `perf` program: whether it can be used, how it records, and how its records are read.

use std::fs;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{Command, Stdio};

use super::script::{FIELDS, Tally};
use crate::Error;

/// Samples a second of CPU time, as in the paper.
pub const FREQUENCY: u32 = 4000;

/// CPU time of the process, in the kernel too. A clock rather than the processor's counters: virtual machines have it too.
const EVENT: &str = "task-clock";

/// Bytes of a program's complaints that are read for a message.
const COMPLAINT_LIMIT: u64 = 4 << 10;

/// Whether a process can be profiled here, tried on a short one.
///
/// # Errors
/// Why not, and what to do: `perf` is absent (which packages have it), it is refused (which sysctl refuses it), or it cannot
/// see into the kernel.
pub fn available() -> Result<(), String> {
    let directory =
        tempfile::tempdir().map_err(|error| format!("cannot make a directory for a profile: {error}"))?;
    let data = directory.path().join("perf.data");
    let output = wrap(Command::new("true"), &data)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| absent(&error.to_string()))?;
    if !output.status.success() || !data.is_file() {
        return Err(refused(&String::from_utf8_lossy(&output.stderr)));
    }
    sees_the_kernel(&data).map_err(|error| error.to_string())?;
    if kernel_symbols_are_hidden() {
        return Err("perf cannot name the kernel's functions: set kernel.kptr_restrict to 0 and kernel.perf_event_paranoid to \
                    1 or less (sysctl -w), or run as root"
            .into());
    }
    Ok(())
}

/// The command that runs this one under `perf record` and writes samples to `data`: [`FREQUENCY`] a second of CPU time, in
/// user space and in the kernel, without call graphs. Arguments, environment and directory are those of the command, its
/// outputs and exit status pass through.
///
/// A command of the form `sandquic run ...` is told to write the map by which `perf` names compiled code; [`super::read`]
/// removes it. Whoever kills `perf` before its end leaves the command running: only its own end ends it.
pub fn wrap(command: Command, data: &Path) -> Command {
    let mut perf = Command::new("perf");
    perf.args(["record", "--quiet", "--event", EVENT, "--freq", &FREQUENCY.to_string()]);
    // Neither hashes nor copies of the objects: they are read where they are, at once.
    perf.args(["--no-buildid", "--no-buildid-cache", "--output"])
        .arg(data)
        .arg("--")
        .arg(command.get_program());
    let mut arguments = command.get_args();
    if let Some(first) = arguments.next() {
        perf.arg(first);
        if first == "run" {
            perf.args(["--profile", "perfmap"]);
        }
    }
    perf.args(arguments);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => perf.env(name, value),
            None => perf.env_remove(name),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        perf.current_dir(directory);
    }
    perf
}

/// Adds up the samples of a file that `perf record` wrote.
pub(super) fn tally(data: &Path) -> Result<Tally, Error> {
    sees_the_kernel(data)?;
    let failed =
        |error: std::io::Error| Error::failed(format!("cannot read the profile {}: {error}", data.display()));
    // A file rather than a pipe: nobody need read it while the samples come.
    let mut complaints = tempfile::tempfile().map_err(failed)?;
    let mut script = Command::new("perf")
        // The names are demangled here, since perf does not do it for compiled code's.
        .args(["script", "--no-demangle", "--fields", FIELDS, "--input"])
        .arg(data)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(complaints.try_clone().map_err(failed)?)
        .spawn()
        .map_err(|error| Error::failed(absent(&error.to_string())))?;
    let tally = match script.stdout.take() {
        Some(stdout) => Tally::read(BufReader::new(stdout)),
        None => Err(Error::failed("perf script has no output")),
    };
    if tally.is_err() {
        let _ = script.kill();
    }
    let status = script.wait().map_err(failed)?;
    let tally = tally?;
    if !status.success() {
        let mut text = Vec::new();
        complaints.seek(SeekFrom::Start(0)).map_err(failed)?;
        complaints.take(COMPLAINT_LIMIT).read_to_end(&mut text).map_err(failed)?;
        return Err(Error::failed(format!(
            "perf cannot read the profile {} ({status}): {}",
            data.display(),
            said(&String::from_utf8_lossy(&text))
        )));
    }
    Ok(tally)
}

/// Checks that the samples of a file were taken in the kernel too: where that is not allowed, `perf` leaves it out and
/// says nothing.
fn sees_the_kernel(data: &Path) -> Result<(), Error> {
    let output = Command::new("perf")
        .args(["evlist", "--verbose", "--input"])
        .arg(data)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Error::failed(absent(&error.to_string())))?;
    let events = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Err(Error::failed(format!(
            "perf cannot read the profile {}: {}",
            data.display(),
            said(&String::from_utf8_lossy(&output.stderr))
        )));
    }
    if !events.contains("sample_type:") || !events.contains("PERIOD") {
        return Err(Error::failed(format!(
            "the profile {} has no sampling periods: it was not recorded with --freq",
            data.display()
        )));
    }
    if events.contains("exclude_kernel: 1") {
        return Err(Error::failed(format!(
            "perf may not look into the kernel{}: set kernel.perf_event_paranoid to 1 or less (sysctl -w), or run as root",
            paranoia()
        )));
    }
    Ok(())
}

/// The kernel shows its symbols' addresses as zero to those who may not see them.
fn kernel_symbols_are_hidden() -> bool {
    let mut start = String::new();
    let read = fs::File::open("/proc/kallsyms")
        .and_then(|file| file.take(COMPLAINT_LIMIT).read_to_string(&mut start));
    let addresses = start.lines().filter_map(|line| line.split(' ').next());
    // The first symbols of some architectures are offsets near zero, but not all of them.
    read.is_ok() && addresses.into_iter().all(|address| address.bytes().all(|digit| digit == b'0'))
}

fn absent(error: &str) -> String {
    format!(
        "cannot run perf ({error}): install the package linux-perf (Debian), linux-tools-generic with \
         linux-tools-$(uname -r) (Ubuntu) or perf (Fedora, Arch, Alpine)"
    )
}

fn refused(complaint: &str) -> String {
    format!(
        "perf record is refused{}: set kernel.perf_event_paranoid to 1 or less (sysctl -w), run as root, or allow the system \
         call perf_event_open to this container; perf says: {}",
        paranoia(),
        said(complaint)
    )
}

fn paranoia() -> String {
    fs::read_to_string("/proc/sys/kernel/perf_event_paranoid")
        .map(|level| format!(" (kernel.perf_event_paranoid is {})", level.trim()))
        .unwrap_or_default()
}

/// What a program complained of, on one line that is not too long.
fn said(complaint: &str) -> String {
    let line: String = complaint.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(300).collect();
    if line.is_empty() { "nothing".into() } else { line }
}
