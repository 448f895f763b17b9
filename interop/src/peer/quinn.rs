//! Stock quinn with ring, and stock h3: programs of [`crate::stock`].

use std::path::PathBuf;
use std::process::Command;

use super::{Answer, Peer, refuse};
use crate::job::{Act, ClientJob, RANGE, ServerJob};

pub(super) struct Quinn {
    pub(super) this: PathBuf,
}

impl Peer for Quinn {
    fn name(&self) -> &'static str {
        "quinn"
    }

    fn about(&self) -> &'static str {
        "stock quinn with rustls, ring and h3 (crates.io)"
    }

    fn version(&self) -> Result<String, String> {
        Ok(crate::stock::VERSION.to_owned())
    }

    fn client(&self, job: &ClientJob<'_>) -> Answer<Vec<Command>> {
        let mut command = Command::new(&self.this);
        command.arg("quinn-client").args(["--connect", &job.server.to_string()]);
        command
            .arg("--ca")
            .arg(job.site.ca())
            .arg("--out")
            .arg(job.fetched())
            .args(["--alpn", job.protocol.alpn()]);
        if let Some(cipher) = job.cipher {
            command.args(["--cipher", cipher.name()]);
        }
        match job.act {
            Act::Fetch => {}
            Act::Each => drop(command.arg("--each")),
            Act::Resume => drop(command.args(["--session", "resume"])),
            Act::EarlyData => drop(command.args(["--session", "early"])),
            Act::KeyUpdate => drop(command.arg("--key-update")),
            Act::Migrate => drop(command.arg("--migrate")),
            Act::Rebind => {
                return refuse("`Endpoint::rebind` tells its connections that the port has changed");
            }
            Act::Negotiate => {
                return refuse(
                    "`ConnectError::UnsupportedVersion`: the local endpoint does not support it either",
                );
            }
            Act::Head => drop(command.args(["--method", "HEAD"])),
            Act::Range => drop(command.arg("--range").arg(format!("bytes={}-{}", RANGE.0, RANGE.1))),
            Act::Upload => {
                command.args(["--method", "PUT", "--data"]).arg(job.site.www().join(&job.paths[0]));
            }
            Act::Page => return refuse("h3: no browser"),
        }
        command.args(job.paths).env("SSLKEYLOGFILE", job.keylog());
        Ok(vec![command])
    }

    fn server(&self, job: &ServerJob<'_>) -> Answer<Command> {
        let mut command = Command::new(&self.this);
        command.arg("quinn-server").args(["--listen", &job.listen.to_string()]);
        command
            .arg("--cert")
            .arg(job.site.certificate(job.large_certificate))
            .arg("--key")
            .arg(job.site.key());
        command.arg("--root").arg(job.site.www());
        if job.retry {
            command.arg("--retry");
        }
        command.env("SSLKEYLOGFILE", job.keylog());
        Ok(command)
    }
}
