//! ngtcp2's own programs, on GnuTLS and nghttp3: Debian's `ngtcp2-client` and `ngtcp2-server`.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use super::{Answer, Peer, refuse};
use crate::job::{Act, Cipher, ClientJob, Protocol, ServerJob};
use crate::process;

const CLIENT: &str = "gtlsclient";
const SERVER: &str = "gtlsserver";
/// Where Debian puts the server, which is not on everybody's PATH.
const SERVER_PATH: &str = "/usr/sbin/gtlsserver";

pub(super) struct Ngtcp2 {
    help: OnceLock<[String; 2]>,
}

impl Ngtcp2 {
    pub(super) fn new() -> Self {
        Self { help: OnceLock::new() }
    }

    /// Refuses with words that hold: that the program's own help knows no such option.
    fn lacks<T>(&self, program: &str, option: &str) -> Answer<T> {
        let help = self.help.get_or_init(|| {
            [CLIENT, server()].map(|program| {
                process::output(Command::new(program).arg("--help")).map(|(_, text)| text).unwrap_or_default()
            })
        });
        let text = if program == CLIENT { &help[0] } else { &help[1] };
        match text.contains(option) {
            false => refuse(format!("`{program} --help` knows no `{option}`")),
            true => refuse(format!("`{program} --help` knows `{option}`, which this test does not use yet")),
        }
    }
}

/// The server's program.
fn server() -> &'static str {
    if Path::new(SERVER_PATH).exists() { SERVER_PATH } else { SERVER }
}

/// GnuTLS's words for one cipher suite.
fn priorities(cipher: Cipher) -> String {
    let name = match cipher {
        Cipher::Aes128 => "AES-128-GCM",
        Cipher::Aes256 => "AES-256-GCM",
        Cipher::ChaCha20 => "CHACHA20-POLY1305",
    };
    format!("--ciphers=NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+{name}")
}

impl Peer for Ngtcp2 {
    fn name(&self) -> &'static str {
        "ngtcp2"
    }

    fn about(&self) -> &'static str {
        "ngtcp2's gtlsclient and gtlsserver with GnuTLS and nghttp3 (Debian: ngtcp2-client, ngtcp2-server)"
    }

    fn version(&self) -> Result<String, String> {
        for program in [CLIENT, server()] {
            process::output(Command::new(program).arg("--help"))?;
        }
        // The programs do not tell theirs.
        let (found, text) =
            process::output(Command::new("dpkg-query").args(["-W", "-f", "${Version}", "ngtcp2-client"]))?;
        Ok(format!("ngtcp2 {}", if found { text.trim() } else { "of an unknown version" }))
    }

    fn client(&self, job: &ClientJob<'_>) -> Answer<Vec<Command>> {
        if job.protocol == Protocol::Hq {
            return self.lacks(CLIENT, "hq-interop");
        }
        let run = |urls: &[String], more: &[&str]| {
            let mut command = Command::new(CLIENT);
            command.args([
                "--no-quic-dump",
                "--no-http-dump",
                "--exit-on-all-streams-close",
                "--timeout=20s",
            ]);
            command.arg(format!("--download={}", job.fetched().display()));
            if let Some(cipher) = job.cipher {
                command.arg(priorities(cipher));
            }
            command.args(more).args([job.server.ip().to_string(), job.server.port().to_string()]).args(urls);
            // GnuTLS writes it.
            command.env("SSLKEYLOGFILE", job.keylog());
            command
        };
        let urls = job.urls();
        let session = format!("--session-file={}", job.dir.join("session").display());
        let parameters = format!("--tp-file={}", job.dir.join("parameters").display());
        let first = urls.get(..1).unwrap_or_default();
        let others = urls.get(1..).unwrap_or_default();
        Ok(match job.act {
            Act::Fetch => vec![run(&urls, &[])],
            Act::Each => urls.iter().map(|url| run(std::slice::from_ref(url), &[])).collect(),
            Act::Resume => vec![run(first, &[&session]), run(others, &[&session, "--disable-early-data"])],
            Act::EarlyData => {
                vec![run(first, &[&session, &parameters]), run(others, &[&session, &parameters])]
            }
            Act::KeyUpdate => vec![run(&urls, &["--key-update=10ms"])],
            Act::Migrate => vec![run(&urls, &["--change-local-addr=150ms"])],
            // The request waits until then: with nothing to say but a probe (RFC 9000 section 9.1) it would stay unheard.
            Act::Rebind => {
                vec![run(&urls, &["--change-local-addr=150ms", "--nat-rebinding", "--delay-stream=400ms"])]
            }
            Act::Negotiate => {
                vec![run(&urls, &["--version=0x1a2a3a4a", "--preferred-versions=v1", "--other-versions=v1"])]
            }
            Act::Head => vec![run(&urls, &["--http-method=HEAD"])],
            Act::Range => return self.lacks(CLIENT, "range"),
            Act::Upload => {
                let data = format!("--data={}", job.site.www().join(&job.paths[0]).display());
                vec![run(&urls, &["--http-method=PUT", &data])]
            }
            Act::Page => return self.lacks(CLIENT, "script"),
        })
    }

    fn server(&self, job: &ServerJob<'_>) -> Answer<Command> {
        if job.protocol == Protocol::Hq {
            return self.lacks(SERVER, "hq-interop");
        }
        if job.act == Act::Range {
            return self.lacks(SERVER, "range");
        }
        let mut command = Command::new(server());
        command.args(["--no-quic-dump", "--no-http-dump"]).arg("-d").arg(job.site.www());
        if job.retry {
            command.arg("--validate-addr");
        }
        command.args([job.listen.ip().to_string(), job.listen.port().to_string()]);
        command.arg(job.site.key()).arg(job.site.certificate(job.large_certificate));
        command.env("SSLKEYLOGFILE", job.keylog());
        Ok(command)
    }
}
