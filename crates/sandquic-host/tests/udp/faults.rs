//! The batched sockets where something is refused or somebody fails: nobody else notices.

use std::net::{SocketAddr, UdpSocket};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use sandquic_host::Error;
use sandquic_host::udp::{self, Counts, UdpCtx, UdpCtxView, UdpOptions, UdpView};
use sandquic_host::wasmtime::component::{Component, Linker, ResourceTable};
use sandquic_host::wasmtime::{Config, Engine, Store};
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;
use wasmtime_wasi::p3::bindings::Command;
use wasmtime_wasi::sockets::SocketAddrUse;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::support::{Guest, PATIENCE, RELEASES, datagram, number, program, socket};

/// An embedding of its own, which permits some peers.
struct State {
    wasi: WasiCtx,
    udp: UdpCtx,
    table: ResourceTable,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl UdpView for State {
    fn udp(&mut self) -> UdpCtxView<'_> {
        UdpCtxView { ctx: &mut self.udp, table: &mut self.table }
    }
}

/// Runs the component to its end where only the `denied` may not be sent to; returns what it printed and counted.
fn run_with_denied(release: &str, steps: &[String], denied: Vec<SocketAddr>) -> (String, Counts) {
    static CODE: OnceLock<(Engine, Component)> = OnceLock::new();
    let (engine, component) = CODE.get_or_init(|| {
        let engine = Engine::new(Config::new().wasm_component_model_async(true)).unwrap();
        let component = Component::new(&engine, program().bytes()).unwrap();
        (engine, component)
    });
    let mut linker = Linker::<State>::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker).unwrap();
    wasmtime_wasi::p3::add_to_linker(&mut linker).unwrap();
    udp::add_to_linker(&mut linker).unwrap();
    let stdout = MemoryOutputPipe::new(1 << 20);
    let mut wasi = WasiCtx::builder();
    wasi.arg("udp").arg(release).args(steps).stdout(stdout.clone());
    let options = UdpOptions::default();
    let counters = options.counters.clone();
    let udp = UdpCtx::checked(options, move |peer, purpose| {
        !(matches!(purpose, SocketAddrUse::UdpSend) && denied.contains(&peer))
    });
    let mut store = Store::new(engine, State { wasi: wasi.build(), udp, table: ResourceTable::new() });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let command = Command::instantiate_async(&mut store, component, &linker).await.unwrap();
        let ended = store.run_concurrent(async |store| command.wasi_cli_run().call_run(store).await).await;
        assert_eq!(ended.unwrap().unwrap(), Ok(()));
        store.data().udp.drain().await;
    });
    (String::from_utf8(stdout.contents().to_vec()).unwrap(), counters.read())
}

/// The numbers of the datagrams that come, so many.
fn numbers(peer: &UdpSocket, count: usize) -> Vec<u32> {
    let mut buffer = [0; 2000];
    let mut receive = || {
        let len = peer.recv(&mut buffer).unwrap();
        number(&buffer[..len]).expect("a datagram is whole")
    };
    (0..count).map(|_| receive()).collect()
}

#[test]
fn what_is_denied_fails_alone_among_what_is_permitted() {
    for (release, error) in [("0.3", "AccessDenied"), ("0.2", "PermissionDenied")] {
        let peers = [socket(), socket(), socket()];
        let [one, denied, other] = [0, 1, 2].map(|at: usize| peers[at].local_addr().unwrap());
        let mut steps = vec!["bind=127.0.0.1:0".to_owned()];
        // A run is interrupted by a denied one, begun by one after it, and each of one datagram.
        for _ in 0..10 {
            steps.extend([format!("send={one}/500/3"), format!("send={denied}/500/2")]);
            steps.extend([format!("send={one}/500/2"), format!("send={other}/500/1")]);
        }
        steps.extend([format!("both={other}/{denied}/500/20"), "sleep=1".into()]);
        let (output, counts) = run_with_denied(release, &steps, vec![denied]);
        assert_eq!(output.matches(&format!("send: error {error}")).count(), 40, "{output}");
        assert_eq!(output.matches("error").count(), 40, "{output}");
        assert_eq!((counts.sent, counts.late_errors, counts.dropped), (80, 0, 0), "{counts:?}");
        let ones = (0..10).flat_map(|round| [0, 1, 2, 5, 6].map(|at| round * 8 + at));
        assert_eq!(numbers(&peers[0], 50), ones.collect::<Vec<_>>(), "{release}");
        let others = (0..10).map(|round| round * 8 + 7).chain((0..20).map(|round| 80 + round * 2));
        assert_eq!(numbers(&peers[2], 30), others.collect::<Vec<_>>(), "{release}");
        peers[1].set_nonblocking(true).unwrap();
        assert!(peers[1].recv(&mut [0; 2000]).is_err(), "nothing came to the one that is denied");
    }
}

#[test]
fn a_peer_that_refuses_and_then_listens_gets_all() {
    for release in RELEASES {
        let closed = socket().local_addr().unwrap();
        let guest = Guest::new(release)
            .step("bind=127.0.0.1:0")
            .step(format!("connect={closed}"))
            .step("send=-/100/1")
            .step("receive=2")
            .step("send=-/100/150")
            .step("receive=1")
            .start();
        let from = guest.bound();
        let until = Instant::now() + PATIENCE;
        while !guest.output().contains("receive: error ConnectionRefused") {
            assert!(Instant::now() < until, "{release}: {}", guest.output());
            std::thread::sleep(Duration::from_millis(1));
        }
        let peer = UdpSocket::bind(closed).unwrap();
        peer.set_read_timeout(Some(PATIENCE)).unwrap();
        peer.send_to(&datagram(7, 9), from).unwrap();
        assert_eq!(numbers(&peer, 150), (1..=150).collect::<Vec<_>>(), "{release}");
        peer.send_to(&datagram(8, 9), from).unwrap();
        let (status, output, counts) = guest.end();
        assert_eq!(status.unwrap(), 0, "{output}");
        assert_eq!(output.matches("error").count(), 1, "{release}: {output}");
        assert_eq!((counts.sent, counts.late_errors), (151, 0), "{release}: {counts:?}");
    }
}

/// Has the numbers of a range echoed, some at a time.
fn echoed(peer: &UdpSocket, to: SocketAddr, range: std::ops::Range<u32>) {
    let mut buffer = [0; 2000];
    for first in range.step_by(50) {
        for number in first..first + 50 {
            peer.send_to(&datagram(number, 300), to).unwrap();
        }
        for expected in first..first + 50 {
            let len = peer.recv(&mut buffer).unwrap();
            assert_eq!((len, number(&buffer[..len])), (300, Some(expected)));
        }
    }
}

#[test]
fn a_guest_that_traps_takes_nothing_from_one_beside_it() {
    for release in RELEASES {
        let (peer, heir) = (socket(), socket());
        peer.set_read_timeout(Some(PATIENCE)).unwrap();
        let traps = (0..5).map(|_| {
            Guest::new(release)
                .step("bind=127.0.0.1:0")
                .step("receive=1")
                .step(format!("send={}/700/9", heir.local_addr().unwrap()))
                .step("trap")
        });
        let echo = Guest::new(release).step("bind=127.0.0.1:0").step("echo=3500");
        let mut guests = Guest::start_together(std::iter::once(echo).chain(traps).collect());
        let trapped = guests.split_off(1);
        let echo = guests.remove(0);
        let to = echo.bound();
        echoed(&peer, to, 0..500);
        for (at, guest) in (0..).zip(trapped) {
            // Its end comes while the other has datagrams in both directions.
            peer.send_to(&datagram(0, 4), guest.bound()).unwrap();
            echoed(&peer, to, 500 * (at + 1)..500 * (at + 2));
            let (status, output, counts) = guest.end();
            assert!(matches!(status, Err(Error::Trap { .. })), "{release}: {status:?} {output}");
            assert_eq!((counts.sent, counts.dropped), (9, 0));
            assert_eq!(numbers(&heir, 9), (0..9).collect::<Vec<_>>(), "{release}");
        }
        echoed(&peer, to, 3000..3500);
        let (status, output, counts) = echo.end();
        assert_eq!(status.unwrap(), 0, "{output}");
        assert_eq!((counts.received, counts.sent, counts.late_errors), (3500, 3500, 0), "{release}");
    }
}

#[test]
fn one_that_only_sends_is_heard_and_keeps_no_other_from_its_timers() {
    for release in RELEASES {
        let peer = socket();
        let shout = format!("shout={}/100/4000", peer.local_addr().unwrap());
        let shout = Guest::new(release).step("bind=127.0.0.1:0").step(shout);
        let timers = (0..20).fold(Guest::new("0.3"), |guest, _| guest.step("sleep=5"));
        let mut both = Guest::start_together(vec![shout, timers]);
        let timers = both.remove(1);
        let shout = both.remove(0);
        peer.set_read_timeout(Some(PATIENCE)).unwrap();
        assert_eq!(numbers(&peer, 1), [0]);
        assert_eq!(timers.end().0.unwrap(), 0);
        assert!(shout.is_running(), "{release}: the other's timers expired only when it had ended");
        let (status, output, counts) = shout.end();
        assert_eq!(status.unwrap(), 0, "{output}");
        assert!(counts.yields > 0, "{release}: {counts:?}");
        let shouted = output.lines().find_map(|line| line.strip_prefix("shouted ")?.parse().ok());
        assert_eq!(shouted, Some(counts.sent), "{release}: {output}");
    }
}
