//! Fetches files over HTTP/3 or HTTP/0.9.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use futures_util::future::{poll_fn, try_join_all};
use h3::client::SendRequest;
use h3_quinn::OpenStreams;
use http::{Method, Request};
use quinn::crypto::rustls::QuicClientConfig;

use super::{Error, certificates, initial, provider, transport};

/// Command line of the client.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// Where the server is.
    #[arg(long)]
    connect: SocketAddr,
    /// The certificate of the server's issuer (PEM).
    #[arg(long)]
    ca: PathBuf,
    /// The folder for what is fetched.
    #[arg(long)]
    out: PathBuf,
    /// The protocol to ask for.
    #[arg(long, default_value = "h3")]
    alpn: String,
    /// The cipher suite to offer.
    #[arg(long)]
    cipher: Option<String>,
    /// Fetch all but the first file over a second connection, which takes up the session: `resume`, or `early` to send the
    /// requests with the first packet.
    #[arg(long)]
    session: Option<String>,
    /// A connection for each file.
    #[arg(long)]
    each: bool,
    /// Change the keys meanwhile.
    #[arg(long)]
    key_update: bool,
    /// Go on from another port meanwhile.
    #[arg(long)]
    migrate: bool,
    /// The method.
    #[arg(long, default_value = "GET")]
    method: Method,
    /// The range to ask for.
    #[arg(long)]
    range: Option<String>,
    /// The file to upload.
    #[arg(long)]
    data: Option<PathBuf>,
    /// Paths of the files.
    #[arg(required = true)]
    paths: Vec<String>,
}

pub(crate) async fn run(args: Args) -> Result<(), Error> {
    let endpoint = quinn::Endpoint::client(any(args.connect))?;
    let config = configuration(&args)?;
    let session = args.session.as_deref();
    let connections = match session {
        Some(_) => vec![&args.paths[..1], &args.paths[1..]],
        None if args.each => args.paths.chunks(1).collect(),
        None => vec![&args.paths[..]],
    };
    for (number, paths) in connections.into_iter().enumerate() {
        let connecting = endpoint.connect_with(config.clone(), args.connect, "localhost")?;
        let (connection, early) = if number == 1 && session == Some("early") {
            let (connection, accepted) =
                connecting.into_0rtt().map_err(|_| "there is no session for early data")?;
            (connection, Some(accepted))
        } else {
            (connecting.await?, None)
        };
        let meanwhile = tokio::spawn(change(args.clone(), connection.clone(), endpoint.clone()));
        match args.alpn.as_str() {
            "h3" => over_h3(&args, connection.clone(), paths).await?,
            _ => over_hq(&args, &connection, paths).await?,
        }
        if let Some(accepted) = early {
            eprintln!("early data accepted: {}", accepted.await);
        }
        meanwhile.await??;
        if session.is_some() {
            // The ticket follows the handshake.
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        connection.close(0x100_u32.into(), b"");
        // Long enough for the packet that closes it to leave; the server has that to itself after.
        let _ = tokio::time::timeout(Duration::from_millis(20), endpoint.wait_idle()).await;
    }
    Ok(())
}

/// Any port, of the family of this address.
fn any(peer: SocketAddr) -> SocketAddr {
    match peer {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}

fn configuration(args: &Args) -> Result<quinn::ClientConfig, Error> {
    let mut roots = rustls::RootCertStore::empty();
    for certificate in certificates(&args.ca)? {
        roots.add(certificate)?;
    }
    let mut tls = rustls::ClientConfig::builder_with_provider(provider(args.cipher.as_deref())?)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![args.alpn.clone().into_bytes()];
    tls.enable_early_data = args.session.as_deref() == Some("early");
    tls.key_log = Arc::new(rustls::KeyLogFile::new());
    let mut config =
        quinn::ClientConfig::new(Arc::new(QuicClientConfig::with_initial(tls.into(), initial()?)?));
    config.transport_config(transport());
    Ok(config)
}

/// Changes what is to be changed while the files come.
async fn change(args: Args, connection: quinn::Connection, endpoint: quinn::Endpoint) -> Result<(), Error> {
    if args.key_update {
        tokio::time::sleep(Duration::from_millis(60)).await;
        connection.force_key_update();
        eprintln!("keys updated");
    }
    if args.migrate {
        tokio::time::sleep(Duration::from_millis(60)).await;
        endpoint.rebind(UdpSocket::bind(any(args.connect))?)?;
        eprintln!("port changed");
    }
    Ok(())
}

async fn over_h3(args: &Args, connection: quinn::Connection, paths: &[String]) -> Result<(), Error> {
    let (mut driver, requests) = h3::client::new(h3_quinn::Connection::new(connection)).await?;
    let driving = tokio::spawn(async move { poll_fn(|cx| driver.poll_close(cx)).await });
    try_join_all(paths.iter().map(|path| fetch(args, requests.clone(), path))).await?;
    driving.abort();
    Ok(())
}

async fn fetch(args: &Args, mut requests: SendRequest<OpenStreams, Bytes>, path: &str) -> Result<(), Error> {
    let mut request = Request::builder()
        .method(&args.method)
        .uri(format!("https://localhost:{}/{path}", args.connect.port()));
    if let Some(range) = &args.range {
        request = request.header("range", range);
    }
    let mut stream = requests.send_request(request.body(())?).await?;
    if let Some(data) = &args.data {
        stream.send_data(std::fs::read(data)?.into()).await?;
    }
    stream.finish().await?;
    let response = stream.recv_response().await?;
    eprintln!("response: {path}: {} {:?}", response.status(), response.headers());
    if !response.status().is_success() {
        return Err(format!("{path}: status {}", response.status()).into());
    }
    let mut content = Vec::new();
    while let Some(mut chunk) = stream.recv_data().await? {
        let length = chunk.remaining();
        content.extend_from_slice(&chunk.copy_to_bytes(length));
    }
    write(args, path, &content)
}

async fn over_hq(args: &Args, connection: &quinn::Connection, paths: &[String]) -> Result<(), Error> {
    let fetch = async |path: &String| {
        let (mut send, mut receive) = connection.open_bi().await?;
        send.write_all(format!("GET /{path}\r\n").as_bytes()).await?;
        send.finish()?;
        write(args, path, &receive.read_to_end(64 << 20).await?)
    };
    try_join_all(paths.iter().map(fetch)).await?;
    Ok(())
}

fn write(args: &Args, path: &str, content: &[u8]) -> Result<(), Error> {
    let name = path.rsplit('/').next().unwrap_or(path);
    Ok(std::fs::write(args.out.join(name), content)?)
}
