//! The programs that talk to each other: how each is told to do a job.

mod aioquic;
mod chromium;
mod curl;
mod ngtcp2;
mod ours;
mod quinn;

use std::path::PathBuf;
use std::process::Command;

use crate::job::{ClientJob, ServerJob};

pub(crate) use chromium::screenshot;
pub(crate) use ours::Ours;

/// Why a peer does not do a job: it has no way to, in its own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal(pub(crate) String);

/// What a peer says to a job.
pub(crate) type Answer<T> = Result<T, Refusal>;

/// An `Err` with the peer's words.
fn refuse<T>(words: impl Into<String>) -> Answer<T> {
    Err(Refusal(words.into()))
}

/// A program that talks QUIC.
pub(crate) trait Peer: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// What it is and where it is from, for the report.
    fn about(&self) -> &'static str;

    /// Its version, asked of itself; an error says what is missing.
    fn version(&self) -> Result<String, String>;

    /// Whether it can be a server at all.
    fn serves(&self) -> bool {
        true
    }

    /// The commands that do a client's job, one after another.
    fn client(&self, job: &ClientJob<'_>) -> Answer<Vec<Command>>;

    /// The command that does a server's job.
    fn server(&self, job: &ServerJob<'_>) -> Answer<Command>;
}

/// Where programs and scripts are.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    /// The `sandquic` command.
    pub(crate) sandquic: PathBuf,
    /// A Python that has aioquic and pycurl.
    pub(crate) python: PathBuf,
    /// The folder of our Python scripts.
    pub(crate) scripts: PathBuf,
    /// This program.
    pub(crate) this: PathBuf,
}

/// Every peer.
pub(crate) fn all(programs: &Programs) -> Vec<Box<dyn Peer>> {
    vec![
        Box::new(quinn::Quinn { this: programs.this.clone() }),
        Box::new(ngtcp2::Ngtcp2::new()),
        Box::new(aioquic::Aioquic::new(programs)),
        Box::new(curl::Curl::new(programs)),
        Box::new(chromium::Chromium::new()),
    ]
}

/// The names of all peers.
pub(crate) const NAMES: [&str; 5] = ["quinn", "ngtcp2", "aioquic", "curl", "chromium"];
