//! What a client does not get, and starts that fail.

use crate::client::Client;
use crate::{at_both, site};

#[test]
fn paths_methods_and_hosts() {
    at_both(async |place| {
        let site = site();
        let server = site.serve(place, &["--host=localhost"]);
        let client = Client::connect(&server).await;
        for (path, status) in [
            ("/none", 404),
            ("/page.txt/", 404),
            ("/page.txt/more", 404),
            ("/sub/none", 404),
            ("/../outside/secret", 400),
            ("/%2e%2e/outside/secret", 400),
            ("/sub/../../outside/secret", 400),
            ("/..%2Foutside%2Fsecret", 400),
            ("/%00", 400),
            ("/%ff", 400),
            ("/absolute", 403),
            ("/relative", 403),
            ("/directory/secret", 403),
            ("/directory/", 403),
        ] {
            let answer = client.get(path).await;
            assert_eq!(answer.status, status, "{path}: {}", answer.text());
            assert!(!answer.text().contains("secret") && answer.text().ends_with('\n'));
        }
        let answer = client.get(&format!("/{}", "x".repeat(5_000))).await;
        assert_eq!(answer.status, 404, "a long name");
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "BREW"] {
            let answer = client.ask(method, "/page.txt", &[], b"content").await;
            assert_eq!((answer.status.as_u16(), answer.field("allow")), (405, "GET, HEAD"), "{method}");
        }
        let request = http::Request::get("https://other.example/page.txt").body(()).unwrap();
        let mut stream = client.requests.clone().send_request(request).await.unwrap();
        stream.finish().await.unwrap();
        assert_eq!(stream.recv_response().await.unwrap().status(), 421);
        let large = "~".repeat(65_000);
        let answer = client.try_ask("GET", "/", &[("x-large", &large), ("x-more", &large)], b"").await;
        let error = answer.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(
            error.contains("65536") || error.contains("too big"),
            "the server's bound is not kept to: {error}"
        );
        assert_eq!(client.get("/page.txt").await.status, 200);
        assert!(client.quic.close_reason().is_none());
    });
}

#[test]
fn starts_that_fail_say_why() {
    at_both(async |place| {
        let site = site();
        let taken = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let listen = format!("--listen={}", taken.local_addr().unwrap());
        for (words, said) in [
            (&["--upload=/nonexistent"][..], "/nonexistent"),
            (&["--keylog=/nonexistent/keys"], "/nonexistent"),
        ] {
            let (status, message) = site.fails(place, words);
            assert_eq!(status, Some(1), "{message}");
            assert!(message.contains(said) && message.lines().count() == 1, "{message}");
        }
        let mut command = site.command(place, &[]);
        command.args(["--cert=a"]);
        assert_eq!(command.output().unwrap().status.code(), Some(2), "--cert without --key");
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sandquic"));
        command.arg("serve").arg(&listen).arg("--state").arg(site.outside()).arg(site.root());
        if place == crate::Place::Native {
            command.arg("--native");
        }
        let output = command.output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains("--listen 127.0.0.1:"), "{message}");
    });
}
