//! From the path of a request to a path below the directory.

use std::fmt;
use std::path::PathBuf;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

/// What is percent-encoded in a segment of a path (RFC 3986, 3.3), and what HTML would take for its own.
const SEGMENT: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'&')
    .add(b'\'')
    .add(b'/')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// The path of a request, decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RequestPath {
    segments: Vec<String>,
    /// It ends with a slash, as the path of a directory does.
    pub(super) directory: bool,
}

impl RequestPath {
    /// Reads the path of a URI.
    ///
    /// # Errors
    /// If it names nothing that can be below a directory.
    pub(super) fn parse(path: &str) -> Result<Self, BadPath> {
        let rest = path.strip_prefix('/').ok_or(BadPath("it does not begin with a slash"))?;
        let mut segments = Vec::new();
        for segment in rest.split('/') {
            let decoded =
                percent_decode_str(segment).decode_utf8().map_err(|_| BadPath("it is not UTF-8"))?;
            match decoded.as_ref() {
                "" | "." => {}
                // Clients take these out before they ask (RFC 3986, 5.2.4): one that is left is an attempt to leave.
                ".." => return Err(BadPath("it leads out of the directory with `..`")),
                name if unsafe_name(name) => {
                    return Err(BadPath("a name in it holds a character that no file's has"));
                }
                name => segments.push(name.to_owned()),
            }
        }
        Ok(Self { segments, directory: path.ends_with('/') || path.ends_with("/.") })
    }

    /// The path below the directory; `.` for the directory itself.
    pub(super) fn below(&self) -> PathBuf {
        if self.segments.is_empty() { PathBuf::from(".") } else { self.segments.iter().collect() }
    }

    /// The last segment.
    pub(super) fn name(&self) -> Option<&str> {
        self.segments.last().map(String::as_str)
    }

    /// Whether it is the directory itself.
    pub(super) fn is_root(&self) -> bool {
        self.segments.is_empty()
    }

    /// The same path as a directory's, encoded. It never begins with two slashes, which would name another host.
    pub(super) fn as_directory(&self) -> String {
        let mut path = String::from("/");
        for segment in &self.segments {
            path.extend(encode(segment));
            path.push('/');
        }
        path
    }

    /// For people, not encoded.
    pub(super) fn shown(&self) -> String {
        format!("/{}", self.segments.join("/"))
    }
}

/// Names that no system takes, or that Windows would read as something else.
fn unsafe_name(name: &str) -> bool {
    name.contains(['/', '\0']) || (cfg!(windows) && name.contains(['\\', ':']))
}

/// A name as a segment of a URI.
pub(super) fn encode(name: &str) -> impl Iterator<Item = &str> {
    utf8_percent_encode(name, SEGMENT)
}

/// Why a path was refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BadPath(&'static str);

impl fmt::Display for BadPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the path is refused: {}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_decoded() {
        for (path, below, directory) in [
            ("/", ".", true),
            ("//", ".", true),
            ("/a", "a", false),
            ("/a/", "a", true),
            ("/a//b", "a/b", false),
            ("/./a/.", "a", true),
            ("/a%20b/c%2Ed", "a b/c.d", false),
            ("/%C3%A9", "é", false),
            ("/...", "...", false),
        ] {
            let parsed = RequestPath::parse(path).unwrap();
            assert_eq!((parsed.below(), parsed.directory), (PathBuf::from(below), directory), "{path}");
        }
    }

    #[test]
    fn what_leads_out_is_refused() {
        for path in [
            "",
            "*",
            "a",
            "/..",
            "/../a",
            "/a/../../b",
            "/%2e%2e/a",
            "/.%2E",
            "/a%2f..%2fb",
            "/a%2Fb",
            "/%00",
            "/%ff",
        ] {
            assert!(RequestPath::parse(path).is_err(), "{path}");
        }
    }

    #[test]
    fn directories_are_encoded_again() {
        let encoded = |path| RequestPath::parse(path).unwrap().as_directory();
        assert_eq!(encoded("//evil.example/%22x"), "/evil.example/%22x/");
        assert_eq!(encoded("/a%20b"), "/a%20b/");
        assert_eq!(encoded("/"), "/");
    }
}
