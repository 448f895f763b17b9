//! The steps.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::pattern::{datagram, number};

/// The sockets of one release of WASI.
pub(crate) trait Udp: Sized {
    async fn bind(addr: SocketAddr) -> Result<Self, String>;
    fn local(&self) -> Result<SocketAddr, String>;
    async fn connect(&self, to: SocketAddr) -> Result<(), String>;
    /// Sends a datagram; to nobody in particular if the socket is connected.
    async fn send(&self, data: Vec<u8>, to: Option<SocketAddr>) -> Result<(), String>;
    /// The same, unless there is no room for it.
    async fn try_send(&self, data: Vec<u8>, to: SocketAddr) -> Result<bool, String>;
    fn set_send_buffer(&self, bytes: u64) -> Result<(), String>;
    async fn receive(&self) -> Result<(Vec<u8>, SocketAddr), String>;
    async fn sleep(duration: Duration);
    /// Sends to the socket itself and receives, until a timer beside that expires; gives the datagrams.
    async fn flood_beside_timer(&self, to: SocketAddr, duration: Duration) -> Result<u32, String>;
}

pub(crate) struct Script<S> {
    socket: Option<S>,
    sent: u32,
}

impl<S> Default for Script<S> {
    fn default() -> Self {
        Self { socket: None, sent: 0 }
    }
}

impl<S: Udp> Script<S> {
    pub(crate) async fn run(&mut self, steps: &[String]) -> Result<(), String> {
        for step in steps {
            let (name, rest) = step.split_once('=').unwrap_or((step, ""));
            let words: Vec<&str> = if rest.is_empty() { Vec::new() } else { rest.split('/').collect() };
            self.step(name, &words).await.map_err(|message| format!("{step}: {message}"))?;
        }
        Ok(())
    }

    async fn step(&mut self, name: &str, words: &[&str]) -> Result<(), String> {
        match (name, words) {
            ("bind", [addr]) => match S::bind(parse(addr)?).await {
                Ok(socket) => {
                    println!("bound {}", socket.local()?);
                    self.socket = Some(socket);
                }
                Err(error) => println!("bind: error {error}"),
            },
            ("connect", [addr]) => report(name, self.socket()?.connect(parse(addr)?).await),
            ("send", [to, bytes, count]) => {
                let (bytes, count): (usize, u32) = (parse(bytes)?, parse(count)?);
                for _ in 0..count {
                    self.send(bytes, to).await?;
                }
            }
            ("sizes", [to, sizes]) => {
                for size in sizes.split('+') {
                    self.send(parse(size)?, to).await?;
                }
            }
            ("random", [to, seed, count, most]) => {
                let (mut state, count, most): (u64, u32, u64) = (parse(seed)?, parse(count)?, parse(most)?);
                for _ in 0..count {
                    // Knuth's generator of MMIX.
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    // One in two is of the size of the one before, so that some can be merged.
                    let most = if state >> 63 == 0 { most } else { 1 + most / 40 };
                    self.send(1 + ((state >> 33) % most) as usize, to).await?;
                }
            }
            ("both", [one, other, bytes, count]) => {
                for _ in 0..parse(count)? {
                    self.send(parse(bytes)?, one).await?;
                    self.send(parse(bytes)?, other).await?;
                }
            }
            ("fill", [to, bytes]) => {
                let (to, bytes) = (parse(to)?, parse(bytes)?);
                while self.socket()?.try_send(datagram(self.sent, bytes), to).await? {
                    self.sent += 1;
                }
                println!("filled {}", self.sent);
            }
            ("shout", [to, bytes, duration]) => {
                let (bytes, until) = (parse(bytes)?, Instant::now() + milliseconds(duration)?);
                while Instant::now() < until {
                    self.send(bytes, to).await?;
                }
                println!("shouted {}", self.sent);
            }
            ("send-buffer", [bytes]) => self.socket()?.set_send_buffer(parse(bytes)?)?,
            ("receive", [count]) => {
                for _ in 0..parse(count)? {
                    match self.socket()?.receive().await {
                        Ok((data, from)) => {
                            let number = number(&data).ok_or("a datagram is not as it was sent")?;
                            println!("received {} {number} {}", data.len(), from.port());
                        }
                        Err(error) => println!("receive: error {error}"),
                    }
                }
            }
            ("echo", [count]) => {
                for _ in 0..parse(count)? {
                    let (data, from) = self.socket()?.receive().await?;
                    self.socket()?.send(data, Some(from)).await?;
                }
            }
            ("pairs", [count, burst, bytes]) => {
                pairs::<S>(parse(count)?, parse(burst)?, parse(bytes)?).await?
            }
            ("flood", [duration]) => {
                let (until, to) = (Instant::now() + milliseconds(duration)?, self.socket()?.local()?);
                let mut count = 0;
                while Instant::now() < until {
                    self.socket()?.send(datagram(count, 100), Some(to)).await?;
                    self.socket()?.receive().await?;
                    count += 1;
                }
                println!("flooded {count}");
            }
            ("fair", [duration]) => {
                let socket = self.socket()?;
                let count = socket.flood_beside_timer(socket.local()?, milliseconds(duration)?).await?;
                println!("flooded {count}");
            }
            ("sleep", [duration]) => S::sleep(milliseconds(duration)?).await,
            ("spin", [duration]) => {
                let until = Instant::now() + milliseconds(duration)?;
                while Instant::now() < until {}
            }
            ("close", []) => self.socket = None,
            #[cfg(target_family = "wasm")]
            ("trap", []) => core::arch::wasm32::unreachable(),
            _ => return Err("no such step, or not so many words".into()),
        }
        Ok(())
    }

    fn socket(&self) -> Result<&S, String> {
        self.socket.as_ref().ok_or_else(|| "there is no socket".into())
    }

    async fn send(&mut self, bytes: usize, to: &str) -> Result<(), String> {
        let to = if to == "-" { None } else { Some(parse(to)?) };
        report("send", self.socket()?.send(datagram(self.sent, bytes), to).await);
        self.sent += 1;
        Ok(())
    }
}

/// Moves datagrams from one socket to another.
async fn pairs<S: Udp>(count: u32, burst: u32, bytes: usize) -> Result<(), String> {
    let any = "127.0.0.1:0".parse().map_err(|_| "no address")?;
    let (from, to) = (S::bind(any).await?, S::bind(any).await?);
    let addr = to.local()?;
    // One that has been received is sent again: nothing but the sockets is measured.
    let mut spare: Vec<Vec<u8>> = (0..burst).map(|_| vec![7; bytes]).collect();
    for _ in 0..count.div_ceil(burst.max(1)) {
        for data in spare.drain(..) {
            from.send(data, Some(addr)).await?;
        }
        for _ in 0..burst {
            let (data, _) = to.receive().await?;
            if data.len() != bytes || data.first() != Some(&7) {
                return Err(format!("a datagram of {} bytes came", data.len()));
            }
            spare.push(data);
        }
    }
    Ok(())
}

fn report(step: &str, result: Result<(), String>) {
    if let Err(error) = result {
        println!("{step}: error {error}");
    }
}

fn parse<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text:?} is not what belongs there"))
}

fn milliseconds(text: &str) -> Result<Duration, String> {
    parse(text).map(Duration::from_millis)
}
