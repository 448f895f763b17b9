//! What passes between an endpoint and its socket.

use std::net::{IpAddr, SocketAddr};

use bytes::BytesMut;
use quinn_proto::EcnCodepoint;

/// One or several datagrams of equal size to send to one destination.
#[derive(Debug, Clone)]
pub struct Transmit<'a> {
    /// Where to send.
    pub destination: SocketAddr,
    /// The ECN bits to set in the IP header, where the socket can.
    pub ecn: Option<EcnCodepoint>,
    /// The bytes of all datagrams, one after another.
    pub contents: &'a [u8],
    /// The size in bytes of each datagram but the last, which may be shorter; `None` means that `contents` is one
    /// datagram.
    pub segment_size: Option<usize>,
    /// The source address to send from, where the socket can choose.
    pub src_ip: Option<IpAddr>,
}

impl Transmit<'_> {
    /// The datagrams, each as a slice.
    pub fn segments(&self) -> impl Iterator<Item = &[u8]> {
        self.contents.chunks(self.segment_size.unwrap_or(self.contents.len()).max(1))
    }
}

/// One or several datagrams that arrived from one sender.
#[derive(Debug)]
pub struct Received {
    /// The bytes of all datagrams, one after another. The endpoint takes them over without a copy.
    pub contents: BytesMut,
    /// The size in bytes of each datagram but the last, which may be shorter. Equal to the length of `contents` for
    /// a single datagram.
    pub stride: usize,
    /// The sender.
    pub addr: SocketAddr,
    /// The ECN bits of the IP header, where known.
    pub ecn: Option<EcnCodepoint>,
    /// The address that the datagrams were sent to, where known.
    pub dst_ip: Option<IpAddr>,
}

impl Received {
    /// A single datagram from `addr`, of which nothing else is known.
    pub fn datagram(contents: BytesMut, addr: SocketAddr) -> Self {
        Self { stride: contents.len(), contents, addr, ecn: None, dst_ip: None }
    }
}
