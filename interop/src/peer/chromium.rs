//! Chromium without a screen, which shows the page.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use super::{Answer, Peer, refuse};
use crate::job::{Act, ClientJob, ServerJob};
use crate::process;

pub(super) struct Chromium {
    program: OnceLock<Option<&'static str>>,
}

impl Chromium {
    pub(super) fn new() -> Self {
        Self { program: OnceLock::new() }
    }

    fn program(&self) -> Option<&'static str> {
        *self.program.get_or_init(|| {
            let there =
                |name: &&str| process::output(Command::new(name).arg("--version")).is_ok_and(|(ok, _)| ok);
            ["chromium", "google-chrome", "chromium-browser"].into_iter().find(there)
        })
    }
}

/// A browser that speaks QUIC with the job's server at once, whose key it trusts.
fn browser(program: &str, job: &ClientJob<'_>, pin: &str) -> Command {
    let mut command = Command::new(program);
    command.args(["--headless=new", "--disable-gpu", "--no-first-run", "--disable-background-networking"]);
    // As root it refuses to start with its own sandbox.
    command.arg("--no-sandbox");
    command.arg(format!("--user-data-dir={}", job.dir.join("profile").display()));
    command.arg(format!("--origin-to-force-quic-on={}", job.authority()));
    command.arg(format!("--ignore-certificate-errors-spki-list={pin}"));
    command.arg(format!("--host-resolver-rules=MAP localhost {}", job.server.ip()));
    command.arg(format!("--ssl-key-log-file={}", job.keylog().display()));
    // The page has done its work long before; time passes only as fast as its requests do.
    command.arg("--virtual-time-budget=10000");
    command
}

/// The command that photographs the page into a file.
pub(crate) fn screenshot(job: &ClientJob<'_>, file: &Path) -> Result<Command, String> {
    let chromium = Chromium::new();
    let program = chromium.program().ok_or("chromium is not there")?;
    let mut command = browser(program, job, &pin(job)?);
    command.arg(format!("--screenshot={}", file.display())).arg("--window-size=860,620").args(job.urls());
    Ok(command)
}

/// SHA-256 of the server's public key in base64.
fn pin(job: &ClientJob<'_>) -> Result<String, String> {
    let certificate = job.site.certificate(false);
    let script = r#"openssl x509 -in "$0" -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | openssl base64"#;
    match process::output(Command::new("sh").args(["-c", script]).arg(certificate))? {
        (true, text) if text.trim().len() == 44 => Ok(text.trim().to_owned()),
        (_, text) => Err(format!("openssl cannot tell the pin: {}", process::tail(&text, 1))),
    }
}

impl Peer for Chromium {
    fn name(&self) -> &'static str {
        "chromium"
    }

    fn about(&self) -> &'static str {
        "Chromium without a screen (Debian: chromium)"
    }

    fn version(&self) -> Result<String, String> {
        let program = self.program().ok_or("chromium is not there: apt-get install chromium")?;
        let (_, text) = process::output(Command::new(program).arg("--version"))?;
        let line = text.lines().find(|line| line.starts_with("Chromium") || line.starts_with("Google"));
        let words: Vec<_> = line.unwrap_or(program).split_whitespace().take(2).collect();
        Ok(words.join(" "))
    }

    fn serves(&self) -> bool {
        false
    }

    fn client(&self, job: &ClientJob<'_>) -> Answer<Vec<Command>> {
        if job.act != Act::Page || job.cipher.is_some() {
            return refuse("a browser: it shows pages, and chooses everything else itself");
        }
        let Some(program) = self.program() else { return refuse("chromium is not there") };
        let pin = pin(job).map_err(super::Refusal)?;
        let mut command = browser(program, job, &pin);
        command.arg("--dump-dom").args(job.urls());
        Ok(vec![command])
    }

    fn server(&self, _: &ServerJob<'_>) -> Answer<Command> {
        refuse("a browser: a client")
    }
}
