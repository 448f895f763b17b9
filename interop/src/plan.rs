//! Which cases are run with whom, and the running of them all.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use crate::case::{CASES, Case};
use crate::files::Site;
use crate::job::{Act, ClientJob, Protocol};
use crate::matrix::{Entry, Matrix, Role};
use crate::peer::{self, Ours, Peer, Programs};
use crate::process::Process;
use crate::run::{self, Outcome};
use crate::{report, tshark};

/// The cases of the short pass: each mechanism once, none that waits long.
const QUICK: [&str; 12] = [
    "handshake",
    "chacha20",
    "parallel",
    "retry",
    "zerortt",
    "http09",
    "keyupdate",
    "rebind-addr",
    "range",
    "versionnegotiation",
    "capture",
    "page",
];

/// Command line of `run`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// The `sandquic` command.
    #[arg(long, value_name = "FILE")]
    sandquic: PathBuf,
    /// A Python that has aioquic and pycurl.
    #[arg(long, value_name = "FILE", default_value = "python3")]
    python: PathBuf,
    /// The folder of the Python scripts.
    #[arg(long, value_name = "DIR")]
    scripts: PathBuf,
    /// A folder for what the run needs; what a failed case has left behind stays there.
    #[arg(long, value_name = "DIR")]
    work: PathBuf,
    /// The short pass: fewer cases, in the sandbox alone.
    #[arg(long)]
    quick: bool,
    /// Only these peers.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = peer::NAMES)]
    peer: Vec<String>,
    /// Only these cases.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = case_names())]
    case: Vec<String>,
    /// Only where our end is this one.
    #[arg(long, value_name = "END", value_parser = ["server", "client"])]
    role: Option<String>,
    /// Only in the sandbox.
    #[arg(long, conflicts_with = "native")]
    sandbox: bool,
    /// Only natively.
    #[arg(long)]
    native: bool,
    /// Give the sandbox Wasmtime's own UDP sockets.
    #[arg(long, conflicts_with = "native")]
    stock_udp: bool,
    /// Put this peer in our place: tells whether the others pass a case among themselves.
    #[arg(long, value_name = "PEER", value_parser = peer::NAMES)]
    instead: Option<String>,
    /// How many cases to run at a time.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=16))]
    jobs: u8,
    /// Write the page of the documentation.
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Photograph the page in the browser into this file.
    #[arg(long, value_name = "FILE")]
    screenshot: Option<PathBuf>,
    /// Keep what passed cases have left behind, too.
    #[arg(long)]
    keep: bool,
}

fn case_names() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(CASES.iter().map(|case| case.name))
}

/// One thing to do.
struct Task<'a> {
    role: Role,
    ours: &'a dyn Peer,
    native: bool,
    peer: &'a dyn Peer,
    case: &'static Case,
}

impl Task<'_> {
    fn name(&self) -> String {
        let place = if self.native { "native" } else { "sandbox" };
        format!("{} {place} {} {}", self.role.ours(), self.peer.name(), self.case.name)
    }

    /// Server and client.
    fn ends(&self) -> (&dyn Peer, &dyn Peer) {
        match self.role {
            Role::Server => (self.ours, self.peer),
            Role::Client => (self.peer, self.ours),
        }
    }

    /// Its folder's name.
    fn folder(&self) -> String {
        self.name().replace(' ', "-")
    }
}

/// Runs what is asked for; whether nothing failed.
pub(crate) fn run(args: Args, runtime: &Runtime) -> Result<bool, String> {
    let this =
        std::env::current_exe().map_err(|error| format!("cannot tell where this program is: {error}"))?;
    let programs = Programs {
        sandquic: args.sandquic.clone(),
        python: args.python.clone(),
        scripts: args.scripts.clone(),
        this,
    };
    let peers = peer::all(&programs);
    let wanted = |names: &[String], name: &str| names.is_empty() || names.iter().any(|n| n == name);
    let chosen: Vec<&dyn Peer> =
        peers.iter().map(AsRef::as_ref).filter(|peer| wanted(&args.peer, peer.name())).collect();
    let ours: Vec<(Box<dyn Peer>, bool)> = match &args.instead {
        Some(name) => peer::all(&programs)
            .into_iter()
            .filter(|peer| peer.name() == name)
            .map(|peer| (peer, false))
            .collect(),
        None => [false, true]
            .into_iter()
            .filter(|native| if *native { !args.sandbox && !args.quick } else { !args.native })
            .map(|native| {
                let (program, stock_udp) = (programs.sandquic.clone(), args.stock_udp);
                (Box::new(Ours { program, native, stock_udp }) as Box<dyn Peer>, native)
            })
            .collect(),
    };
    let mut versions = Vec::new();
    for peer in ours.iter().take(1).map(|(peer, _)| peer.as_ref()).chain(chosen.iter().copied()) {
        versions.push((peer.name(), peer.about(), peer.version()?));
    }
    versions.push(("tshark", "Wireshark's dissector (Debian: tshark)", tshark::version()?));
    for (name, _, version) in &versions {
        eprintln!("{name:<10} {version}");
    }

    let site = Site::make(&args.work)?;
    let mut tasks = Vec::new();
    for role in
        Role::ALL.into_iter().filter(|role| args.role.as_ref().is_none_or(|wanted| role.ours() == wanted))
    {
        for (ours, native) in &ours {
            for peer in chosen.iter().filter(|peer| role == Role::Server || peer.serves()) {
                for case in CASES.iter().filter(|case| wanted(&args.case, case.name)) {
                    if args.quick && args.case.is_empty() && !QUICK.contains(&case.name) {
                        continue;
                    }
                    tasks.push(Task { role, ours: ours.as_ref(), native: *native, peer: *peer, case });
                }
            }
        }
    }
    if args.instead.is_none() && !args.native {
        warm_up(&tasks, &site, &args, runtime);
    }
    let began = Instant::now();
    let outcomes = run_all(&tasks, &site, &args, runtime);
    let entries = tasks.iter().zip(outcomes).map(|(task, outcome)| Entry {
        role: task.role,
        native: task.native,
        peer: task.peer.name(),
        case: task.case.name,
        outcome,
    });
    let matrix = Matrix { entries: entries.collect() };
    println!("{}", matrix.text());
    let (passed, failed, refused) = matrix.counts();
    let took = began.elapsed().as_secs();
    println!(
        "{passed} passed, {failed} failed, {refused} not supported by the peer; {} min {:02} s",
        took / 60,
        took % 60
    );

    if let Some(file) = &args.screenshot {
        photograph(&site, ours.first().map(|(peer, _)| peer.as_ref()), &args.work, file)?;
    }
    if let Some(file) = &args.page {
        let page = report::page(&versions, &matrix);
        fs::write(file, page).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        eprintln!("wrote {}", file.display());
    }
    Ok(failed == 0 && passed > 0)
}

/// Lets each end of ours do something once, for as long as it takes: a component is compiled when it first runs, and no
/// case shall wait for that.
fn warm_up(tasks: &[Task<'_>], site: &Site, args: &Args, runtime: &Runtime) {
    let _inside = runtime.enter();
    let slow = CASES.iter().map(|case| Case { patience: Duration::from_secs(600), ..*case });
    let Some(case) = slow.into_iter().find(|case| case.name == "handshake") else { return };
    for role in Role::ALL {
        let capable = |task: &&Task<'_>| task.role == role && !task.native && task.peer.serves();
        let Some(task) = tasks.iter().find(capable) else { continue };
        let (server, client) = task.ends();
        let outcome = run::run(&case, server, client, site, &args.work.join("cases/warm-up"));
        if let Outcome::Failed(why) = outcome {
            eprintln!("warm-up of our {}: {why}", role.ours());
        }
    }
}

/// Runs tasks, several at a time; their outcomes in the same order.
fn run_all(tasks: &[Task<'_>], site: &Site, args: &Args, runtime: &Runtime) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(vec![None; tasks.len()]);
    std::thread::scope(|scope| {
        for _ in 0..args.jobs {
            scope.spawn(|| {
                let _inside = runtime.enter();
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(task) = tasks.get(at) else { break };
                    let outcome = one(task, site, args);
                    if let Ok(mut done) = done.lock() {
                        done[at] = Some(outcome);
                    }
                }
            });
        }
    });
    let done = done.into_inner().unwrap_or_default();
    done.into_iter()
        .map(|outcome| outcome.unwrap_or_else(|| Outcome::Failed("it was not run".to_owned())))
        .collect()
}

fn one(task: &Task<'_>, site: &Site, args: &Args) -> Outcome {
    let dir = args.work.join("cases").join(task.folder());
    let started = Instant::now();
    let (server, client) = task.ends();
    let outcome = run::run(task.case, server, client, site, &dir);
    let (name, took) = (task.name(), started.elapsed().as_secs_f64());
    match &outcome {
        Outcome::Passed(seen) => println!("ok    {name} ({took:.1} s) {seen}"),
        // The table has these.
        Outcome::Refused(_) => {}
        Outcome::Failed(why) => {
            println!("FAIL  {name} ({took:.1} s): {why}\n      see {}", dir.display());
        }
    }
    if !args.keep && !matches!(outcome, Outcome::Failed(_)) {
        let _ = fs::remove_dir_all(&dir);
    }
    outcome
}

/// Shows the page of our server to the browser and keeps its picture.
fn photograph(site: &Site, server: Option<&dyn Peer>, work: &Path, file: &Path) -> Result<(), String> {
    let server = server.ok_or("there is no server for the picture")?;
    let dir = work.join("cases/picture");
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(dir.join("fetched"))
        .map_err(|error| format!("cannot make {}: {error}", dir.display()))?;
    let listen = run::free(std::net::Ipv4Addr::LOCALHOST.into())?;
    let job = crate::job::ServerJob {
        listen,
        site,
        protocol: Protocol::H3,
        large_certificate: false,
        retry: false,
        act: Act::Page,
        dir: &dir,
    };
    let mut command = server.server(&job).map_err(|refusal| refusal.0)?;
    let mut running = Process::start(&mut command, &dir.join("server.log"))?;
    run::wait_for(&mut running, listen, Duration::from_secs(60))?;
    let paths = ["index.html".to_owned()];
    let job = ClientJob {
        server: listen,
        site,
        protocol: Protocol::H3,
        paths: &paths,
        cipher: None,
        act: Act::Page,
        dir: &dir,
    };
    let mut command = peer::screenshot(&job, file)?;
    let mut browser = Process::start(&mut command, &dir.join("browser.log"))?;
    match browser.wait(Duration::from_secs(60))? {
        Some(status) if status.success() && file.is_file() => {
            eprintln!("wrote {}", file.display());
            Ok(())
        }
        _ => Err(format!("the browser made no picture: {}", crate::process::tail(&browser.said(), 4))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_pass_names_cases_that_there_are() {
        for name in QUICK {
            assert!(CASES.iter().any(|case| case.name == name), "{name}");
        }
    }
}
