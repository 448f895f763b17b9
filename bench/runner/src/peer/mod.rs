//! The native ends of a transfer, each a process of its own: stock quinn on tokio and ring, and the client of this
//! project built natively.
//!
//! The protocol is that of the transfer components (ALPN `sandquic-transfer/1`, integers big-endian). The client opens
//! one bidirectional stream:
//! - GET: the client sends `0x00` and finishes its side; the server answers with the length (8 bytes), the XXH64 (seed
//!   0, 8 bytes) of the whole content and the content, and finishes.
//! - PUT: the client sends `0x01`, the length (8 bytes) and the content, and finishes; the server answers with the length
//!   received and its XXH64, and finishes.
//!
//! XXH64 finds what was lost, doubled or swapped on the way; it proves nothing about who sent it (TLS does).

mod client;
mod config;
mod content;
mod endpoint;
mod handshakes;
pub mod relay;
mod report;
mod server;

use std::net::SocketAddr;
use std::path::PathBuf;

pub use relay::{Args as RelayArgs, Counts as RelayCounts, Report as RelayReport};
pub use report::{HandshakesReport, Packets, Report};

use crate::choice::display_by_value;
use crate::units::parse_size;
use crate::{Error, transfer};

/// The protocol's name in TLS.
pub const ALPN: &[u8] = b"sandquic-transfer/1";

/// First byte of a stream: send me the content.
pub(crate) const GET: u8 = 0;
/// First byte of a stream: here is content.
const PUT: u8 = 1;

/// Command line of `sandquic bench-peer`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Which end to be.
    #[command(subcommand)]
    pub role: Role,
}

/// One end of a transfer.
#[derive(Debug, Clone, clap::Subcommand)]
pub enum Role {
    /// Fetches (or with --put uploads) over QUIC and reports what arrived.
    Client(ClientArgs),
    /// Serves a file, or bytes of a pattern, over QUIC.
    Server(ServerArgs),
    /// Carries datagrams between clients and a server, and loses or delays them on the way.
    Relay(relay::Args),
    /// The transfer client of this project, built natively: its endpoint over quinn-udp, its own ciphers.
    SandquicClient(SandquicClientArgs),
    /// Moves datagrams from one socket to another, for `sandquic bench udp`.
    UdpPairs(crate::udp::PairsArgs),
}

/// Command line of the project's own client, which reads it itself.
#[derive(Debug, Clone, clap::Args)]
pub struct SandquicClientArgs {
    /// The flags of the transfer-client component.
    #[arg(value_name = "FLAGS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<String>,
}

/// Command line of the client; the flags are those of the transfer-client component.
#[derive(Debug, Clone, clap::Args)]
pub struct ClientArgs {
    /// Server's address and port.
    #[arg(long, value_name = "ADDR:PORT")]
    pub connect: SocketAddr,
    /// Name that the server's certificate must bear.
    #[arg(long, value_name = "NAME", default_value = "localhost")]
    pub server_name: String,
    /// Certificates (PEM) that may have issued the server's.
    #[arg(long, value_name = "FILE")]
    pub ca: PathBuf,
    /// The only cipher suite to offer; all three without it.
    #[arg(long, value_enum)]
    pub cipher: Option<transfer::Cipher>,
    /// Upload this file instead of fetching.
    #[arg(long, value_name = "FILE", conflicts_with = "out")]
    pub put: Option<PathBuf>,
    /// Upload so many bytes of a pattern instead of fetching.
    #[arg(long, value_name = "BYTES", value_parser = parse_size, conflicts_with_all = ["out", "put"])]
    pub put_size: Option<u64>,
    /// Write what arrives to this file.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Size of the socket's receive buffer to ask for.
    #[arg(long, value_name = "BYTES", value_parser = parse_size, default_value = "8MiB")]
    pub recv_buffer: u64,
    /// Size of the socket's send buffer to ask for.
    #[arg(long, value_name = "BYTES", value_parser = parse_size, default_value = "8MiB")]
    pub send_buffer: u64,
    /// Size of the UDP payload of every full packet; fixed, so nothing is discovered.
    #[arg(long, value_name = "BYTES", value_parser = parse_mtu)]
    pub mtu: Option<u16>,
    /// Instead of a transfer, make so many connections one after another and fetch the content over each.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000),
          conflicts_with_all = ["connections", "put", "put_size", "out"])]
    pub handshakes: Option<u32>,
    /// What one of these connections takes over from those before it. Where it takes something over, one connection more
    /// comes first, which is not counted.
    #[arg(long, value_enum, default_value_t = Mode::Full, requires = "handshakes")]
    pub mode: Mode,
    /// How many connections to use at once, each with a transfer of its own.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub connections: u32,
    /// End a connection on which nothing was heard for so long.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub idle_timeout: u32,
    /// Tell on standard error how many bytes have arrived, at most ten times a second.
    #[arg(long)]
    pub progress: bool,
    /// Print one line of JSON a connection.
    #[arg(long)]
    pub json: bool,
    /// Most bytes that may be on the way unacknowledged when uploading.
    #[arg(long, value_name = "BYTES", value_parser = parse_size, default_value = "4MiB")]
    pub window: u64,
}

/// Command line of the server; the flags are those of the transfer-server component.
#[derive(Debug, Clone, clap::Args)]
pub struct ServerArgs {
    /// Address and port to listen on; port 0 picks a free one.
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: SocketAddr,
    /// Certificate chain (PEM), the server's own first.
    #[arg(long, value_name = "FILE")]
    pub cert: PathBuf,
    /// Private key (PEM).
    #[arg(long, value_name = "FILE")]
    pub key: PathBuf,
    /// Serve this file.
    #[arg(long, value_name = "FILE", conflicts_with = "size", required_unless_present = "size")]
    pub file: Option<PathBuf>,
    /// Serve so many bytes of a pattern.
    #[arg(long, value_name = "BYTES", value_parser = parse_size)]
    pub size: Option<u64>,
    /// End after one connection; the same as --connections 1.
    #[arg(long, conflicts_with = "connections")]
    pub once: bool,
    /// End after so many connections.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub connections: Option<u64>,
    /// Size of the socket's receive buffer to ask for.
    #[arg(long, value_name = "BYTES", value_parser = parse_size, default_value = "8MiB")]
    pub recv_buffer: u64,
    /// Size of the socket's send buffer to ask for.
    #[arg(long, value_name = "BYTES", value_parser = parse_size, default_value = "8MiB")]
    pub send_buffer: u64,
    /// Size of the UDP payload of every full packet; fixed, so nothing is discovered.
    #[arg(long, value_name = "BYTES", value_parser = parse_mtu)]
    pub mtu: Option<u16>,
    /// Make every client prove its address first (RFC 9000 section 8.1.2).
    #[arg(long)]
    pub retry: bool,
    /// Most bytes that may be on the way unacknowledged.
    #[arg(long, value_name = "BYTES", value_parser = parse_size, default_value = "4MiB")]
    pub window: u64,
    /// End when standard input is closed, which happens at the latest when the process that started this one ends.
    #[arg(long)]
    pub until_stdin_closes: bool,
}

/// What a short connection takes over from those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Mode {
    /// Nothing: every handshake is a full one.
    Full,
    /// The session.
    Resumed,
    /// The session, and the request goes out with the first packet (0-RTT).
    EarlyData,
}

display_by_value!(Mode);

/// A client's configuration of stock quinn.
pub(crate) fn client_config(args: &ClientArgs) -> Result<quinn::ClientConfig, Error> {
    Ok(config::client(args)?.0)
}

/// Parses a size of UDP payloads: from the least that QUIC requires (RFC 9000 section 14) to a jumbo frame.
fn parse_mtu(text: &str) -> Result<u16, String> {
    parse_size(text)?
        .try_into()
        .ok()
        .filter(|mtu| (1_200..=9_000).contains(mtu))
        .ok_or_else(|| "the payload of UDP has 1200 to 9000 bytes".into())
}

/// Runs one end of a transfer until it is done. The client prints a line for each connection, the server
/// `listening ADDR:PORT` once it does, both on standard output.
///
/// # Errors
/// One line that says what failed: an unreadable file, a refused address, a failed handshake, bytes that are not those
/// that were sent.
pub fn run(args: Args) -> Result<(), Error> {
    let role = match args.role {
        Role::Client(args) => OnTokio::Client(args),
        Role::Server(args) => OnTokio::Server(args),
        Role::Relay(args) => OnTokio::Relay(args),
        Role::UdpPairs(args) => return crate::udp::pairs(&args),
        Role::SandquicClient(args) => {
            let providers = sandquic_transfer::SandquicProvider;
            let status = sandquic::block_on(sandquic_transfer::client(&args.arguments, &providers));
            // It has said what there is to say; this process exists for nothing else.
            std::process::exit(status.into());
        }
    };
    // On one processor a second thread only adds switches between the two.
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
    let mut runtime = match threads {
        1 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = runtime
        .enable_all()
        .build()
        .map_err(|error| Error::failed(format!("cannot start tokio: {error}")))?;
    // A task of the runtime, so that with several threads no other thread has to be woken for each read.
    let task = match role {
        OnTokio::Client(args) => runtime.spawn(client::run(args)),
        OnTokio::Server(args) => runtime.spawn(server::run(args)),
        OnTokio::Relay(args) => runtime.spawn(relay::run(args)),
    };
    runtime.block_on(task).map_err(|error| Error::failed(format!("the peer's task failed: {error}")))?
}

/// The roles on tokio: stock quinn's, and the relay.
enum OnTokio {
    Client(ClientArgs),
    Server(ServerArgs),
    Relay(relay::Args),
}
