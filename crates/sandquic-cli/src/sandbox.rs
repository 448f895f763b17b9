//! Runs the components of HTTP/3 with the files that their arguments name, and no others.

use std::num::NonZeroU16;
use std::path::{Path, PathBuf, absolute};
use std::process::ExitCode;

use sandquic_host::{DEFAULT_MAX_MEMORY, Host, HostOptions, Input, Network, Preopen, RunOptions, Udp};

use crate::cli::{Place, Wasi};
use crate::run::{failure, instances};
use crate::{Failure, components};

/// Directories that a component is granted, each under the path that it has outside.
#[derive(Debug, Default)]
pub(crate) struct Grants(Vec<(PathBuf, bool)>);

impl Grants {
    /// Grants a directory; returns its path, absolute.
    pub(crate) fn directory(&mut self, path: &str, writable: bool) -> Result<String, Failure> {
        let path = make_absolute(path)?;
        self.grant(&path, writable);
        Ok(text(&path))
    }

    /// Grants the directory that a file is in; returns the file's path, absolute.
    pub(crate) fn file(&mut self, path: &str, writable: bool) -> Result<String, Failure> {
        let path = make_absolute(path)?;
        self.grant(path.parent().unwrap_or(Path::new("/")), writable);
        Ok(text(&path))
    }

    fn grant(&mut self, path: &Path, writable: bool) {
        match self.0.iter_mut().find(|(granted, _)| granted == path) {
            Some((_, already)) => *already |= writable,
            None => self.0.push((path.to_owned(), writable)),
        }
    }
}

/// Runs a built-in component, or several instances of it, each with a standard input that `stdin` makes, and returns
/// the exit status.
pub(crate) fn run(
    name: &str,
    place: &Place,
    count: Option<NonZeroU16>,
    grants: Grants,
    words: Vec<String>,
    stdin: impl Fn() -> Input + Sync,
) -> Result<ExitCode, Failure> {
    let preopens: Vec<_> =
        grants.0.into_iter().map(|(host, writable)| Preopen { guest: text(&host), host, writable }).collect();
    let options = || RunOptions {
        stdin: stdin(),
        args: words.clone(),
        network: Network::All,
        preopens: preopens.clone(),
        max_memory: place.max_memory.unwrap_or(DEFAULT_MAX_MEMORY),
        ..RunOptions::inherit()
    };
    let program = match place.wasi {
        Wasi::P3 => components::embedded(name)?,
        Wasi::P2 => components::embedded(&format!("{name}-wasip2"))?,
    };
    let udp = if place.stock_udp { Udp::Stock } else { Udp::Batched };
    let host = Host::new(HostOptions { udp, ..HostOptions::default() })?;
    let status = match count {
        Some(count) => instances(&host, &program, count, options)?,
        None => host.run(&program, options()).map_err(failure)?,
    };
    Ok(ExitCode::from(u8::try_from(status).unwrap_or(u8::MAX)))
}

fn make_absolute(path: &str) -> Result<PathBuf, Failure> {
    absolute(path).map_err(|error| Failure::Usage(format!("{path} is no path: {error}")))
}

/// It was made of text.
fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
