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

/// The outcome of short connections, one after another.
#[derive(Debug, Clone, PartialEq)]
pub struct HandshakesReport {
    /// Connections that were counted.
    pub connections: usize,
    /// From the first packet of the first to the last byte of the last.
    pub elapsed: Duration,
    /// Median time from the first packet to the end of the handshake.
    pub handshake_median: Duration,
    /// Median time from the first packet to the first bytes of the answer.
    pub first_byte_median: Duration,
    /// Connections in which the server took up an earlier session: it showed no certificate.
    pub resumed: usize,
    /// Connections in which the server accepted the request as 0-RTT data.
    pub early_data_accepted: usize,
    /// Receive buffer of the socket that the system granted, in bytes; 0 if unknown.
    pub recv_buffer: usize,
    /// Send buffer of the socket that the system granted, in bytes; 0 if unknown.
    pub send_buffer: usize,
}

impl HandshakesReport {
    /// One JSON object on one line.
    pub fn json(&self) -> String {
        format!(
            "{{\"connections\":{},\"seconds\":{:.6},\"handshake_median_s\":{:.6},\"first_byte_median_s\":{:.6},\
             \"resumed\":{},\"early_data_accepted\":{},\"recv_buffer\":{},\"send_buffer\":{}}}",
            self.connections,
            self.elapsed.as_secs_f64(),
            self.handshake_median.as_secs_f64(),
            self.first_byte_median.as_secs_f64(),
            self.resumed,
            self.early_data_accepted,
            self.recv_buffer,
            self.send_buffer,
        )
    }
}

impl fmt::Display for HandshakesReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.elapsed.as_secs_f64();
        write!(
            f,
            "{} connections in {seconds:.3} s ({:.0} a second), {} resumed, {} with early data; medians: handshake \
             {:.3} ms, first byte {:.3} ms",
            self.connections,
            if seconds > 0.0 { self.connections as f64 / seconds } else { 0.0 },
            self.resumed,
            self.early_data_accepted,
            self.handshake_median.as_secs_f64() * 1e3,
            self.first_byte_median.as_secs_f64() * 1e3,
        )
    }
}

/// The median: the mean of the two in the middle where the number is even; zero of none.
pub fn median(durations: &mut [Duration]) -> Duration {
    durations.sort_unstable();
    let middle = durations.len() / 2;
    match durations {
        [] => Duration::ZERO,
        _ if durations.len().is_multiple_of(2) => (durations[middle - 1] + durations[middle]) / 2,
        _ => durations[middle],
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

    #[test]
    fn the_json_of_short_connections_has_the_fields_of_the_record() {
        let report = HandshakesReport {
            connections: 200,
            elapsed: Duration::from_millis(500),
            handshake_median: Duration::from_micros(1_500),
            first_byte_median: Duration::from_micros(900),
            resumed: 199,
            early_data_accepted: 198,
            recv_buffer: 1,
            send_buffer: 2,
        };
        assert_eq!(
            report.json(),
            "{\"connections\":200,\"seconds\":0.500000,\"handshake_median_s\":0.001500,\
             \"first_byte_median_s\":0.000900,\"resumed\":199,\"early_data_accepted\":198,\
             \"recv_buffer\":1,\"send_buffer\":2}"
        );
    }

    #[test]
    fn the_median_is_that_of_the_sorted_values() {
        let of = |millis: &[u64]| {
            let mut durations: Vec<_> = millis.iter().map(|&m| Duration::from_millis(m)).collect();
            median(&mut durations).as_micros()
        };
        assert_eq!((of(&[]), of(&[7]), of(&[9, 1, 5]), of(&[8, 1, 2, 5])), (0, 7_000, 5_000, 3_500));
    }
}
