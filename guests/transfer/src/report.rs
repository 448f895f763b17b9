//! What a client says about one connection.

use std::fmt;
use std::time::Duration;

/// The outcome of one transfer.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Bytes of content that were received, or sent.
    pub bytes: u64,
    /// XXH64 of the content on this side.
    pub checksum: u64,
    /// XXH64 that the server stated.
    pub expected: u64,
    /// From the request's first byte to the content's last (get) or the server's answer (put).
    pub elapsed: Duration,
    /// From the first packet to the end of the handshake.
    pub handshake: Duration,
    /// Receive buffer of the socket that the system granted, in bytes; 0 if unknown.
    pub recv_buffer: usize,
    /// Send buffer of the socket that the system granted, in bytes; 0 if unknown.
    pub send_buffer: usize,
    /// Packets that this side sent.
    pub packets_sent: u64,
    /// Packets that this side sent and found to be lost.
    pub packets_lost: u64,
}

impl Report {
    /// One JSON object on one line.
    pub fn json(&self) -> String {
        format!(
            "{{\"bytes\":{},\"xxh64\":\"{:016x}\",\"expected\":\"{:016x}\",\"seconds\":{:.6},\
             \"handshake_seconds\":{:.6},\"recv_buffer\":{},\"send_buffer\":{},\
             \"packets\":{{\"sent\":{},\"lost\":{}}}}}",
            self.bytes,
            self.checksum,
            self.expected,
            self.elapsed.as_secs_f64(),
            self.handshake.as_secs_f64(),
            self.recv_buffer,
            self.send_buffer,
            self.packets_sent,
            self.packets_lost,
        )
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.elapsed.as_secs_f64();
        let rate = if seconds > 0.0 { self.bytes as f64 * 8.0 / seconds / 1e6 } else { 0.0 };
        write!(
            f,
            "{} bytes in {seconds:.3} s ({rate:.0} Mb/s), handshake {:.1} ms, xxh64 {:016x}",
            self.bytes,
            self.handshake.as_secs_f64() * 1e3,
            self.checksum,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_has_the_fields_of_the_record() {
        let report = Report {
            bytes: 3,
            checksum: 0xab,
            expected: 0xab,
            elapsed: Duration::from_millis(1500),
            handshake: Duration::from_micros(2500),
            recv_buffer: 4096,
            send_buffer: 0,
            packets_sent: 7,
            packets_lost: 1,
        };
        assert_eq!(
            report.json(),
            "{\"bytes\":3,\"xxh64\":\"00000000000000ab\",\"expected\":\"00000000000000ab\",\"seconds\":1.500000,\
             \"handshake_seconds\":0.002500,\"recv_buffer\":4096,\"send_buffer\":0,\
             \"packets\":{\"sent\":7,\"lost\":1}}"
        );
    }
}
