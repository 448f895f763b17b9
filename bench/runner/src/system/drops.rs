//! Datagrams that found a full receive buffer, counted at the sockets of the processes that are measured.
//!
//! The network namespace counts those of everybody (`RcvbufErrors`). Linux also counts them for each socket, in the
//! last column of `/proc/net/udp`, as long as the socket is there: it is found by the inode that the process has open.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{Duration, Instant};

use super::udp::datagrams_dropped;

/// Counts the drops of a few processes from its making on.
pub(crate) struct DropWatch {
    /// The namespace's count at the beginning.
    before: Option<u64>,
    processes: Vec<u32>,
    /// The last count of each socket, by inode.
    sockets: BTreeMap<u64, u64>,
    looked: Instant,
}

impl DropWatch {
    pub(crate) fn new() -> Self {
        Self {
            before: datagrams_dropped(),
            processes: Vec::new(),
            sockets: BTreeMap::new(),
            looked: Instant::now(),
        }
    }

    /// Watches the sockets of this process too.
    pub(crate) fn add(&mut self, process: u32) {
        self.processes.push(process);
    }

    /// Reads the counts of the sockets that are there now.
    pub(crate) fn look(&mut self) {
        self.looked = Instant::now();
        // While nobody in the namespace drops anything there is nothing to find.
        if datagrams_dropped() == self.before {
            return;
        }
        let open: BTreeSet<u64> = self.processes.iter().flat_map(|&process| open_sockets(process)).collect();
        for table in ["/proc/net/udp", "/proc/net/udp6"] {
            let Ok(text) = fs::read_to_string(table) else { continue };
            let counts = text.lines().filter_map(parse_socket).filter(|(inode, _)| open.contains(inode));
            self.sockets.extend(counts);
        }
    }

    /// As [`DropWatch::look`], if the last time is long ago.
    pub(crate) fn look_if_due(&mut self, interval: Duration) {
        if self.looked.elapsed() >= interval {
            self.look();
        }
    }

    /// Drops at the watched sockets; at all sockets of the namespace where none could be seen. `None` where the system
    /// tells neither.
    pub(crate) fn count(self) -> Option<u64> {
        let everywhere = datagrams_dropped()?.saturating_sub(self.before?);
        if self.sockets.is_empty() {
            return Some(everywhere);
        }
        Some(self.sockets.values().sum::<u64>().min(everywhere))
    }
}

/// Inodes of the sockets that a process has open.
fn open_sockets(process: u32) -> Vec<u64> {
    let Ok(entries) = fs::read_dir(format!("/proc/{process}/fd")) else { return Vec::new() };
    let links = entries.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
    links
        .filter_map(|link| link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok())
        .collect()
}

/// Inode and drops of a line of `/proc/net/udp`.
fn parse_socket(line: &str) -> Option<(u64, u64)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    // sl local_address rem_address st tx:rx tr:tm->when retrnsmt uid timeout inode ref pointer drops
    let (inode, drops) = (words.get(9)?, words.get(12)?);
    Some((inode.parse().ok()?, drops.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::super::{Buffers, bind};
    use super::*;

    #[test]
    fn a_line_of_the_table_is_read() {
        let line = "  512: 0100007F:A3B1 00000000:0000 07 00000000:00000000 00:00000000 00000000  1000        0 48213 2 \
                    0000000000000000 17";
        assert_eq!(parse_socket(line), Some((48_213, 17)));
        let heading = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref \
                       pointer drops";
        assert_eq!(parse_socket(heading), None);
        assert_eq!(parse_socket(""), None);
    }

    #[test]
    fn drops_of_watched_processes_are_counted_and_of_others_not() {
        let mut watch = DropWatch::new();
        if watch.before.is_none() || fs::read_to_string("/proc/net/udp").is_err() {
            return;
        }
        watch.add(std::process::id());
        let socket = bind("127.0.0.1:0".parse().unwrap(), Buffers { receive: 8_192, send: 65_536 }).unwrap();
        let sender = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        for _ in 0..64 {
            sender.send_to(&[0; 1_400], socket.local_addr().unwrap()).unwrap();
        }
        watch.look();
        assert!(watch.sockets.values().sum::<u64>() >= 32, "{:?}", watch.sockets);
        let seen = watch.sockets.clone();
        drop(socket);
        watch.look();
        assert!(seen.iter().all(|(inode, drops)| watch.sockets[inode] >= *drops));
        assert!(watch.count().unwrap() >= 32);

        // Of a process without sockets.
        assert!(open_sockets(u32::MAX).is_empty());
    }
}
