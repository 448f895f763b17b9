//! libcurl with HTTP/3, as PyPI's pycurl brings it, by a script of ours.

use std::path::PathBuf;
use std::process::Command;

use super::{Answer, Peer, Programs, refuse};
use crate::job::{Act, ClientJob, Protocol, RANGE, ServerJob};
use crate::process;

pub(super) struct Curl {
    python: PathBuf,
    script: PathBuf,
}

impl Curl {
    pub(super) fn new(programs: &Programs) -> Self {
        Self { python: programs.python.clone(), script: programs.scripts.join("curl_client.py") }
    }
}

impl Peer for Curl {
    fn name(&self) -> &'static str {
        "curl"
    }

    fn about(&self) -> &'static str {
        "libcurl with ngtcp2 and OpenSSL (PyPI: pycurl), by our script on its API"
    }

    fn version(&self) -> Result<String, String> {
        let program = "import pycurl; print(pycurl.version); pycurl.CURL_HTTP_VERSION_3ONLY";
        match process::output(Command::new(&self.python).args(["-c", program]))? {
            (true, text) if text.contains("ngtcp2/") || text.contains("quiche/") => {
                let known = ["libcurl/", "OpenSSL/", "ngtcp2/", "nghttp3/", "quiche/"];
                let parts =
                    text.split_whitespace().filter(|part| known.iter().any(|name| part.starts_with(name)));
                Ok(parts.collect::<Vec<_>>().join(" ").replace('/', " "))
            }
            (true, text) => Err(format!("this libcurl has no HTTP/3: {}", text.trim())),
            (false, text) => Err(format!("pycurl is not there: {}", process::tail(&text, 1))),
        }
    }

    fn serves(&self) -> bool {
        false
    }

    fn client(&self, job: &ClientJob<'_>) -> Answer<Vec<Command>> {
        if job.protocol == Protocol::Hq {
            return refuse("`CURLOPT_HTTP_VERSION`: HTTP/0.9 is known over TCP alone");
        }
        let mut command = Command::new(&self.python);
        command.arg("-B").arg(&self.script);
        command
            .arg("--ca")
            .arg(job.site.ca())
            .arg("--out")
            .arg(job.fetched())
            .args(["--resolve", &job.resolution()]);
        command.env("SSLKEYLOGFILE", job.keylog());
        if let Some(cipher) = job.cipher {
            command.args(["--cipher", cipher.name()]);
        }
        match job.act {
            Act::Fetch => {}
            Act::Each | Act::Resume => drop(command.arg("--fresh")),
            Act::EarlyData => drop(command.args(["--fresh", "--early"])),
            Act::Head => drop(command.arg("--head")),
            Act::Range => drop(command.arg("--range").arg(format!("{}-{}", RANGE.0, RANGE.1))),
            Act::Upload => drop(command.arg("--upload").arg(job.site.www().join(&job.paths[0]))),
            Act::KeyUpdate => return refuse("`curl_easy_setopt`: no option for a key update"),
            Act::Migrate | Act::Rebind => {
                return refuse("`curl_easy_setopt`: no option to change the port of a connection");
            }
            Act::Negotiate => return refuse("`curl_easy_setopt`: no option for the version of QUIC"),
            Act::Page => return refuse("libcurl: no browser"),
        }
        command.args(job.urls());
        Ok(vec![command])
    }

    fn server(&self, _: &ServerJob<'_>) -> Answer<Command> {
        refuse("\"the multiprotocol file transfer library\": a client")
    }
}
