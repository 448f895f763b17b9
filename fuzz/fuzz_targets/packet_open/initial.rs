//! Initial packets (RFC 9000, section 17.2.2): opened, changed and sealed again, as anyone on the path can do.

use rustls::quic::{Keys, Suite, Version};
use rustls::{Side, SupportedCipherSuite};
use sandquic_rustls::cipher_suite::TLS13_AES_128_GCM_SHA256;

/// Bytes of a tag, and of a sample.
const TAG: usize = 16;
/// The smallest datagram that a server takes an Initial packet from (RFC 9000, section 14.1).
const SMALLEST: usize = 1200;

/// What is in an Initial packet.
#[derive(Clone, Debug)]
pub struct Initial {
    pub to: Vec<u8>,
    pub from: Vec<u8>,
    pub token: Vec<u8>,
    pub number: u32,
    /// The frames.
    pub payload: Vec<u8>,
}

/// The keys of Initial packets, from the first connection ID that the client sent to.
pub fn keys(id: &[u8], side: Side) -> Keys {
    let SupportedCipherSuite::Tls13(suite) = TLS13_AES_128_GCM_SHA256 else { unreachable!("of TLS 1.3") };
    let Suite { suite, quic } = suite.quic_suite().expect("a suite for QUIC");
    Keys::initial(Version::V1, suite, quic, id, side)
}

impl Initial {
    /// The packet in a datagram of its own, filled up with PADDING.
    pub fn seal(&self, keys: &Keys) -> Vec<u8> {
        let mut packet = vec![0xc3];
        packet.extend_from_slice(&1_u32.to_be_bytes());
        for id in [&self.to, &self.from] {
            packet.push(id.len() as u8);
            packet.extend_from_slice(id);
        }
        packet.extend_from_slice(&varint(self.token.len()));
        packet.extend_from_slice(&self.token);
        let room = SMALLEST.saturating_sub(packet.len() + 2 + 4 + TAG);
        let payload = self.payload.len().max(room);
        packet.extend_from_slice(&varint(4 + payload + TAG));
        let at = packet.len();
        packet.extend_from_slice(&self.number.to_be_bytes());
        let header = packet.len();
        packet.extend_from_slice(&self.payload);
        packet.resize(header + payload, 0);
        let (head, body) = packet.split_at_mut(header);
        let tag =
            keys.local.packet.encrypt_in_place(self.number.into(), head, body).expect("short enough to seal");
        packet.extend_from_slice(tag.as_ref());
        let (head, body) = packet.split_at_mut(header);
        let (first, rest) = head.split_first_mut().expect("not empty");
        let masked = keys.local.header.encrypt_in_place(&body[..TAG], first, &mut rest[at - 1..]);
        masked.expect("a sample of the right size");
        packet
    }

    /// The Initial packet that a datagram of an honest peer begins with, if there is one.
    pub fn open(datagram: &[u8], keys: &Keys) -> Option<Self> {
        let mut packet = datagram.to_vec();
        let mut reader = Reader { bytes: datagram, at: 0 };
        if reader.take(1)?[0] & 0xf0 != 0xc0 || reader.take(4)? != 1_u32.to_be_bytes() {
            return None;
        }
        let mut id = || {
            let length = usize::from(reader.take(1)?[0]);
            reader.take(length).map(<[u8]>::to_vec)
        };
        let (to, from) = (id()?, id()?);
        let length = reader.varint()?;
        let token = reader.take(length)?.to_vec();
        let length = reader.varint()?;
        let at = reader.at;
        reader.take(length)?;
        packet.truncate(at + length);
        let sample = *packet.get(at + 4..)?.first_chunk::<TAG>()?;
        let (head, rest) = packet.split_at_mut(at);
        let (first, _) = head.split_first_mut()?;
        keys.remote.header.decrypt_in_place(&sample, first, &mut rest[..4]).ok()?;
        let digits = usize::from(*first & 3) + 1;
        let number = rest[..digits].iter().fold(0, |number, byte| number << 8 | u32::from(*byte));
        let (head, body) = packet.split_at_mut(at + digits);
        let payload = keys.remote.packet.decrypt_in_place(number.into(), head, body).ok()?.to_vec();
        Some(Self { to, from, token, number, payload })
    }
}

/// A variable-length integer (RFC 9000, section 16) of two bytes, or four where two do not do.
fn varint(value: usize) -> Vec<u8> {
    match value {
        0..0x4000 => (value as u16 | 0x4000).to_be_bytes().to_vec(),
        _ => (value as u32 | 0x8000_0000).to_be_bytes().to_vec(),
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }

    fn varint(&mut self) -> Option<usize> {
        let first = self.take(1)?[0];
        let rest = self.take((1 << (first >> 6)) - 1)?;
        let value = rest.iter().fold(u64::from(first & 0x3f), |value, byte| value << 8 | u64::from(*byte));
        usize::try_from(value).ok()
    }
}
