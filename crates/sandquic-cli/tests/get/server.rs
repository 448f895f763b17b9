//! A server that none of the project's code is in: h3 over stock quinn and ring, with files, redirects and failures.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::server::RequestStream;
use http::{HeaderMap, Request, Response};
use quinn::crypto::rustls::QuicServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A file of the server's.
#[derive(Clone, Default)]
pub(crate) struct File {
    pub(crate) content: Bytes,
    pub(crate) etag: Option<&'static str>,
    /// How many bytes of its first answer are sent before the stream is reset.
    pub(crate) cut: Option<usize>,
    /// Whether ranges are refused.
    pub(crate) no_ranges: bool,
    /// A pause after each 64 KiB.
    pub(crate) slow: Option<Duration>,
}

/// What was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) uri: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    /// Which connection it came over.
    pub(crate) connection: usize,
}

#[derive(Default)]
struct State {
    files: Mutex<HashMap<String, File>>,
    seen: Mutex<Vec<Seen>>,
    failures: Mutex<HashMap<String, usize>>,
    accepted: Mutex<usize>,
}

/// The server, until it is dropped.
pub(crate) struct Server {
    pub(crate) port: u16,
    state: Arc<State>,
    runtime: Option<tokio::runtime::Runtime>,
}

impl Server {
    /// On a free port of 127.0.0.1, with the test certificate of that name.
    pub(crate) fn start(pki: &Path, certificate: &str) -> Self {
        Self::start_with(pki, certificate, &[b"h3"], "127.0.0.1:0".parse().unwrap())
    }

    pub(crate) fn start_with(pki: &Path, certificate: &str, alpn: &[&[u8]], address: SocketAddr) -> Self {
        let chain = CertificateDer::pem_file_iter(pki.join(format!("{certificate}.pem"))).unwrap();
        let key = PrivateKeyDer::from_pem_file(pki.join(format!("{certificate}.key.pem"))).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = rustls::ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain.map(Result::unwrap).collect(), key)
            .unwrap();
        tls.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
        tls.max_early_data_size = u32::MAX;
        let config = quinn::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls).unwrap()));
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let state = Arc::new(State::default());
        let endpoint = {
            let _within = runtime.enter();
            quinn::Endpoint::server(config, address).unwrap()
        };
        let port = endpoint.local_addr().unwrap().port();
        runtime.spawn(accept(endpoint, state.clone()));
        Self { port, state, runtime: Some(runtime) }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://127.0.0.1:{}{path}", self.port)
    }

    pub(crate) fn put(&self, path: &str, file: File) {
        self.state.files.lock().unwrap().insert(path.into(), file);
    }

    /// What was asked for since the last call.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        std::mem::take(&mut *self.state.seen.lock().unwrap())
    }

    /// How many connections were made so far.
    pub(crate) fn connections(&self) -> usize {
        *self.state.accepted.lock().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.runtime.take().unwrap().shutdown_background();
    }
}

async fn accept(endpoint: quinn::Endpoint, state: Arc<State>) {
    while let Some(incoming) = endpoint.accept().await {
        let number = {
            let mut accepted = state.accepted.lock().unwrap();
            *accepted += 1;
            *accepted
        };
        let state = state.clone();
        tokio::spawn(async move {
            let Ok(connection) = incoming.await else { return };
            let data = connection
                .handshake_data()
                .and_then(|data| data.downcast::<quinn::crypto::rustls::HandshakeData>().ok()?.protocol);
            match data.as_deref() {
                Some(b"hq-interop") => serve_plain(connection, state).await,
                _ => serve(connection, state, number).await,
            }
        });
    }
}

async fn serve(connection: quinn::Connection, state: Arc<State>, number: usize) {
    let quic = connection.clone();
    let transport = h3_quinn::Connection::new(connection);
    let Ok(mut http) = h3::server::Connection::<_, Bytes>::new(transport).await else { return };
    loop {
        match http.accept().await {
            Ok(Some(resolver)) => {
                let Ok((request, stream)) = resolver.resolve_request().await else { continue };
                if request.uri().path() == "/goaway" {
                    // The request in front of it is answered; what comes after is not.
                    http.shutdown(0).await.unwrap();
                }
                if request.uri().path() == "/vanish" {
                    quic.close(quinn::VarInt::from_u32(0x102), b"vanished");
                    return;
                }
                let state = state.clone();
                tokio::spawn(async move { answer(request, stream, state, number).await });
            }
            Ok(None) => return,
            Err(_) => return,
        }
    }
}

/// HTTP/0.9: a line, and the content alone.
async fn serve_plain(connection: quinn::Connection, state: Arc<State>) {
    while let Ok((mut send, mut recv)) = connection.accept_bi().await {
        let Ok(request) = recv.read_to_end(1000).await else { continue };
        let request = String::from_utf8(request).unwrap();
        let path = request.strip_prefix("GET ").unwrap().trim_end();
        let file = state.files.lock().unwrap().get(path).cloned();
        match file {
            Some(file) => {
                let _ = send.write_all(&file.content).await;
                let _ = send.finish();
            }
            None => drop(send.reset(quinn::VarInt::from_u32(1))),
        }
    }
}

type Stream = RequestStream<h3_quinn::BidiStream<Bytes>, Bytes>;

/// An error is the client's: it has gone.
async fn answer(
    request: Request<()>,
    mut stream: Stream,
    state: Arc<State>,
    connection: usize,
) -> Result<(), h3::error::StreamError> {
    let path = request.uri().path().to_owned();
    let query = request.uri().query().unwrap_or_default().to_owned();
    if path == "/refuse" {
        // Enough was heard before the body is there.
        stream.stop_sending(Code::H3_NO_ERROR);
        stream.send_response(Response::builder().status(413).body(()).unwrap()).await?;
        return stream.finish().await;
    }
    let mut body = Vec::new();
    while let Some(mut piece) = stream.recv_data().await? {
        body.extend_from_slice(&piece.copy_to_bytes(piece.remaining()));
    }
    state.seen.lock().unwrap().push(Seen {
        method: request.method().to_string(),
        uri: request.uri().to_string(),
        headers: request.headers().clone(),
        body: body.clone(),
        connection,
    });
    let redirect = |status: u16, location: &str| {
        Response::builder().status(status).header("location", location).body(()).unwrap()
    };
    let file = state.files.lock().unwrap().get(&path).cloned();
    if let Some(file) = file {
        return send_file(&request, stream, &state, &path, file).await;
    }
    let (response, content): (_, Bytes) = match path.as_str() {
        "/echo" => (Response::new(()), body.into()),
        "/loop" => (redirect(302, "/loop"), Bytes::new()),
        "/redirect" => {
            let (status, location) = query.split_once('=').unwrap();
            (redirect(status.parse().unwrap(), location), Bytes::from_static(b"elsewhere"))
        }
        "/status" => {
            let response = Response::builder().status(query.parse::<u16>().unwrap()).body(()).unwrap();
            (response, Bytes::from_static(b"an error page\n"))
        }
        "/busy" => {
            let mut failures = state.failures.lock().unwrap();
            let count = failures.entry(query.clone()).or_default();
            *count += 1;
            let status = if *count == 1 { 503 } else { 200 };
            (Response::builder().status(status).body(()).unwrap(), Bytes::from_static(b"at last\n"))
        }
        "/hang" => {
            tokio::time::sleep(Duration::from_secs(60)).await;
            (Response::new(()), Bytes::new())
        }
        "/large-header" => {
            let response = Response::builder().header("x-large", "x".repeat(60_000)).body(()).unwrap();
            (response, Bytes::from_static(b"fits\n"))
        }
        "/too-large-header" => {
            let response = Response::builder().header("x-large", "x".repeat(400_000)).body(()).unwrap();
            (response, Bytes::new())
        }
        "/interim" => {
            stream.send_response(Response::builder().status(103).body(()).unwrap()).await?;
            (Response::new(()), Bytes::from_static(b"after all\n"))
        }
        "/escape" => {
            let response = Response::builder().header("x-odd", "a\tb").body(()).unwrap();
            (response, Bytes::from_static(b"odd\n"))
        }
        "/short" => {
            // Less than is announced, and a clean end.
            let response = Response::builder().header("content-length", "100").body(()).unwrap();
            (response, Bytes::from_static(b"only this"))
        }
        "/goaway" => (Response::new(()), Bytes::from_static(b"the last\n")),
        _ => (Response::builder().status(404).body(()).unwrap(), Bytes::from_static(b"nothing here\n")),
    };
    stream.send_response(response).await?;
    if request.method() != "HEAD" && !content.is_empty() {
        stream.send_data(content).await?;
    }
    stream.finish().await
}

async fn send_file(
    request: &Request<()>,
    mut stream: Stream,
    state: &State,
    path: &str,
    file: File,
) -> Result<(), h3::error::StreamError> {
    let total = file.content.len();
    let field = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    let same = field("if-range").is_none_or(|tag| Some(tag) == file.etag);
    let range =
        field("range").filter(|_| same && !file.no_ranges).and_then(|range| range.strip_prefix("bytes="));
    let bounds = range.map(|range| {
        let (first, last) = range.split_once('-').unwrap();
        match first {
            "" => (total.saturating_sub(last.parse().unwrap()), total),
            first => (first.parse().unwrap(), last.parse().map_or(total, |last: usize| total.min(last + 1))),
        }
    });
    let mut response = Response::builder().header("content-type", "application/octet-stream");
    if let Some(tag) = file.etag {
        response = response.header("etag", tag);
    }
    let content = match bounds {
        Some((first, _)) if first >= total => {
            let response = response.status(416).header("content-range", format!("bytes */{total}"));
            stream.send_response(response.body(()).unwrap()).await?;
            return stream.finish().await;
        }
        Some((first, end)) => {
            let range = format!("bytes {first}-{}/{total}", end - 1);
            response = response.status(206).header("content-range", range);
            file.content.slice(first..end)
        }
        None => file.content.clone(),
    };
    response = response.header("content-length", content.len());
    stream.send_response(response.body(()).unwrap()).await?;
    if request.method() == "HEAD" {
        return stream.finish().await;
    }
    let cut = {
        let mut files = state.files.lock().unwrap();
        files.get_mut(path).and_then(|file| file.cut.take())
    };
    let sent = content.slice(..cut.unwrap_or(content.len()).min(content.len()));
    for start in (0..sent.len()).step_by(64 << 10) {
        stream.send_data(sent.slice(start..sent.len().min(start + (64 << 10)))).await?;
        if let Some(pause) = file.slow {
            tokio::time::sleep(pause).await;
        }
    }
    if cut.is_some() {
        // What was sent arrives before the stream ends.
        tokio::time::sleep(Duration::from_millis(300)).await;
        stream.stop_stream(Code::H3_INTERNAL_ERROR);
        return Ok(());
    }
    stream.finish().await
}
