//! A capture of what the relay carries, in the classic format of libpcap.
//!
//! The system's own capture on loopback shows datagrams before they are cut into packets (segmentation offload), which
//! no dissector can read; and it needs the right to capture.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::SystemTime;

/// Packets begin with their IP header (LINKTYPE_RAW).
const RAW: u32 = 101;
/// What no packet exceeds.
const SNAPSHOT: u32 = 65_575;

/// An open capture.
pub(crate) struct Pcap(BufWriter<File>);

impl Pcap {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let mut file = BufWriter::new(File::create(path)?);
        file.write_all(&0xa1b2_c3d4_u32.to_ne_bytes())?;
        file.write_all(&[2_u16.to_ne_bytes(), 4_u16.to_ne_bytes()].concat())?;
        // Universal time, no accuracy told.
        for word in [0, 0, SNAPSHOT, RAW] {
            file.write_all(&word.to_ne_bytes())?;
        }
        Ok(Self(file))
    }

    /// Adds a datagram at the present time.
    pub(crate) fn add(&mut self, from: SocketAddr, to: SocketAddr, payload: &[u8]) -> io::Result<()> {
        let packet = packet(from, to, payload);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let length = packet.len() as u32;
        for word in [now.as_secs() as u32, now.subsec_micros(), length, length] {
            self.0.write_all(&word.to_ne_bytes())?;
        }
        self.0.write_all(&packet)
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// IP and UDP headers around a payload of at most 65,507 bytes.
fn packet(from: SocketAddr, to: SocketAddr, payload: &[u8]) -> Vec<u8> {
    let udp_length = (8 + payload.len()) as u16;
    let mut packet = Vec::with_capacity(48 + payload.len());
    match (from.ip(), to.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            packet.extend([0x45, 0]);
            packet.extend((20 + udp_length).to_be_bytes());
            // Not fragmented, 64 hops, UDP.
            packet.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
            packet.extend(source.octets());
            packet.extend(destination.octets());
            let sum = checksum(&packet, 0);
            packet[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        (source, destination) => {
            let wide = |ip: IpAddr| match ip {
                IpAddr::V4(ip) => ip.to_ipv6_mapped(),
                IpAddr::V6(ip) => ip,
            };
            packet.extend([0x60, 0, 0, 0]);
            packet.extend(udp_length.to_be_bytes());
            packet.extend([17, 64]);
            packet.extend(wide(source).octets());
            packet.extend(wide(destination).octets());
        }
    }
    let header = packet.len();
    for part in [from.port(), to.port(), udp_length, 0] {
        packet.extend(part.to_be_bytes());
    }
    packet.extend(payload);
    // Over addresses, protocol and length too; zero would say that there is none.
    let addresses = if header == 20 { 12..20 } else { 8..40 };
    let pseudo = packet[addresses].chunks(2).fold(17 + u32::from(udp_length), |sum, pair| sum + word(pair));
    let sum = match checksum(&packet[header..], pseudo) {
        0 => u16::MAX,
        sum => sum,
    };
    packet[header + 6..header + 8].copy_from_slice(&sum.to_be_bytes());
    packet
}

fn word(pair: &[u8]) -> u32 {
    u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0))
}

/// The Internet checksum (RFC 1071).
fn checksum(bytes: &[u8], start: u32) -> u16 {
    let mut sum = bytes.chunks(2).fold(start, |sum, pair| sum + word(pair));
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_sum_to_zero_and_hold_what_they_should() {
        for (from, to, header) in [
            ("127.0.0.1:1000", "127.0.0.2:53", 20),
            ("[::1]:1000", "[::1]:53", 40),
            ("127.0.0.1:1", "[::1]:2", 40),
        ] {
            let (from, to): (SocketAddr, SocketAddr) = (from.parse().unwrap(), to.parse().unwrap());
            for payload in [&b""[..], b"odd", b"even"] {
                let packet = packet(from, to, payload);
                assert_eq!(packet.len(), header + 8 + payload.len());
                assert!(packet.ends_with(payload));
                if header == 20 {
                    assert_eq!(checksum(&packet[..20], 0), 0);
                }
                let addresses = if header == 20 { 12..20 } else { 8..40 };
                let length = (8 + payload.len()) as u32;
                let pseudo = packet[addresses].chunks(2).fold(17 + length, |sum, pair| sum + word(pair));
                assert_eq!(checksum(&packet[header..], pseudo), 0);
            }
        }
    }
}
