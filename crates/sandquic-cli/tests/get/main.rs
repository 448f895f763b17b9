//! `sandquic get`, in the sandbox and natively, from a server of stock quinn, ring and h3.

#[path = "../support/mod.rs"]
mod support;

mod server;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use server::{File, Server};
use support::{Output, finish, pki, sandquic, sockets};

/// Where the client runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Sandbox,
    Native,
}

impl End {
    /// A command that trusts the test authority and works in a directory.
    fn get(self, work: &Path, words: &[&str]) -> Command {
        let mut command = sandquic();
        command.current_dir(work).env_remove("SSLKEYLOGFILE").arg("get");
        match self {
            Self::Native => command.arg("--native"),
            Self::Sandbox => command.args(sockets()),
        };
        command.arg("--ca").arg(pki().join("ca.pem")).args(words);
        command
    }

    fn run(self, work: &Path, words: &[&str]) -> Output {
        finish(self.get(work, words))
    }
}

/// The same test in the sandbox and natively.
macro_rules! on_both {
    ($($(#[$doc:meta])* fn $name:ident($end:ident) $body:block)*) => {$(
        mod $name {
            use super::*;

            $(#[$doc])*
            fn test($end: End) $body

            #[test]
            fn in_the_sandbox() {
                test(End::Sandbox);
            }

            #[test]
            fn natively() {
                test(End::Native);
            }
        }
    )*};
}

fn start() -> Server {
    Server::start(&pki(), "p256")
}

fn pattern(length: usize) -> bytes::Bytes {
    (0..length).map(|at| (at * 7 + (at >> 8) * 13) as u8).collect::<Vec<_>>().into()
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn check(output: &Output, status: i32) {
    assert_eq!(output.status, Some(status), "{output:?}");
}

/// The figures that `-w json` printed.
fn figures(output: &Output) -> Value {
    let line = output.stdout.lines().last().unwrap_or_else(|| panic!("no figures: {output:?}"));
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

on_both! {
    fn bodies_go_where_they_are_sent_over_one_connection(end) {
        let server = start();
        let work = tempfile::tempdir().unwrap();
        let work = work.path();
        for (name, text) in [("/a", "first\n"), ("/b", "second\n"), ("/c", "third\n")] {
            server.put(name, File { content: text.into(), ..File::default() });
        }
        let url = |name: &str| server.url(name);
        let output = end.run(work, &["-w", "%{http_code} %{num_connects}\\n", &url("/a"), &url("/b"), &url("/c")]);
        check(&output, 0);
        assert_eq!(output.stdout, "first\n200 1\nsecond\n200 0\nthird\n200 0\n");
        assert_eq!((output.stderr.as_str(), server.connections()), ("", 1));
        let output = end.run(work, &["-o", "x", "-O", "--output-dir", "new/dir", "--create-dirs", &url("/a"), &url("/b")]);
        check(&output, 0);
        assert_eq!(fs::read_to_string(work.join("new/dir/x")).unwrap(), "first\n");
        assert_eq!(fs::read_to_string(work.join("new/dir/b")).unwrap(), "second\n");
        assert_eq!((names(&work.join("new/dir")).len(), server.connections()), (2, 2));
        let output = end.run(work, &["-o", "/dev/null", "-w", "%{size_download}", &url("/a")]);
        assert_eq!((output.status, output.stdout.trim_end()), (Some(0), "6"), "{output:?}");
    }

    fn many_files_come_at_once(end) {
        let server = start();
        let work = tempfile::tempdir().unwrap();
        let urls: Vec<String> = (0..200).map(|n| server.url(&format!("/file{n}"))).collect();
        for n in 0..200 {
            let file = File { content: format!("content {n}\n").into(), ..File::default() };
            server.put(&format!("/file{n}"), file);
        }
        let mut words = vec!["-O"];
        words.extend(urls.iter().map(String::as_str));
        check(&end.run(work.path(), &words), 0);
        for n in 0..200 {
            let text = fs::read_to_string(work.path().join(format!("file{n}"))).unwrap();
            assert_eq!(text, format!("content {n}\n"));
        }
        assert_eq!((names(work.path()).len(), server.connections()), (200, 1));
    }

    fn figures_tell_of_the_connection_and_the_answer(end) {
        let server = start();
        let work = tempfile::tempdir().unwrap();
        server.put("/f", File { content: pattern(3 << 20), ..File::default() });
        let output = end.run(work.path(), &["-o", "f", "-w", "json", &server.url("/f")]);
        check(&output, 0);
        assert_eq!(fs::read(work.path().join("f")).unwrap(), pattern(3 << 20));
        let figures = figures(&output);
        assert_eq!(figures["http_code"], 200);
        assert_eq!(figures["size_download"], 3 << 20);
        assert_eq!(figures["content_type"], "application/octet-stream");
        assert_eq!((&figures["remote_ip"], &figures["remote_port"]), (&"127.0.0.1".into(), &server.port.into()));
        let time = |name: &str| figures[name].as_f64().unwrap();
        assert!(0.0 < time("time_appconnect") && time("time_appconnect") <= time("time_starttransfer"), "{figures}");
        assert!(time("time_starttransfer") < time("time_total"), "{figures}");
        assert!(figures["quic_packets_sent"].as_u64().unwrap() > 10, "{figures}");
        assert!(figures["quic_packets_lost"].is_u64() && figures["exitcode"] == 0, "{figures}");
    }

    fn requests_are_what_the_flags_say(end) {
        let server = start();
        let work = tempfile::tempdir().unwrap();
        let work = work.path();
        fs::write(work.join("text"), "two\r\nlines\n").unwrap();
        fs::write(work.join("large"), pattern(2 << 20)).unwrap();
        let echo = server.url("/echo");
        let one = |words: &[&str]| {
            let output = end.run(work, &[words, &[echo.as_str()]].concat());
            check(&output, 0);
            let mut seen = server.seen();
            assert_eq!(seen.len(), 1);
            (output.stdout, seen.remove(0))
        };
        let (body, seen) = one(&["-d", "a=1", "-d", "@text", "-H", "X-One: 1", "-H", "Accept:", "-A", "me"]);
        assert_eq!((body.trim_end(), seen.method.as_str()), ("a=1&twolines", "POST"));
        assert_eq!(seen.headers["content-type"], "application/x-www-form-urlencoded");
        assert_eq!((&seen.headers["content-length"], &seen.headers["x-one"]), (&"12".parse().unwrap(), &"1".parse().unwrap()));
        assert!(seen.headers["user-agent"] == "me" && !seen.headers.contains_key("accept"), "{seen:?}");
        let (body, seen) = one(&["--data-binary", "@text", "-X", "PATCH", "-H", "Content-Type: text/plain"]);
        assert_eq!((body, seen.method.as_str()), ("two\nlines\n".to_owned(), "PATCH"));
        assert_eq!((seen.body.as_slice(), &seen.headers["content-type"]), (&b"two\r\nlines\n"[..], &"text/plain".parse().unwrap()));
        let output = end.run(work, &["-T", "large", "-o", "back", echo.as_str()]);
        check(&output, 0);
        assert!(fs::read(work.join("back")).unwrap() == pattern(2 << 20));
        let seen = server.seen().remove(0);
        assert_eq!((seen.method.as_str(), &seen.headers["content-length"]), ("PUT", &"2097152".parse().unwrap()));
        let output = end.run(work, &["-s", "-T", "text", "-w", "%{http_code} %{size_upload}", &server.url("/dir/")]);
        assert_eq!((output.status, output.stdout.trim_end()), (Some(0), "nothing here\n404 11"), "{output:?}");
        assert!(server.seen()[0].uri.ends_with("/dir/text"));
        // From standard input, whose length is not known.
        let mut command = end.get(work, &["-T", "-", &echo]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"from a pipe").unwrap();
        assert_eq!(child.wait_with_output().unwrap().stdout, b"from a pipe");
        assert!(!server.seen()[0].headers.contains_key("content-length"));
        // An answer that comes before the body is sent is the answer.
        let output = end.run(work, &["-T", "large", "-w", "%{http_code}", &server.url("/refuse")]);
        assert_eq!((output.status, output.stdout.trim_end()), (Some(0), "413"), "{output:?}");
        // A password in the URL is sent, and shown to nobody.
        let url = server.url("/echo").replace("https://", "https://me:secret@");
        let output = end.run(work, &["-v", "-w", "%{url_effective}", &url]);
        check(&output, 0);
        assert_eq!(server.seen()[0].headers["authorization"], "Basic bWU6c2VjcmV0");
        assert!(!output.stdout.contains("secret") && !output.stderr.contains("secret"), "{output:?}");
        assert!(!output.stderr.contains("bWU6c2VjcmV0") && output.stderr.contains("> GET /echo"), "{output:?}");
    }

    fn headers_and_error_pages_are_shown_as_curl_does(end) {
        let server = start();
        let work = tempfile::tempdir().unwrap();
        let work = work.path();
        server.put("/f", File { content: "text\n".into(), etag: Some("\"e\""), ..File::default() });
        let output = end.run(work, &["-I", &server.url("/f")]);
        check(&output, 0);
        assert!(output.stdout.starts_with("HTTP/3 200\n") && output.stdout.contains("\netag: \"e\"\n"), "{output:?}");
        assert!(!output.stdout.contains("text"), "{output:?}");
        let output = end.run(work, &["-i", &server.url("/f")]);
        assert!(output.stdout.starts_with("HTTP/3 200\n") && output.stdout.ends_with("\n\ntext\n"), "{output:?}");
        let output = end.run(work, &["-r", "1-2", "-w", " %{http_code}", &server.url("/f")]);
        assert_eq!((output.status, output.stdout.trim_end()), (Some(0), "ex 206"), "{output:?}");
        let output = end.run(work, &["-r", "9-", &server.url("/f")]);
        output.check_failure(33, "sandquic: (33) ", &["no such range"]);
        let output = end.run(work, &[&server.url("/none")]);
        assert_eq!((output.status, output.stdout.as_str()), (Some(0), "nothing here\n"), "{output:?}");
        let output = end.run(work, &["-f", "-o", "page", &server.url("/none")]);
        output.check_failure(22, "sandquic: (22) ", &["404"]);
        assert!(names(work).is_empty());
        let output = end.run(work, &["-sf", &server.url("/none")]);
        assert_eq!((output.status, output.stderr.as_str(), output.stdout.as_str()), (Some(22), "", ""));
        let output = end.run(work, &["-sSf", &server.url("/none")]);
        output.check_failure(22, "sandquic: (22) ", &[]);
        // The first that failed decides, and the others are fetched all the same.
        let output = end.run(work, &["-fs", &server.url("/f"), &server.url("/none"), &server.url("/f")]);
        assert_eq!((output.status, output.stdout.as_str()), (Some(22), "text\ntext\n"), "{output:?}");
        let output = end.run(work, &["--max-filesize", "4", "-o", "f", &server.url("/f")]);
        output.check_failure(63, "sandquic: (63) ", &["larger than 4 bytes"]);
        for (path, body) in [("/interim", "after all\n"), ("/large-header", "fits\n"), ("/escape", "odd\n")] {
            let output = end.run(work, &[&server.url(path)]);
            assert_eq!((output.status, output.stdout.as_str()), (Some(0), body), "{output:?}");
        }
        let output = end.run(work, &[&server.url("/too-large-header")]);
        output.check_failure(95, "sandquic: (95) ", &["without receiving response headers"]);
    }

    fn redirects_are_followed_where_that_is_wanted(end) {
        let server = start();
        let other = start();
        let work = tempfile::tempdir().unwrap();
        let work = work.path();
        let away = |status: u16, to: &str| server.url(&format!("/redirect?{status}={to}"));
        let output = end.run(work, &["-w", " %{http_code}", &away(302, "/echo")]);
        assert_eq!((output.status, output.stdout.trim_end()), (Some(0), "elsewhere 302"), "{output:?}");
        for (status, method, body) in [(302, "GET", ""), (303, "GET", ""), (307, "POST", "x"), (308, "POST", "x")] {
            server.seen();
            let format = "|%{num_redirects} %{url_effective}";
            let output = end.run(work, &["-L", "-d", "x", "-w", format, &away(status, "/echo")]);
            check(&output, 0);
            assert_eq!(output.stdout.trim_end(), format!("{body}|1 {}", server.url("/echo")));
            let seen = server.seen();
            assert_eq!((seen.len(), seen[1].method.as_str()), (2, method), "{status}");
        }
        // What tells who asks stays with the server that it was meant for.
        let words = ["-L", "-H", "Authorization: secret", "-H", "Cookie: c", "-H", "X-Other: kept"];
        let url = away(302, &other.url("/echo"));
        check(&end.run(work, &[&words[..], &[url.as_str()]].concat()), 0);
        let seen = other.seen().remove(0);
        assert!(!seen.headers.contains_key("authorization") && !seen.headers.contains_key("cookie"), "{seen:?}");
        assert_eq!((&seen.headers["x-other"], &server.seen()[0].headers["cookie"]), (&"kept".parse().unwrap(), &"c".parse().unwrap()));
        let output = end.run(work, &["-L", "--max-redirs", "3", &server.url("/loop")]);
        output.check_failure(47, "sandquic: (47) ", &["more than 3 redirects"]);
        let output = end.run(work, &["-L", &away(302, "http://127.0.0.1/")]);
        output.check_failure(1, "sandquic: (1) ", &["http://", "HTTP/3"]);
    }

    fn an_interrupted_file_is_taken_up_where_it_ended(end) {
        let server = start();
        let work = tempfile::tempdir().unwrap();
        let work = work.path();
        let content = pattern(3 << 20);
        let file = File { content: content.clone(), etag: Some("\"one\""), cut: Some(2 << 20), ..File::default() };
        server.put("/f", file.clone());
        fs::write(work.join("f"), "what was there").unwrap();
        let output = end.run(work, &["-o", "f", &server.url("/f")]);
        output.check_failure(18, "sandquic: (18) ", &["of 3145728 bytes", "f.part", "-C -"]);
        assert_eq!(fs::read(work.join("f")).unwrap(), b"what was there");
        assert_eq!(names(work), ["f", "f.part", "f.part.json"]);
        let had = fs::metadata(work.join("f.part")).unwrap().len();
        assert!(had > 1 << 20, "{had}");
        server.seen();
        let output = end.run(work, &["-C", "-", "-o", "f", "-w", "json", &server.url("/f")]);
        check(&output, 0);
        assert!(fs::read(work.join("f")).unwrap() == content, "{output:?}");
        assert_eq!(names(work), ["f"]);
        assert_eq!(figures(&output)["size_download"], (3 << 20) - had);
        let seen = server.seen().remove(0);
        assert_eq!((&seen.headers["range"], &seen.headers["if-range"]),
            (&format!("bytes={had}-").parse().unwrap(), &"\"one\"".parse().unwrap()));
        // One that has changed meanwhile is fetched anew.
        server.put("/f", file.clone());
        end.run(work, &["-o", "f", &server.url("/f")]).check_failure(18, "sandquic: (18) ", &[]);
        let changed = File { content: pattern(100), etag: Some("\"two\""), ..File::default() };
        server.put("/f", changed);
        check(&end.run(work, &["-C", "-", "-o", "f", &server.url("/f")]), 0);
        assert!(fs::read(work.join("f")).unwrap() == pattern(100) && names(work) == ["f"]);
        // A whole one is not fetched again.
        let output = end.run(work, &["-C", "-", "-o", "f", "-w", "json", &server.url("/f")]);
        check(&output, 0);
        assert!(fs::read(work.join("f")).unwrap() == pattern(100) && names(work) == ["f"]);
        // --retry takes it up by itself only from its start, but gets it whole.
        server.put("/f", file);
        let output = end.run(work, &["--retry", "1", "-o", "g", "-w", "%{num_retries}", &server.url("/f")]);
        assert_eq!((output.status, output.stdout.trim_end()), (Some(0), "1"), "{output:?}");
        assert!(fs::read(work.join("g")).unwrap() == content);
        let output = end.run(work, &["--retry", "2", &server.url("/busy?x")]);
        assert_eq!((output.status, output.stdout.as_str()), (Some(0), "at last\n"), "{output:?}");
    }

    fn a_part_without_a_validator_is_compared(end) {
        let server = start();
        let work = tempfile::tempdir().unwrap();
        let work = work.path();
        let content = pattern(100_000);
        server.put("/f", File { content: content.clone(), ..File::default() });
        fs::write(work.join("f.part"), &content[..60_000]).unwrap();
        check(&end.run(work, &["-C", "-", "-o", "f", &server.url("/f")]), 0);
        assert!(fs::read(work.join("f")).unwrap() == content);
        assert_eq!(server.seen()[0].headers["range"], format!("bytes={}-", 60_000 - 4096));
        // Another file of the same length: the end of the part gives it away.
        fs::write(work.join("g.part"), vec![1; 60_000]).unwrap();
        check(&end.run(work, &["-C", "-", "-o", "g", &server.url("/f")]), 0);
        assert!(fs::read(work.join("g")).unwrap() == content);
        assert_eq!(server.seen().len(), 2);
        // A part of more than there is.
        fs::write(work.join("h.part"), vec![1; 200_000]).unwrap();
        check(&end.run(work, &["-C", "-", "-o", "h", &server.url("/f")]), 0);
        assert!(fs::read(work.join("h")).unwrap() == content);
        // A server without ranges sends all of it.
        server.put("/f", File { content: content.clone(), no_ranges: true, ..File::default() });
        fs::write(work.join("i.part"), &content[..60_000]).unwrap();
        check(&end.run(work, &["-C", "-", "-o", "i", &server.url("/f")]), 0);
        assert!(fs::read(work.join("i")).unwrap() == content);
        let output = end.run(work, &["-C", "10", &server.url("/f")]);
        output.check_failure(33, "sandquic: (33) ", &["does not give ranges"]);
        // From an offset, to a file or to standard output.
        server.put("/t", File { content: "0123456789".into(), ..File::default() });
        let output = end.run(work, &["-C", "7", &server.url("/t")]);
        assert_eq!((output.status, output.stdout.trim_end()), (Some(0), "789"), "{output:?}");
        fs::write(work.join("t.part"), "01234xx").unwrap();
        check(&end.run(work, &["-C", "5", "-o", "t", &server.url("/t")]), 0);
        assert_eq!(fs::read(work.join("t")).unwrap(), b"0123456789");
        let output = end.run(work, &["-C", "11", "-o", "t", &server.url("/t")]);
        output.check_failure(33, "sandquic: (33) ", &["has 10 bytes only"]);
    }

    fn servers_are_believed_for_good_reasons_only(end) {
        let work = tempfile::tempdir().unwrap();
        let work = work.path();
        let server = start();
        server.put("/f", File { content: "sound\n".into(), ..File::default() });
        let stranger = Server::start(&pki(), "under-ed25519");
        stranger.put("/f", File { content: "strange\n".into(), ..File::default() });
        let expired = Server::start(&pki(), "expired");
        let output = end.run(work, &[&stranger.url("/f")]);
        output.check_failure(60, "sandquic: (60) ", &["cannot be trusted", "its issuer is not", "--ca"]);
        end.run(work, &[&expired.url("/f")]).check_failure(60, "sandquic: (60) ", &["expired"]);
        let named = format!("https://other.example:{}/f", server.port);
        let output = end.run(work, &["--resolve", &format!("other.example:{}:127.0.0.1", server.port), &named]);
        output.check_failure(60, "sandquic: (60) ", &["other.example"]);
        let output = end.run(work, &["-k", &stranger.url("/f")]);
        assert_eq!((output.status, output.stdout.as_str()), (Some(0), "strange\n"), "{output:?}");
        // The key that a wrong pin is told is the right one.
        let wrong = "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
        let output = end.run(work, &["-k", "--pin", wrong, &stranger.url("/f")]);
        output.check_failure(90, "sandquic: (90) ", &["sha256//"]);
        let at = output.stderr.find("sha256//").unwrap();
        let right = output.stderr[at..].split([',', ' ']).next().unwrap();
        let output = end.run(work, &["-k", "--pin", &format!("{wrong};{right}"), &stranger.url("/f")]);
        assert_eq!((output.status, output.stdout.as_str()), (Some(0), "strange\n"), "{output:?}");
        // A pin does not stand in for an authority by itself.
        end.run(work, &["--pin", right, &stranger.url("/f")]).check_failure(60, "sandquic: (60) ", &[]);
        let output = end.run(work, &["--ciphers", "chacha20-poly1305", &server.url("/f")]);
        assert_eq!((output.status, output.stdout.as_str()), (Some(0), "sound\n"), "{output:?}");
        let output = end.run(work, &["--ca", "none.pem", &server.url("/f")]);
        check(&output, 2);
        let mut command = sandquic();
        command.arg("get").args((end == End::Native).then_some("--native")).args(["--ca", "none.pem", "a"]);
        finish(command).check_failure(77, "sandquic: (77) ", &["none.pem"]);
        // No protocol in common.
        let plain = Server::start_with(&pki(), "p256", &[b"hq-interop"], "127.0.0.1:0".parse().unwrap());
        end.run(work, &[&plain.url("/f")]).check_failure(35, "sandquic: (35) ", &["no_application_protocol"]);
        plain.put("/f", File { content: pattern(100_000), ..File::default() });
        let output = end.run(work, &["--http0.9", "-o", "f", "--key-update", &plain.url("/f")]);
        check(&output, 0);
        assert!(fs::read(work.join("f")).unwrap() == pattern(100_000));
    }

    fn limits_of_time_are_kept(end) {
        let server = start();
        let work = tempfile::tempdir().unwrap();
        let work = work.path();
        let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let nobody = format!("https://{}/", silent.local_addr().unwrap());
        let output = end.run(work, &["--connect-timeout", "0.3", &nobody]);
        output.check_failure(28, "sandquic: (28) ", &["--connect-timeout"]);
        end.run(work, &["-m", "0.5", &server.url("/hang")]).check_failure(28, "sandquic: (28) ", &["--max-time"]);
        let slow = File { content: pattern(4 << 20), slow: Some(Duration::from_millis(100)), ..File::default() };
        server.put("/slow", slow);
        let output = end.run(work, &["-m", "1", "-o", "f", &server.url("/slow")]);
        output.check_failure(28, "sandquic: (28) ", &["--max-time", "f.part"]);
        assert!(!work.join("f").exists());
        let output = end.run(work, &["https://no-such-host.invalid/"]);
        output.check_failure(6, "sandquic: (6) ", &["no-such-host.invalid"]);
        end.run(work, &["-6", &server.url("/")]).check_failure(6, "sandquic: (6) ", &["no IPv6 address"]);
    }

    fn the_address_that_answers_is_used(end) {
        let server = start();
        server.put("/f", File { content: "here\n".into(), ..File::default() });
        let work = tempfile::tempdir().unwrap();
        let silent = std::net::UdpSocket::bind("[::1]:0");
        // Nobody answers at the first addresses, of either family.
        let addresses = format!("*:{}:[::1],127.0.0.2,127.0.0.1", server.port);
        let url = format!("https://localhost:{}/f", server.port);
        let started = Instant::now();
        let output = end.run(work.path(), &["--resolve", &addresses, "-w", "%{remote_ip}", &url]);
        assert_eq!((output.status, output.stdout.trim_end()), (Some(0), "here\n127.0.0.1"), "{output:?}");
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
        drop(silent);
        let place = format!("other.example:443:127.0.0.1:{}", server.port);
        let output = end.run(work.path(), &["-k", "--connect-to", &place, "https://other.example/f"]);
        assert_eq!((output.status, output.stdout.as_str()), (Some(0), "here\n"), "{output:?}");
        assert!(server.seen()[1].uri.starts_with("https://other.example/"));
    }

    fn a_stored_session_sends_early_data(end) {
        let server = start();
        server.put("/f", File { content: "early\n".into(), ..File::default() });
        let work = tempfile::tempdir().unwrap();
        let work = work.path();
        let one = |words: &[&str], path: &str| {
            let words = [&["--session", "s", "-o", "/dev/null", "-w", "json"], words].concat();
            let output = end.run(work, &[&words[..], &[&server.url(path)]].concat());
            check(&output, 0);
            assert_eq!(output.stderr, "");
            let figures = figures(&output);
            (figures["session_resumed"].as_bool().unwrap(), figures["early_data"].as_bool().unwrap())
        };
        assert_eq!(one(&[], "/f"), (false, false));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(work.join("s")).unwrap().permissions().mode() & 0o777, 0o600);
        }
        // Each run leaves a session for the next; the chain of them begins anew now and then.
        let mut early = 0;
        for _ in 0..10 {
            let (resumed, data) = one(&[], "/f");
            assert_eq!(resumed, data);
            early += u32::from(data);
        }
        assert!((8..=9).contains(&early), "{early} of 10");
        // What has an effect is not sent where it could be sent again by others.
        let (resumed, data) = loop {
            match one(&["-d", "x"], "/echo") {
                (false, _) => continue,
                resumed => break resumed,
            }
        };
        assert_eq!((resumed, data), (true, false));
        // A session does not outlive the trust in the server: with a pin of another key there is none.
        let wrong = "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
        let output = end.run(work, &["--session", "s", "--pin", wrong, &server.url("/f")]);
        output.check_failure(90, "sandquic: (90) ", &[]);
        fs::write(work.join("s"), "{ damaged").unwrap();
        let output = end.run(work, &["--session", "s", &server.url("/f")]);
        assert_eq!((output.status, output.stdout.as_str()), (Some(0), "early\n"));
        assert!(output.stderr.contains("damaged and not used"), "{output:?}");
        fs::write(work.join("s"), "my diary").unwrap();
        let output = end.run(work, &["--session", "s", &server.url("/f")]);
        output.check_failure(2, "sandquic: (2) ", &["not a file of sessions"]);
        assert_eq!(fs::read(work.join("s")).unwrap(), b"my diary");
    }

    fn early_data_that_is_refused_is_sent_again(end) {
        let work = tempfile::tempdir().unwrap();
        let words = |url: &str| -> Vec<String> {
            ["--session", "s", "-w", "|%{early_data}|%{num_connects}", url].map(str::to_owned).to_vec()
        };
        let run = |url: &str| {
            let words = words(url);
            end.run(work.path(), &words.iter().map(String::as_str).collect::<Vec<_>>())
        };
        let server = start();
        let port = server.port;
        server.put("/f", File { content: "text".into(), ..File::default() });
        check(&run(&server.url("/f")), 0);
        drop(server);
        // The same address, and nothing known of the session.
        let deadline = Instant::now() + Duration::from_secs(10);
        while let Err(error) = std::net::UdpSocket::bind(("127.0.0.1", port)) {
            assert!(Instant::now() < deadline, "{error}");
            std::thread::sleep(Duration::from_millis(20));
        }
        let server = Server::start_with(&pki(), "p256", &[b"h3"], ([127, 0, 0, 1], port).into());
        server.put("/f", File { content: "text".into(), ..File::default() });
        let output = run(&server.url("/f"));
        assert_eq!((output.status, output.stdout.trim_end()), (Some(0), "text|false|2"), "{output:?}");
    }

    fn a_server_that_goes_away_is_asked_over_another_connection(end) {
        let server = start();
        server.put("/f", File { content: "text\n".into(), ..File::default() });
        let work = tempfile::tempdir().unwrap();
        let output = end.run(work.path(), &[&server.url("/f"), &server.url("/goaway"), &server.url("/f")]);
        check(&output, 0);
        assert_eq!(output.stdout, "text\nthe last\ntext\n");
        let last = server.seen().pop().unwrap();
        assert_eq!((server.connections(), last.connection), (2, 2));
        let output = end.run(work.path(), &[&server.url("/vanish")]);
        output.check_failure(56, "sandquic: (56) ", &["H3_INTERNAL_ERROR", "vanished"]);
        let output = end.run(work.path(), &["-o", "f", &server.url("/short")]);
        output.check_failure(18, "sandquic: (18) ", &["9 of 100 bytes"]);
        assert!(!work.path().join("f").exists());
    }

    fn a_full_disk_leaves_nothing_under_the_name(end) {
        let server = start();
        let content = pattern(3 << 20);
        server.put("/f", File { content: content.clone(), etag: Some("\"x\""), ..File::default() });
        let work = tempfile::tempdir().unwrap();
        let work = work.path();
        fs::write(work.join("f"), "old").unwrap();
        // The shell limits files to 1 MiB; the write fails then, as on a full disk.
        let inner = end.get(work, &["-o", "f", &server.url("/f")]);
        let mut command = Command::new("bash");
        command.current_dir(work).args(["-c", "trap '' XFSZ; ulimit -f 1024; exec \"$@\"", "bash"]);
        command.arg(inner.get_program()).args(inner.get_args());
        let output = finish(command);
        // The sandbox has another name for this limit.
        output.check_failure(23, "sandquic: (23) cannot write ", &["f.part", "-C -"]);
        assert_eq!(fs::read(work.join("f")).unwrap(), b"old");
        check(&end.run(work, &["-C", "-", "-o", "f", &server.url("/f")]), 0);
        assert!(fs::read(work.join("f")).unwrap() == content);
        assert_eq!(names(work), ["f"]);
        if Path::new("/dev/full").exists() {
            let mut command = end.get(work, &[&server.url("/f")]);
            let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
            let output = command.stdout(full).stderr(Stdio::piped()).output().unwrap();
            let text = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.code() == Some(23) && text.contains("standard output"), "{text}");
        }
        let output = end.run(work, &["-o", "none/f", &server.url("/f")]);
        output.check_failure(23, "sandquic: (23) cannot write ", &["no such file or directory"]);
    }
}

#[test]
fn wrong_command_lines_have_status_2() {
    let work = tempfile::tempdir().unwrap();
    for (words, part) in [
        (&[][..], "<URL>"),
        (&["--frob", "a"], "--frob"),
        (&["-C", "-", "https://a/"], "needs a file"),
        (&["--pin", "md5", "https://a/"], "sha256//BASE64"),
        (&["--ciphers", "rc4", "https://a/"], "aes-128-gcm"),
    ] {
        for end in [End::Sandbox, End::Native] {
            let output = end.run(work.path(), words);
            output.check_failure(2, "sandquic: ", &[part]);
        }
    }
    for (words, status) in [(&["http://a/"][..], 1), (&["https://["], 3)] {
        for end in [End::Sandbox, End::Native] {
            assert_eq!(end.run(work.path(), words).status, Some(status), "{words:?}");
        }
    }
}
