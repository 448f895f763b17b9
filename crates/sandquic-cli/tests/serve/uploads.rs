//! Files by PUT.

use std::fs;

use bytes::Bytes;
use h3::error::Code;

use crate::client::Client;
use crate::running::Site;
use crate::{at_both, pattern, site};

fn names(site: &Site) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(site.outside())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn whole_or_not_at_all() {
    at_both(async |place| {
        let site = site();
        fs::remove_file(site.outside().join("secret")).unwrap();
        fs::create_dir(site.outside().join("sub")).unwrap();
        let upload = site.outside();
        let server = site.serve(place, &["--upload", upload.to_str().unwrap(), "--max-upload=3MiB"]);
        let client = Client::connect(&server).await;
        let content = pattern(2_500_000);
        assert_eq!(client.ask("PUT", "/new", &[], &content).await.status, 201);
        assert!(fs::read(site.outside().join("new")).unwrap() == content);
        assert_eq!(client.ask("PUT", "/new", &[("content-length", "5")], b"other").await.status, 204);
        assert_eq!(fs::read(site.outside().join("new")).unwrap(), b"other");
        assert_eq!(client.ask("PUT", "/sub/a%20b", &[], b"").await.status, 201);
        assert_eq!(names(&site), ["new", "sub"]);

        let too_much = pattern(4 << 20);
        for (path, fields, content, status) in [
            ("/", &[][..], &b"x"[..], 409),
            ("/sub", &[], b"x", 409),
            ("/none/file", &[], b"x", 409),
            ("/sub/", &[], b"x", 409),
            ("/../escape", &[], b"x", 400),
            ("/part", &[("content-range", "bytes 0-0/2")], b"x", 400),
            ("/part", &[("content-length", "4000000")], b"", 413),
            ("/part", &[], &too_much, 413),
        ] {
            let answer = client.ask("PUT", path, fields, content).await;
            assert_eq!(answer.status, status, "{path} {fields:?}: {}", answer.text());
        }
        // Fewer bytes than were announced.
        let error = client.try_ask("PUT", "/short", &[("content-length", "9")], b"x").await.unwrap_err();
        assert!(
            matches!(error, h3::error::StreamError::RemoteTerminate { code: Code::H3_MESSAGE_ERROR, .. }),
            "{error}"
        );
        // Given up in the middle.
        let mut stream = client.begin("PUT", "/given-up", &[]).await.unwrap();
        stream.send_data(Bytes::from(pattern(100_000))).await.unwrap();
        sandquic::sleep(std::time::Duration::from_millis(100)).await;
        stream.stop_stream(Code::H3_REQUEST_CANCELLED);
        drop(stream);
        server.logged("PUT /given-up broken off").await;
        // The client vanishes in the middle.
        let vanishing = Client::connect(&server).await;
        let mut stream = vanishing.begin("PUT", "/vanished", &[]).await.unwrap();
        stream.send_data(Bytes::from(pattern(100_000))).await.unwrap();
        sandquic::sleep(std::time::Duration::from_millis(100)).await;
        vanishing.quic.close(0_u32.into(), b"");
        server.logged("PUT /vanished broken off").await;
        assert_eq!(names(&site), ["new", "sub"], "something is left");
        assert_eq!(client.ask("DELETE", "/new", &[], b"").await.field("allow"), "GET, HEAD, PUT");
    });
}
