//! `sandquic serve` and `sandquic get`, in the sandbox or natively.

use std::path::PathBuf;
use std::process::Command;

use super::{Answer, Peer, refuse};
use crate::job::{Act, ClientJob, Protocol, RANGE, ServerJob};
use crate::process;

/// The project's own programs.
#[derive(Debug, Clone)]
pub(crate) struct Ours {
    /// The `sandquic` command.
    pub(crate) program: PathBuf,
    /// Whether it runs outside the sandbox.
    pub(crate) native: bool,
    /// Whether the sandbox gets Wasmtime's own UDP sockets.
    pub(crate) stock_udp: bool,
}

impl Ours {
    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(name);
        if self.native {
            command.arg("--native");
        } else if self.stock_udp {
            command.arg("--stock-udp");
        }
        command
    }
}

impl Peer for Ours {
    fn name(&self) -> &'static str {
        if self.native { "sandquic --native" } else { "sandquic" }
    }

    fn about(&self) -> &'static str {
        "this project"
    }

    fn version(&self) -> Result<String, String> {
        match process::output(Command::new(&self.program).arg("--version"))? {
            (true, text) => Ok(text.lines().next().unwrap_or_default().to_owned()),
            (false, text) => Err(format!("sandquic does not run: {}", process::tail(&text, 2))),
        }
    }

    fn client(&self, job: &ClientJob<'_>) -> Answer<Vec<Command>> {
        let run = |urls: &[String], more: &[&str]| {
            let mut command = self.command("get");
            command.arg("--ca").arg(job.site.ca()).arg("--keylog").arg(job.keylog());
            command.arg("--remote-name").arg("--output-dir").arg(job.fetched());
            command.args([
                "--resolve",
                &job.resolution(),
                "--fail",
                "--no-progress-meter",
                "--write-out",
                "json",
            ]);
            if job.protocol == Protocol::Hq {
                command.arg("--http0.9");
            }
            if let Some(cipher) = job.cipher {
                command.args(["--ciphers", cipher.name()]);
            }
            command.args(more).args(urls);
            command
        };
        let urls = job.urls();
        let (first, others) = (urls.get(..1).unwrap_or_default(), urls.get(1..).unwrap_or_default());
        let session = format!("--session={}", job.dir.join("session").display());
        Ok(match job.act {
            Act::Fetch => vec![run(&urls, &[])],
            Act::Each => urls.iter().map(|url| run(std::slice::from_ref(url), &[])).collect(),
            Act::Resume => {
                [first, others].into_iter().map(|urls| run(urls, &[&session, "--no-early-data"])).collect()
            }
            Act::EarlyData => [first, others].into_iter().map(|urls| run(urls, &[&session])).collect(),
            Act::KeyUpdate => vec![run(&urls, &["--key-update"])],
            Act::Head => vec![run(&urls, &["--head"])],
            Act::Range => vec![run(&urls, &["--range", &format!("{}-{}", RANGE.0, RANGE.1)])],
            Act::Upload => {
                let file = job.site.www().join(&job.paths[0]);
                vec![run(&urls, &["--upload-file", &file.display().to_string()])]
            }
            Act::Migrate | Act::Rebind => return refuse("`sandquic get` keeps its socket"),
            Act::Negotiate => return refuse("`sandquic get` offers version 1 alone"),
            Act::Page => return refuse("`sandquic get` is no browser"),
        })
    }

    fn server(&self, job: &ServerJob<'_>) -> Answer<Command> {
        let mut command = self.command("serve");
        command.arg(job.site.www()).args(["--listen", &job.listen.to_string()]);
        command
            .arg("--cert")
            .arg(job.site.certificate(job.large_certificate))
            .arg("--key")
            .arg(job.site.key());
        command.arg("--keylog").arg(job.keylog());
        command.args(["--retry", if job.retry { "always" } else { "never" }]);
        if job.act == Act::Upload {
            command.arg("--upload").arg(job.uploads());
        }
        Ok(command)
    }
}
