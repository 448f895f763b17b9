//! aioquic, by scripts of ours on its API.

use std::path::PathBuf;
use std::process::Command;

use super::{Answer, Peer, Programs, refuse};
use crate::job::{Act, ClientJob, RANGE, ServerJob};
use crate::process;

pub(super) struct Aioquic {
    python: PathBuf,
    scripts: PathBuf,
}

impl Aioquic {
    pub(super) fn new(programs: &Programs) -> Self {
        Self { python: programs.python.clone(), scripts: programs.scripts.clone() }
    }

    fn script(&self, name: &str) -> Command {
        let mut command = Command::new(&self.python);
        // No caches between the sources.
        command.arg("-B").arg(self.scripts.join(name));
        command
    }
}

impl Peer for Aioquic {
    fn name(&self) -> &'static str {
        "aioquic"
    }

    fn about(&self) -> &'static str {
        "aioquic (PyPI), by our scripts on its API"
    }

    fn version(&self) -> Result<String, String> {
        let program = "import aioquic; print('aioquic', aioquic.__version__)";
        match process::output(Command::new(&self.python).args(["-c", program]))? {
            (true, text) => Ok(text.trim().to_owned()),
            (false, text) => Err(format!("aioquic is not there: {}", process::tail(&text, 1))),
        }
    }

    fn client(&self, job: &ClientJob<'_>) -> Answer<Vec<Command>> {
        let mut command = self.script("aioquic_client.py");
        command.args(["--connect", &job.server.ip().to_string(), "--port", &job.server.port().to_string()]);
        command
            .arg("--ca")
            .arg(job.site.ca())
            .arg("--out")
            .arg(job.fetched())
            .args(["--alpn", job.protocol.alpn()]);
        command.arg("--keylog").arg(job.keylog());
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
            Act::Rebind => drop(command.arg("--rebind")),
            Act::Negotiate => drop(command.arg("--negotiate")),
            // It takes the answer for one whose body is missing.
            Act::Head => {
                return refuse("`H3Connection.handle_event`: content-length does not match data size");
            }
            Act::Range => drop(command.arg("--header").arg(format!("range: bytes={}-{}", RANGE.0, RANGE.1))),
            Act::Upload => {
                command.args(["--method", "PUT", "--data"]).arg(job.site.www().join(&job.paths[0]));
            }
            Act::Page => return refuse("aioquic.h3: no browser"),
        }
        command.args(job.urls());
        Ok(vec![command])
    }

    fn server(&self, job: &ServerJob<'_>) -> Answer<Command> {
        let mut command = self.script("aioquic_server.py");
        command.args(["--listen", &job.listen.ip().to_string(), "--port", &job.listen.port().to_string()]);
        command.arg("--root").arg(job.site.www()).arg("--keylog").arg(job.keylog());
        command
            .arg("--cert")
            .arg(job.site.certificate(job.large_certificate))
            .arg("--key")
            .arg(job.site.key());
        if job.retry {
            command.arg("--retry");
        }
        Ok(command)
    }
}
