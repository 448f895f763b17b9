//! A QUIC endpoint (RFC 9000, RFC 9001, RFC 9221) that runs inside a WebAssembly component or natively.
//!
//! The names are those of quinn 0.11, so that a program written for quinn mostly needs its `use` lines changed;
//! `docs/quinn.md` in the repository lists every difference. The protocol state machine is quinn-proto's, built
//! without *ring* and aws-lc; the TLS session on top of [`rustls::quic`] is this crate's, and works with any rustls
//! [`CryptoProvider`](rustls::crypto::CryptoProvider). Where a constructor needs a provider and none was given it
//! uses [`sandquic_rustls::provider()`].
//!
//! ```no_run
//! # async fn f() -> Result<(), Box<dyn std::error::Error>> {
//! let mut roots = rustls::RootCertStore::empty();
//! # let ca = rustls::pki_types::CertificateDer::from(vec![]);
//! roots.add(ca)?;
//! let mut endpoint = sandquic::Endpoint::client("0.0.0.0:0".parse()?)?;
//! endpoint.set_default_client_config(sandquic::ClientConfig::with_root_certificates(roots.into())?);
//! let connection = endpoint.connect("127.0.0.1:4433".parse()?, "localhost")?.await?;
//! let (mut send, mut recv) = connection.open_bi().await?;
//! send.write_all(b"hello").await?;
//! send.finish()?;
//! let answer = recv.read_to_end(64 * 1024).await?;
//! # Ok(()) }
//! ```
//!
//! # How it runs
//!
//! Each [`Endpoint`] has one driver task and one state behind a mutex, which holds all of its connections. A turn of
//! the driver receives what has arrived (a bounded batch), handles it, runs the timers that are due, then builds and
//! sends the datagrams of every connection that has something to say. A call of the application marks its
//! connection and wakes the driver. The clock is read once a turn, through the [`Runtime`].
//!
//! The driver task and the sockets come from a [`Runtime`]:
//! - natively, from `async-io` and `quinn-udp` (segmentation offloads, several datagrams a system call);
//! - under WASI 0.3, from `wasi:sockets` and `wasi:clocks`;
//! - under WASI 0.2 (feature `wasip2`), from the same and `wasi:io/poll`, several datagrams a call of the host.
//!
//! [`block_on`], [`spawn`] and [`sleep`] are the same on both. Natively an endpoint made outside [`block_on`], say in
//! a tokio program, is driven by one background thread of this crate, and its futures can be awaited anywhere.
//!
//! # Which types are `Send`
//!
//! All of them, and their futures, on every driver: [`Endpoint`], [`Incoming`], [`Connecting`], [`Connection`],
//! [`SendStream`], [`RecvStream`], [`Task`]. The future given to [`spawn`] must be `Send` natively, and need not be
//! under WASI, where there is one thread.
#![forbid(unsafe_code)]

mod command;
mod config;
mod connection;
mod driver;
mod endpoint;
#[cfg(feature = "h3")]
pub mod h3;
mod incoming;
pub mod instance;
mod recv_stream;
mod runtime;
mod send_stream;
mod session;
mod state;
pub mod udp;
mod waiters;

pub use quinn_proto::{
    AckFrequencyConfig, ApplicationClose, BloomTokenLog, Chunk, ClosedStream, ConfigError, ConnectError,
    ConnectionClose, ConnectionError, ConnectionId, ConnectionIdGenerator, ConnectionStats, Dir,
    EcnCodepoint, FrameStats, FrameType, HashedConnectionIdGenerator, IdleTimeout, InvalidCid,
    MtuDiscoveryConfig, NoneTokenLog, NoneTokenStore, PathStats, RandomConnectionIdGenerator, Side,
    StdSystemTime, StreamId, TimeSource, TokenLog, TokenMemoryCache, TokenReuseError, TokenStore, Transmit,
    TransportConfig, TransportError, TransportErrorCode, UdpStats, ValidationTokenConfig, VarInt,
    VarIntBoundsExceeded, Written, congestion,
};
#[cfg(feature = "qlog")]
pub use quinn_proto::{QlogConfig, QlogStream};
pub use rustls;

pub use crate::config::{ClientConfig, EndpointConfig, ServerConfig};
pub use crate::connection::{
    AcceptBi, AcceptUni, Connecting, Connection, OpenBi, OpenUni, ReadDatagram, SendDatagram,
    SendDatagramError, ZeroRttAccepted,
};
#[doc(hidden)]
pub use crate::driver::__private;
#[cfg(not(target_family = "wasm"))]
pub use crate::driver::NativeRuntime;
#[cfg(target_os = "wasi")]
pub use crate::driver::WasiRuntime;
pub use crate::driver::{
    IntoSocket, JoinError, Sleep, SocketBuffers, SocketOptions, Task, UdpSocket, block_on, sleep, spawn,
    stdin_closed,
};
pub use crate::endpoint::{Accept, Endpoint, EndpointStats};
pub use crate::incoming::{Incoming, IncomingFuture, RetryError};
pub use crate::recv_stream::{ReadError, ReadExactError, ReadToEndError, RecvStream, ResetError};
pub use crate::runtime::{AsyncTimer, AsyncUdpSocket, MaybeSend, Runtime, default_runtime};
pub use crate::send_stream::{SendStream, StoppedError, WriteError};

/// The traits between the protocol and its cryptography, and their implementation on rustls.
pub mod crypto {
    pub use quinn_proto::crypto::*;

    /// The TLS session on `rustls::quic`, for every rustls provider that has QUIC keys.
    pub mod rustls {
        pub use crate::session::{
            HandshakeData, NoInitialCipherSuite, QuicClientConfig, QuicServerConfig, TlsSession,
        };
        pub use rustls::Error;
    }
}
