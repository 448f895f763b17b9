//! UDP sockets with large buffers, and the count of datagrams that found none.

use std::fs;
use std::io;
use std::net::{SocketAddr, UdpSocket};

use serde::Serialize;
use socket2::{Domain, Protocol, SockRef, Socket, Type};

/// Sizes of a socket's buffers in bytes, in the units in which they are asked for. (Linux doubles what is asked for
/// and reports the double; here it is halved again.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Buffers {
    pub(crate) receive: u64,
    pub(crate) send: u64,
}

/// Binds a UDP socket and asks for buffers of these sizes: past the system's limits where this process may
/// (`SO_RCVBUFFORCE`, CAP_NET_ADMIN), otherwise up to them. What was granted is told by [`granted`].
pub(crate) fn bind(address: SocketAddr, wanted: Buffers) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    let receive = usize::try_from(wanted.receive).unwrap_or(usize::MAX);
    let send = usize::try_from(wanted.send).unwrap_or(usize::MAX);
    if force(&socket, receive, Direction::Receive).is_err() {
        // The kernel cuts the size at its limit and reports no error; another system may refuse, and keeps its default.
        let _ = socket.set_recv_buffer_size(receive.min(i32::MAX as usize / 2));
    }
    if force(&socket, send, Direction::Send).is_err() {
        let _ = socket.set_send_buffer_size(send.min(i32::MAX as usize / 2));
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(socket.into())
}

/// The buffers that a socket has.
pub(crate) fn granted(socket: &UdpSocket) -> io::Result<Buffers> {
    let socket = SockRef::from(socket);
    let halves = if cfg!(target_os = "linux") { 2 } else { 1 };
    Ok(Buffers {
        receive: socket.recv_buffer_size()? as u64 / halves,
        send: socket.send_buffer_size()? as u64 / halves,
    })
}

enum Direction {
    Receive,
    Send,
}

#[cfg(target_os = "linux")]
fn force(socket: &Socket, size: usize, direction: Direction) -> io::Result<()> {
    use nix::sys::socket::{setsockopt, sockopt};
    let size = size.min(i32::MAX as usize / 2);
    match direction {
        Direction::Receive => setsockopt(socket, sockopt::RcvBufForce, &size)?,
        Direction::Send => setsockopt(socket, sockopt::SndBufForce, &size)?,
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn force(_: &Socket, _: usize, _: Direction) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// How many datagrams found a full receive buffer since the system started, in all sockets of this network namespace
/// (`RcvbufErrors` of UDP over IPv4 and IPv6); `None` where the system does not tell.
pub(crate) fn datagrams_dropped() -> Option<u64> {
    let v4 = snmp_counter(&fs::read_to_string("/proc/net/snmp").ok()?, "Udp:", "RcvbufErrors")?;
    let v6 =
        fs::read_to_string("/proc/net/snmp6").ok().and_then(|text| snmp6_counter(&text, "Udp6RcvbufErrors"));
    Some(v4 + v6.unwrap_or(0))
}

/// A counter of /proc/net/snmp: a line of names and a line of values, both starting with the protocol.
fn snmp_counter(text: &str, protocol: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter(|line| line.split_whitespace().next() == Some(protocol));
    let names = lines.next()?;
    let values = lines.next()?;
    let position = names.split_whitespace().position(|word| word == name)?;
    values.split_whitespace().nth(position)?.parse().ok()
}

/// A counter of /proc/net/snmp6: a name and a value a line.
fn snmp6_counter(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next() == Some(name)).then(|| words.next()?.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_name() {
        let snmp = "Ip: Forwarding DefaultTTL\nIp: 1 64\nUdp: InDatagrams NoPorts RcvbufErrors\nUdp: 10 2 33\n\
                    UdpLite: InDatagrams NoPorts RcvbufErrors\nUdpLite: 0 0 99\n";
        assert_eq!(snmp_counter(snmp, "Udp:", "RcvbufErrors"), Some(33));
        assert_eq!(snmp_counter(snmp, "Udp:", "Nonsense"), None);
        assert_eq!(snmp_counter("Udp: RcvbufErrors\n", "Udp:", "RcvbufErrors"), None);
        assert_eq!(snmp6_counter("Ip6In 1\nUdp6RcvbufErrors   \t 5\n", "Udp6RcvbufErrors"), Some(5));
        assert_eq!(snmp6_counter("", "Udp6RcvbufErrors"), None);
    }

    #[test]
    fn a_small_buffer_is_granted_and_overflows_are_counted() {
        let wanted = Buffers { receive: 8_192, send: 65_536 };
        let socket = bind("127.0.0.1:0".parse().unwrap(), wanted).unwrap();
        assert_eq!(granted(&socket).unwrap(), wanted);
        let Some(before) = datagrams_dropped() else { return };
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = socket.local_addr().unwrap();
        for _ in 0..64 {
            sender.send_to(&[0; 1_400], to).unwrap();
        }
        assert!(datagrams_dropped().unwrap() >= before + 32);
    }
}
