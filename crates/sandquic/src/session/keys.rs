//! rustls's QUIC keys in the form that quinn-proto takes.

use std::cell::Cell;

use bytes::BytesMut;
use quinn_proto::crypto::{self, CryptoError, KeyPair, Keys};
use quinn_proto::{ConnectionId, Side};
use rustls::quic::{HeaderProtectionKey, PacketKey, Suite, Version};
use sandquic_rustls::ahead;

thread_local! {
    /// Where the packet number begins in packets with a short header, as the last one had it: after the first byte and a
    /// connection ID, whose length is the endpoint's.
    static SHORT: Cell<usize> = const { Cell::new(0) };
}

/// Prepare to open datagrams, in their order: their header masks can be made several at once.
pub(crate) fn expect<'a>(datagrams: impl Iterator<Item = &'a [u8]>) {
    let offset = SHORT.get();
    if !ahead::PAYS || offset == 0 {
        return;
    }
    ahead::expect(datagrams.filter_map(|datagram| {
        if datagram.first()? & LONG_HEADER != 0 {
            return None;
        }
        let sample = *datagram.get(offset + SAMPLE_OFFSET..)?.first_chunk()?;
        // As much of the connection ID as tells it from others.
        let connection =
            datagram.get(1..offset)?.iter().take(8).fold(0, |id, byte| id << 8 | u64::from(*byte));
        Some(ahead::Expected { connection, sample })
    }));
}

/// The bit of the first byte that is set in long headers (RFC 9000, 17).
const LONG_HEADER: u8 = 0x80;

/// Bytes from the start of the packet number to the start of the sample (RFC 9001, 5.4.2).
const SAMPLE_OFFSET: usize = 4;

/// A packet protection key (RFC 9001, 5.3).
pub(super) struct Packet(pub(super) Box<dyn PacketKey>);

impl crypto::PacketKey for Packet {
    fn encrypt(&self, packet: u64, buf: &mut [u8], header_len: usize) {
        let (header, rest) = buf.split_at_mut(header_len);
        let (payload, tag) = rest.split_at_mut(rest.len() - self.0.tag_len());
        // Fails only for payloads that no datagram can hold.
        let made = self.0.encrypt_in_place(packet, header, payload).expect("a datagram is short enough");
        tag.copy_from_slice(made.as_ref());
    }

    fn decrypt(&self, packet: u64, header: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        let plain = self.0.decrypt_in_place(packet, header, payload).map_err(|_| CryptoError)?.len();
        payload.truncate(plain);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        self.0.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.0.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.0.integrity_limit()
    }
}

/// A header protection key (RFC 9001, 5.4).
pub(super) struct Header(pub(super) Box<dyn HeaderProtectionKey>);

impl Header {
    /// The parts of a packet that header protection works on: first byte, sample, up to four bytes of packet number.
    fn parts<'a>(&self, pn_offset: usize, packet: &'a mut [u8]) -> (&'a mut u8, &'a [u8], &'a mut [u8]) {
        let (head, sample) = packet.split_at_mut(pn_offset + SAMPLE_OFFSET);
        let (first, head) = head.split_first_mut().expect("a packet has a first byte");
        (first, &sample[..self.0.sample_len()], &mut head[pn_offset - 1..])
    }
}

impl crypto::HeaderKey for Header {
    fn decrypt(&self, pn_offset: usize, packet: &mut [u8]) {
        if ahead::PAYS && packet.first().is_some_and(|first| first & LONG_HEADER == 0) {
            SHORT.set(pn_offset);
        }
        let (first, sample, number) = self.parts(pn_offset, packet);
        self.0.decrypt_in_place(sample, first, number).expect("quinn-proto checks the length");
    }

    fn encrypt(&self, pn_offset: usize, packet: &mut [u8]) {
        let (first, sample, number) = self.parts(pn_offset, packet);
        self.0.encrypt_in_place(sample, first, number).expect("quinn-proto pads for the sample");
    }

    fn sample_size(&self) -> usize {
        self.0.sample_len()
    }
}

/// The keys of Initial packets (RFC 9001, 5.2).
pub(super) fn initial(suite: &Suite, version: Version, dst_cid: &ConnectionId, side: Side) -> Keys {
    let side = match side {
        Side::Client => rustls::Side::Client,
        Side::Server => rustls::Side::Server,
    };
    both(suite.keys(dst_cid, side, version))
}

/// The keys of both directions.
pub(super) fn both(keys: rustls::quic::Keys) -> Keys {
    Keys {
        header: KeyPair {
            local: Box::new(Header(keys.local.header)),
            remote: Box::new(Header(keys.remote.header)),
        },
        packet: KeyPair {
            local: Box::new(Packet(keys.local.packet)),
            remote: Box::new(Packet(keys.remote.packet)),
        },
    }
}
