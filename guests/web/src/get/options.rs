//! What the command line asks for, checked.

use std::collections::{BTreeMap, HashSet};
use std::io::Read;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};

use super::args::Args;
use super::failure::{Failure, status};
use super::target::{Origin, Target};

/// The whole order.
pub(crate) struct Options {
    pub(crate) jobs: Vec<Job>,
    pub(crate) method: Method,
    pub(crate) headers: HeaderMap,
    /// Fields that are not to be sent though they would be.
    pub(crate) omitted: HashSet<HeaderName>,
    pub(crate) body: Body,
    pub(crate) resume: Option<Resume>,
    pub(crate) range: Option<HeaderValue>,
    pub(crate) connect_timeout: Option<Duration>,
    pub(crate) max_time: Option<Duration>,
    pub(crate) addresses: Addresses,
}

/// One URL and where its body goes.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) target: Target,
    pub(crate) destination: Destination,
}

/// Where a body goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// Standard output.
    Stdout,
    /// Nowhere.
    Null,
    /// A file, under its name only when it is whole.
    File(PathBuf),
}

/// What is sent with a request.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    /// Nothing.
    None,
    /// These bytes.
    Bytes(Bytes),
    /// What is in a file.
    File(PathBuf),
    /// Standard input, to its end.
    Stdin,
}

/// Where to take up a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resume {
    /// Where the file ends.
    Here,
    /// At this byte.
    At(u64),
}

/// Addresses that are not asked for.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    /// `--resolve`.
    fixed: BTreeMap<(String, u16), Vec<IpAddr>>,
    /// `--connect-to`: what the URL has, and what takes its place; `None` is anything, or the same.
    elsewhere: Vec<([Part; 2], [Part; 2])>,
}

/// A host or a port, where it is given.
type Part = Option<String>;

impl Addresses {
    /// Where the server of an origin is to be found.
    pub(crate) fn place(&self, origin: &Origin) -> Origin {
        let port = origin.port.to_string();
        let fits =
            |part: &Part, text: &str| part.as_deref().is_none_or(|part| part.eq_ignore_ascii_case(text));
        let found = self.elsewhere.iter().find(|([h, p], _)| fits(h, &origin.host) && fits(p, &port));
        let Some((_, [host, port])) = found else { return origin.clone() };
        Origin {
            host: host.clone().unwrap_or_else(|| origin.host.clone()),
            port: port.as_deref().and_then(|port| port.parse().ok()).unwrap_or(origin.port),
        }
    }

    /// The addresses that `--resolve` gives a place.
    pub(crate) fn fixed(&self, place: &Origin) -> Option<&[IpAddr]> {
        let host = place.host.to_ascii_lowercase();
        let any = || self.fixed.get(&("*".to_owned(), place.port));
        self.fixed.get(&(host, place.port)).or_else(any).map(Vec::as_slice)
    }
}

impl Options {
    /// Checks the command line, and reads the data of `--data`.
    pub(crate) fn new(args: &Args) -> Result<Self, Failure> {
        let (headers, omitted) = headers(args)?;
        let body = body(args)?;
        let method = match &args.request {
            Some(name) => Method::from_bytes(name.as_bytes())
                .map_err(|_| usage(format!("--request {name}: not the name of a method")))?,
            None if args.head => Method::HEAD,
            None => match body {
                Body::None => Method::GET,
                Body::Bytes(_) => Method::POST,
                Body::File(_) | Body::Stdin => Method::PUT,
            },
        };
        let resume = args.continue_at.as_deref().map(resume).transpose()?;
        if resume.is_some() {
            if method != Method::GET {
                return Err(usage(format!("--continue-at is for GET, not for {method}")));
            }
            if args.range.is_some() {
                return Err(usage("--continue-at and --range exclude each other"));
            }
            if args.http09 {
                return Err(usage("--continue-at: HTTP/0.9 has no ranges"));
            }
        }
        let options = Self {
            jobs: jobs(args)?,
            method,
            headers,
            omitted,
            body,
            resume,
            range: args.range.as_deref().map(range).transpose()?,
            connect_timeout: limit("--connect-timeout", args.connect_timeout.as_deref())?,
            max_time: limit("--max-time", args.max_time.as_deref())?,
            addresses: addresses(args)?,
        };
        if resume == Some(Resume::Here)
            && options.jobs.iter().any(|job| job.destination == Destination::Stdout)
        {
            return Err(usage("--continue-at - needs a file to go on with: give -o or -O"));
        }
        if matches!(options.body, Body::Stdin) && (options.jobs.len() > 1 || args.retry > 0) {
            return Err(usage("standard input can be sent once: give one URL, and no --retry"));
        }
        if args.http09 && (options.method != Method::GET || args.include) {
            return Err(usage("--http0.9: there is nothing but GET, and no header"));
        }
        Ok(options)
    }
}

pub(crate) fn usage(message: impl Into<String>) -> Failure {
    Failure::new(status::USAGE, message)
}

fn jobs(args: &Args) -> Result<Vec<Job>, Failure> {
    if args.output.len() > args.urls.len() {
        return Err(usage(format!("{} -o for {} URLs", args.output.len(), args.urls.len())));
    }
    let upload = args.upload_file.as_deref().filter(|path| *path != "-");
    let upload_name = upload.and_then(|path| Path::new(path).file_name()?.to_str());
    let mut jobs = Vec::with_capacity(args.urls.len());
    let mut taken = HashSet::new();
    for (at, url) in args.urls.iter().enumerate() {
        let mut target = Target::parse(url)?;
        let name = match args.output.get(at) {
            Some(name) => Some(name.clone()),
            None if args.remote_name && !args.head => Some(target.file_name()?),
            None => None,
        };
        if let Some(name) = upload_name {
            target = target.with_name(name);
        }
        let destination = match name.as_deref() {
            None | Some("-" | "/dev/stdout") => Destination::Stdout,
            Some("/dev/null") => Destination::Null,
            Some("") => return Err(usage("-o: the name of the file is empty")),
            Some(name) => {
                let path = match &args.output_dir {
                    Some(directory) => Path::new(directory).join(name),
                    None => PathBuf::from(name),
                };
                if !taken.insert(path.clone()) {
                    return Err(usage(format!("two URLs are to go to {}", path.display())));
                }
                Destination::File(path)
            }
        };
        jobs.push(Job { target, destination });
    }
    Ok(jobs)
}

fn headers(args: &Args) -> Result<(HeaderMap, HashSet<HeaderName>), Failure> {
    let mut headers = HeaderMap::new();
    let mut omitted = HashSet::new();
    for field in &args.header {
        let wrong = |what: &str| usage(format!("--header {field:?}: {what}; write Name: value"));
        let (name, value) = match field.split_once(':') {
            Some((name, value)) => (name, value.trim()),
            // As in curl, a field without a value.
            None => (field.strip_suffix(';').ok_or_else(|| wrong("there is no colon"))?, ";"),
        };
        let name: HeaderName = name.trim().parse().map_err(|_| wrong("that is not the name of a field"))?;
        if [header::CONNECTION, header::TRANSFER_ENCODING, header::UPGRADE].contains(&name) {
            return Err(wrong("HTTP/3 has no such field (RFC 9114, 4.2)"));
        }
        match value {
            "" => drop(omitted.insert(name)),
            ";" => drop(headers.append(name, HeaderValue::from_static(""))),
            value => {
                let value = HeaderValue::from_str(value)
                    .or_else(|_| HeaderValue::from_bytes(value.as_bytes()))
                    .map_err(|_| wrong("a value has no control characters"))?;
                headers.append(name, value);
            }
        }
    }
    if let Some(agent) = &args.user_agent {
        let value = HeaderValue::from_str(agent)
            .map_err(|_| usage(format!("--user-agent {agent:?}: control characters are not allowed")))?;
        headers.insert(header::USER_AGENT, value);
    }
    Ok((headers, omitted))
}

fn body(args: &Args) -> Result<Body, Failure> {
    if let Some(path) = &args.upload_file {
        return Ok(if path == "-" { Body::Stdin } else { Body::File(path.into()) });
    }
    if args.data.is_empty() && args.data_binary.is_empty() {
        return Ok(Body::None);
    }
    let mut joined = Vec::new();
    let texts = args.data.iter().map(|text| (text, false)).chain(args.data_binary.iter().map(|t| (t, true)));
    for (at, (text, binary)) in texts.enumerate() {
        if at > 0 {
            joined.push(b'&');
        }
        let Some(path) = text.strip_prefix('@') else {
            joined.extend_from_slice(text.as_bytes());
            continue;
        };
        let mut bytes = Vec::new();
        let read = match path {
            "-" => std::io::stdin().lock().take(MAX_DATA + 1).read_to_end(&mut bytes),
            path => {
                std::fs::File::open(path).and_then(|file| file.take(MAX_DATA + 1).read_to_end(&mut bytes))
            }
        };
        read.map_err(|error| Failure::read(path, &error))?;
        if !binary {
            bytes.retain(|byte| !matches!(byte, b'\r' | b'\n' | 0));
        }
        joined.extend(bytes);
        if joined.len() as u64 > MAX_DATA {
            return Err(usage(format!(
                "@{path} is too much for --data; send it with --upload-file and -X POST"
            )));
        }
    }
    Ok(Body::Bytes(joined.into()))
}

/// The most bytes that `--data` sends, since they are kept in memory.
const MAX_DATA: u64 = 64 << 20;

fn resume(text: &str) -> Result<Resume, Failure> {
    match text {
        "-" => Ok(Resume::Here),
        text => match text.parse() {
            Ok(offset) => Ok(Resume::At(offset)),
            Err(_) => Err(usage(format!("--continue-at {text}: give a number of bytes, or -"))),
        },
    }
}

/// One range of bytes (RFC 9110, 14.1.1), as the value of the field.
fn range(text: &str) -> Result<HeaderValue, Failure> {
    let wrong = || usage(format!("--range {text}: write 0-99, 100- or -100"));
    let (first, last) = text.split_once('-').ok_or_else(wrong)?;
    let number = |text: &str| match text {
        "" => Ok(None),
        text if text.bytes().all(|byte| byte.is_ascii_digit()) => {
            text.parse::<u64>().map(Some).map_err(|_| wrong())
        }
        _ => Err(wrong()),
    };
    match (number(first)?, number(last)?) {
        (None, None) => Err(wrong()),
        (Some(first), Some(last)) if first > last => Err(wrong()),
        _ => HeaderValue::from_str(&format!("bytes={text}")).map_err(|_| wrong()),
    }
}

/// Seconds; 0 is no limit.
fn limit(flag: &str, text: Option<&str>) -> Result<Option<Duration>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let seconds: f64 = text.parse().map_err(|_| usage(format!("{flag} {text}: give a number of seconds")))?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(Duration::ZERO) => Ok(None),
        Ok(limit) => Ok(Some(limit)),
        Err(_) => Err(usage(format!("{flag} {text}: give a number of seconds"))),
    }
}

fn addresses(args: &Args) -> Result<Addresses, Failure> {
    let mut addresses = Addresses::default();
    for text in &args.resolve {
        let wrong =
            |what: &str| usage(format!("--resolve {text}: {what}; write HOST:PORT:ADDRESS[,ADDRESS]"));
        let (host, rest) = part(text);
        let (port, list) = rest.split_once(':').ok_or_else(|| wrong("there is no address"))?;
        let port: u16 = port.parse().map_err(|_| wrong("that is not a port"))?;
        let list = list.split(',').map(|address| {
            let address = address.trim().trim_start_matches('[').trim_end_matches(']');
            address.parse().map_err(|_| wrong(&format!("{address:?} is not an address")))
        });
        addresses.fixed.insert((host.to_ascii_lowercase(), port), list.collect::<Result<_, _>>()?);
    }
    for text in &args.connect_to {
        let wrong = || usage(format!("--connect-to {text}: write HOST1:PORT1:HOST2:PORT2"));
        let (from, rest) = part(text);
        let (from_port, rest) = rest.split_once(':').ok_or_else(wrong)?;
        let (to, to_port) = part(rest);
        for port in [from_port, to_port] {
            if !port.is_empty() && port.parse::<u16>().is_err() {
                return Err(wrong());
            }
        }
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        addresses.elsewhere.push(([given(from), given(from_port)], [given(to), given(to_port)]));
    }
    Ok(addresses)
}

/// The part before the next colon, or between brackets, and what is behind.
fn part(text: &str) -> (&str, &str) {
    if let Some((inside, rest)) = text.strip_prefix('[').and_then(|text| text.split_once(']')) {
        return (inside, rest.strip_prefix(':').unwrap_or(rest));
    }
    text.split_once(':').unwrap_or((text, ""))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn options(words: &[&str]) -> Result<Options, Failure> {
        Options::new(&Args::try_parse_from([&["sandquic get"], words].concat()).unwrap())
    }

    #[test]
    fn urls_and_files_belong_together() {
        let files = |words: &[&str]| -> Vec<Destination> {
            options(words).unwrap().jobs.into_iter().map(|job| job.destination).collect()
        };
        let file = |name: &str| Destination::File(name.into());
        assert_eq!(files(&["a/x", "a/y"]), [Destination::Stdout, Destination::Stdout]);
        assert_eq!(files(&["-O", "-o", "-", "a/x", "a/y"]), [Destination::Stdout, file("y")]);
        assert_eq!(
            files(&["-o", "/dev/null", "-o", "d", "--output-dir", "e", "a", "a"]),
            [Destination::Null, file("e/d")]
        );
        for words in [&["-o", "x", "-o", "y", "a"][..], &["-O", "a/x", "b/x"], &["-o", "", "a"]] {
            assert_eq!(options(words).err().unwrap().status, status::USAGE, "{words:?}");
        }
    }

    #[test]
    fn the_body_decides_the_method() {
        for (words, method) in [
            (&["a"][..], "GET"),
            (&["-I", "a"], "HEAD"),
            (&["-d", "x", "a"], "POST"),
            (&["-T", "/f", "a"], "PUT"),
            (&["-X", "PURGE", "a"], "PURGE"),
        ] {
            assert_eq!(options(words).unwrap().method, method, "{words:?}");
        }
        let body = options(&["-d", "a=1", "-d", "b=2", "--data-binary", "c", "a"]).unwrap().body;
        assert!(matches!(body, Body::Bytes(bytes) if bytes == "a=1&b=2&c"));
        assert_eq!(options(&["-T", "/x/f", "a/d/"]).unwrap().jobs[0].target.to_string(), "https://a/d/f");
    }

    #[test]
    fn what_cannot_be_is_a_wrong_command_line() {
        for words in [
            &["-C", "x", "a"][..],
            &["-C", "-", "a"],
            &["-C", "5", "-d", "x", "a"],
            &["-C", "5", "-r", "1-", "a"],
            &["-r", "5", "a"],
            &["-r", "5-4", "a"],
            &["-r", "-", "a"],
            &["-r", "0-1,4-5", "a"],
            &["-m", "soon", "a"],
            &["-m=-1", "a"],
            &["-H", "no colon", "a"],
            &["-H", "a b: c", "a"],
            &["-H", "Connection: close", "a"],
            &["-X", "G T", "a"],
            &["--resolve", "a:1", "b"],
            &["--resolve", "a:1:b", "b"],
            &["--connect-to", "a:x:b:1", "b"],
            &["-T", "-", "a", "b"],
            &["--http0.9", "-I", "a"],
        ] {
            assert_eq!(options(words).err().map(|f| f.status), Some(status::USAGE), "{words:?}");
        }
    }

    #[test]
    fn servers_are_found_elsewhere() {
        let options = options(&[
            "--resolve",
            "A:1:127.0.0.1,[::1]",
            "--resolve",
            "*:2:127.0.0.2",
            "--connect-to",
            "b:443:[::2]:444",
            "--connect-to",
            "c:::5",
            "a",
        ])
        .unwrap();
        let origin = |host: &str, port| Origin { host: host.into(), port };
        let found = &options.addresses;
        assert_eq!(found.fixed(&origin("a", 1)).unwrap().len(), 2);
        assert_eq!(found.fixed(&origin("x", 2)).unwrap(), ["127.0.0.2".parse::<IpAddr>().unwrap()]);
        assert_eq!(found.fixed(&origin("a", 3)), None);
        assert_eq!(found.place(&origin("b", 443)), origin("::2", 444));
        assert_eq!(found.place(&origin("b", 1)), origin("b", 1));
        assert_eq!(found.place(&origin("c", 7)), origin("c", 5));
    }
}
