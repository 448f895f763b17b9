//! What a dissector of others finds in a capture: Wireshark's tshark, with the key logs of both ends.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process;

/// A capture with what is needed to read it.
#[derive(Debug)]
pub(crate) struct Capture {
    /// The capture.
    pub(crate) file: PathBuf,
    /// The secrets of its connections; none if empty.
    pub(crate) keys: PathBuf,
    /// The server's port.
    pub(crate) port: u16,
}

impl Capture {
    /// The values of fields in the datagrams that pass a filter, a row each. A field that comes several times has its
    /// values with commas between.
    pub(crate) fn fields(&self, filter: &str, fields: &[&str]) -> Result<Vec<Vec<String>>, String> {
        let mut command = Command::new("tshark");
        command.arg("-n").arg("-r").arg(&self.file);
        command.arg("-o").arg(format!("tls.keylog_file:{}", self.keys.display()));
        command.arg("-d").arg(format!("udp.port=={},quic", self.port));
        command.args(["-Y", filter, "-T", "fields"]);
        for field in fields {
            command.args(["-e", field]);
        }
        let done = command.output().map_err(|error| format!("cannot run tshark: {error}"))?;
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            return Err(format!("tshark cannot read the capture: {}", process::tail(&said, 2)));
        }
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        Ok(text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect())
    }

    /// How many datagrams pass a filter.
    pub(crate) fn count(&self, filter: &str) -> Result<usize, String> {
        Ok(self.fields(filter, &["frame.number"])?.len())
    }
}

/// Puts several key logs into one file.
pub(crate) fn join_keys(logs: &[PathBuf], into: &Path) -> Result<(), String> {
    let all: Vec<u8> = logs.iter().flat_map(|log| std::fs::read(log).unwrap_or_default()).collect();
    std::fs::write(into, all).map_err(|error| format!("cannot write {}: {error}", into.display()))
}

/// Its version; an error says that it is missing.
pub(crate) fn version() -> Result<String, String> {
    let (_, text) = process::output(Command::new("tshark").arg("--version"))?;
    let line = text.lines().find(|line| line.starts_with("TShark"));
    Ok(line
        .unwrap_or("tshark")
        .split_whitespace()
        .filter(|word| !word.contains('('))
        .take(3)
        .collect::<Vec<_>>()
        .join(" "))
}
