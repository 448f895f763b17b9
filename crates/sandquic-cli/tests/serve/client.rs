//! A client of HTTP/3.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use h3::client::SendRequest;
use h3::error::StreamError;
use http::{HeaderMap, Request, StatusCode};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use sandquic::crypto::rustls::QuicClientConfig;
use sandquic::h3::{Connection as Transport, OpenStreams};
use sandquic::{ClientConfig, Connection, Endpoint, TransportConfig};

use crate::running::{Running, pki};

/// A request's stream.
pub(crate) type Stream = h3::client::RequestStream<sandquic::h3::BidiStream<Bytes>, Bytes>;

/// A connection of HTTP/3.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) quic: Connection,
    pub(crate) requests: SendRequest<OpenStreams, Bytes>,
    pub(crate) endpoint: Endpoint,
}

/// An answer to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) content: Vec<u8>,
}

impl Answer {
    /// A field as text; empty if there is none.
    pub(crate) fn field(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.content).unwrap()
    }
}

/// A configuration that trusts the authority in a PEM file.
pub(crate) fn config(authority: &Path, alpn: &[u8]) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(authority).unwrap()).unwrap();
    let mut tls = rustls::ClientConfig::builder_with_provider(Arc::new(sandquic_rustls::provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![alpn.to_vec()];
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()));
    // One that reads slowly is there all the same.
    let mut transport = TransportConfig::default();
    transport.keep_alive_interval(Some(Duration::from_millis(500)));
    config.transport_config(Arc::new(transport));
    config
}

/// An endpoint that trusts the test authority.
pub(crate) fn endpoint(alpn: &[u8]) -> Endpoint {
    let mut endpoint = Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
    endpoint.set_default_client_config(config(&pki().join("ca.pem"), alpn));
    endpoint
}

impl Client {
    pub(crate) async fn connect(server: &Running) -> Self {
        Self::with(endpoint(b"h3"), server.address).await
    }

    pub(crate) async fn with(endpoint: Endpoint, address: SocketAddr) -> Self {
        let quic = endpoint.connect(address, "localhost").unwrap().await.unwrap();
        let (mut driver, requests) = h3::client::new(Transport::new(quic.clone())).await.unwrap();
        sandquic::spawn(async move { poll_fn(|cx| driver.poll_close(cx)).await });
        Self { quic, requests, endpoint }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], b"").await
    }

    pub(crate) async fn get_with(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.ask("GET", path, fields, b"").await
    }

    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        fields: &[(&str, &str)],
        content: &[u8],
    ) -> Answer {
        self.try_ask(method, path, fields, content).await.unwrap()
    }

    pub(crate) async fn try_ask(
        &self,
        method: &str,
        path: &str,
        fields: &[(&str, &str)],
        content: &[u8],
    ) -> Result<Answer, StreamError> {
        let mut stream = self.begin(method, path, fields).await?;
        for piece in content.chunks(40_000) {
            // A server may answer before it has all.
            if stream.send_data(Bytes::copy_from_slice(piece)).await.is_err() {
                break;
            }
        }
        let _ = stream.finish().await;
        let head = stream.recv_response().await?;
        let mut content = Vec::new();
        while let Some(mut data) = stream.recv_data().await? {
            content.extend_from_slice(&data.copy_to_bytes(data.remaining()));
        }
        let (head, ()) = head.into_parts();
        Ok(Answer { status: head.status, headers: head.headers, content })
    }

    /// Sends the head of a request.
    pub(crate) async fn begin(
        &self,
        method: &str,
        path: &str,
        fields: &[(&str, &str)],
    ) -> Result<Stream, StreamError> {
        let mut request = Request::builder().method(method).uri(format!("https://localhost{path}"));
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        self.requests.clone().send_request(request.body(()).unwrap()).await
    }
}
