//! What a client and a server are asked to do in a case, whoever they are.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::files::Site;

/// A protocol above QUIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// HTTP/3 (RFC 9114).
    H3,
    /// HTTP/0.9 on streams, as interoperability tests have it.
    Hq,
}

impl Protocol {
    /// Its name in TLS.
    pub(crate) fn alpn(self) -> &'static str {
        match self {
            Self::H3 => "h3",
            Self::Hq => "hq-interop",
        }
    }
}

/// A cipher suite of TLS 1.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cipher {
    /// TLS_AES_128_GCM_SHA256.
    Aes128,
    /// TLS_AES_256_GCM_SHA384.
    Aes256,
    /// TLS_CHACHA20_POLY1305_SHA256.
    ChaCha20,
}

impl Cipher {
    /// Its AEAD's name, in lower case.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Aes128 => "aes-128-gcm",
            Self::Aes256 => "aes-256-gcm",
            Self::ChaCha20 => "chacha20-poly1305",
        }
    }

    /// Its number in TLS (RFC 8446 appendix B.4).
    pub(crate) fn number(self) -> u16 {
        match self {
            Self::Aes128 => 0x1301,
            Self::Aes256 => 0x1302,
            Self::ChaCha20 => 0x1303,
        }
    }
}

/// What the client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    /// Fetches all files at once over one connection.
    Fetch,
    /// Fetches each file over a connection of its own, one after another.
    Each,
    /// Fetches the first file, then the others over a second connection that resumes the session.
    Resume,
    /// As [`Act::Resume`], the requests of the second connection being early data.
    EarlyData,
    /// Fetches while it changes the keys.
    KeyUpdate,
    /// Fetches while it goes on from another port, on purpose.
    Migrate,
    /// As if a translator of addresses had given it another port: it knows nothing of it.
    Rebind,
    /// Offers a version first that the server does not know.
    Negotiate,
    /// Asks for headers alone.
    Head,
    /// Asks for the bytes [`RANGE`] of the file.
    Range,
    /// Uploads the file to where it is, by PUT.
    Upload,
    /// Shows the page in a browser.
    Page,
}

/// The bytes that [`Act::Range`] asks for: first and last.
pub(crate) const RANGE: (usize, usize) = (100_000, 299_999);

/// A client's task.
#[derive(Debug)]
pub(crate) struct ClientJob<'a> {
    /// Where the server, or the relay before it, is.
    pub(crate) server: SocketAddr,
    pub(crate) site: &'a Site,
    pub(crate) protocol: Protocol,
    /// What it fetches: paths without a first slash.
    pub(crate) paths: &'a [String],
    pub(crate) cipher: Option<Cipher>,
    pub(crate) act: Act,
    /// Folder of its own: for what it keeps.
    pub(crate) dir: &'a Path,
}

impl ClientJob<'_> {
    /// Folder for what is fetched, each file under the last part of its path.
    pub(crate) fn fetched(&self) -> PathBuf {
        self.dir.join("fetched")
    }

    /// File for the secrets of connections.
    pub(crate) fn keylog(&self) -> PathBuf {
        self.dir.join("client.keys")
    }

    /// The URLs, by the host's name.
    pub(crate) fn urls(&self) -> Vec<String> {
        self.paths.iter().map(|path| format!("https://{}/{path}", self.authority())).collect()
    }

    /// The host's name and the port.
    pub(crate) fn authority(&self) -> String {
        format!("localhost:{}", self.server.port())
    }

    /// What curl calls a resolution: name, port, address.
    pub(crate) fn resolution(&self) -> String {
        match self.server {
            SocketAddr::V4(server) => format!("localhost:{}:{}", server.port(), server.ip()),
            SocketAddr::V6(server) => format!("localhost:{}:[{}]", server.port(), server.ip()),
        }
    }
}

/// A server's task.
#[derive(Debug)]
pub(crate) struct ServerJob<'a> {
    /// Where it listens.
    pub(crate) listen: SocketAddr,
    pub(crate) site: &'a Site,
    /// The protocol that the client will ask for.
    pub(crate) protocol: Protocol,
    /// Whether its certificate is one of many kilobytes.
    pub(crate) large_certificate: bool,
    /// Whether clients have to prove their address first.
    pub(crate) retry: bool,
    /// What the client will do.
    pub(crate) act: Act,
    /// Folder of its own.
    pub(crate) dir: &'a Path,
}

impl ServerJob<'_> {
    /// Folder for what is uploaded.
    pub(crate) fn uploads(&self) -> PathBuf {
        self.dir.join("uploads")
    }

    /// File for the secrets of connections.
    pub(crate) fn keylog(&self) -> PathBuf {
        self.dir.join("server.keys")
    }
}
