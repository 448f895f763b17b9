//! `sandquic bench soak`: transfers without end through a network that loses datagrams, to see whether memory grows.
//!
//! A server and two clients run for the whole time, all three the transfer components in the sandbox, on the batched
//! sockets. One client fetches over one new connection after another, and checks what came; the other uploads over a
//! single connection. All their datagrams go through the relay, which loses a share of them and delays all; loss and
//! delay are what bounds the rate. Each process's memory is the system's figure: what is resident, and what the guest
//! has of linear memory.
//!
//! After some warm-up neither may grow by more than a bound, or the measurement has failed; so it has if a process
//! ends, complains, or gets nothing done.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::output::Output;
use crate::peer::RelayReport;
use crate::peer::relay::{Plain, Running, Settings};
use crate::provenance::{self, Provenance};
use crate::system::{Event, Process, Usage, guest_memory};
use crate::transfer::certificate::{self, CA, CERTIFICATE, KEY, SERVER_NAME};
use crate::units::{parse_size, show_size};
use crate::{Context, Error};

/// Version of the record's form. A reader refuses a higher one.
const SCHEMA_VERSION: u32 = 1;

/// How long components may take to start, with compiling them, until the first content is there.
const START: Duration = Duration::from_secs(180);

/// How long a process may get nothing done.
const STALL: Duration = Duration::from_secs(60);

/// What has been warmed up: a minute, or this share of a shorter time.
const WARM_UP: Duration = Duration::from_secs(60);
const WARM_UP_SHARE: u32 = 5;

/// Samples of memory at most: one every ten seconds in half an hour.
const SAMPLES: u32 = 180;

/// More connections than this a client does not make (`--handshakes`).
const MAX_CONNECTIONS: &str = "10000";

/// More than is ever uploaded.
const ENDLESS: &str = "1000000G";

/// Command line of `sandquic bench soak`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// How long, after the first content has come.
    #[arg(long, value_name = "MINUTES", value_parser = parse_minutes, default_value = "30")]
    pub minutes: Duration,
    /// Share of the datagrams that is lost, each way.
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(..=50), default_value_t = 1)]
    pub loss: u8,
    /// How long every datagram takes, each way.
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(..=1_000), default_value_t = 2)]
    pub delay: u64,
    /// What is fetched over each connection.
    #[arg(long, value_name = "BYTES", value_parser = parse_size, default_value = "4MiB")]
    pub size: u64,
    /// By how much the memory of a process may grow after the warm-up.
    #[arg(long, value_name = "BYTES", value_parser = parse_size, default_value = "8MiB")]
    pub max_growth: u64,
    /// The server: the transfer-server component, by its path or as built in.
    #[arg(long, value_name = "COMPONENT", default_value = "@transfer-server")]
    pub server: String,
    /// The clients: the transfer-client component.
    #[arg(long, value_name = "COMPONENT", default_value = "@transfer-client")]
    pub client: String,
    /// Write the record as JSON to this file; - is standard output (the table then goes to standard error).
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

fn parse_minutes(text: &str) -> Result<Duration, String> {
    let minutes = text.parse().ok().filter(|minutes| (0.05..=100_000.0).contains(minutes));
    minutes
        .map(|minutes: f64| Duration::from_secs_f64(minutes * 60.0))
        .ok_or_else(|| "not a number of minutes from 0.05 (three seconds)".into())
}

#[derive(Debug, Serialize)]
struct Record {
    schema_version: u32,
    kind: &'static str,
    provenance: Provenance,
    setup: Setup,
    transferred: Transferred,
    relay: RelayReport,
    rows: Vec<Row>,
    samples: Vec<Sample>,
}

#[derive(Debug, Serialize)]
struct Setup {
    seconds: f64,
    warm_up_seconds: f64,
    loss_percent: u8,
    delay_ms: u64,
    size: u64,
    max_growth: u64,
}

#[derive(Debug, Default, Serialize)]
struct Transferred {
    /// Connections over which the whole content was fetched, and found to be what it should be.
    downloads: u64,
    /// Bytes of these, and those that were given to the one that uploads.
    download_bytes: u64,
    upload_bytes: u64,
    download_mbps: f64,
    upload_mbps: f64,
    /// Connections of these whose end the server learnt otherwise, since the datagram with the client's close was lost.
    lost_closes: u64,
}

/// One process. Memory in bytes: after the warm-up, the most since then, and at the end.
#[derive(Debug, Serialize)]
struct Row {
    process: &'static str,
    cpu_seconds: f64,
    rss_start: u64,
    rss_max: u64,
    rss_end: u64,
    guest_start: u64,
    guest_max: u64,
    guest_end: u64,
}

/// Memory of the processes at one moment, in the order of the rows.
#[derive(Debug, Serialize)]
struct Sample {
    seconds: f64,
    rss: Vec<u64>,
    guest: Vec<u64>,
}

/// Transfers, prints the table and writes the record.
///
/// # Errors
/// [`Error::Failed`] if a process cannot be started, ends, complains or gets nothing done, if its memory grows by more
/// than it may, or if the record cannot be written.
pub fn run(args: &Args, context: &Context) -> Result<(), Error> {
    let output = Output::open(args.json.as_deref())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| Error::failed(format!("cannot start tokio: {error}")))?;
    let record = measure(args, context, &runtime)?;
    output.write(&table(&record), &record)?;
    let grown: Vec<String> = record.rows.iter().filter_map(|row| row.grown(args.max_growth)).collect();
    if grown.is_empty() { Ok(()) } else { Err(Error::failed(grown.join("; "))) }
}

fn table(record: &Record) -> String {
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let transferred = &record.transferred;
    let mut table = format!(
        "{:.1} minutes: {} downloads checked at {:.1} Mb/s, one upload of {:.0} MiB at {:.1} Mb/s; \
         {} of {} datagrams lost\n\
         process     CPU, s  resident, MiB: start     max     end  guest, MiB: start     max     end\n",
        record.setup.seconds / 60.0,
        transferred.downloads,
        transferred.download_mbps,
        mib(transferred.upload_bytes),
        transferred.upload_mbps,
        record.relay.up.lost + record.relay.down.lost,
        record.relay.up.received + record.relay.down.received,
    );
    for row in &record.rows {
        table += &format!(
            "{:<10} {:>7.1} {:>21.1} {:>7.1} {:>7.1} {:>18.1} {:>7.1} {:>7.1}\n",
            row.process,
            row.cpu_seconds,
            mib(row.rss_start),
            mib(row.rss_max),
            mib(row.rss_end),
            mib(row.guest_start),
            mib(row.guest_max),
            mib(row.guest_end),
        );
    }
    table
}

impl Row {
    fn new(process: &'static str, usage: Usage, guest: u64) -> Self {
        let Usage { cpu, rss } = usage;
        Self {
            process,
            cpu_seconds: cpu.as_secs_f64(),
            rss_start: rss,
            rss_max: rss,
            rss_end: rss,
            guest_start: guest,
            guest_max: guest,
            guest_end: guest,
        }
    }

    /// Another sample after the warm-up.
    fn add(&mut self, usage: Usage, guest: u64) {
        self.cpu_seconds = usage.cpu.as_secs_f64();
        (self.rss_end, self.guest_end) = (usage.rss, guest);
        self.rss_max = self.rss_max.max(usage.rss);
        self.guest_max = self.guest_max.max(guest);
    }

    /// What is wrong, if it has grown by more than it may.
    fn grown(&self, most: u64) -> Option<String> {
        let (rss, guest) = (self.rss_max - self.rss_start, self.guest_max - self.guest_start);
        (rss.max(guest) > most).then(|| {
            format!(
                "the memory of the {} has grown by {} ({} of linear memory) since the warm-up; {} were allowed",
                self.process,
                show_size(rss),
                show_size(guest),
                show_size(most),
            )
        })
    }
}

/// The three processes, in the order of the rows.
const NAMES: [&str; 3] = ["server", "downloader", "uploader"];

struct Ends {
    processes: [Process; 3],
    downloads: u64,
    uploaded: u64,
    lost_closes: u64,
    /// When each last got something done; the server does what its clients do.
    progress: [Instant; 3],
}

fn measure(args: &Args, context: &Context, runtime: &tokio::runtime::Runtime) -> Result<Record, Error> {
    let files = certificate::issue()?;
    let (server, to) = server(args, context, &files)?;
    let settings = Settings {
        to,
        listen: (Ipv4Addr::LOCALHOST, 0).into(),
        loss: f64::from(args.loss) / 100.0,
        delay: Duration::from_millis(args.delay),
        seed: 1,
    };
    let relay = runtime
        .block_on(async { Running::start(settings, Plain) })
        .map_err(|error| Error::failed(format!("cannot start the relay: {error}")))?;
    let mut clients = Vec::new();
    for (name, flags) in [
        (NAMES[1], &["--handshakes", MAX_CONNECTIONS][..]),
        (NAMES[2], &["--put-size", ENDLESS, "--progress"]),
    ] {
        clients.push(client(name, flags, args, context, &files, relay.address())?);
    }
    let [downloader, uploader] = clients.try_into().unwrap_or_else(|_| unreachable!("two were made"));
    let now = Instant::now();
    let mut ends = Ends {
        processes: [server, downloader, uploader],
        downloads: 0,
        uploaded: 0,
        lost_closes: 0,
        progress: [now; 3],
    };
    while ends.downloads == 0 || ends.uploaded == 0 {
        ends.listen(Duration::from_millis(100), START)?;
    }

    let (started, first) = (Instant::now(), (ends.downloads, ends.uploaded));
    let warm_up = WARM_UP.min(args.minutes / WARM_UP_SHARE);
    let mut rows: Vec<Row> = Vec::new();
    let mut samples = Vec::new();
    loop {
        let seconds = started.elapsed();
        let mut sample = Sample { seconds: seconds.as_secs_f64(), rss: Vec::new(), guest: Vec::new() };
        for (at, process) in ends.processes.iter().enumerate() {
            let (usage, guest) = (Usage::of(process.id())?, guest_memory(process.id())?);
            sample.rss.push(usage.rss);
            sample.guest.push(guest);
            match rows.get_mut(at) {
                Some(row) if seconds > warm_up => row.add(usage, guest),
                Some(row) => *row = Row::new(NAMES[at], usage, guest),
                None => rows.push(Row::new(NAMES[at], usage, guest)),
            }
        }
        samples.push(sample);
        if seconds >= args.minutes {
            break;
        }
        ends.listen((args.minutes / SAMPLES).min(args.minutes - seconds), STALL)?;
    }
    let seconds = started.elapsed().as_secs_f64();
    let downloads = ends.downloads - first.0;
    let (download_bytes, upload_bytes) = (downloads * args.size, ends.uploaded - first.1);
    let mbps = |bytes: u64| bytes as f64 * 8e-6 / seconds;
    Ok(Record {
        schema_version: SCHEMA_VERSION,
        kind: "soak",
        provenance: provenance::collect(&context.engine),
        setup: Setup {
            seconds,
            warm_up_seconds: warm_up.as_secs_f64(),
            loss_percent: args.loss,
            delay_ms: args.delay,
            size: args.size,
            max_growth: args.max_growth,
        },
        transferred: Transferred {
            downloads,
            download_bytes,
            upload_bytes,
            download_mbps: mbps(download_bytes),
            upload_mbps: mbps(upload_bytes),
            lost_closes: ends.lost_closes,
        },
        relay: relay.report(),
        rows,
        samples,
    })
}

impl Ends {
    /// Hears what the processes say for a while; an error if one complains, ends, or has got nothing done for too long.
    fn listen(&mut self, time: Duration, stall: Duration) -> Result<(), Error> {
        let until = Instant::now() + time;
        loop {
            let mut quiet = true;
            for at in 0..NAMES.len() {
                let event = self.processes[at].next_event(Duration::ZERO);
                quiet &= event == Event::Quiet;
                self.hear(at, event)?;
            }
            let now = Instant::now();
            if let Some(at) = (0..NAMES.len()).find(|&at| now - self.progress[at] > stall) {
                let seconds = stall.as_secs();
                return Err(Error::failed(format!("the {} did nothing for {seconds} s", NAMES[at])));
            }
            if now >= until {
                return Ok(());
            }
            if quiet {
                std::thread::sleep((until - now).min(Duration::from_millis(50)));
            }
        }
    }

    fn hear(&mut self, at: usize, event: Event) -> Result<(), Error> {
        let failed = |what: String| Err(Error::failed(format!("the {} {what}", NAMES[at])));
        match event {
            Event::Quiet => {}
            // The server has sent the next content: its client has checked what came before, or would have ended.
            Event::Out(line) if at == 0 && line.starts_with("sent ") => {
                self.downloads += 1;
                (self.progress[0], self.progress[1]) = (Instant::now(), Instant::now());
            }
            // A client closes a connection when it has all. What tells so may be lost; its answer to what the server sends then is
            // a reset, and none at all in the end.
            Event::Err(line) if at == 0 && lost_close(&line) => self.lost_closes += 1,
            Event::Out(line) => return failed(format!("says: {line}")),
            Event::Err(line) => match line.strip_prefix("progress ").map(str::parse) {
                Some(Ok(bytes)) => {
                    if bytes > self.uploaded {
                        (self.uploaded, self.progress[2]) = (bytes, Instant::now());
                    }
                }
                _ => return failed(format!("says: {line}")),
            },
            Event::Closed => {
                return failed("has ended; a larger --size takes fewer connections".into());
            }
        }
        Ok(())
    }
}

/// Whether the server says that a client has gone without a word.
fn lost_close(line: &str) -> bool {
    line.starts_with("transfer-server: connection from ")
        && [": reset by peer", ": timed out"].iter().any(|end| line.ends_with(end))
}

/// Starts the server, and says where it listens.
fn server(
    args: &Args,
    context: &Context,
    files: &certificate::Directory,
) -> Result<(Process, SocketAddr), Error> {
    let mut command = Command::new(&context.sandquic);
    command.args(["run", "--inherit-network"]);
    command.arg("--dir-ro").arg(format!("{}::/keys", files.private().display()));
    command.args([&args.server, "--", "--listen", "127.0.0.1:0", "--size", &args.size.to_string()]);
    command.args(["--cert", &format!("/keys/{CERTIFICATE}"), "--key", &format!("/keys/{KEY}")]);
    let mut server = Process::spawn("the server", &mut command, None)?;
    let address = server.listening(Instant::now() + START)?;
    let address = address.parse().map_err(|_| Error::failed(format!("the server listens on {address}")))?;
    Ok((server, address))
}

fn client(
    name: &str,
    flags: &[&str],
    args: &Args,
    context: &Context,
    files: &certificate::Directory,
    to: SocketAddr,
) -> Result<Process, Error> {
    let mut command = Command::new(&context.sandquic);
    command.args(["run", "--inherit-network"]);
    command.arg("--dir-ro").arg(format!("{}::/keys", files.public().display()));
    command.args([&args.client, "--", "--connect", &to.to_string(), "--server-name", SERVER_NAME]);
    command.args(["--ca", &format!("/keys/{CA}")]).args(flags);
    Process::spawn(name, &mut command, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_measured_from_the_warm_up_to_the_most() {
        let usage = |mib: u64| Usage { cpu: Duration::from_secs(1), rss: mib << 20 };
        let mut row = Row::new("server", usage(30), 4 << 20);
        row.add(usage(37), 4 << 20);
        row.add(usage(31), 6 << 20);
        assert_eq!((row.rss_max >> 20, row.rss_end >> 20, row.guest_end >> 20), (37, 31, 6));
        assert_eq!(row.grown(7 << 20), None);
        let grown = row.grown((7 << 20) - 1).unwrap();
        assert!(grown.contains("the server has grown by 7 MiB (2 MiB of linear memory)"), "{grown}");
        row.add(usage(20), 14 << 20);
        assert!(row.grown(7 << 20).is_some(), "linear memory alone");
    }

    #[test]
    fn a_lost_close_is_no_failure_and_anything_else_is() {
        assert!(lost_close("transfer-server: connection from 127.0.0.1:40113: reset by peer"));
        assert!(lost_close("transfer-server: connection from 127.0.0.1:40113: timed out"));
        assert!(!lost_close(
            "transfer-server: connection from 127.0.0.1:40113: the request ends before its length"
        ));
        assert!(!lost_close("sandquic: transfer-server trapped: timed out"));
    }

    #[test]
    fn minutes_may_be_parts_of_one() {
        assert_eq!(parse_minutes("0.1"), Ok(Duration::from_secs(6)));
        assert_eq!(parse_minutes("30"), Ok(Duration::from_secs(1_800)));
        for text in ["0", "-1", "x", "NaN", "inf"] {
            assert!(parse_minutes(text).is_err(), "{text}");
        }
    }
}
