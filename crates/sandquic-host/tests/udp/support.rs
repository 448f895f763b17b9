//! Runs of `guests/udp`.

use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use sandquic_host::udp::{Counters, Counts};
use sandquic_host::{Captured, Error, Host, HostOptions, Network, Output, Program, RunOptions, Udp};

pub(crate) mod network;

/// What is in a datagram, as the component makes it.
#[path = "../../../../guests/udp/src/pattern.rs"]
mod pattern;

pub(crate) use pattern::{datagram, number};

/// The releases of WASI that the component has sockets of.
pub(crate) const RELEASES: [&str; 2] = ["0.3", "0.2"];

/// How long a test waits for what must come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A socket of this process, which waits for a second at most.
pub(crate) fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    socket
}

/// A run of the component that is being set up.
pub(crate) struct Guest {
    arguments: Vec<String>,
    udp: Udp,
    network: Network,
}

impl Guest {
    /// With the sockets of a release.
    pub(crate) fn new(release: &str) -> Self {
        Self { arguments: vec![release.into()], udp: Udp::Batched, network: Network::All }
    }

    /// Another step.
    pub(crate) fn step(mut self, step: impl Into<String>) -> Self {
        self.arguments.push(step.into());
        self
    }

    /// On other sockets.
    pub(crate) fn on(self, udp: Udp) -> Self {
        Self { udp, ..self }
    }

    /// Without the network.
    pub(crate) fn denied(self) -> Self {
        Self { network: Network::Denied, ..self }
    }

    /// Starts it on a thread of its own.
    pub(crate) fn start(self) -> Running {
        Self::start_together(vec![self]).remove(0)
    }

    /// Starts several on one thread.
    pub(crate) fn start_together(guests: Vec<Self>) -> Vec<Running> {
        let udp = guests[0].udp;
        let (mut running, mut runs) = (Vec::new(), Vec::new());
        for guest in guests {
            let (stdout, output) = Output::captured(1 << 20);
            let counters = Counters::new();
            let mut options =
                RunOptions { args: guest.arguments, network: guest.network, stdout, ..RunOptions::default() };
            options.udp.counters = counters.clone();
            let (send, status) = std::sync::mpsc::channel();
            runs.push((options, send));
            running.push(Running { output, counters, status });
        }
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let local = tokio::task::LocalSet::new();
            for (options, send) in runs {
                local.spawn_local(async move {
                    let status = host(udp).run_async(program(), options).await;
                    // A test that has seen enough does not wait.
                    let _ = send.send(status);
                });
            }
            runtime.block_on(local);
        });
        running
    }
}

/// One that has been started.
pub(crate) struct Running {
    output: Captured,
    counters: Counters,
    status: std::sync::mpsc::Receiver<Result<i32, Error>>,
}

impl Running {
    /// The address that its first socket is bound to.
    pub(crate) fn bound(&self) -> SocketAddr {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if let Some(rest) = self.output.text().strip_prefix("bound ")
                && let Some((addr, _)) = rest.split_once('\n')
            {
                return addr.parse().unwrap();
            }
            thread::sleep(Duration::from_millis(1));
        }
        panic!("it has bound no socket: {}", self.output.text());
    }

    /// Whether it still runs, or has ended in a way that nobody has asked for yet.
    pub(crate) fn is_running(&self) -> bool {
        matches!(self.status.try_recv(), Err(std::sync::mpsc::TryRecvError::Empty))
    }

    /// What it has printed.
    pub(crate) fn output(&self) -> String {
        self.output.text()
    }

    /// Waits for its end: its status, what it printed, and what its sockets counted.
    pub(crate) fn end(self) -> (Result<i32, Error>, String, Counts) {
        let status = self.status.recv_timeout(PATIENCE);
        let status = status.unwrap_or_else(|_| panic!("it does not end: {}", self.output.text()));
        (status, self.output.text(), self.counters.read())
    }
}

fn host(udp: Udp) -> &'static Host {
    static HOSTS: [OnceLock<Host>; 2] = [OnceLock::new(), OnceLock::new()];
    HOSTS[usize::from(udp == Udp::Stock)].get_or_init(|| {
        Host::new(HostOptions { udp, ..HostOptions::default() }).expect("the engine works here")
    })
}

pub(crate) fn program() -> &'static Program {
    static PROGRAM: OnceLock<Program> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/guests/udp.wasm");
        Program::from_file(&file)
            .unwrap_or_else(|error| panic!("{error}; `cargo xtask build --guests` makes it"))
    })
}
