//! Sending and receiving one file over QUIC: the protocol, and both of its sides as programs.
//!
//! The same code is the transfer components of the sandbox and the native peers of the benchmarks. Both sides are
//! functions from a command line to an exit status: [`client`] and [`server`].
//!
//! # The protocol
//!
//! The ALPN name is [`ALPN`]. The client opens a bidirectional stream for each request; integers are big-endian.
//!
//! | request | client sends | server answers |
//! | --- | --- | --- |
//! | get | `00`, end once it has the content | length (u64), XXH64 of the content with seed 0 (u64), the content, end |
//! | put | `01`, length (u64), the content, end | length received (u64), XXH64 of what was received (u64), end |
//!
//! By the end of its side the client says that all has come; it waits until that is acknowledged before it closes the
//! connection, so that the server learns of it even if the close is lost. Where only short connections are counted
//! (`--handshakes`), the end comes with the request.
//!
//! A server answers before the handshake is complete where a client asks so early (0-RTT): a request changes nothing, so
//! it may be replayed.
//!
//! The checksum shows that everything arrived, whole and in order, at the same cost in every build. It proves
//! nothing about who sent it: that is TLS's part.

#![forbid(unsafe_code)]

mod client;
mod content;
mod error;
mod handshakes;
mod options;
mod progress;
mod report;
mod say;
mod server;
mod tls;

pub use client::client;
pub use content::{Pattern, checksum};
pub use error::Error;
pub use options::{
    CLIENT_USAGE, ClientOptions, Direction, Handshakes, Mode, SERVER_USAGE, ServerOptions, Source, size,
};
pub use report::{HandshakesReport, Report, median};
pub use server::server;
pub use tls::{CipherName, Providers, SandquicProvider, Tickets, Verifications};

/// Runs the side that the first of the arguments names, `client` or `server`, with the others as its flags. Returns the
/// exit status.
pub async fn peer(arguments: &[String], providers: &impl Providers) -> u8 {
    match arguments.split_first() {
        Some((role, flags)) if role == "client" => client(flags, providers).await,
        Some((role, flags)) if role == "server" => server(flags, providers).await,
        _ => {
            say::complain("say first what to be: client or server; then --help shows the flags");
            2
        }
    }
}

/// The protocol's name in TLS.
pub const ALPN: &[u8] = b"sandquic-transfer/1";

/// First byte of a request for the server's content.
pub const GET: u8 = 0;

/// First byte of a request that carries content to the server.
pub const PUT: u8 = 1;

/// Codes with which a side closes the connection or resets a stream (RFC 9000, 20.2).
pub mod code {
    use sandquic::VarInt;

    /// All is done.
    pub const DONE: VarInt = VarInt::from_u32(0);
    /// The request is none that this protocol has.
    pub const BAD_REQUEST: VarInt = VarInt::from_u32(1);
    /// The server cannot read its content.
    pub const NO_CONTENT: VarInt = VarInt::from_u32(2);
    /// The other side sent more or fewer bytes than it had said.
    pub const BAD_LENGTH: VarInt = VarInt::from_u32(3);
}

/// The sizes of socket buffers to ask for; `None` leaves the system's own.
pub(crate) fn socket_options(
    recv_buffer: Option<usize>,
    send_buffer: Option<usize>,
) -> sandquic::SocketOptions {
    let mut options = sandquic::SocketOptions::new();
    if let Some(bytes) = recv_buffer {
        options = options.recv_buffer(bytes);
    }
    if let Some(bytes) = send_buffer {
        options = options.send_buffer(bytes);
    }
    options
}

/// An endpoint on a socket of its own; with `mtu`, it lets peers send packets of that many bytes of UDP payload.
pub(crate) fn endpoint(
    server: Option<sandquic::ServerConfig>,
    local: std::net::SocketAddr,
    options: &sandquic::SocketOptions,
    mtu: Option<u16>,
) -> Result<sandquic::Endpoint, Error> {
    let mut config = sandquic::EndpointConfig::default();
    if let Some(mtu) = mtu {
        config
            .max_udp_payload_size(mtu)
            .map_err(|error| Error::Usage(format!("--mtu {mtu} cannot be used: {error}")))?;
    }
    let runtime =
        sandquic::default_runtime().ok_or_else(|| Error::Failed("this platform has no sockets".into()))?;
    sandquic::UdpSocket::bind_with(local, options)
        .and_then(|socket| sandquic::Endpoint::new(config, server, socket, runtime))
        .map_err(|e| error::socket(local, &e))
}

/// The sizes of the receive and the send buffer that the system granted; 0 where it does not say.
pub(crate) fn granted_buffers(endpoint: &sandquic::Endpoint) -> (usize, usize) {
    endpoint.socket_buffers().map_or((0, 0), |buffers| (buffers.recv, buffers.send))
}
