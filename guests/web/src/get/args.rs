//! The command line.

use clap::Parser;

/// Fetch or send files over HTTP/3, with curl's flags and exit statuses where curl has them.
///
/// Each URL goes to standard output unless -o or -O says otherwise. URLs of one host share a connection; those that
/// go to files are fetched at the same time.
#[derive(Clone, Debug, PartialEq, Eq, Parser)]
#[command(name = "sandquic get", max_term_width = 100)]
pub struct Args {
    /// What to fetch; https is the scheme, and is meant where none is written.
    #[arg(value_name = "URL", required = true)]
    pub urls: Vec<String>,

    /// Write the body to FILE ('-': standard output). The first -o belongs to the first URL, and so on.
    #[arg(short, long, value_name = "FILE", allow_hyphen_values = true)]
    pub output: Vec<String>,
    /// Write each body that has no -o to a file with the last part of its URL as name.
    #[arg(short = 'O', long, visible_alias = "remote-name-all")]
    pub remote_name: bool,
    /// Put the files of -o and -O into DIR.
    #[arg(long, value_name = "DIR")]
    pub output_dir: Option<String>,
    /// Make the directories that a file is to be in.
    #[arg(long)]
    pub create_dirs: bool,
    /// Take up an interrupted transfer at OFFSET, or with '-' where FILE.part ends, if the file is still the same.
    #[arg(short = 'C', long, value_name = "OFFSET", allow_hyphen_values = true)]
    pub continue_at: Option<String>,
    /// Fetch a part alone: `0-99`, `100-`, `-100`.
    #[arg(short, long, value_name = "RANGE", allow_hyphen_values = true)]
    pub range: Option<String>,
    /// Refuse a body of more than BYTES.
    #[arg(long, value_name = "BYTES")]
    pub max_filesize: Option<u64>,

    /// Send FILE ('-': standard input) with PUT; a URL that ends with / gets the file's name.
    #[arg(short = 'T', long, value_name = "FILE", allow_hyphen_values = true, conflicts_with_all = ["data", "head"])]
    pub upload_file: Option<String>,
    /// Send DATA with POST, or what is in FILE as @FILE (@-: standard input), without its line ends; several are
    /// joined with &.
    #[arg(short, long, value_name = "DATA", allow_hyphen_values = true, conflicts_with = "head")]
    pub data: Vec<String>,
    /// As --data, with the line ends.
    #[arg(long, value_name = "DATA", allow_hyphen_values = true, conflicts_with_all = ["head", "upload_file"])]
    pub data_binary: Vec<String>,
    /// The method, in place of GET, HEAD, PUT or POST.
    #[arg(short = 'X', long, value_name = "METHOD")]
    pub request: Option<String>,
    /// Add a header field `Name: value`; `Name:` leaves out one that would be sent.
    #[arg(short = 'H', long, value_name = "FIELD")]
    pub header: Vec<String>,
    /// The name that this program goes by.
    #[arg(short = 'A', long, value_name = "NAME")]
    pub user_agent: Option<String>,
    /// Ask for the header alone (HEAD), and print it.
    #[arg(short = 'I', long)]
    pub head: bool,
    /// Print the header in front of the body.
    #[arg(short, long)]
    pub include: bool,
    /// Follow redirects.
    #[arg(short = 'L', long)]
    pub location: bool,
    /// The most redirects that are followed.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub max_redirs: u32,
    /// Fail, and write nothing, if the server answers with a status of 400 or more.
    #[arg(short, long)]
    pub fail: bool,

    /// Trust the authorities in FILE (PEM) instead of the public ones.
    #[arg(long, value_name = "FILE", visible_alias = "cacert")]
    pub ca: Option<String>,
    /// Demand that the server's public key is one of these: `sha256//BASE64`, several with ; between them. With
    /// --insecure the key alone decides.
    #[arg(long, value_name = "PINS", visible_alias = "pinnedpubkey")]
    pub pin: Option<String>,
    /// Trust every certificate. The server may be anyone, unless --pin names its key.
    #[arg(short = 'k', long)]
    pub insecure: bool,
    /// The cipher suites that are offered, with commas: aes-128-gcm, aes-256-gcm, chacha20-poly1305.
    #[arg(long, value_name = "LIST", visible_alias = "tls13-ciphers")]
    pub ciphers: Option<String>,
    /// Keep TLS sessions in FILE and take them up again; GET and HEAD then go out with the first packet (0-RTT), where
    /// whoever records them can send them again. FILE holds secrets.
    #[arg(long, value_name = "FILE")]
    pub session: Option<String>,
    /// Take sessions up again without sending anything early.
    #[arg(long, requires = "session")]
    pub no_early_data: bool,
    /// Append the secrets of each connection to FILE, for Wireshark [default: the variable SSLKEYLOGFILE].
    #[arg(long, value_name = "FILE")]
    pub keylog: Option<String>,

    /// Use IPv4 alone.
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    pub ipv4: bool,
    /// Use IPv6 alone.
    #[arg(short = '6', long)]
    pub ipv6: bool,
    /// Use these addresses for HOST:PORT instead of asking for them: `HOST:PORT:ADDRESS[,ADDRESS]`.
    #[arg(long, value_name = "HOST:PORT:ADDRESS")]
    pub resolve: Vec<String>,
    /// Connect to HOST2:PORT2 where a URL has HOST1:PORT1: `HOST1:PORT1:HOST2:PORT2`; what is empty means any, or the
    /// same.
    #[arg(long, value_name = "HOST1:PORT1:HOST2:PORT2")]
    pub connect_to: Vec<String>,
    /// The most seconds that a connection may take to come about.
    #[arg(long, value_name = "SECONDS")]
    pub connect_timeout: Option<String>,
    /// The most seconds that each transfer may take.
    #[arg(short, long, value_name = "SECONDS")]
    pub max_time: Option<String>,
    /// How often a transfer that failed for a passing reason is tried again.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub retry: u32,
    /// The most transfers at a time.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub parallel_max: u16,
    /// Speak HTTP/0.9 over QUIC (ALPN hq-interop), as interoperability tests do.
    #[arg(long = "http0.9")]
    pub http09: bool,
    /// Update the keys once the answer begins.
    #[arg(long, hide = true)]
    pub key_update: bool,

    /// Print figures after each transfer: `json`, or a text with %{name} for each (of those in json), \n and \t.
    #[arg(short, long, value_name = "FORMAT", allow_hyphen_values = true)]
    pub write_out: Option<String>,
    /// Neither progress nor messages.
    #[arg(short, long)]
    pub silent: bool,
    /// With --silent: messages of failures all the same.
    #[arg(short = 'S', long)]
    pub show_error: bool,
    /// Tell on standard error what is done.
    #[arg(short, long)]
    pub verbose: bool,
    /// Show progress even if standard error is not a terminal.
    #[arg(short = '#', long, conflicts_with = "no_progress_meter")]
    pub progress_bar: bool,
    /// Show no progress.
    #[arg(long)]
    pub no_progress_meter: bool,
}

impl Args {
    /// Whether progress is to be shown, given which of the standard streams are terminals.
    pub fn shows_progress(&self, stdout: bool, stderr: bool) -> bool {
        let to_stdout = self.output.iter().any(|name| name == "-")
            || (self.output.len() < self.urls.len() && (!self.remote_name || self.head));
        let wanted = stderr && !self.silent && !self.verbose && !self.no_progress_meter;
        self.progress_bar || (wanted && !(stdout && to_stdout))
    }

    /// The command line that gives these arguments when it is read.
    pub fn command_line(&self) -> Vec<String> {
        let mut line = Vec::new();
        let mut value = |flag: &str, value: &str| line.push(format!("{flag}={value}"));
        for (flag, values) in [
            ("--output", &self.output),
            ("--data", &self.data),
            ("--data-binary", &self.data_binary),
            ("--header", &self.header),
            ("--resolve", &self.resolve),
            ("--connect-to", &self.connect_to),
        ] {
            values.iter().for_each(|text| value(flag, text));
        }
        for (flag, text) in [
            ("--output-dir", &self.output_dir),
            ("--continue-at", &self.continue_at),
            ("--range", &self.range),
            ("--upload-file", &self.upload_file),
            ("--request", &self.request),
            ("--user-agent", &self.user_agent),
            ("--ca", &self.ca),
            ("--pin", &self.pin),
            ("--ciphers", &self.ciphers),
            ("--session", &self.session),
            ("--keylog", &self.keylog),
            ("--connect-timeout", &self.connect_timeout),
            ("--max-time", &self.max_time),
            ("--write-out", &self.write_out),
        ] {
            text.iter().for_each(|text| value(flag, text));
        }
        if let Some(bytes) = self.max_filesize {
            value("--max-filesize", &bytes.to_string());
        }
        value("--max-redirs", &self.max_redirs.to_string());
        value("--retry", &self.retry.to_string());
        value("--parallel-max", &self.parallel_max.to_string());
        for (flag, set) in [
            ("--remote-name", self.remote_name),
            ("--create-dirs", self.create_dirs),
            ("--head", self.head),
            ("--include", self.include),
            ("--location", self.location),
            ("--fail", self.fail),
            ("--insecure", self.insecure),
            ("--no-early-data", self.no_early_data),
            ("--ipv4", self.ipv4),
            ("--ipv6", self.ipv6),
            ("--http0.9", self.http09),
            ("--key-update", self.key_update),
            ("--silent", self.silent),
            ("--show-error", self.show_error),
            ("--verbose", self.verbose),
            ("--progress-bar", self.progress_bar),
            ("--no-progress-meter", self.no_progress_meter),
        ] {
            if set {
                line.push(flag.into());
            }
        }
        line.push("--".into());
        line.extend(self.urls.iter().cloned());
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Args {
        Args::try_parse_from([&["sandquic get"], words].concat()).unwrap()
    }

    #[test]
    fn a_command_line_survives_being_written_out() {
        for words in [
            &["https://a/"][..],
            &["-o", "x", "-o", "-", "-O", "--output-dir=d", "--create-dirs", "-C", "-", "a", "b", "c"],
            &["-d", "a=1", "-d", "@f", "--data-binary", "-x", "-X", "PATCH", "-H", "A: b", "-A", "me", "a"],
            &["-r", "-5", "--max-filesize", "9", "-T", "-", "a"],
            &["-IL", "--max-redirs", "3", "-fki", "--ca", "c", "--pin", "sha256//x", "--ciphers", "y", "a"],
            &["--session", "s", "--no-early-data", "--keylog", "k", "-4", "--resolve", "a:1:::1", "a"],
            &["-6", "--connect-to", "::b:", "--connect-timeout", "1.5", "-m", "2", "--retry", "3", "a"],
            &["--parallel-max", "2", "--http0.9", "--key-update", "-w", "%{http_code}\\n", "-sSv#", "a"],
            &["--no-progress-meter", "--", "-a"],
        ] {
            let args = parse(words);
            let line = args.command_line();
            assert_eq!(parse(&line.iter().map(String::as_str).collect::<Vec<_>>()), args, "{line:?}");
        }
    }

    #[test]
    fn progress_does_not_disturb_what_is_read_on_the_terminal() {
        for (words, shown) in [
            (&["-o", "f", "a"][..], true),
            (&["a"], false),
            (&["-O", "a"], true),
            (&["-OI", "a"], false),
            (&["-o", "f", "-o", "-", "a", "b"], false),
            (&["-#", "a"], true),
            (&["-s", "-o", "f", "a"], false),
        ] {
            assert_eq!(parse(words).shows_progress(true, true), shown, "{words:?}");
        }
        assert!(parse(&["a"]).shows_progress(false, true));
        assert!(!parse(&["-o", "f", "a"]).shows_progress(false, false));
    }

    #[test]
    fn contradictions_are_refused() {
        for words in [
            &[][..],
            &["-4", "-6", "a"],
            &["-T", "f", "-d", "x", "a"],
            &["-I", "-d", "x", "a"],
            &["--no-early-data", "a"],
            &["--parallel-max", "0", "a"],
            &["--frob", "a"],
        ] {
            assert!(Args::try_parse_from([&["sandquic get"], words].concat()).is_err(), "{words:?}");
        }
    }
}
