//! What a client tells of its transfer, as one line of JSON.

use serde::{Deserialize, Serialize};

/// A finished transfer, as its client saw it. The transfer-client component prints the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Bytes of content that arrived.
    pub bytes: u64,
    /// XXH64 of the content that arrived, 16 hexadecimal digits.
    pub xxh64: String,
    /// XXH64 of the content that was sent, told by its sender.
    pub expected: String,
    /// Seconds from the request's write to the last byte.
    pub seconds: f64,
    /// Seconds from the first packet to the established connection.
    pub handshake_seconds: f64,
    /// Size of the socket's receive buffer that the system granted, in bytes.
    pub recv_buffer: u64,
    /// Size of the socket's send buffer that the system granted, in bytes.
    pub send_buffer: u64,
    /// Packets of the connection.
    pub packets: Packets,
}

/// Packets that one end of a connection sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packets {
    /// Sent.
    pub sent: u64,
    /// Of those, given up as lost.
    pub lost: u64,
}

impl Report {
    /// Whether what arrived is what was sent.
    pub fn matches(&self) -> bool {
        self.xxh64 == self.expected
    }
}

/// Finished short connections, as their client saw them. The transfer-client component prints the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HandshakesReport {
    /// Connections that were counted.
    pub connections: u64,
    /// Seconds from the first packet of the first to the last byte of the last.
    pub seconds: f64,
    /// Median of the seconds from the first packet to the established connection.
    pub handshake_median_s: f64,
    /// Median of the seconds from the first packet to the first bytes of the answer.
    pub first_byte_median_s: f64,
    /// Connections in which the server took up an earlier session: it showed no certificate.
    pub resumed: u64,
    /// Connections in which the server accepted the request as 0-RTT data.
    pub early_data_accepted: u64,
    /// Size of the socket's receive buffer that the system granted, in bytes.
    pub recv_buffer: u64,
    /// Size of the socket's send buffer that the system granted, in bytes.
    pub send_buffer: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_that_of_the_contract() {
        let line = r#"{"bytes":3,"xxh64":"00000000000000ab","expected":"00000000000000ab","seconds":0.5,
            "handshake_seconds":0.01,"recv_buffer":4194304,"send_buffer":1024,"packets":{"sent":7,"lost":1}}"#;
        let report: Report = serde_json::from_str(line).unwrap();
        assert!(report.matches());
        assert_eq!((report.bytes, report.packets), (3, Packets { sent: 7, lost: 1 }));
        let again = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&again).unwrap(), report);
        assert!(!Report { xxh64: "0".repeat(16), ..report }.matches());
    }
}
