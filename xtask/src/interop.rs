//! `cargo xtask interop`: the commands against clients and servers of others.

use std::path::PathBuf;
use std::time::Duration;

use crate::cmd::Cmd;
use crate::report::Tally;
use crate::workspace::Workspace;
use crate::{Error, Result, build, tools};

pub(crate) const HELP: &str = "\
Installs what is missing of the peers, builds everything, runs `sandquic serve` and `sandquic get` against them through a
relay that loses, delays, changes and blocks datagrams, prints the matrix and, when everything was run, writes
docs/interop.md and docs/img/browser.png.

usage: cargo xtask interop [OPTIONS]

  --quick          a few cases with each peer, as in `cargo xtask test`
  --peer LIST      only these: quinn, ngtcp2, aioquic, curl, chromium
  --case LIST      only these (an unknown name is answered with the known ones)
  --role END       only where our end is `server` or `client`
  --sandbox        only in the sandbox; --native: only natively
  --stock-udp      the sandbox gets Wasmtime's own UDP sockets
  --instead PEER   PEER in our place: do the others pass among themselves?
  --jobs N         cases at a time [default: 2]
  --keep           keep captures and logs of what passed, too (target/interop)

Peers: ngtcp2-client, ngtcp2-server, tshark, chromium, openssl (Debian, needs root if they are not there); aioquic and
pycurl (PyPI, under target/tools); stock quinn (crates.io).
";

pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<()> {
    build::run(workspace, &[])?;
    let mut cargo = tool(workspace)?.args(args);
    if args.is_empty() {
        cargo = cargo
            .arg("--page")
            .arg(workspace.path("docs/interop.md"))
            .arg("--screenshot")
            .arg(workspace.path("docs/img/browser.png"));
    }
    cargo.run().map_err(|error| match error {
        // The tool has told what.
        Error::Failed(_) => Error::Told,
        other => other,
    })
}

/// The short pass of the test suite, and with stock quinn again on Wasmtime's own sockets; each case counts as one check.
pub(crate) fn quick(workspace: &Workspace) -> Result<Tally> {
    let mut tally = pass(workspace, "--quick")?;
    tally.add(pass(workspace, "--quick --stock-udp --peer quinn")?);
    Ok(tally)
}

fn pass(workspace: &Workspace, options: &str) -> Result<Tally> {
    let mut tally = Tally::default();
    let mut failure: Option<String> = None;
    let success = tool(workspace)?.words(options).limit(Duration::from_secs(15 * 60)).tee(|line| {
        if line.starts_with("ok    ") {
            tally.passed += 1;
        } else if let Some(what) = line.strip_prefix("FAIL  ") {
            failure.get_or_insert_default();
            tally.add(Tally::failure(format!("interop {options}: {what}")));
        }
    })?;
    if failure.is_none() && (!success || tally.passed == 0) {
        tally.add(Tally::failure("interop: it did not run; see its output above".to_owned()));
    }
    Ok(tally)
}

/// The tool with all that it needs, about to run cases.
fn tool(workspace: &Workspace) -> Result<Cmd> {
    let python = tools::interop_peers(workspace)?;
    build::native(workspace, "build --release")?.words("--bin sandquic-interop").run()?;
    let program: PathBuf = workspace.sandquic().with_file_name("sandquic-interop");
    Ok(Cmd::new(program)
        .dir(workspace.root())
        .arg("run")
        .arg("--sandquic")
        .arg(workspace.sandquic())
        .arg("--python")
        .arg(python)
        .arg("--scripts")
        .arg(workspace.path("interop/peers"))
        .arg("--work")
        .arg(workspace.target("interop")))
}
