//! Serves the files of a folder over HTTP/3 and HTTP/0.9.

use std::net::SocketAddr;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use bytes::{Buf, Bytes};
use h3::server::RequestStream;
use h3_quinn::BidiStream;
use http::{Method, Request, Response, StatusCode};
use quinn::crypto::rustls::{HandshakeData, QuicServerConfig};

use super::{Error, certificates, private_key, provider, transport};

/// Command line of the server.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// Address and port to listen on.
    #[arg(long)]
    listen: SocketAddr,
    /// The server's certificate (PEM).
    #[arg(long)]
    cert: PathBuf,
    /// The server's private key (PEM).
    #[arg(long)]
    key: PathBuf,
    /// The folder that is served.
    #[arg(long)]
    root: PathBuf,
    /// Make clients prove their address first.
    #[arg(long)]
    retry: bool,
}

pub(crate) async fn run(args: Args) -> Result<(), Error> {
    let mut tls = rustls::ServerConfig::builder_with_provider(provider(None)?)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(certificates(&args.cert)?, private_key(&args.key)?)?;
    tls.alpn_protocols = [&b"h3"[..], b"hq-interop"].map(<[u8]>::to_vec).to_vec();
    tls.max_early_data_size = u32::MAX;
    tls.key_log = Arc::new(rustls::KeyLogFile::new());
    let mut config = quinn::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    config.transport_config(transport());
    let endpoint = quinn::Endpoint::server(config, args.listen)?;
    let root: Arc<Path> = args.root.into();
    while let Some(incoming) = endpoint.accept().await {
        if args.retry && !incoming.remote_address_validated() {
            incoming.retry()?;
            continue;
        }
        let root = root.clone();
        tokio::spawn(async move {
            if let Err(error) = connection(incoming, root).await {
                eprintln!("connection: {error}");
            }
        });
    }
    Ok(())
}

async fn connection(incoming: quinn::Incoming, root: Arc<Path>) -> Result<(), Error> {
    let connection = incoming.await?;
    let data = connection.handshake_data().and_then(|data| data.downcast::<HandshakeData>().ok());
    let alpn = data.and_then(|data| data.protocol).unwrap_or_default();
    eprintln!("handshake: {} from {}", String::from_utf8_lossy(&alpn), connection.remote_address());
    if alpn == b"h3" { over_h3(connection, root).await } else { over_hq(connection, root).await }
}

async fn over_h3(connection: quinn::Connection, root: Arc<Path>) -> Result<(), Error> {
    let mut http = h3::server::Connection::<_, Bytes>::new(h3_quinn::Connection::new(connection)).await?;
    while let Some(resolver) = http.accept().await? {
        let root = root.clone();
        tokio::spawn(async move {
            let answered = async {
                let (request, stream) = resolver.resolve_request().await?;
                answer(request, stream, &root).await
            };
            if let Err(error) = answered.await {
                eprintln!("request: {error}");
            }
        });
    }
    Ok(())
}

async fn answer(
    request: Request<()>,
    mut stream: RequestStream<BidiStream<Bytes>, Bytes>,
    root: &Path,
) -> Result<(), Error> {
    if [Method::PUT, Method::POST].contains(request.method()) {
        let mut received = 0;
        while let Some(chunk) = stream.recv_data().await? {
            received += chunk.remaining();
        }
        eprintln!("upload: {received} bytes");
        stream.send_response(Response::new(())).await?;
        stream.send_data(format!("{received}\n").into()).await?;
        return Ok(stream.finish().await?);
    }
    let Some(mut content) = read(root, request.uri().path()) else {
        let response = Response::builder().status(StatusCode::NOT_FOUND).body(())?;
        stream.send_response(response).await?;
        return Ok(stream.finish().await?);
    };
    let mut response = Response::builder();
    if let Some((first, last)) = range(&request, content.len()) {
        response = response
            .status(StatusCode::PARTIAL_CONTENT)
            .header("content-range", format!("bytes {first}-{last}/{}", content.len()));
        content = content.slice(first..=last);
    }
    let response = response.header("content-length", content.len()).body(())?;
    stream.send_response(response).await?;
    if request.method() != Method::HEAD {
        stream.send_data(content).await?;
    }
    Ok(stream.finish().await?)
}

/// First and last byte, where the request asks for such a range and the content has it.
fn range(request: &Request<()>, length: usize) -> Option<(usize, usize)> {
    let value = request.headers().get("range")?.to_str().ok()?;
    let (first, last) = value.strip_prefix("bytes=")?.split_once('-')?;
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last && last < length).then_some((first, last))
}

async fn over_hq(connection: quinn::Connection, root: Arc<Path>) -> Result<(), Error> {
    loop {
        let (mut send, mut receive) = connection.accept_bi().await?;
        let root = root.clone();
        tokio::spawn(async move {
            let answered = async {
                let line = String::from_utf8(receive.read_to_end(4_096).await?)?;
                let path = line.trim_end().strip_prefix("GET ").ok_or("not a GET")?;
                let content = read(&root, path).ok_or("no such file")?;
                send.write_all(&content).await?;
                send.finish()?;
                Ok::<_, Error>(())
            };
            if let Err(error) = answered.await {
                eprintln!("stream: {error}");
            }
        });
    }
}

/// The content of a file under `root`, if the path names one.
fn read(root: &Path, path: &str) -> Option<Bytes> {
    let relative = Path::new(path.trim_start_matches('/'));
    let inside = relative.components().all(|part| matches!(part, Component::Normal(_)));
    inside.then(|| std::fs::read(root.join(relative)).ok().map(Bytes::from)).flatten()
}
