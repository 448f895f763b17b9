//! What a client gets.

use std::fs;
use std::time::{Duration, SystemTime};

use bytes::Buf;
use sandquic::VarInt;

use crate::client::{Client, config, endpoint};
use crate::running::Running;
use crate::{at_both, pattern, site};

#[test]
fn files_indexes_and_listings() {
    at_both(async |place| {
        let site = site();
        let server = site.serve(place, &[]);
        let client = Client::connect(&server).await;
        for (path, content, content_type) in [
            ("/", "<h1>home</h1>", "text/html; charset=utf-8"),
            ("/page.txt", "0123456789", "text/plain; charset=utf-8"),
            ("/page.txt?query", "0123456789", "text/plain; charset=utf-8"),
            ("/inside", "0123456789", "application/octet-stream"),
            ("/empty", "", "application/octet-stream"),
            ("/sub/a%20file.css", "a{}", "text/css; charset=utf-8"),
            ("/sub/%3Cb%3E.js", "let a;", "text/javascript; charset=utf-8"),
            ("/sub/deep/", "<h1>deep</h1>", "text/html; charset=utf-8"),
        ] {
            let answer = client.get(path).await;
            assert_eq!((answer.status.as_u16(), answer.text()), (200, content), "{path}");
            assert_eq!(answer.field("content-type"), content_type, "{path}");
            assert_eq!(answer.field("content-length"), content.len().to_string(), "{path}");
            assert!(answer.field("date").ends_with("GMT") && !answer.field("etag").is_empty());
        }
        let answer = client.get("/big.bin").await;
        assert!(answer.content == pattern(3_000_000));
        let file = fs::File::options().write(true).open(site.root().join("empty")).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH - Duration::from_secs(1)).unwrap();
        let answer = client.get("/empty").await;
        assert_eq!(answer.status, 200);
        // Older than HTTP's dates; WASI knows no time before 1970 and gives that.
        let modified = answer.field("last-modified");
        assert!(matches!(modified, "" | "Thu, 01 Jan 1970 00:00:00 GMT"), "{modified}");

        let answer = client.get("/sub").await;
        assert_eq!((answer.status.as_u16(), answer.field("location")), (301, "/sub/"));
        let answer = client.get("//evil.example/../sub?q").await;
        assert_eq!(answer.status, 400);
        let answer = client.get("//sub?q").await;
        assert_eq!((answer.status.as_u16(), answer.field("location")), (301, "/sub/?q"));
        let listing = client.get("/sub/").await;
        assert_eq!(listing.status, 200);
        for part in
            ["<a href=\"./deep/\">deep/</a>", "<a href=\"./a%20file.css\">a file.css</a>", "&lt;b&gt;.js"]
        {
            assert!(listing.text().contains(part), "no {part} in {}", listing.text());
        }

        let head = client.ask("HEAD", "/big.bin", &[], b"").await;
        assert_eq!((head.status.as_u16(), head.field("content-length")), (200, "3000000"));
        assert!(head.content.is_empty());
        server.logged("HEAD /big.bin 200 0 bytes").await;
        assert!(
            server.log().contains("connected, h3")
                && server.log().contains("GET /page.txt?query 200 10 bytes")
        );
    });
}

#[test]
fn conditions_and_ranges() {
    at_both(async |place| {
        let site = site();
        let server = site.serve(place, &[]);
        let client = Client::connect(&server).await;
        let whole = client.get("/page.txt").await;
        let etag = whole.field("etag").to_owned();
        let date = "Sun, 09 Sep 2001 01:46:40 GMT";
        let before = "Sun, 09 Sep 2001 01:46:39 GMT";
        assert_eq!(whole.field("last-modified"), date);
        assert_eq!(whole.field("accept-ranges"), "bytes");
        let weak = format!("W/{etag}");
        let list = format!("\"x\", {weak}");
        for (fields, status) in [
            (&[("if-none-match", &*etag)][..], 304),
            (&[("if-none-match", &weak)], 304),
            (&[("if-none-match", &list)], 304),
            (&[("if-none-match", "*")], 304),
            (&[("if-none-match", "\"x\"")], 200),
            // The date does not count where there is a tag.
            (&[("if-none-match", "\"x\""), ("if-modified-since", date)], 200),
            (&[("if-modified-since", date)], 304),
            (&[("if-modified-since", before)], 200),
            (&[("if-modified-since", "yesterday")], 200),
            (&[("if-match", &etag)], 200),
            (&[("if-match", &weak)], 412),
            (&[("if-match", "\"x\"")], 412),
            (&[("if-unmodified-since", before)], 412),
            (&[("if-unmodified-since", date)], 200),
            (&[("range", "bytes=2-4"), ("if-range", &etag)], 206),
            (&[("range", "bytes=2-4"), ("if-range", &weak)], 200),
            (&[("range", "bytes=2-4"), ("if-range", date)], 206),
            (&[("range", "bytes=2-4"), ("if-range", before)], 200),
            (&[("range", "bytes=10-")], 416),
            (&[("range", "lines=1-2")], 200),
        ] {
            let answer = client.get_with("/page.txt", fields).await;
            assert_eq!(answer.status, status, "{fields:?}");
            match status {
                304 => {
                    assert!(answer.content.is_empty());
                    assert_eq!(answer.field("etag"), etag);
                }
                206 => assert_eq!((answer.text(), answer.field("content-range")), ("234", "bytes 2-4/10")),
                416 => assert_eq!(answer.field("content-range"), "bytes */10"),
                200 => assert_eq!(answer.text(), "0123456789"),
                _ => {}
            }
        }
        let head = client.ask("HEAD", "/page.txt", &[("range", "bytes=2-4")], b"").await;
        assert_eq!((head.status.as_u16(), head.field("content-length")), (200, "10"));

        let answer = client.get_with("/big.bin", &[("range", "bytes=-1000000")]).await;
        assert!(answer.content == pattern(3_000_000)[2_000_000..]);
        let answer = client.get_with("/page.txt", &[("range", "bytes=0-1, 8-")]).await;
        assert_eq!(answer.status, 206);
        let boundary = answer.field("content-type").strip_prefix("multipart/byteranges; boundary=").unwrap();
        let part = |range: &str, content: &str| {
            format!(
                "\r\n--{boundary}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Range: bytes {range}/10\r\n\r\n{content}"
            )
        };
        let expected = format!("{}{}\r\n--{boundary}--\r\n", part("0-1", "01"), part("8-9", "89"));
        assert_eq!(answer.text(), expected);
        assert_eq!(answer.field("content-length"), expected.len().to_string());
    });
}

#[test]
fn http_0_9() {
    at_both(async |place| {
        let site = site();
        let server = site.serve(place, &[]);
        let quic = endpoint(b"hq-interop").connect(server.address, "localhost").unwrap().await.unwrap();
        let ask = async |request: &str| {
            let (mut send, mut recv) = quic.open_bi().await.unwrap();
            send.write_all(request.as_bytes()).await.unwrap();
            send.finish().unwrap();
            recv.read_to_end(4 << 20).await
        };
        assert_eq!(ask("GET /page.txt\r\n").await.unwrap(), b"0123456789");
        assert_eq!(ask("GET /").await.unwrap(), b"<h1>home</h1>");
        assert!(ask("GET /big.bin\n").await.unwrap() == pattern(3_000_000));
        for refused in
            ["GET /none\r\n", "GET /../outside/secret\r\n", "POST /\r\n", "", "GET /relative", "GET /sub/"]
        {
            assert!(ask(refused).await.is_err(), "{refused:?}");
        }
        assert!(ask(&format!("GET /{}", "x".repeat(20_000))).await.is_err());
        assert!(quic.close_reason().is_none());
        server.logged("connected, hq-interop").await;
        quic.close(VarInt::from_u32(0), b"");
    });
}

#[test]
fn certificates_are_made_kept_and_checked() {
    at_both(async |place| {
        let site = site();
        let serve = || Running::start(site.command(place, &["--state", site.outside().to_str().unwrap()]));
        let first = serve();
        let kept = site.outside().join("certificate.pem");
        // Clients that trust the certificate by itself take it, as browsers do by its hashes.
        let mut endpoint = sandquic::Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
        endpoint.set_default_client_config(config(&kept, b"h3"));
        let client = Client::with(endpoint, first.address).await;
        assert_eq!(client.get("/").await.status, 200);
        let (certificate, spki) = ("certificate sha256 ", "certificate spki sha256 ");
        assert_eq!(first.value(certificate).len(), 64);
        let second = serve();
        assert_eq!(first.value(certificate), second.value(certificate), "it was not kept");
        // Made anew for another name, with the same key.
        let state = site.outside();
        let words = ["--state", state.to_str().unwrap(), "--name=other.example"];
        let third = Running::start(site.command(place, &words));
        assert_ne!(first.value(certificate), third.value(certificate));
        assert_eq!(first.value(spki), third.value(spki));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            if place == crate::Place::Native {
                let mode = fs::metadata(site.outside().join("key.pem")).unwrap().permissions().mode();
                assert_eq!(mode & 0o077, 0, "others can read the key");
            }
        }

        let pki = crate::running::pki();
        let file = |name: &str| pki.join(name).to_str().unwrap().to_owned();
        for (cert, key, said) in [
            ("p256.pem", "p384.key.pem", "does not belong to the certificate"),
            ("p256.key.pem", "p256.key.pem", "there is no certificate in"),
            ("p256.pem", "p256.pem", "there is no private key in"),
            ("nothing.pem", "p256.key.pem", "cannot read"),
        ] {
            let (status, message) = site.fails(place, &["--cert", &file(cert), "--key", &file(key)]);
            assert_eq!(status, Some(1), "{message}");
            assert!(message.contains(said) && message.lines().count() == 1, "{message}");
        }
    });
}

#[test]
fn it_stops_in_good_order() {
    at_both(async |place| {
        let site = site();
        fs::write(site.root().join("huge.bin"), pattern(8 << 20)).unwrap();
        for signal in ["INT", "TERM"] {
            let mut server = site.serve(place, &[]);
            let client = Client::connect(&server).await;
            let idle = Client::connect(&server).await;
            assert_eq!(idle.get("/page.txt").await.status, 200);
            let mut stream = client.begin("GET", "/huge.bin", &[]).await.unwrap();
            stream.finish().await.unwrap();
            stream.recv_response().await.unwrap();
            server.signal(signal);
            server.logged("stopping").await;
            // What was asked for still comes, whole.
            let mut content = Vec::new();
            while let Some(mut data) = stream.recv_data().await.unwrap() {
                content.extend_from_slice(&data.copy_to_bytes(data.remaining()));
            }
            assert!(content == pattern(8 << 20));
            drop(stream);
            assert!(client.begin("GET", "/", &[]).await.is_err(), "requests are taken after GOAWAY");
            let end = idle.quic.closed().await;
            assert!(
                matches!(&end, sandquic::ConnectionError::ApplicationClosed(close) if close.error_code == VarInt::from_u32(0x100)),
                "{end}"
            );
            let status = server.ended().await;
            assert_eq!(status.code(), Some(0), "{}", server.log());
            assert!(server.log().contains("stopped"));
        }
    });
}

#[test]
fn a_second_signal_ends_it_at_once() {
    at_both(async |place| {
        let site = site();
        fs::write(site.root().join("huge.bin"), pattern(8 << 20)).unwrap();
        let mut server = site.serve(place, &["--drain=600"]);
        let client = Client::connect(&server).await;
        // A client that does not read keeps it from ending by itself.
        let mut stream = client.begin("GET", "/huge.bin", &[]).await.unwrap();
        stream.recv_response().await.unwrap();
        server.signal("TERM");
        server.logged("stopping").await;
        sandquic::sleep(Duration::from_millis(200)).await;
        server.signal("INT");
        assert_eq!(server.ended().await.code(), Some(130));
    });
}
