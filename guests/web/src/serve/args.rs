//! The command line of the server.

use std::net::SocketAddr;

use clap::{Parser, ValueEnum};
use rustls::pki_types::ServerName;

use crate::units::{parse_size, show_size};

/// Serve the files of a directory over HTTP/3.
///
/// It runs until it is told to stop, then finishes the requests that it has and tells its clients.
#[derive(Debug, Clone, PartialEq, Eq, Parser)]
#[command(name = "sandquic serve", max_term_width = 100)]
pub struct Args {
    /// The directory whose files are served.
    #[arg(value_name = "DIR")]
    pub directory: String,

    /// The address and port to listen on.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:4433")]
    pub listen: SocketAddr,

    /// The certificate chain, in PEM, the server's own first [default: a self-signed certificate, made and kept].
    #[arg(long, value_name = "FILE", requires = "key")]
    pub cert: Option<String>,

    /// The certificate's private key, in PEM.
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<String>,

    /// Where the self-signed certificate and its key are kept.
    #[arg(long, value_name = "DIR", conflicts_with = "cert")]
    pub state: Option<String>,

    /// A DNS name or IP address of the self-signed certificate, instead of localhost, 127.0.0.1 and ::1; repeatable.
    #[arg(long = "name", value_name = "NAME", conflicts_with = "cert", value_parser = parse_name)]
    pub names: Vec<String>,

    /// Answer requests for this host alone, others with status 421; repeatable [default: all are answered].
    #[arg(long = "host", value_name = "NAME")]
    pub hosts: Vec<String>,

    /// Take files by PUT into this directory.
    #[arg(long, value_name = "DIR")]
    pub upload: Option<String>,

    /// The largest file that is taken by PUT.
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = parse_size, requires = "upload")]
    pub max_upload: u64,

    /// When clients must prove their address by a Retry before they get a connection.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Retry::Auto)]
    pub retry: Retry,

    /// Append the connections' secrets to FILE in the format of SSLKEYLOGFILE, for Wireshark.
    #[arg(long, value_name = "FILE")]
    pub keylog: Option<String>,

    /// Write a qlog of each connection into DIR.
    #[arg(long, value_name = "DIR")]
    pub qlog: Option<String>,

    /// Connections at once; more are refused.
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = parse_bound)]
    pub max_connections: usize,

    /// Connections at once from one address (IPv6: one network of 64 bits); more are refused.
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = parse_bound)]
    pub max_connections_per_client: usize,

    /// Requests at once on a connection.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub max_requests: u32,

    /// The memory for data that a connection's client has sent and nobody read, or has not acknowledged: each so much.
    #[arg(long, value_name = "SIZE", default_value = "2MiB", value_parser = parse_size)]
    pub client_memory: u64,

    /// Seconds after which a connection without a sign of life is over.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub idle_timeout: u32,

    /// Seconds that requests have to finish when the server stops.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub drain: u32,

    /// What standard error tells of.
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = LogLevel::Requests)]
    pub log: LogLevel,
}

/// When clients must prove their address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Retry {
    /// Under load: when many handshakes are not complete.
    Auto,
    /// At every connection.
    Always,
    /// At none.
    Never,
}

/// What is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum LogLevel {
    /// Nothing but what ends the server.
    None,
    /// Connections.
    Connections,
    /// Connections and requests.
    Requests,
}

impl Args {
    /// The words that parse to these arguments.
    pub fn words(&self) -> Vec<String> {
        let mut words = vec![format!("--listen={}", self.listen)];
        let mut option = |flag: &str, value: &Option<String>| {
            words.extend(value.iter().map(|value| format!("{flag}={value}")));
        };
        option("--cert", &self.cert);
        option("--key", &self.key);
        option("--state", &self.state);
        option("--upload", &self.upload);
        option("--keylog", &self.keylog);
        option("--qlog", &self.qlog);
        words.extend(self.names.iter().map(|name| format!("--name={name}")));
        words.extend(self.hosts.iter().map(|name| format!("--host={name}")));
        if self.upload.is_some() {
            words.push(format!("--max-upload={}", show_size(self.max_upload)));
        }
        words.push(format!("--retry={}", name(self.retry)));
        words.push(format!("--max-connections={}", self.max_connections));
        words.push(format!("--max-connections-per-client={}", self.max_connections_per_client));
        words.push(format!("--max-requests={}", self.max_requests));
        words.push(format!("--client-memory={}", show_size(self.client_memory)));
        words.push(format!("--idle-timeout={}", self.idle_timeout));
        words.push(format!("--drain={}", self.drain));
        words.push(format!("--log={}", name(self.log)));
        words.push("--".into());
        words.push(self.directory.clone());
        words
    }
}

/// A name that a certificate can have.
fn parse_name(text: &str) -> Result<String, String> {
    match ServerName::try_from(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err("it is neither a DNS name nor an IP address".into()),
    }
}

/// A bound that lets something through.
fn parse_bound(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it would refuse everyone; 1 is the least".into()),
        Ok(bound) => Ok(bound),
        Err(_) => Err("it is not a number".into()),
    }
}

/// A value's name on the command line.
fn name(value: impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Args {
        Args::try_parse_from(std::iter::once(&"serve").chain(words)).unwrap()
    }

    #[test]
    fn words_parse_to_the_same_arguments() {
        let given = [
            &["site"][..],
            &["--", "-strange"],
            &[
                "--listen=[::1]:99",
                "--state=s",
                "--name=a.example",
                "--name=::1",
                "--host=b",
                "--upload=u",
                "--max-upload=5000000001",
                "--retry=always",
                "--keylog=k",
                "--qlog=q",
                "--max-connections=1",
                "--max-connections-per-client=2",
                "--max-requests=3",
                "--client-memory=300KiB",
                "--idle-timeout=5",
                "--drain=6",
                "--log=none",
                "site",
            ],
            &["--cert=c", "--key=k", "--retry=never", "--log=connections", "site"],
        ];
        for words in given {
            let args = parse(words);
            let again = args.words();
            assert_eq!(parse(&again.iter().map(String::as_str).collect::<Vec<_>>()), args);
        }
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        for words in [
            &["--cert=c", "site"][..],
            &["--key=k", "site"],
            &["--cert=c", "--key=k", "--state=s", "site"],
            &["--max-requests=0", "site"],
            &["--max-connections=0", "site"],
            &["--max-connections-per-client=0", "site"],
            &["--name=", "site"],
            &["--name=a b", "site"],
            &["--listen=localhost:1", "site"],
            &[],
        ] {
            assert!(Args::try_parse_from(std::iter::once(&"serve").chain(words)).is_err(), "{words:?}");
        }
    }
}
