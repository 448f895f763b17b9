//! URLs, and the servers that they name.

use std::fmt;

use url::{Host, Url};

use super::failure::{Failure, status};

/// A server: what a connection belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Origin {
    /// A name or an address, in its shortest form and without brackets.
    pub(crate) host: String,
    /// The UDP port.
    pub(crate) port: u16,
}

impl Origin {
    /// As it is written in `:authority`: without the port that https has anyway.
    pub(crate) fn authority(&self) -> String {
        let host = bracketed(&self.host);
        if self.port == 443 { host } else { format!("{host}:{}", self.port) }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", bracketed(&self.host), self.port)
    }
}

fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target(Url);

impl Target {
    /// Reads a URL as a user writes it: without a scheme it is https.
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        let with_scheme = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
        let url = Url::parse(&with_scheme)
            .map_err(|error| Failure::new(status::URL, format!("{text}: not a URL: {error}")))?;
        Self::checked(url)
    }

    /// Where a redirect with this `Location` leads.
    pub(crate) fn join(&self, location: &str) -> Result<Self, Failure> {
        let mut url = self.0.join(location).map_err(|error| {
            Failure::new(
                status::URL,
                format!("{self}: redirected to {location}, which is not a URL: {error}"),
            )
        })?;
        // RFC 9110, 10.2.2: the fragment is taken over unless there is a new one.
        if url.fragment().is_none() {
            url.set_fragment(self.0.fragment());
        }
        Self::checked(url)
    }

    fn checked(url: Url) -> Result<Self, Failure> {
        if url.scheme() != "https" {
            let message = format!("{url}: {}:// cannot be fetched over HTTP/3; write https://", url.scheme());
            return Err(Failure::new(status::SCHEME, message));
        }
        if url.port() == Some(0) {
            return Err(Failure::new(status::URL, format!("{url}: no server has port 0")));
        }
        Ok(Self(url))
    }

    /// The server.
    pub(crate) fn origin(&self) -> Origin {
        let host = match self.0.host() {
            Some(Host::Ipv6(address)) => address.to_string(),
            Some(host) => host.to_string(),
            // An https URL without a host is not one that `Url` yields.
            None => String::new(),
        };
        Origin { host, port: self.0.port_or_known_default().unwrap_or(443) }
    }

    /// Path and query, as they are in `:path`.
    pub(crate) fn path(&self) -> String {
        match self.0.query() {
            Some(query) => format!("{}?{query}", self.0.path()),
            None => self.0.path().to_owned(),
        }
    }

    /// The URL without what may differ from one link to the same thing to another: query, fragment, user.
    pub(crate) fn resource(&self) -> String {
        format!("https://{}{}", self.origin(), self.0.path())
    }

    /// The last part of the path, for a file's name.
    ///
    /// # Errors
    /// If there is none, or it is no name on some system.
    pub(crate) fn file_name(&self) -> Result<String, Failure> {
        let name = self.0.path().rsplit('/').next().unwrap_or_default();
        if name.is_empty() || name == "." || name == ".." {
            let message = format!("{self}: the URL ends without a file's name; give one with -o");
            return Err(Failure::new(status::WRITE, message));
        }
        Ok(name.to_owned())
    }

    /// With `name` behind a path that ends with `/`.
    pub(crate) fn with_name(mut self, name: &str) -> Self {
        if self.0.path().ends_with('/')
            && let Ok(mut segments) = self.0.path_segments_mut()
        {
            segments.pop_if_empty().push(name);
        }
        self
    }

    /// User and password, decoded, if the URL has any.
    pub(crate) fn user(&self) -> Option<(String, String)> {
        if self.0.username().is_empty() && self.0.password().is_none() {
            return None;
        }
        Some((decoded(self.0.username()), decoded(self.0.password().unwrap_or_default())))
    }
}

impl fmt::Display for Target {
    /// Without a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.password().is_none() {
            return self.0.fmt(f);
        }
        let mut url = self.0.clone();
        let _ = url.set_password(None);
        url.fmt(f)
    }
}

/// Without percent encoding; what is not UTF-8 is replaced.
fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> Target {
        Target::parse(text).unwrap()
    }

    #[test]
    fn urls_are_read_as_users_write_them() {
        for (text, host, port, authority, path) in [
            ("example.com", "example.com", 443, "example.com", "/"),
            ("https://EXAMPLE.com:443/a?b#c", "example.com", 443, "example.com", "/a?b"),
            ("https://a.b:8443/x y", "a.b", 8443, "a.b:8443", "/x%20y"),
            ("https://[::0:1]:4433/../a/./b", "::1", 4433, "[::1]:4433", "/a/b"),
            ("https://127.1/", "127.0.0.1", 443, "127.0.0.1", "/"),
            ("https://bücher.example/", "xn--bcher-kva.example", 443, "xn--bcher-kva.example", "/"),
        ] {
            let read = target(text);
            let origin = read.origin();
            assert_eq!((origin.host.as_str(), origin.port), (host, port), "{text}");
            assert_eq!((origin.authority().as_str(), read.path().as_str()), (authority, path), "{text}");
        }
        for (text, code) in [
            ("http://a/", status::SCHEME),
            ("ftp://a/", status::SCHEME),
            ("https://", status::URL),
            ("https://a:99999/", status::URL),
            ("https://a:0/", status::URL),
            ("https://[::1/", status::URL),
        ] {
            assert_eq!(Target::parse(text).unwrap_err().status, code, "{text}");
        }
    }

    #[test]
    fn redirects_are_relative_to_where_they_come_from() {
        let from = target("https://a:1/b/c?d#e");
        for (location, to) in [
            ("f", "https://a:1/b/f#e"),
            ("/f?g#h", "https://a:1/f?g#h"),
            ("//i/", "https://i/#e"),
            ("https://j", "https://j/#e"),
        ] {
            assert_eq!(from.join(location).unwrap().to_string(), to);
        }
        assert_eq!(from.join("http://a/").unwrap_err().status, status::SCHEME);
    }

    #[test]
    fn names_of_files_are_the_last_part_of_the_path() {
        assert_eq!(target("https://a/b/c.txt?d/e").file_name().unwrap(), "c.txt");
        assert_eq!(target("https://a/b/..%2f..%2fetc").file_name().unwrap(), "..%2f..%2fetc");
        for text in ["https://a", "https://a/b/", "https://a/b/.."] {
            assert_eq!(target(text).file_name().unwrap_err().status, status::WRITE, "{text}");
        }
        assert_eq!(target("https://a/b/").with_name("c d").to_string(), "https://a/b/c%20d");
        assert_eq!(target("https://a/b").with_name("c").to_string(), "https://a/b");
    }

    #[test]
    fn passwords_are_used_and_not_shown() {
        let read = target("https://me%40home:p%3aw@a/");
        assert_eq!(read.user(), Some(("me@home".into(), "p:w".into())));
        assert_eq!(read.to_string(), "https://me%40home@a/");
        assert_eq!(target("https://a/").user(), None);
    }
}
