//! Datagrams that no honest peer sends, in simulated time: dropped or answered as RFC 9000 says, never a panic,
//! never memory without bound, and never the end of a connection that has nothing to do with them.

mod common;
mod world;

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use common::{NAME, client_config, pattern, server_config};
use sandquic::{Connection, Endpoint, EndpointConfig, ServerConfig, VarInt};
use world::{Datagram, Link, Rng, World};

/// Datagrams of each kind for each role.
const COUNT: usize = 100_000;
/// Datagrams between two steps of time.
const BATCH: usize = 500;
/// What the process may grow by. What is sent at each role is about as much again as this.
const GROWTH: usize = 64 << 20;

const SERVER: ([u8; 4], u16) = ([192, 0, 2, 1], 443);
const CLIENT: ([u8; 4], u16) = ([198, 51, 100, 7], 50_000);

/// Memory is measured for the whole process, so the tests run one after another.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The memory of this process, in bytes.
fn memory() -> usize {
    #[cfg(target_arch = "wasm32")]
    return std::arch::wasm32::memory_size::<0>() * 65_536;
    #[cfg(target_os = "linux")]
    {
        let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
        pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
    }
    #[cfg(not(any(target_arch = "wasm32", target_os = "linux")))]
    0
}

/// A server that accepts all, a client, and an honest connection between them.
struct Scene {
    world: World,
    server: Endpoint,
    client: Endpoint,
}

impl Scene {
    fn new(server: ServerConfig, accepting: bool) -> Self {
        let world = World::new(1, Link::CLEAN);
        let endpoint = |addr: ([u8; 4], u16), server: Option<ServerConfig>| {
            let socket = world.bind(addr.into());
            Endpoint::new_with_abstract_socket(EndpointConfig::default(), server, socket, world.runtime())
                .unwrap()
        };
        let server = endpoint(SERVER, Some(server));
        let mut client = endpoint(CLIENT, None);
        client.set_default_client_config(client_config());
        if accepting {
            world.spawn(echo(world.clone(), server.clone()));
        }
        Self { world, server, client }
    }

    async fn connect(&self) -> Connection {
        self.client.connect(SERVER.into(), NAME).unwrap().await.unwrap()
    }

    fn inject(&self, to_server: bool, from: Option<SocketAddr>, bytes: Vec<u8>) {
        let (peer, to) = if to_server { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
        self.world.inject(from.unwrap_or(peer.into()), to.into(), bytes);
    }
}

/// Answer each stream with what it brings.
async fn echo(world: World, server: Endpoint) {
    let tasks = world.clone();
    while let Some(incoming) = server.accept().await {
        let streams = tasks.clone();
        tasks.spawn(async move {
            let Ok(connection) = incoming.await else { return };
            while let Ok((mut send, mut recv)) = connection.accept_bi().await {
                streams.spawn(async move {
                    let Ok(data) = recv.read_to_end(1 << 20).await else { return };
                    let _ = send.write_all(&data).await;
                });
            }
        });
    }
}

async fn exchange(connection: &Connection, size: usize) {
    let data = pattern(size);
    let (mut send, mut recv) = connection.open_bi().await.unwrap();
    send.write_all(&data).await.unwrap();
    send.finish().unwrap();
    assert!(recv.read_to_end(size).await.unwrap() == data);
}

/// Noise, some of it with a header that looks right.
fn random(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = vec![0; rng.below(1500) as usize];
    rng.fill(&mut bytes);
    // RFC 9000, 17.2: a long header of version 1 with connection IDs of sensible lengths.
    if rng.chance(500) && bytes.len() > 60 {
        bytes[0] |= 0xc0;
        bytes[1..5].copy_from_slice(&1_u32.to_be_bytes());
        bytes[5] = 8 + rng.below(13) as u8;
        let source = 6 + usize::from(bytes[5]);
        bytes[source] = rng.below(21) as u8;
        if rng.chance(500) {
            // An Initial packet without a token, as long as the datagram.
            bytes[0] &= 0xcf;
            let token = source + 1 + usize::from(bytes[source]);
            bytes.resize(1200.max(bytes.len()), 0x55);
            bytes[token] = 0;
            let length = (bytes.len() - token - 3) as u16 | 0x4000;
            bytes[token + 1..token + 3].copy_from_slice(&length.to_be_bytes());
        }
    }
    bytes
}

/// A real datagram with something wrong about it; sometimes only that it comes again.
fn mutate(rng: &mut Rng, samples: &[Datagram]) -> (bool, Vec<u8>) {
    let sample = &samples[rng.below(samples.len() as u64) as usize];
    let mut bytes = sample.bytes.clone();
    match rng.below(8) {
        0 => {}
        1 => bytes.truncate(rng.below(bytes.len() as u64 + 1) as usize),
        2 => {
            let more = rng.below(300) as usize;
            bytes.resize(bytes.len() + more, rng.next() as u8);
        }
        3 => {
            // The tail of another.
            let other = &samples[rng.below(samples.len() as u64) as usize].bytes;
            let at = rng.below(bytes.len().min(other.len()) as u64) as usize;
            bytes.truncate(at);
            bytes.extend_from_slice(&other[at..]);
        }
        4 if bytes.len() > 4 => {
            let version = rng.next() as u32;
            bytes[1..5].copy_from_slice(&version.to_be_bytes());
        }
        _ => {
            // More often in the header than in the rest.
            let most = if rng.chance(700) { bytes.len().min(40) } else { bytes.len() };
            for _ in 0..=rng.below(4) {
                let at = rng.below(most as u64) as usize;
                bytes[at] ^= 1 << rng.below(8);
            }
        }
    }
    (sample.to == SERVER.into(), bytes)
}

fn somewhere(rng: &mut Rng) -> SocketAddr {
    let [a, b, c, d, ..] = rng.next().to_le_bytes();
    SocketAddr::new([a | 1, b, c, d].into(), 1 + rng.below(65_535) as u16)
}

#[test]
fn random_datagrams_do_nothing() {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let scene = Scene::new(server_config(), true);
    let mut rng = Rng::new(2);
    scene.world.run(async {
        let connection = scene.connect().await;
        exchange(&connection, 100_000).await;
        for to_server in [true, false] {
            let before = memory();
            for _ in 0..COUNT / BATCH {
                for _ in 0..BATCH {
                    let from = rng.chance(800).then(|| somewhere(&mut rng));
                    scene.inject(to_server, from, random(&mut rng));
                }
                scene.world.sleep(Duration::from_millis(1)).await;
            }
            let grown = memory().saturating_sub(before);
            assert!(grown < GROWTH, "{grown} bytes more");
        }
        exchange(&connection, 100_000).await;
        exchange(&scene.connect().await, 1000).await;
        // What they began is over once its time is up.
        connection.close(VarInt::from_u32(0), b"");
        scene.world.sleep(Duration::from_secs(300)).await;
        assert_eq!(scene.server.open_connections(), 0);
        assert_eq!(scene.client.open_connections(), 0);
    });
}

#[test]
fn mutated_datagrams_do_nothing() {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let scene = Scene::new(server_config(), true);
    let mut rng = Rng::new(3);
    scene.world.run(async {
        scene.world.record();
        let old = scene.connect().await;
        exchange(&old, 200_000).await;
        old.close(VarInt::from_u32(1), b"over");
        scene.client.wait_idle().await;
        let past = scene.world.recorded();
        assert!(past.iter().any(|datagram| datagram.to == SERVER.into()));
        assert!(past.iter().any(|datagram| datagram.to == CLIENT.into()));

        scene.world.record();
        let connection = scene.connect().await;
        let before = memory();
        let mut hit = [0, 0];
        let mut present = scene.world.recorded();
        while hit[0] < COUNT || hit[1] < COUNT {
            scene.world.record();
            exchange(&connection, 10_000).await;
            present.append(&mut scene.world.recorded());
            let surplus = present.len().saturating_sub(2000);
            present.drain(..surplus);
            for _ in 0..BATCH {
                // Those of an old connection may come from anywhere.
                let (to_server, bytes) = mutate(&mut rng, &past);
                let from = rng.chance(200).then(|| somewhere(&mut rng));
                scene.inject(to_server, from, bytes);
                hit[usize::from(to_server)] += 1;
                let (to_server, bytes) = mutate(&mut rng, &present);
                scene.inject(to_server, None, bytes);
                hit[usize::from(to_server)] += 1;
            }
            scene.world.sleep(Duration::from_millis(1)).await;
        }
        let grown = memory().saturating_sub(before);
        assert!(grown < GROWTH, "{grown} bytes more");
        exchange(&connection, 100_000).await;
        assert_eq!(connection.close_reason(), None);
        exchange(&scene.connect().await, 1000).await;
    });
}

#[test]
fn attempts_that_nobody_accepts_are_limited() {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut config = server_config();
    config.max_incoming(100);
    let scene = Scene::new(config, false);
    let mut rng = Rng::new(4);
    scene.world.run(async {
        // Many well-formed first packets: a real one with other connection IDs, from other addresses.
        scene.world.record();
        drop(scene.client.connect(SERVER.into(), NAME).unwrap());
        scene.world.sleep(Duration::from_millis(1)).await;
        let first = scene.world.recorded().swap_remove(0).bytes;
        let before = memory();
        for _ in 0..20_000 / BATCH {
            for _ in 0..BATCH {
                let mut bytes = first.clone();
                rng.fill(&mut bytes[6..14]);
                scene.inject(true, Some(somewhere(&mut rng)), bytes);
            }
            scene.world.sleep(Duration::from_millis(1)).await;
        }
        let grown = memory().saturating_sub(before);
        assert!(grown < GROWTH / 4, "{grown} bytes more");
        let mut waiting = 0;
        while let Some(incoming) = ready(scene.server.accept()).await {
            incoming.expect("the endpoint is open").ignore();
            waiting += 1;
        }
        assert_eq!(waiting, 100);
    });
}

/// The result of a future if it is there at once.
async fn ready<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(result) => Poll::Ready(Some(result)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}
