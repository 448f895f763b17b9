//! What both sides do when both follow the rules.

use std::future::poll_fn;
use std::sync::Arc;

use bytes::Bytes;
use h3::error::{Code, StreamError};
use http::{Request, Response, StatusCode};
use rustls::crypto::CryptoProvider;
use sandquic::h3::Connection as Transport;

use super::ours::{ask, echo, exercise};
use super::{
    NAME, h3_client_tls, h3_server_tls, loopback, our_client, our_server, pair, request, stock, with_patience,
};
use crate::common::pattern;

fn ring() -> CryptoProvider {
    rustls::crypto::ring::default_provider()
}

#[test]
fn among_ourselves() {
    with_patience(async {
        let (client, server, _endpoints) = pair().await;
        tokio::spawn(echo(Transport::new(server)));
        exercise(Transport::new(client)).await;
    });
}

#[test]
fn our_client_with_a_stock_server() {
    with_patience(async {
        let crypto = quinn::crypto::rustls::QuicServerConfig::try_from(h3_server_tls(ring())).unwrap();
        let config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
        let server = quinn::Endpoint::server(config, loopback()).unwrap();
        let address = server.local_addr().unwrap();
        tokio::spawn(async move {
            let connection = server.accept().await.unwrap().await.unwrap();
            stock::echo(h3_quinn::Connection::new(connection)).await;
        });
        let connection = our_client().connect(address, NAME).unwrap().await.unwrap();
        exercise(Transport::new(connection)).await;
    });
}

#[test]
fn a_stock_client_with_our_server() {
    with_patience(async {
        let server = our_server();
        let address = server.local_addr().unwrap();
        tokio::spawn(async move {
            let connection = server.accept().await.unwrap().await.unwrap();
            echo(Transport::new(connection)).await;
        });
        let crypto = quinn::crypto::rustls::QuicClientConfig::try_from(h3_client_tls(ring())).unwrap();
        let mut client = quinn::Endpoint::client(loopback()).unwrap();
        client.set_default_client_config(quinn::ClientConfig::new(Arc::new(crypto)));
        let connection = client.connect(address, NAME).unwrap().await.unwrap();
        stock::exercise(h3_quinn::Connection::new(connection)).await;
    });
}

#[test]
fn after_goaway_what_came_is_answered_and_no_more_is_taken() {
    with_patience(async {
        let (client, server, _endpoints) = pair().await;
        let (release, released) = tokio::sync::oneshot::channel();
        let (seen, asked) = tokio::sync::oneshot::channel();
        let serving = tokio::spawn(async move {
            let mut h3 = h3::server::builder().build::<_, Bytes>(Transport::new(server)).await.unwrap();
            let resolver = h3.accept().await.unwrap().unwrap();
            let answering = tokio::spawn(async move {
                let (_, mut stream) = resolver.resolve_request().await.unwrap();
                seen.send(()).unwrap();
                released.await.unwrap();
                stream.send_response(Response::new(())).await.unwrap();
                stream.send_data(Bytes::from_static(b"late")).await.unwrap();
                stream.finish().await.unwrap();
            });
            h3.shutdown(1).await.unwrap();
            // Polled on, it takes what is within the bounds that GOAWAY set, and ends with the connection.
            while let Ok(Some(_)) = h3.accept().await {}
            answering.await.unwrap();
        });
        let (mut driver, mut requests) = h3::client::new(Transport::new(client.clone())).await.unwrap();
        let driver = tokio::spawn(async move { poll_fn(|cx| driver.poll_close(cx)).await });
        let mut first = requests.send_request(request("GET", "/")).await.unwrap();
        first.finish().await.unwrap();
        asked.await.unwrap();
        // Until GOAWAY has come more requests can be sent; from then on none.
        let refused = loop {
            match requests.send_request(request("GET", "/more")).await {
                Ok(_) => tokio::time::sleep(std::time::Duration::from_millis(5)).await,
                Err(error) => break error,
            }
        };
        assert!(matches!(refused, StreamError::RemoteClosing { .. }), "{refused}");
        release.send(()).unwrap();
        assert_eq!(first.recv_response().await.unwrap().status(), StatusCode::OK);
        let mut data = first.recv_data().await.unwrap().unwrap();
        assert_eq!(bytes::Buf::copy_to_bytes(&mut data, 4), &b"late"[..]);
        drop((first, requests));
        driver.await.unwrap();
        serving.await.unwrap();
    });
}

#[test]
fn cancellation_carries_its_codes() {
    with_patience(async {
        let (client, server, _endpoints) = pair().await;
        let (outcome, outcomes) = tokio::sync::oneshot::channel();
        tokio::spawn(async move {
            let mut h3 = h3::server::builder().build::<_, Bytes>(Transport::new(server)).await.unwrap();
            // The client gives up the answer of the first.
            let (_, mut stream) = h3.accept().await.unwrap().unwrap().resolve_request().await.unwrap();
            stream.send_response(Response::new(())).await.unwrap();
            let error = loop {
                if let Err(error) = stream.send_data(pattern(10_000).into()).await {
                    break error;
                }
            };
            outcome.send(error).unwrap();
            // The server gives up the second in the middle of its content.
            let (_, mut stream) = h3.accept().await.unwrap().unwrap().resolve_request().await.unwrap();
            stream.send_response(Response::new(())).await.unwrap();
            stream.send_data(pattern(10_000).into()).await.unwrap();
            stream.stop_stream(Code::H3_INTERNAL_ERROR);
            // And forgets the third, before it has said anything.
            drop(h3.accept().await.unwrap().unwrap().resolve_request().await.unwrap());
            while let Ok(Some(_)) = h3.accept().await {}
        });
        let (mut driver, mut requests) = h3::client::new(Transport::new(client.clone())).await.unwrap();
        tokio::spawn(async move { poll_fn(|cx| driver.poll_close(cx)).await });
        let mut stream = requests.send_request(request("GET", "/")).await.unwrap();
        stream.recv_response().await.unwrap();
        drop(stream);
        let code = |error: &StreamError| match error {
            StreamError::RemoteTerminate { code, .. } => *code,
            error => panic!("{error}"),
        };
        assert_eq!(code(&outcomes.await.unwrap()), Code::H3_REQUEST_CANCELLED);

        let mut stream = requests.send_request(request("GET", "/")).await.unwrap();
        stream.finish().await.unwrap();
        // What came before the reset need not arrive any more.
        let error = match stream.recv_response().await {
            Err(error) => error,
            Ok(_) => loop {
                match stream.recv_data().await {
                    Ok(data) => assert!(data.is_some(), "a content that was broken off looks whole"),
                    Err(error) => break error,
                }
            },
        };
        assert_eq!(code(&error), Code::H3_INTERNAL_ERROR);

        let mut stream = requests.send_request(request("GET", "/")).await.unwrap();
        stream.finish().await.unwrap();
        assert_eq!(code(&stream.recv_response().await.unwrap_err()), Code::H3_REQUEST_CANCELLED);
    });
}

#[test]
fn a_large_section_of_fields_is_answered_and_a_huge_one_is_refused() {
    with_patience(async {
        let (client, server, _endpoints) = pair().await;
        tokio::spawn(echo(Transport::new(server).max_frame_size(128 * 1024)));
        let (mut driver, mut requests) = h3::client::new(Transport::new(client.clone())).await.unwrap();
        tokio::spawn(async move { poll_fn(|cx| driver.poll_close(cx)).await });
        let with_field = |length: usize| {
            let mut request: Request<()> = request("GET", "/");
            // A tilde has 13 bits in the code of HPACK, so that it is sent as it is.
            request.headers_mut().insert("x-large", "~".repeat(length).try_into().unwrap());
            request
        };
        // Before the server's settings have come, a client does not know the bound.
        let answer = ask(&mut requests, with_field(65 * 1024), b"", None).await;
        match answer {
            Ok(answer) => assert_eq!(answer.head.status(), StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE),
            Err(StreamError::HeaderTooBig { max_size, .. }) => assert_eq!(max_size, 64 * 1024),
            Err(error) => panic!("{error}"),
        }
        let answer = ask(&mut requests, request("GET", "/"), b"", None).await.unwrap();
        assert_eq!(answer.head.status(), StatusCode::OK);
        let refused = ask(&mut requests, with_field(65 * 1024), b"", None).await.err().unwrap();
        assert!(matches!(refused, StreamError::HeaderTooBig { .. }), "{refused}");
        assert!(client.close_reason().is_none());
    });
}
