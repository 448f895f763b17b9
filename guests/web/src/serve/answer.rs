//! From a request to its answer: RFC 9110 for files.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::time::SystemTime;

use h3::error::Code;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, StatusCode, Uri};
use httpdate::{fmt_http_date, parse_http_date};

use super::body::Body;
use super::listing;
use super::path::RequestPath;
use super::range::{self, Wanted};
use super::root::{Facts, Found, Root};

/// The page of a directory that has it.
const INDEX: &str = "index.html";

/// What an answer consists of.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Body,
    /// The content is left out: the request was HEAD, or the status has none.
    pub(super) headers_only: bool,
    /// What the log says of it.
    pub(super) note: Option<String>,
}

impl Answer {
    /// With a status and no content.
    pub(super) fn empty(status: StatusCode) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(header::DATE, value(fmt_http_date(SystemTime::now())));
        headers.insert(
            header::SERVER,
            HeaderValue::from_static(concat!("sandquic/", env!("CARGO_PKG_VERSION"))),
        );
        Self { status, headers, body: Body::default(), headers_only: false, note: None }
    }

    /// An error, with a sentence for people.
    pub(super) fn error(status: StatusCode, why: &str) -> Self {
        let mut answer = Self::empty(status);
        let content = format!("{}: {why}\n", status.canonical_reason().unwrap_or("error"));
        answer.content(Body::text(content), HeaderValue::from_static("text/plain; charset=utf-8"));
        answer.note = Some(why.to_owned());
        answer
    }

    fn content(&mut self, body: Body, content_type: HeaderValue) {
        self.headers.insert(header::CONTENT_TYPE, content_type);
        self.headers.insert(header::CONTENT_LENGTH, body.length().into());
        self.headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        self.body = body;
    }
}

/// What is served.
#[derive(Debug)]
pub(super) struct Site {
    root: Root,
    /// In lower case; all are served if there is none.
    hosts: Vec<String>,
    /// The value of Allow.
    allow: HeaderValue,
}

impl Site {
    pub(super) fn new(root: Root, hosts: &[String], uploads: bool) -> Self {
        let allow = if uploads { "GET, HEAD, PUT" } else { "GET, HEAD" };
        let hosts = hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        Self { root, hosts, allow: HeaderValue::from_static(allow) }
    }

    /// Checks what does not depend on the method, and reads the path.
    ///
    /// # Errors
    /// With the answer, if the request cannot be served.
    pub(super) fn path(&self, uri: &Uri) -> Result<RequestPath, Box<Answer>> {
        let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        if !self.hosts.is_empty() && !self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host)) {
            let why = format!("{} is not served here", host.escape_debug());
            return Err(Box::new(Answer::error(StatusCode::MISDIRECTED_REQUEST, &why)));
        }
        RequestPath::parse(uri.path())
            .map_err(|error| Box::new(Answer::error(StatusCode::BAD_REQUEST, &error.to_string())))
    }

    /// The answer to a request that is not PUT.
    pub(super) fn answer(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Answer {
        let mut answer = match self.path(uri) {
            Err(answer) => *answer,
            Ok(_) if !matches!(*method, Method::GET | Method::HEAD) => self.not_allowed(method),
            Ok(path) => self.file(&path, uri.query(), method, headers),
        };
        answer.headers_only |= *method == Method::HEAD;
        answer
    }

    /// Status 405.
    pub(super) fn not_allowed(&self, method: &Method) -> Answer {
        let why = format!("{method} is not served; use {}", self.allow.to_str().unwrap_or_default());
        let mut answer = Answer::error(StatusCode::METHOD_NOT_ALLOWED, &why);
        answer.headers.insert(header::ALLOW, self.allow.clone());
        answer
    }

    /// The content of a path for HTTP/0.9: the whole file, or nothing.
    pub(super) fn plain(&self, path: &str) -> Result<Body, String> {
        let path = RequestPath::parse(path).map_err(|error| error.to_string())?;
        let (file, facts, _) = match self.find(&path) {
            Ok(Some(found)) => found,
            Ok(None) => return Err("it is a directory without an index".into()),
            Err(error) => return Err(error.to_string()),
        };
        let mut body = Body::of_file(file);
        body.push_range(0, facts.length);
        Ok(body)
    }

    /// The file of a path, with its name, or that of the directory's index; `None` for a directory without one.
    fn find(&self, path: &RequestPath) -> io::Result<Option<(File, Facts, String)>> {
        let below = path.below();
        match self.root.find(&below)? {
            Found::File(..) if path.directory => Err(io::ErrorKind::NotFound.into()),
            Found::File(file, facts) => Ok(Some((file, facts, path.name().unwrap_or_default().to_owned()))),
            Found::Directory => match self.root.find(&below.join(INDEX)) {
                Ok(Found::File(file, facts)) => Ok(Some((file, facts, INDEX.to_owned()))),
                Ok(Found::Directory) => Ok(None),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            },
        }
    }

    fn file(&self, path: &RequestPath, query: Option<&str>, method: &Method, headers: &HeaderMap) -> Answer {
        match self.find(path) {
            Err(error) => failure(&error),
            Ok(found)
                if !path.directory
                    && found.as_ref().is_none_or(|(_, _, name)| Some(&**name) != path.name()) =>
            {
                redirect(path, query)
            }
            Ok(Some((file, facts, name))) => found(file, facts, &name, method, headers),
            Ok(None) => self.list(path),
        }
    }

    fn list(&self, path: &RequestPath) -> Answer {
        match self.root.list(&path.below()) {
            Err(error) => failure(&error),
            Ok(entries) => {
                let mut answer = Answer::empty(StatusCode::OK);
                let page = listing::page(path, &entries);
                answer.content(Body::text(page), HeaderValue::from_static("text/html; charset=utf-8"));
                let policy = "default-src 'none'; style-src 'unsafe-inline'";
                answer.headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
                answer.headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
                answer
            }
        }
    }
}

/// The answer for what a file system refuses.
pub(super) fn failure(error: &io::Error) -> Answer {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename => {
            Answer::error(StatusCode::NOT_FOUND, "there is no such file")
        }
        io::ErrorKind::PermissionDenied => {
            Answer::error(StatusCode::FORBIDDEN, "this file may not be read, or is not within the directory")
        }
        _ => {
            let mut answer = Answer::error(StatusCode::INTERNAL_SERVER_ERROR, "the file cannot be read");
            answer.note = Some(error.to_string());
            answer
        }
    }
}

/// To the same path with a slash, below which the links of a directory's page are.
fn redirect(path: &RequestPath, query: Option<&str>) -> Answer {
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    let mut answer = Answer::error(StatusCode::MOVED_PERMANENTLY, "this is a directory");
    answer.headers.insert(header::LOCATION, value(path.as_directory() + &query));
    answer.note = None;
    answer
}

fn found(file: File, facts: Facts, name: &str, method: &Method, headers: &HeaderMap) -> Answer {
    let etag = facts.etag();
    let mut answer = Answer::empty(StatusCode::OK);
    answer.headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    if let Some(modified) = facts.modified {
        answer.headers.insert(header::LAST_MODIFIED, value(fmt_http_date(modified)));
    }
    if let Some(etag) = &etag {
        answer.headers.insert(header::ETAG, value(etag.clone()));
    }
    match precondition(headers, etag.as_deref(), facts.modified) {
        Precondition::Holds => {}
        Precondition::NotModified => {
            answer.status = StatusCode::NOT_MODIFIED;
            answer.headers_only = true;
            return answer;
        }
        Precondition::Failed => {
            return Answer::error(
                StatusCode::PRECONDITION_FAILED,
                "the file is not the one that was asked for",
            );
        }
    }
    let content_type = content_type(Path::new(name));
    let mut body = Body::of_file(file);
    let field = headers.get(header::RANGE).filter(|_| *method == Method::GET);
    let field = field.filter(|_| same_as_before(headers, etag.as_deref(), facts.modified));
    match field
        .and_then(|field| field.to_str().ok())
        .map_or(Wanted::Whole, |f| range::wanted(f, facts.length))
    {
        Wanted::Whole => {
            body.push_range(0, facts.length);
            answer.content(body, content_type);
        }
        Wanted::Unsatisfiable => {
            answer = Answer::error(StatusCode::RANGE_NOT_SATISFIABLE, "the file has no such range");
            answer.headers.insert(header::CONTENT_RANGE, value(format!("bytes */{}", facts.length)));
        }
        Wanted::Ranges(ranges) => {
            answer.status = StatusCode::PARTIAL_CONTENT;
            if let [range] = &ranges[..] {
                answer.headers.insert(header::CONTENT_RANGE, value(content_range(range, facts.length)));
                body.push_range(range.start, range.end - range.start);
                answer.content(body, content_type);
            } else {
                several(&mut answer, body, &ranges, facts.length, &content_type);
            }
        }
    }
    answer
}

/// Several ranges as multipart/byteranges (RFC 9110, 14.6).
fn several(
    answer: &mut Answer,
    mut body: Body,
    ranges: &[Range<u64>],
    length: u64,
    content_type: &HeaderValue,
) {
    let boundary = boundary();
    for range in ranges {
        body.push_bytes(format!(
            "\r\n--{boundary}\r\nContent-Type: {}\r\nContent-Range: {}\r\n\r\n",
            content_type.to_str().unwrap_or("application/octet-stream"),
            content_range(range, length)
        ));
        body.push_range(range.start, range.end - range.start);
    }
    body.push_bytes(format!("\r\n--{boundary}--\r\n"));
    answer.content(body, value(format!("multipart/byteranges; boundary={boundary}")));
}

/// Parts two parts of a content, which must not hold it.
fn boundary() -> String {
    let mut random = [0; 16];
    // Without randomness the boundary can be foreseen, which only whoever wrote the file could use.
    let _ = getrandom::fill(&mut random);
    random.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn content_range(range: &Range<u64>, length: u64) -> String {
    format!("bytes {}-{}/{length}", range.start, range.end - 1)
}

/// The type of a file by its name.
fn content_type(name: &Path) -> HeaderValue {
    let mime = mime_guess::from_path(name).first_or_octet_stream();
    let text = mime.type_() == mime_guess::mime::TEXT
        || matches!(mime.subtype().as_str(), "javascript" | "json" | "xml")
        || mime.suffix().is_some_and(|suffix| matches!(suffix.as_str(), "json" | "xml"));
    value(if text { format!("{mime}; charset=utf-8") } else { mime.to_string() })
}

impl Facts {
    /// A strong validator (RFC 9110, 8.8.1): of the length, and the time of the change in the system's precision.
    fn etag(&self) -> Option<String> {
        let since = self.modified?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        Some(format!("\"{:x}-{:x}\"", self.length, since.as_nanos()))
    }
}

enum Precondition {
    Holds,
    NotModified,
    Failed,
}

/// RFC 9110, 13.2.2, in its order.
fn precondition(headers: &HeaderMap, etag: Option<&str>, modified: Option<SystemTime>) -> Precondition {
    if headers.contains_key(header::IF_MATCH) {
        if !any_matches(headers, header::IF_MATCH, etag, false) {
            return Precondition::Failed;
        }
    } else if let Some(since) = date(headers, header::IF_UNMODIFIED_SINCE)
        && modified.is_some_and(|modified| seconds(modified) > seconds(since))
    {
        return Precondition::Failed;
    }
    if headers.contains_key(header::IF_NONE_MATCH) {
        if any_matches(headers, header::IF_NONE_MATCH, etag, true) {
            return Precondition::NotModified;
        }
    } else if let Some(since) = date(headers, header::IF_MODIFIED_SINCE)
        && modified.is_some_and(|modified| seconds(modified) <= seconds(since))
    {
        return Precondition::NotModified;
    }
    Precondition::Holds
}

/// Whether the file is the one that If-Range names, so that a range of it is of use (RFC 9110, 13.1.5).
fn same_as_before(headers: &HeaderMap, etag: Option<&str>, modified: Option<SystemTime>) -> bool {
    let Some(field) = headers.get(header::IF_RANGE) else { return true };
    let Ok(field) = field.to_str() else { return false };
    if field.starts_with('"') || field.starts_with("W/") {
        return etag == Some(field);
    }
    match (parse_http_date(field), modified) {
        (Ok(date), Some(modified)) => seconds(date) == seconds(modified),
        _ => false,
    }
}

/// Whether a list of entity tags has ours; `weak` tells which comparison (RFC 9110, 8.8.3.2).
fn any_matches(headers: &HeaderMap, name: header::HeaderName, etag: Option<&str>, weak: bool) -> bool {
    headers.get_all(name).iter().filter_map(|field| field.to_str().ok()).any(|field| {
        // Ours has no comma in it, so that none of a list can be taken for it by being cut there.
        field.split(',').map(str::trim).any(|tag| {
            tag == "*" || etag == Some(if weak { tag.strip_prefix("W/").unwrap_or(tag) } else { tag })
        })
    })
}

fn date(headers: &HeaderMap, name: header::HeaderName) -> Option<SystemTime> {
    parse_http_date(headers.get(name)?.to_str().ok()?).ok()
}

/// Dates in fields have whole seconds.
fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// What was made here, of ASCII, as a field's value.
fn value(text: String) -> HeaderValue {
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
}

/// The code of RFC 9114, 8.1, for an answer that could not be sent to its end.
pub(super) const BROKEN_OFF: Code = Code::H3_INTERNAL_ERROR;
