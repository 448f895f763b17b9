//! WASI 0.2's sockets, as the standard library uses them.

use std::cell::Cell;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use crate::script::Udp;

pub(crate) struct Socket {
    socket: UdpSocket,
    buffer: Cell<Vec<u8>>,
}

impl Udp for Socket {
    async fn bind(addr: SocketAddr) -> Result<Self, String> {
        let socket = UdpSocket::bind(addr).map_err(text)?;
        Ok(Self { socket, buffer: Cell::new(vec![0; 65_536]) })
    }

    fn local(&self) -> Result<SocketAddr, String> {
        self.socket.local_addr().map_err(text)
    }

    async fn connect(&self, to: SocketAddr) -> Result<(), String> {
        self.socket.connect(to).map_err(text)
    }

    async fn send(&self, data: Vec<u8>, to: Option<SocketAddr>) -> Result<(), String> {
        match to {
            Some(to) => self.socket.send_to(&data, to),
            None => self.socket.send(&data),
        }
        .map(drop)
        .map_err(text)
    }

    async fn try_send(&self, data: Vec<u8>, to: SocketAddr) -> Result<bool, String> {
        self.socket.set_nonblocking(true).map_err(text)?;
        let sent = self.socket.send_to(&data, to);
        self.socket.set_nonblocking(false).map_err(text)?;
        match sent {
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(false),
            sent => sent.map(|_| true).map_err(text),
        }
    }

    fn set_send_buffer(&self, _: u64) -> Result<(), String> {
        Err("the standard library sets no such size".into())
    }

    async fn receive(&self) -> Result<(Vec<u8>, SocketAddr), String> {
        let mut buffer = self.buffer.take();
        let received = self.socket.recv_from(&mut buffer).map(|(len, from)| (buffer[..len].to_vec(), from));
        self.buffer.set(buffer);
        received.map_err(text)
    }

    async fn sleep(duration: Duration) {
        std::thread::sleep(duration);
    }

    async fn flood_beside_timer(&self, to: SocketAddr, duration: Duration) -> Result<u32, String> {
        // There is one thing at a time: the clock stands for the timer.
        let (until, mut count) = (Instant::now() + duration, 0);
        while Instant::now() < until {
            self.send(vec![0; 100], Some(to)).await?;
            self.receive().await?;
            count += 1;
        }
        Ok(count)
    }
}

fn text(error: std::io::Error) -> String {
    format!("{:?}", error.kind())
}
