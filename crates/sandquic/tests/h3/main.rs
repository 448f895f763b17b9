//! HTTP/3 over our transport: among ourselves, and with stock quinn under h3-quinn on either side.

#![cfg(not(target_family = "wasm"))]

#[path = "../common/mod.rs"]
mod common;
mod illegal;
mod peers;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Request, Response};
use sandquic::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use sandquic::{Connection, Endpoint};

use common::{NAME, client_tls, server_tls};

const ALPN: &[u8] = b"h3";
const PATIENCE: Duration = Duration::from_secs(60);

fn loopback() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

fn with_patience<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(PATIENCE, test).await.expect("in time") })
}

fn h3_client_tls(provider: rustls::crypto::CryptoProvider) -> rustls::ClientConfig {
    let mut tls = client_tls(provider);
    tls.alpn_protocols = vec![ALPN.to_vec()];
    tls
}

fn h3_server_tls(provider: rustls::crypto::CryptoProvider) -> rustls::ServerConfig {
    let mut tls = server_tls(provider);
    tls.alpn_protocols = vec![ALPN.to_vec()];
    tls
}

fn our_server() -> Endpoint {
    let tls = h3_server_tls(sandquic_rustls::provider());
    let crypto = QuicServerConfig::try_from(tls).unwrap();
    Endpoint::server(sandquic::ServerConfig::with_crypto(Arc::new(crypto)), loopback()).unwrap()
}

fn our_client() -> Endpoint {
    let tls = h3_client_tls(sandquic_rustls::provider());
    let mut endpoint = Endpoint::client(loopback()).unwrap();
    let crypto = QuicClientConfig::try_from(tls).unwrap();
    endpoint.set_default_client_config(sandquic::ClientConfig::new(Arc::new(crypto)));
    endpoint
}

/// Both ends of a connection of ours, the client's first.
async fn pair() -> (Connection, Connection, (Endpoint, Endpoint)) {
    let (server, client) = (our_server(), our_client());
    let address = server.local_addr().unwrap();
    let connecting = client.connect(address, NAME).unwrap();
    let accepted = tokio::spawn({
        let server = server.clone();
        async move { server.accept().await.unwrap().await.unwrap() }
    });
    (connecting.await.unwrap(), accepted.await.unwrap(), (client, server))
}

/// What came back.
struct Answer {
    head: Response<()>,
    content: Vec<u8>,
    trailers: Option<HeaderMap>,
}

fn request(method: &str, path: &str) -> Request<()> {
    Request::builder().method(method).uri(format!("https://{NAME}{path}")).body(()).unwrap()
}

/// Both roles over one transport: of all that h3's traits leave open the tests need that it can be sent to tasks, which
/// bounds on generic parameters would take longer to say.
macro_rules! over {
    ($name:ident, $connection:ty, $opener:ty) => {
        pub(crate) mod $name {
            use std::future::poll_fn;

            use bytes::{Buf, Bytes};
            use h3::client::SendRequest;
            use h3::error::StreamError;
            use http::{HeaderMap, Request, Response, StatusCode};

            use crate::common::pattern;
            use crate::{Answer, request};

            /// Answers each request with its method, path and field `x-large`, its content and its trailers.
            pub(crate) async fn echo(connection: $connection) {
                let mut h3 =
                    h3::server::builder().max_field_section_size(64 * 1024).build(connection).await.unwrap();
                while let Ok(Some(resolver)) = h3.accept().await {
                    tokio::spawn(async move {
                        let Ok((request, mut stream)) = resolver.resolve_request().await else {
                            return Ok(());
                        };
                        let mut response = Response::new(());
                        let field = request.headers().get("x-large").cloned();
                        response
                            .headers_mut()
                            .extend(field.map(|field| (http::HeaderName::from_static("x-large"), field)));
                        let asked = format!("{} {}", request.method(), request.uri().path());
                        response.headers_mut().insert("x-asked", asked.try_into().unwrap());
                        stream.send_response(response).await?;
                        while let Some(mut data) = stream.recv_data().await? {
                            let data = data.copy_to_bytes(data.remaining());
                            stream.send_data(data).await?;
                        }
                        if let Some(trailers) = stream.recv_trailers().await? {
                            stream.send_trailers(trailers).await?;
                        }
                        stream.finish().await?;
                        Ok::<(), StreamError>(())
                    });
                }
            }

            /// One request to its end.
            pub(crate) async fn ask(
                client: &mut SendRequest<$opener, Bytes>,
                request: Request<()>,
                content: &[u8],
                trailers: Option<HeaderMap>,
            ) -> Result<Answer, StreamError> {
                let (mut send, mut recv) = client.send_request(request).await?.split();
                let sending = async {
                    for piece in content.chunks(50_000) {
                        send.send_data(Bytes::copy_from_slice(piece)).await?;
                    }
                    if let Some(trailers) = trailers {
                        send.send_trailers(trailers).await?;
                    }
                    send.finish().await
                };
                let receiving = async {
                    let head = recv.recv_response().await?;
                    let mut content = Vec::new();
                    while let Some(mut data) = recv.recv_data().await? {
                        while data.has_remaining() {
                            content.extend_from_slice(data.chunk());
                            data.advance(data.chunk().len());
                        }
                    }
                    Ok(Answer { head, content, trailers: recv.recv_trailers().await? })
                };
                let (sent, answer) = tokio::join!(sending, receiving);
                sent?;
                answer
            }

            /// Requests of all kinds to an [`echo`] server.
            pub(crate) async fn exercise(connection: $connection) {
                let (mut driver, mut client) = h3::client::new(connection).await.unwrap();
                let driver = tokio::spawn(async move { poll_fn(|cx| driver.poll_close(cx)).await });

                let answer = ask(&mut client, request("GET", "/a/b"), b"", None).await.unwrap();
                assert_eq!(
                    (answer.head.status(), &answer.head.headers()["x-asked"]),
                    (StatusCode::OK, &"GET /a/b".try_into().unwrap())
                );
                assert!(answer.content.is_empty() && answer.trailers.is_none());

                let content = pattern(300_000);
                let mut trailers = HeaderMap::new();
                trailers.insert("x-checksum", "abc".try_into().unwrap());
                let answer =
                    ask(&mut client, request("POST", "/"), &content, Some(trailers.clone())).await.unwrap();
                assert!(answer.content == content);
                assert_eq!(answer.trailers, Some(trailers));

                let mut large = request("GET", "/");
                large.headers_mut().insert("x-large", "v".repeat(30_000).try_into().unwrap());
                let answer = ask(&mut client, large, b"", None).await.unwrap();
                assert_eq!(answer.head.headers()["x-large"].len(), 30_000);

                let many: Vec<_> = (0..200)
                    .map(|n| {
                        let mut client = client.clone();
                        tokio::spawn(async move {
                            let content = pattern(n * 100);
                            let answer = ask(&mut client, request("PUT", &format!("/{n}")), &content, None)
                                .await
                                .unwrap();
                            assert_eq!(answer.head.headers()["x-asked"], format!("PUT /{n}"));
                            assert!(answer.content == content);
                        })
                    })
                    .collect();
                for one in many {
                    one.await.unwrap();
                }
                drop(client);
                let end = driver.await.unwrap();
                assert!(end.is_h3_no_error(), "{end}");
            }
        }
    };
}

over!(ours, sandquic::h3::Connection, sandquic::h3::OpenStreams);
over!(stock, h3_quinn::Connection, h3_quinn::OpenStreams);
