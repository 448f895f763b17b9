//! One URL: requests until there is an answer to keep, and what becomes of its body.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, Request, StatusCode, Uri};

use super::args::Args;
use super::body::Source;
use super::connect::within;
use super::exchange::{self, Answer, Trouble};
use super::failure::{Failure, status};
use super::link::{Link, Links};
use super::options::{Body, Destination, Job, Options, Resume};
use super::progress::Progress;
use super::report::Report;
use super::sink::{Origins, Part, Prefix, Sink};
use super::target::Target;

/// How often a request goes over to a new connection because the server did not look at it.
const MOST_MOVES: u32 = 3;
/// The longest pause between two attempts of `--retry`.
const MOST_PAUSE: Duration = Duration::from_secs(600);

/// What all transfers have in common.
pub(crate) struct Client<'a> {
    pub(crate) args: &'a Args,
    pub(crate) options: &'a Options,
    pub(crate) links: Links<'a>,
    pub(crate) progress: &'a Progress,
    pub(crate) tell: &'a dyn Fn(&str),
}

/// What a transfer asks for at the moment.
struct Asking<'a> {
    target: Target,
    method: Method,
    body: &'a Body,
    /// Whether the server is another than the one that the user named.
    elsewhere: bool,
    /// Whether what is there already is of no use.
    anew: bool,
}

/// What came of a request.
enum Outcome {
    /// The body is where it belongs.
    Done,
    /// What is wanted is somewhere else.
    Redirect(StatusCode, String),
    /// What is there already does not belong to what the server has now.
    Changed(&'static str),
}

impl Client<'_> {
    /// Fetches or sends what one URL stands for, within `--max-time`.
    pub(crate) async fn run(&self, job: &Job) -> (Report, Result<(), Failure>) {
        let version = if self.args.http09 { "0.9" } else { "3" };
        let mut report = Report::new(job.target.to_string(), self.options.method.to_string(), version);
        if let Destination::File(path) = &job.destination {
            report.file = Some(path.display().to_string());
        }
        let report = RefCell::new(report);
        let mut outcome = match within(self.options.max_time, self.attempts(job, &report)).await {
            Some(outcome) => outcome,
            None => {
                let limit = self.options.max_time.unwrap_or_default().as_secs_f64();
                let had = report.borrow().downloaded;
                let message =
                    format!("{}: not done in {limit} seconds (--max-time); {had} bytes came", job.target);
                Err(Failure { transient: false, ..Failure::new(status::TIMEOUT, message) })
            }
        };
        let mut report = report.into_inner();
        report.ended = Some(Instant::now());
        if let (Err(failure), Destination::File(path)) = (&mut outcome, &job.destination) {
            let part = Part::of(path);
            if report.first_byte.is_some()
                && let Some(kept) = part.kept()
            {
                let _ = write!(failure.message, "; {} has {kept} bytes: go on with -C -", part.shown());
            }
        }
        (report, outcome)
    }

    async fn attempts(&self, job: &Job, report: &RefCell<Report>) -> Result<(), Failure> {
        let mut pause = Duration::from_secs(1);
        loop {
            let failure = match self.follow(job, report).await {
                Ok(()) => return Ok(()),
                Err(failure) => failure,
            };
            let tried = report.borrow().retries;
            if !failure.transient || tried >= self.args.retry {
                return Err(failure);
            }
            report.borrow_mut().retries = tried + 1;
            let left = self.args.retry - tried;
            (self.tell)(&format!("{failure}; trying again in {} s, {left} more", pause.as_secs()));
            sandquic::sleep(pause).await;
            pause = (pause * 2).min(MOST_PAUSE);
        }
    }

    /// Follows redirects, as far as that is wanted.
    async fn follow(&self, job: &Job, report: &RefCell<Report>) -> Result<(), Failure> {
        let mut asking = Asking {
            target: job.target.clone(),
            method: self.options.method.clone(),
            body: &self.options.body,
            elsewhere: false,
            anew: false,
        };
        let mut redirects = 0;
        let mut moves = 0;
        loop {
            report.borrow_mut().effective = asking.target.to_string();
            let (reused, outcome) = self.request(&asking, job, report).await;
            match outcome {
                Ok(Outcome::Done) => return Ok(()),
                Ok(Outcome::Changed(why)) if !asking.anew => {
                    (self.tell)(&format!("{}: {why}; fetching it from its start", asking.target));
                    asking.anew = true;
                }
                Ok(Outcome::Changed(why)) => {
                    return Err(Failure::new(status::RANGE, format!("{}: {why}", asking.target)));
                }
                Ok(Outcome::Redirect(code, location)) => {
                    redirects += 1;
                    report.borrow_mut().redirects = redirects;
                    if redirects > self.args.max_redirs {
                        let message = format!("{}: more than {} redirects", job.target, self.args.max_redirs);
                        return Err(Failure::new(status::REDIRECTS, message));
                    }
                    self.redirect(&mut asking, code, &location)?;
                }
                // What a server did not look at can be sent again, whatever it is; so can, once, what has no
                // effect and went to a connection that was about to end. Standard input cannot.
                Err(trouble) => {
                    let again = match &trouble {
                        Trouble::Unprocessed(_) => true,
                        Trouble::Lost(_) => reused && asking.method.is_safe() && moves == 0,
                        Trouble::Failed(_) => false,
                    };
                    let failure = trouble.failure();
                    moves += 1;
                    if !again || moves > MOST_MOVES || matches!(asking.body, Body::Stdin) {
                        return Err(failure);
                    }
                    (self.tell)(&format!("{failure}; sending the request over another connection"));
                }
            }
        }
    }

    /// RFC 9110, 15.4; as curl and browsers do, POST becomes GET where it may.
    fn redirect(&self, asking: &mut Asking<'_>, code: StatusCode, location: &str) -> Result<(), Failure> {
        let target = asking.target.join(location)?;
        let to_get = match code.as_u16() {
            301 | 302 => asking.method == Method::POST,
            303 => asking.method != Method::HEAD,
            _ => false,
        };
        if to_get {
            // A method that was named is kept, as in curl.
            if self.args.request.is_none() {
                asking.method = Method::GET;
            }
            asking.body = &Body::None;
        } else if matches!(asking.body, Body::Stdin) {
            let message = format!("redirected to {target}, but standard input was sent already");
            return Err(Failure::new(status::SEND, message));
        }
        asking.elsewhere |= target.origin() != asking.target.origin();
        (self.tell)(&format!("{} redirects to {target}", asking.target));
        asking.target = target;
        Ok(())
    }

    /// Sends one request and handles its answer. The first part says whether the connection was there before.
    async fn request(
        &self,
        asking: &Asking<'_>,
        job: &Job,
        report: &RefCell<Report>,
    ) -> (bool, Result<Outcome, Trouble>) {
        let early = asking.method.is_safe() && matches!(asking.body, Body::None);
        let link = match self.links.get(&asking.target.origin(), early).await {
            Ok(link) => link,
            Err(failure) => return (false, Err(Trouble::Failed(failure))),
        };
        let reused = link.uses.get() > 0;
        link.uses.set(link.uses.get() + 1);
        if !reused {
            let mut report = report.borrow_mut();
            report.connects += 1;
            report.resolved = Some(link.resolved);
        }
        report.borrow_mut().remote = Some(link.connection.remote_address());
        if !early {
            link.settled().await;
        }
        let mut outcome = self.exchange(&link, asking, job, report).await;
        if let Err(trouble) = outcome {
            outcome = Err(match link.is_early() {
                // h3 cannot tell a refusal of early data from other ends of a connection.
                true if link.settled().await == Some(false) => {
                    link.retire();
                    self.links.without_early_data(&link.origin).await;
                    Trouble::Unprocessed(trouble.failure())
                }
                _ => trouble,
            });
        }
        let mut report = report.borrow_mut();
        if !reused {
            report.connected = Some(link.connected.get());
        }
        report.connection = Some(link.connection.stats());
        drop(report);
        (reused, outcome)
    }

    async fn exchange(
        &self,
        link: &Link,
        asking: &Asking<'_>,
        job: &Job,
        report: &RefCell<Report>,
    ) -> Result<Outcome, Trouble> {
        let mut sink = match &job.destination {
            Destination::Stdout => Sink::Stdout,
            Destination::Null => Sink::Null,
            Destination::File(path) => Sink::file(path).map_err(Trouble::Failed)?,
        };
        let mut prefix = None;
        if let (Some(resume), Sink::File(part), false) = (self.options.resume, &mut sink, asking.anew) {
            prefix = part.prefix(resume, &asking.target.resource()).map_err(Trouble::Failed)?;
        }
        let source = Source::open(asking.body).map_err(Trouble::Failed)?;
        let request = self.head(asking, prefix.as_ref(), source.as_ref()).map_err(Trouble::Failed)?;
        if self.args.verbose {
            self.show_request(&request);
        }
        let asked = request.headers().get(header::RANGE).cloned();
        report.borrow_mut().requested = Some(Instant::now());
        let (stream, answer) = exchange::send(link, request, source.is_some()).await?;
        let receiving = self.receive(link, asking, answer, sink, prefix, asked, report);
        let (Some(stream), Some(source)) = (stream, source) else { return receiving.await };
        self.progress.expect(source.length());
        report.borrow_mut().uploaded = 0;
        let sent = |length: usize| {
            report.borrow_mut().uploaded += length as u64;
            self.progress.add(length);
        };
        exchange::both(exchange::send_body(link, stream, source, sent), receiving).await
    }

    /// The request without its body.
    fn head(
        &self,
        asking: &Asking<'_>,
        prefix: Option<&Prefix>,
        source: Option<&Source>,
    ) -> Result<Request<()>, Failure> {
        let options = self.options;
        let mut fields = HeaderMap::new();
        let agent = concat!("sandquic/", env!("CARGO_PKG_VERSION"));
        fields.insert(header::USER_AGENT, HeaderValue::from_static(agent));
        fields.insert(header::ACCEPT, HeaderValue::from_static("*/*"));
        if let Some(length) = source.and_then(Source::length) {
            fields.insert(header::CONTENT_LENGTH, length.into());
        }
        if let Body::Bytes(_) = asking.body {
            let form = HeaderValue::from_static("application/x-www-form-urlencoded");
            fields.insert(header::CONTENT_TYPE, form);
        }
        if let Some((user, password)) = asking.target.user() {
            let token = BASE64_STANDARD.encode(format!("{user}:{password}"));
            if let Ok(mut value) = HeaderValue::from_str(&format!("Basic {token}")) {
                value.set_sensitive(true);
                fields.insert(header::AUTHORIZATION, value);
            }
        }
        match (prefix, options.resume, asking.anew) {
            (Some(prefix), _, _) => {
                fields.insert(header::RANGE, range_from(prefix.from())?);
                if let Some(validator) = &prefix.origins.validator
                    && let Ok(value) = HeaderValue::from_str(validator)
                {
                    fields.insert(header::IF_RANGE, value);
                }
            }
            (None, Some(Resume::At(offset)), false) if offset > 0 => {
                fields.insert(header::RANGE, range_from(offset)?);
            }
            _ => {
                if let Some(range) = &options.range {
                    fields.insert(header::RANGE, range.clone());
                }
            }
        }
        for name in options.headers.keys() {
            // What tells a server who asks is not for another.
            if asking.elsewhere && [header::AUTHORIZATION, header::COOKIE].contains(name) {
                continue;
            }
            fields.remove(name);
            for value in options.headers.get_all(name) {
                fields.append(name, value.clone());
            }
        }
        for name in &options.omitted {
            fields.remove(name);
        }
        let origin = asking.target.origin();
        let host = fields.remove(header::HOST).filter(|_| !asking.elsewhere);
        let authority = host.as_ref().and_then(|host| host.to_str().ok());
        let uri = Uri::builder()
            .scheme("https")
            .authority(authority.map_or_else(|| origin.authority(), str::to_owned))
            .path_and_query(asking.target.path())
            .build()
            .map_err(|error| Failure::new(status::URL, format!("{}: {error}", asking.target)))?;
        let mut request = Request::new(());
        *request.method_mut() = asking.method.clone();
        *request.uri_mut() = uri;
        *request.headers_mut() = fields;
        Ok(request)
    }

    #[allow(clippy::too_many_arguments, reason = "all that one answer is about")]
    async fn receive(
        &self,
        link: &Link,
        asking: &Asking<'_>,
        mut answer: Answer,
        mut sink: Sink,
        prefix: Option<Prefix>,
        asked: Option<HeaderValue>,
        report: &RefCell<Report>,
    ) -> Result<Outcome, Trouble> {
        let failed = |failure| Err(Trouble::Failed(failure));
        let header = answer.header(link).await?;
        self.note_first_byte(link, report).await;
        let (code, fields) = header.unwrap_or((StatusCode::OK, HeaderMap::new()));
        if !self.args.http09 {
            let mut report = report.borrow_mut();
            report.status = Some(code.as_u16());
            report.content_type = text(&fields, header::CONTENT_TYPE);
        }
        if self.args.verbose {
            self.show_answer(code, &fields);
        }
        if self.args.location
            && code.is_redirection()
            && let Some(location) = text(&fields, header::LOCATION)
        {
            if self.args.include || self.args.head {
                sink_header(&mut sink, code, &fields).map_err(Trouble::Failed)?;
            }
            return Ok(Outcome::Redirect(code, location));
        }
        if code.as_u16() >= 400
            && (self.args.fail || prefix.is_some())
            && code != StatusCode::RANGE_NOT_SATISFIABLE
        {
            let message = format!("{}: the server answered {code}", asking.target);
            return failed(Failure { transient: is_passing(code), ..Failure::new(status::HTTP, message) });
        }

        let announced = text(&fields, header::CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
        let bodiless = asking.method == Method::HEAD || matches!(code.as_u16(), 204 | 304);
        let announced = announced.filter(|_| !bodiless);
        if let (Some(limit), Some(length)) = (self.args.max_filesize, announced)
            && length > limit
        {
            return failed(too_large(&asking.target, limit));
        }
        let mut compared = Vec::new();
        match place(&asking.target, code, &fields, asked.is_some(), prefix.as_ref(), self.options.resume) {
            Err(failure) => return failed(failure),
            Ok(Place::Changed(why)) => return Ok(Outcome::Changed(why)),
            Ok(Place::Complete) => {
                if let Sink::File(part) = &mut sink {
                    part.finish().map_err(Trouble::Failed)?;
                }
                return Ok(Outcome::Done);
            }
            Ok(Place::Start(origins)) => {
                if let Sink::File(part) = &mut sink {
                    part.begin(&origins, self.args.create_dirs).map_err(Trouble::Failed)?;
                }
            }
            Ok(Place::GoOn(length, overlap, origins)) => {
                if let Sink::File(part) = &mut sink {
                    compared = part.tail(length - overlap).map_err(Trouble::Failed)?;
                    compared.truncate(overlap as usize);
                    part.go_on(length, &origins).map_err(Trouble::Failed)?;
                }
            }
        }
        if self.args.include || self.args.head {
            sink_header(&mut sink, code, &fields).map_err(Trouble::Failed)?;
        }

        self.progress.expect(announced);
        let mut received = 0;
        report.borrow_mut().downloaded = 0;
        loop {
            let data = match answer.data(link).await {
                Ok(Some(data)) => data,
                Ok(None) => break,
                Err(trouble) => return Err(cut_off(trouble, received, announced)),
            };
            received += data.len() as u64;
            report.borrow_mut().downloaded = received;
            self.progress.add(data.len());
            if self.args.max_filesize.is_some_and(|limit| received > limit) {
                return failed(too_large(&asking.target, self.args.max_filesize.unwrap_or_default()));
            }
            let mut data = data.as_ref();
            if !compared.is_empty() {
                let known = compared.len().min(data.len());
                if data[..known] != compared[..known] {
                    return Ok(Outcome::Changed("what is there already differs from what the server has"));
                }
                compared.drain(..known);
                data = &data[known..];
            }
            sink.write(data).map_err(Trouble::Failed)?;
        }
        if let Some(trailers) = answer.trailers(link).await?
            && self.args.verbose
        {
            self.show_fields("<", &trailers);
        }
        match announced {
            Some(length) if received < length => {
                let message = format!("{}: {received} of {length} bytes came", asking.target);
                return failed(Failure::transient(status::PARTIAL, message));
            }
            Some(length) if received > length => {
                let message = format!("{}: {received} bytes came, {length} were announced", asking.target);
                return failed(Failure::new(status::HTTP3, message));
            }
            _ => {}
        }
        if let Sink::File(part) = &mut sink {
            part.finish().map_err(Trouble::Failed)?;
        }
        Ok(Outcome::Done)
    }

    async fn note_first_byte(&self, link: &Link, report: &RefCell<Report>) {
        let now = Instant::now();
        let early = link.settled().await;
        {
            let mut report = report.borrow_mut();
            report.first_byte = Some(now);
            report.resumed = link.resumed.get();
            if link.uses.get() == 1 {
                report.early_data = Some(early == Some(true));
            }
        }
        if self.args.key_update && !link.updated.replace(true) {
            link.connection.force_key_update();
            (self.tell)("updating the keys");
        }
    }

    fn show_request(&self, request: &Request<()>) {
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let authority = request.uri().authority().map_or("", |authority| authority.as_str());
        self.progress.clear();
        eprintln!("> {} {path}\n> :authority: {authority}", request.method());
        self.show_fields(">", request.headers());
    }

    fn show_answer(&self, code: StatusCode, fields: &HeaderMap) {
        self.progress.clear();
        eprintln!("< {}", code.as_u16());
        self.show_fields("<", fields);
    }

    fn show_fields(&self, mark: &str, fields: &HeaderMap) {
        for (name, value) in fields {
            let value = if value.is_sensitive() { "..." } else { &printable(value) };
            eprintln!("{mark} {name}: {value}");
        }
        eprintln!("{mark}");
    }
}

/// What to do with the body of an answer.
enum Place {
    /// It is the whole, or what was asked for.
    Start(Origins),
    /// It belongs behind so many bytes, the last few of which it has again.
    GoOn(u64, u64, Origins),
    /// There is nothing missing.
    Complete,
    /// What is there already is of something else.
    Changed(&'static str),
}

fn place(
    target: &Target,
    code: StatusCode,
    fields: &HeaderMap,
    asked: bool,
    prefix: Option<&Prefix>,
    resume: Option<Resume>,
) -> Result<Place, Failure> {
    let range = text(fields, header::CONTENT_RANGE);
    let range = range.as_deref().and_then(content_range);
    let length = text(fields, header::CONTENT_LENGTH).and_then(|length| length.parse().ok());
    let whole = |length| Origins { resource: target.resource(), validator: validator(fields), length };
    let no_ranges = || Failure::new(status::RANGE, format!("{target}: the server does not give ranges"));
    match (code.as_u16(), prefix) {
        (206, _) if !asked => Err(Failure::new(
            status::HTTP3,
            format!("{target}: the server answered with a range that nobody asked for"),
        )),
        (206, Some(prefix)) => {
            let Some(ContentRange { first: Some(first), total }) = range else { return Err(no_ranges()) };
            if first != prefix.from() {
                let from = prefix.from();
                let message = format!("{target}: the server gave bytes from {first} on in place of {from}");
                return Err(Failure::new(status::RANGE, message));
            }
            if let (Some(known), Some(total)) = (prefix.origins.length, total)
                && known != total
            {
                return Ok(Place::Changed("its length has changed"));
            }
            let mut origins = whole(total);
            if origins.validator.is_none() {
                origins.validator = prefix.origins.validator.clone();
            }
            Ok(Place::GoOn(prefix.length, prefix.overlap, origins))
        }
        (206, None) => match (resume, range) {
            (Some(Resume::At(offset)), Some(ContentRange { first: Some(first), .. })) if first == offset => {
                Ok(Place::Start(Origins { length: None, validator: None, resource: String::new() }))
            }
            (Some(_), _) => Err(no_ranges()),
            (None, _) => Ok(Place::Start(Origins::default())),
        },
        (416, Some(prefix)) => {
            let total = range.and_then(|range| range.total);
            match prefix.origins.validator.is_some() && total == Some(prefix.length) {
                true => Ok(Place::Complete),
                false => Ok(Place::Changed("it is shorter now than what is there already")),
            }
        }
        (416, None) if asked => Err(Failure::new(status::RANGE, format!("{target}: it has no such range"))),
        // A server that gives no ranges, or whose file has changed, sends all of it.
        (200, Some(_)) if resume == Some(Resume::Here) => Ok(Place::Start(whole(length))),
        (200, _) if matches!(resume, Some(Resume::At(offset)) if offset > 0) && asked => Err(no_ranges()),
        (200, _) => Ok(Place::Start(whole(length))),
        _ => Ok(Place::Start(Origins::default())),
    }
}

/// `bytes 5-9/10`, `bytes 5-9/*` or `bytes */10` (RFC 9110, 14.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ContentRange {
    first: Option<u64>,
    total: Option<u64>,
}

fn content_range(text: &str) -> Option<ContentRange> {
    let (range, total) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let total = if total == "*" { None } else { Some(total.parse().ok()?) };
    if range == "*" {
        return Some(ContentRange { first: None, total });
    }
    let (first, last) = range.split_once('-')?;
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    let sound = first <= last && total.is_none_or(|total| last < total);
    sound.then_some(ContentRange { first: Some(first), total })
}

/// What `If-Range` may be sent later (RFC 9110, 13.1.5): a strong entity tag, or a date that is older than the answer.
fn validator(fields: &HeaderMap) -> Option<String> {
    if let Some(tag) = text(fields, header::ETAG).filter(|tag| tag.starts_with('"')) {
        return Some(tag);
    }
    let modified = text(fields, header::LAST_MODIFIED)?;
    (text(fields, header::DATE)? != modified).then_some(modified)
}

fn text(fields: &HeaderMap, name: header::HeaderName) -> Option<String> {
    fields.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

fn range_from(first: u64) -> Result<HeaderValue, Failure> {
    HeaderValue::from_str(&format!("bytes={first}-"))
        .map_err(|error| Failure::new(status::RANGE, error.to_string()))
}

/// Statuses that `--retry` takes for passing, as curl does.
fn is_passing(code: StatusCode) -> bool {
    matches!(code.as_u16(), 408 | 429 | 500 | 502 | 503 | 504)
}

fn too_large(target: &Target, limit: u64) -> Failure {
    Failure::new(status::TOO_LARGE, format!("{target}: it is larger than {limit} bytes (--max-filesize)"))
}

/// An answer that ends in the middle.
fn cut_off(trouble: Trouble, received: u64, announced: Option<u64>) -> Trouble {
    let failure = match trouble {
        Trouble::Unprocessed(failure) if received == 0 => return Trouble::Unprocessed(failure),
        trouble => trouble.failure(),
    };
    match (announced, failure.status) {
        (Some(length), status::RECEIVE) => {
            let message = format!("{}; {received} of {length} bytes came", failure.message);
            Trouble::Failed(Failure::transient(status::PARTIAL, message))
        }
        _ => Trouble::Failed(failure),
    }
}

fn printable(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The header as HTTP/1.1 would write it.
fn sink_header(sink: &mut Sink, code: StatusCode, fields: &HeaderMap) -> Result<(), Failure> {
    let mut block = format!("HTTP/3 {}\r\n", code.as_u16()).into_bytes();
    for (name, value) in fields {
        block.extend_from_slice(name.as_str().as_bytes());
        block.extend_from_slice(b": ");
        block.extend_from_slice(value.as_bytes());
        block.extend_from_slice(b"\r\n");
    }
    block.extend_from_slice(b"\r\n");
    sink.write(&block)
}
