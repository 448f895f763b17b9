//! The command lines of both sides.

use std::net::SocketAddr;
use std::time::Duration;

use crate::{CipherName, Error};

/// How long a silent peer is waited for unless `--idle-timeout` says otherwise.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);

/// Connections that a server serves at once unless `--max-connections` says otherwise.
const MAX_SESSIONS: usize = 1_024;

/// The least that `--window` takes: less than a few packets on the way would be no transfer.
const MIN_WINDOW: u64 = 64 << 10;

/// The client's flags, on one line.
pub const CLIENT_USAGE: &str = "usage: transfer-client --connect ADDR:PORT --server-name NAME --ca FILE \
[--cipher aes-128-gcm|aes-256-gcm|chacha20-poly1305] [--put FILE | --put-size BYTES | --out FILE] \
[--recv-buffer BYTES] [--send-buffer BYTES] [--window BYTES] [--mtu BYTES] [--no-offloads] \
[--connections N | --handshakes N [--mode full|resumed|early-data]] [--idle-timeout SECONDS] [--ciphers NAME] \
[--progress] [--json]";

/// The server's flags, on one line.
pub const SERVER_USAGE: &str = "usage: transfer-server --listen ADDR:PORT --cert FILE --key FILE \
(--file FILE | --size BYTES) [--once] [--connections N] [--recv-buffer BYTES] [--send-buffer BYTES] \
[--window BYTES] [--mtu BYTES] [--no-offloads] [--idle-timeout SECONDS] [--retry] [--ciphers NAME] \
[--max-connections N] [--until-stdin-closes]";

/// What `--mtu` takes: from the least that QUIC requires (RFC 9000, 14) to a jumbo frame. quinn-proto fails with 16,000.
const MTU: std::ops::RangeInclusive<u64> = 1_200..=9_000;

/// What a client is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientOptions {
    /// The server (`--connect`).
    pub connect: SocketAddr,
    /// The name that its certificate must have (`--server-name`).
    pub server_name: String,
    /// A PEM file with the certificates that are trusted (`--ca`).
    pub ca: String,
    /// The only cipher to offer (`--cipher`).
    pub cipher: Option<CipherName>,
    /// Which way the content goes.
    pub direction: Direction,
    /// Size of the socket's receive buffer to ask for, in bytes (`--recv-buffer`).
    pub recv_buffer: Option<usize>,
    /// Size of the socket's send buffer to ask for, in bytes (`--send-buffer`).
    pub send_buffer: Option<usize>,
    /// Most bytes that are on the way unacknowledged, each way it sends (`--window`).
    pub window: Option<u64>,
    /// Size of the UDP payload of every full packet, in bytes; fixed, so nothing is discovered (`--mtu`).
    pub mtu: Option<u16>,
    /// Send and receive one datagram a system call, as a component does (`--no-offloads`).
    pub no_offloads: bool,
    /// Connections to make one after another, each for one short request, instead of a transfer (`--handshakes`).
    pub handshakes: Option<Handshakes>,
    /// Connections to make at once, each with its own transfer (`--connections`).
    pub connections: usize,
    /// How long a silent server is waited for (`--idle-timeout`).
    pub idle_timeout: Duration,
    /// Print `progress BYTES` lines to standard error (`--progress`).
    pub progress: bool,
    /// Print one JSON object a connection (`--json`).
    pub json: bool,
    /// The implementation of the ciphers, where a build has several (`--ciphers`).
    pub ciphers: Option<String>,
}

/// Which way the content goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Direction {
    /// From the server, into a file if one is named (`--out`).
    Get(Option<String>),
    /// To the server: from a file (`--put`), or that many bytes of a pattern (`--put-size`).
    Put(Source),
}

/// Short connections, one after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handshakes {
    /// How many are counted.
    pub count: usize,
    /// What a connection may take over from those before it.
    pub mode: Mode,
}

/// What a connection may take over from those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Nothing: every handshake is a full one.
    Full,
    /// The session (RFC 8446, 2.2).
    Resumed,
    /// The session, and the request goes out with the first packet (RFC 8446, 2.3).
    EarlyData,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Full, Self::Resumed, Self::EarlyData];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Resumed => "resumed",
            Self::EarlyData => "early-data",
        }
    }
}

/// What a server is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerOptions {
    /// The local address (`--listen`).
    pub listen: SocketAddr,
    /// A PEM file with the certificate chain, the server's own first (`--cert`).
    pub cert: String,
    /// A PEM file with the certificate's key (`--key`).
    pub key: String,
    /// What clients get.
    pub source: Source,
    /// End after this many connections have been served (`--connections`; `--once` is 1): their clients
    /// have said that they have all.
    pub connections: Option<usize>,
    /// Size of the socket's receive buffer to ask for, in bytes (`--recv-buffer`).
    pub recv_buffer: Option<usize>,
    /// Size of the socket's send buffer to ask for, in bytes (`--send-buffer`).
    pub send_buffer: Option<usize>,
    /// Most bytes that are on the way unacknowledged, each way it sends (`--window`).
    pub window: Option<u64>,
    /// Size of the UDP payload of every full packet, in bytes; fixed, so nothing is discovered (`--mtu`).
    pub mtu: Option<u16>,
    /// Send and receive one datagram a system call, as a component does (`--no-offloads`).
    pub no_offloads: bool,
    /// How long a silent client is kept (`--idle-timeout`).
    pub idle_timeout: Duration,
    /// Let every client prove its address first (`--retry`).
    pub retry: bool,
    /// Connections that are served at once; more are refused, so that no number of clients can fill the memory
    /// (`--max-connections`).
    pub max_sessions: usize,
    /// The implementation of the ciphers, where a build has several (`--ciphers`).
    pub ciphers: Option<String>,
    /// End when standard input is closed, as it is at the latest when the process that started this one ends
    /// (`--until-stdin-closes`; natively only, for a component has no thread to wait with).
    pub until_stdin_closes: bool,
}

/// Where content comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A file (`--file`, `--put`).
    File(String),
    /// That many bytes of a [`Pattern`](crate::Pattern) (`--size`, `--put-size`).
    Pattern(u64),
}

impl ClientOptions {
    /// Reads the arguments after the program's name.
    ///
    /// # Errors
    /// [`Error::Usage`].
    pub fn parse(arguments: &[String]) -> Result<Self, Error> {
        let mut words = Words::new(arguments, CLIENT_USAGE);
        let (mut connect, mut server_name, mut ca, mut cipher, mut put, mut out) = Default::default();
        let (mut recv_buffer, mut send_buffer, mut ciphers, mut mtu) = Default::default();
        let (mut window, mut put_size, mut handshakes, mut mode) = Default::default();
        let (mut connections, mut idle_timeout) = (1, IDLE_TIMEOUT);
        let (mut progress, mut json, mut no_offloads) = (false, false, false);
        while let Some(flag) = words.flag()? {
            match flag {
                "--connect" => connect = Some(words.address(flag)?),
                "--server-name" => server_name = Some(words.value(flag)?),
                "--ca" => ca = Some(words.value(flag)?),
                "--cipher" => cipher = Some(CipherName::parse(&words.value(flag)?)?),
                "--put" => put = Some(words.value(flag)?),
                "--put-size" => put_size = Some(words.size(flag)?),
                "--out" => out = Some(words.value(flag)?),
                "--recv-buffer" => recv_buffer = Some(words.buffer(flag)?),
                "--send-buffer" => send_buffer = Some(words.buffer(flag)?),
                "--window" => window = Some(words.window(flag)?),
                "--mtu" => mtu = Some(words.mtu(flag)?),
                "--connections" => connections = words.count(flag)?,
                "--handshakes" => handshakes = Some(words.count(flag)?),
                "--mode" => mode = Some(words.mode(flag)?),
                "--idle-timeout" => idle_timeout = words.seconds(flag)?,
                "--ciphers" => ciphers = Some(words.value(flag)?),
                "--no-offloads" => no_offloads = true,
                "--progress" => progress = true,
                "--json" => json = true,
                _ => return Err(words.unknown(flag)),
            }
        }
        let direction = match (put, put_size, out) {
            (None, None, out) => Direction::Get(out),
            (Some(file), None, None) => Direction::Put(Source::File(file)),
            (None, Some(size), None) => Direction::Put(Source::Pattern(size)),
            _ => return Err(words.wrong("--put, --put-size and --out exclude each other")),
        };
        if connections > 1 && matches!(direction, Direction::Get(Some(_))) {
            return Err(words.wrong("--out takes one connection; leave out --connections"));
        }
        let handshakes = match (handshakes, mode) {
            (None, Some(_)) => return Err(words.wrong("--mode goes with --handshakes")),
            (None, None) => None,
            (Some(_), _) if connections > 1 || direction != Direction::Get(None) => {
                let others = "--handshakes goes without --connections, --put, --put-size and --out";
                return Err(words.wrong(others));
            }
            (Some(count), mode) => Some(Handshakes { count, mode: mode.unwrap_or(Mode::Full) }),
        };
        Ok(Self {
            connect: connect.ok_or_else(|| words.missing("--connect"))?,
            server_name: server_name.ok_or_else(|| words.missing("--server-name"))?,
            ca: ca.ok_or_else(|| words.missing("--ca"))?,
            cipher,
            direction,
            recv_buffer,
            send_buffer,
            window,
            mtu,
            no_offloads,
            handshakes,
            connections,
            idle_timeout,
            progress,
            json,
            ciphers,
        })
    }
}

impl ServerOptions {
    /// Reads the arguments after the program's name.
    ///
    /// # Errors
    /// [`Error::Usage`].
    pub fn parse(arguments: &[String]) -> Result<Self, Error> {
        let mut words = Words::new(arguments, SERVER_USAGE);
        let (mut listen, mut cert, mut key, mut file, mut pattern) = Default::default();
        let (mut connections, mut recv_buffer, mut send_buffer, mut mtu, mut ciphers) = Default::default();
        let mut window = None;
        let (mut idle_timeout, mut retry) = (IDLE_TIMEOUT, false);
        let (mut no_offloads, mut until_stdin_closes) = (false, false);
        let mut max_sessions = MAX_SESSIONS;
        while let Some(flag) = words.flag()? {
            match flag {
                "--listen" => listen = Some(words.address(flag)?),
                "--cert" => cert = Some(words.value(flag)?),
                "--key" => key = Some(words.value(flag)?),
                "--file" => file = Some(words.value(flag)?),
                "--size" => pattern = Some(words.size(flag)?),
                "--once" => connections = Some(1),
                "--connections" => connections = Some(words.count(flag)?),
                "--recv-buffer" => recv_buffer = Some(words.buffer(flag)?),
                "--send-buffer" => send_buffer = Some(words.buffer(flag)?),
                "--window" => window = Some(words.window(flag)?),
                "--mtu" => mtu = Some(words.mtu(flag)?),
                "--no-offloads" => no_offloads = true,
                "--idle-timeout" => idle_timeout = words.seconds(flag)?,
                "--retry" => retry = true,
                "--max-connections" => max_sessions = words.count(flag)?,
                "--ciphers" => ciphers = Some(words.value(flag)?),
                "--until-stdin-closes" if cfg!(target_family = "wasm") => {
                    return Err(words.wrong("--until-stdin-closes is for native servers"));
                }
                "--until-stdin-closes" => until_stdin_closes = true,
                _ => return Err(words.unknown(flag)),
            }
        }
        let source = match (file, pattern) {
            (Some(_), Some(_)) => return Err(words.wrong("--file and --size exclude each other")),
            (Some(file), None) => Source::File(file),
            (None, Some(size)) => Source::Pattern(size),
            (None, None) => return Err(words.missing("--file or --size")),
        };
        Ok(Self {
            listen: listen.ok_or_else(|| words.missing("--listen"))?,
            cert: cert.ok_or_else(|| words.missing("--cert"))?,
            key: key.ok_or_else(|| words.missing("--key"))?,
            source,
            connections,
            recv_buffer,
            send_buffer,
            window,
            mtu,
            no_offloads,
            idle_timeout,
            retry,
            max_sessions,
            ciphers,
            until_stdin_closes,
        })
    }
}

/// Reads a size in bytes: digits, with `K`, `M` or `G`, or `KiB`, `MiB` or `GiB`, for the powers of 1,024. `None` if
/// it is no such size.
pub fn size(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let shift = match unit {
        "" => 0,
        "K" | "KiB" => 10,
        "M" | "MiB" => 20,
        "G" | "GiB" => 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// Whether a command line asks for its usage.
pub(crate) fn asks_for_help(arguments: &[String]) -> bool {
    arguments.iter().any(|word| word == "--help" || word == "-h")
}

/// The words of a command line, read one flag at a time.
struct Words<'a> {
    rest: std::slice::Iter<'a, String>,
    usage: &'static str,
}

impl<'a> Words<'a> {
    fn new(arguments: &'a [String], usage: &'static str) -> Self {
        Self { rest: arguments.iter(), usage }
    }

    fn flag(&mut self) -> Result<Option<&'a str>, Error> {
        match self.rest.next().map(String::as_str) {
            Some(word) if !word.starts_with("--") => Err(self.wrong(&format!("unexpected word {word}"))),
            flag => Ok(flag),
        }
    }

    fn value(&mut self, flag: &str) -> Result<String, Error> {
        self.rest.next().cloned().ok_or_else(|| self.wrong(&format!("{flag} needs a value")))
    }

    fn address(&mut self, flag: &str) -> Result<SocketAddr, Error> {
        let text = self.value(flag)?;
        text.parse().map_err(|_| {
            self.wrong(&format!("{flag} {text}: not an address; write 127.0.0.1:4433 or [::1]:4433"))
        })
    }

    fn size(&mut self, flag: &str) -> Result<u64, Error> {
        let text = self.value(flag)?;
        size(&text)
            .ok_or_else(|| self.wrong(&format!("{flag} {text}: not a size; write bytes, or 64K, 100M, 1G")))
    }

    fn buffer(&mut self, flag: &str) -> Result<usize, Error> {
        let size = self.size(flag)?;
        match usize::try_from(size) {
            Ok(size) if size > 0 && i32::try_from(size).is_ok() => Ok(size),
            _ => Err(self.wrong(&format!("{flag} {size}: a socket buffer has 1 to {} bytes", i32::MAX))),
        }
    }

    fn window(&mut self, flag: &str) -> Result<u64, Error> {
        let size = self.size(flag)?;
        if size >= MIN_WINDOW { Ok(size) } else { Err(self.wrong(&format!("{flag} {size}: at least 64K"))) }
    }

    fn mtu(&mut self, flag: &str) -> Result<u16, Error> {
        let size = self.size(flag)?;
        let (least, most) = MTU.into_inner();
        u16::try_from(size).ok().filter(|_| MTU.contains(&size)).ok_or_else(|| {
            self.wrong(&format!("{flag} {size}: the payload of UDP has {least} to {most} bytes"))
        })
    }

    fn mode(&mut self, flag: &str) -> Result<Mode, Error> {
        let text = self.value(flag)?;
        Mode::ALL.into_iter().find(|mode| mode.name() == text).ok_or_else(|| {
            let known = Mode::ALL.map(Mode::name).join(", ");
            self.wrong(&format!("{flag} {text}: no such mode; there are: {known}"))
        })
    }

    fn count(&mut self, flag: &str) -> Result<usize, Error> {
        let text = self.value(flag)?;
        match text.parse() {
            Ok(count @ 1..=10_000) => Ok(count),
            _ => Err(self.wrong(&format!("{flag} {text}: not a number from 1 to 10000"))),
        }
    }

    fn seconds(&mut self, flag: &str) -> Result<Duration, Error> {
        let text = self.value(flag)?;
        match text.parse() {
            Ok(seconds @ 1..=86_400) => Ok(Duration::from_secs(seconds)),
            _ => Err(self.wrong(&format!("{flag} {text}: not a number of seconds from 1 to 86400"))),
        }
    }

    fn unknown(&self, flag: &str) -> Error {
        self.wrong(&format!("no option {flag}"))
    }

    fn missing(&self, flag: &str) -> Error {
        self.wrong(&format!("{flag} is missing"))
    }

    fn wrong(&self, what: &str) -> Error {
        Error::Usage(format!("{what}; {}", self.usage))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(String::from).collect()
    }

    #[test]
    fn sizes_take_binary_suffixes() {
        for (text, bytes) in [("0", 0), ("1", 1), ("64K", 65_536), ("100MiB", 104_857_600), ("1G", 1 << 30)] {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for text in
            ["", "K", "-1", "+1", "1k", "1MB", "1.5M", "1T", "18446744073709551616", "18446744073709551615K"]
        {
            assert_eq!(size(text), None, "{text}");
        }
    }

    #[test]
    fn a_client_line_is_read() {
        let options = ClientOptions::parse(&words(
            "--connect [::1]:4433 --server-name localhost --ca ca.pem --cipher aes-256-gcm --out f --json \
             --recv-buffer 4M --idle-timeout 3 --mtu 9000",
        ))
        .unwrap();
        assert_eq!(options.connect, "[::1]:4433".parse().unwrap());
        assert_eq!(options.direction, Direction::Get(Some("f".into())));
        assert_eq!(options.recv_buffer, Some(4 << 20));
        assert_eq!(options.idle_timeout, Duration::from_secs(3));
        assert_eq!((options.mtu, options.handshakes), (Some(9_000), None));
        assert!(options.json && !options.progress);
        let line = "--connect 127.0.0.1:1 --server-name a --ca b";
        let options = |more: &str| ClientOptions::parse(&words(&format!("{line} {more}"))).unwrap();
        assert_eq!(options("--put-size 64K").direction, Direction::Put(Source::Pattern(65_536)));
        for (more, mode) in
            [("", Mode::Full), ("--mode resumed", Mode::Resumed), ("--mode early-data", Mode::EarlyData)]
        {
            let handshakes = options(&format!("--handshakes 7 {more}")).handshakes;
            assert_eq!(handshakes, Some(Handshakes { count: 7, mode }));
        }
    }

    #[test]
    fn wrong_lines_say_what_is_wrong() {
        let rest = "--connect 127.0.0.1:1 --server-name a --ca b";
        for (line, message) in [
            ("--server-name a --ca b".to_string(), "--connect is missing"),
            (format!("{rest} --put a --out b"), "exclude each other"),
            (format!("{rest} --out a --connections 2"), "one connection"),
            (format!("{rest} --put a --put-size 1"), "exclude each other"),
            (format!("{rest} --put-size x"), "--put-size x: not a size"),
            (format!("{rest} --window 1K"), "--window 1024: at least 64K"),
            (format!("{rest} --mtu 1199"), "--mtu 1199: the payload of UDP has 1200 to 9000 bytes"),
            (format!("{rest} --mtu 9001"), "--mtu 9001"),
            (format!("{rest} --mode full"), "--mode goes with --handshakes"),
            (format!("{rest} --handshakes 0"), "--handshakes 0"),
            (format!("{rest} --handshakes 1 --mode fast"), "there are: full, resumed, early-data"),
            (format!("{rest} --handshakes 1 --put-size 1"), "--handshakes goes without"),
            (format!("{rest} --handshakes 1 --connections 2"), "--handshakes goes without"),
            (format!("{rest} --cipher rot13"), "no cipher rot13"),
            (format!("{rest} --frob"), "no option --frob"),
            (format!("{rest} frob"), "unexpected word frob"),
            (format!("{rest} --connections 0"), "--connections 0"),
            (format!("{rest} --recv-buffer 3G"), "--recv-buffer 3221225472"),
            (format!("{rest} --out"), "--out needs a value"),
            ("--connect localhost:1".to_string(), "not an address"),
        ] {
            let error = ClientOptions::parse(&words(&line)).unwrap_err();
            assert!(error.to_string().contains(message), "{line} gave {error}");
            assert_eq!(error.status(), 2);
        }
        let error = ServerOptions::parse(&words("--listen 127.0.0.1:0 --cert c --key k")).unwrap_err();
        assert!(error.to_string().contains("--file or --size is missing"), "{error}");
    }
}
