//! WASI 0.3's sockets, by its bindings.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use wasip3::clocks::monotonic_clock;
use wasip3::sockets::types::{
    ErrorCode, IpAddressFamily, IpSocketAddress, Ipv4SocketAddress, Ipv6SocketAddress, UdpSocket,
};

use crate::script::Udp;

pub(crate) struct Socket(UdpSocket);

impl Udp for Socket {
    async fn bind(addr: SocketAddr) -> Result<Self, String> {
        let family = if addr.is_ipv6() { IpAddressFamily::Ipv6 } else { IpAddressFamily::Ipv4 };
        let socket = UdpSocket::create(family).map_err(text)?;
        socket.bind(to_host(addr)).map_err(text)?;
        Ok(Self(socket))
    }

    fn local(&self) -> Result<SocketAddr, String> {
        self.0.get_local_address().map(from_host).map_err(text)
    }

    async fn connect(&self, to: SocketAddr) -> Result<(), String> {
        self.0.connect(to_host(to)).map_err(text)
    }

    async fn send(&self, data: Vec<u8>, to: Option<SocketAddr>) -> Result<(), String> {
        self.0.send(data, to.map(to_host)).await.map_err(text)
    }

    async fn try_send(&self, data: Vec<u8>, to: SocketAddr) -> Result<bool, String> {
        let mut send = pin!(self.send(data, Some(to)));
        // One that is done may be held up for a moment all the same.
        let mut timer = pin!(Self::sleep(Duration::from_millis(200)));
        poll_fn(|cx| match (send.as_mut().poll(cx), timer.as_mut().poll(cx)) {
            (Poll::Ready(sent), _) => Poll::Ready(sent.map(|()| true)),
            (Poll::Pending, Poll::Ready(())) => Poll::Ready(Ok(false)),
            (Poll::Pending, Poll::Pending) => Poll::Pending,
        })
        .await
    }

    fn set_send_buffer(&self, bytes: u64) -> Result<(), String> {
        self.0.set_send_buffer_size(bytes).map_err(text)
    }

    async fn receive(&self) -> Result<(Vec<u8>, SocketAddr), String> {
        self.0.receive().await.map(|(data, from)| (data, from_host(from))).map_err(text)
    }

    async fn sleep(duration: Duration) {
        monotonic_clock::wait_for(duration.as_nanos() as u64).await;
    }

    async fn flood_beside_timer(&self, to: SocketAddr, duration: Duration) -> Result<u32, String> {
        let mut timer = pin!(Self::sleep(duration));
        let count = Cell::new(0);
        let mut flood = pin!(async {
            loop {
                self.send(vec![0; 100], Some(to)).await?;
                self.receive().await?;
                count.set(count.get() + 1);
            }
        });
        // The timer is looked at only when the flood waits.
        let ended: Result<(), String> =
            poll_fn(|cx| match (flood.as_mut().poll(cx), timer.as_mut().poll(cx)) {
                (Poll::Ready(failed), _) => Poll::Ready(failed),
                (Poll::Pending, Poll::Ready(())) => Poll::Ready(Ok(())),
                (Poll::Pending, Poll::Pending) => Poll::Pending,
            })
            .await;
        ended.map(|()| count.get())
    }
}

fn text(code: ErrorCode) -> String {
    // Its form for debugging names the type too.
    format!("{code:?}").trim_start_matches("ErrorCode::").to_owned()
}

fn to_host(addr: SocketAddr) -> IpSocketAddress {
    match addr {
        SocketAddr::V4(addr) => {
            let [a, b, c, d] = addr.ip().octets();
            IpSocketAddress::Ipv4(Ipv4SocketAddress { port: addr.port(), address: (a, b, c, d) })
        }
        SocketAddr::V6(addr) => {
            let [a, b, c, d, e, f, g, h] = addr.ip().segments();
            IpSocketAddress::Ipv6(Ipv6SocketAddress {
                port: addr.port(),
                flow_info: addr.flowinfo(),
                address: (a, b, c, d, e, f, g, h),
                scope_id: addr.scope_id(),
            })
        }
    }
}

fn from_host(addr: IpSocketAddress) -> SocketAddr {
    match addr {
        IpSocketAddress::Ipv4(Ipv4SocketAddress { port, address: (a, b, c, d) }) => {
            (Ipv4Addr::new(a, b, c, d), port).into()
        }
        IpSocketAddress::Ipv6(Ipv6SocketAddress { port, address: (a, b, c, d, e, f, g, h), .. }) => {
            (Ipv6Addr::new(a, b, c, d, e, f, g, h), port).into()
        }
    }
}
