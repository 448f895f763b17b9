//! What the sockets of one store share, and what it may do with them.

use std::collections::HashSet;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::io::Errno;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::sockets::SocketAddrUse;

use super::counters::{Cells, Counters};
use super::inbox::{Inbox, Steer};
use super::ring::Spare;
use super::turn::Turns;

/// Peers that are remembered as permitted, at most: then they are asked for again.
const MAX_PEERS: usize = 4096;

/// What a store needs for its sockets: lives in the store's data, beside the table of its resources.
///
/// When it is dropped, what the sockets hold is sent as far as the system has room; [`drain`](Self::drain) waits for
/// room before.
pub struct UdpCtx(Arc<Shared>);

/// How the sockets of a store are made, beside what their guest asks for.
#[derive(Clone, Default)]
pub struct UdpOptions {
    /// What the sockets do is counted here.
    pub counters: Counters,
    /// Whether a port that a guest binds by its number may be shared with other sockets of this process for which this is
    /// set (`SO_REUSEPORT`): the system then spreads peers over them. Where there is no such thing, binding fails; so it does
    /// for the first of them if another process has the port.
    pub share_ports: bool,
    /// Which datagrams are for other instances that share a port.
    pub steer: Option<Arc<dyn Steer>>,
    /// Where those come from that others have received for this one.
    pub inbox: Option<Inbox>,
}

type Check = Box<dyn Fn(SocketAddr, SocketAddrUse) -> bool + Send + Sync>;

enum Permission {
    None,
    All,
    Some(Check),
}

/// The part of a [`UdpCtx`] that its sockets hold too.
pub(super) struct Shared {
    permission: Permission,
    peers: Mutex<HashSet<(SocketAddr, bool)>>,
    pub(super) options: UdpOptions,
    pub(super) spare: Spare,
    pub(super) turns: Arc<Turns>,
}

impl UdpCtx {
    /// No sockets: making one fails with `access-denied`.
    pub fn denied() -> Self {
        Self::new(Permission::None, UdpOptions::default())
    }

    /// Sockets at every address and to every peer.
    pub fn all(options: UdpOptions) -> Self {
        Self::new(Permission::All, options)
    }

    /// Sockets at the addresses and to the peers that `check` permits.
    ///
    /// It is asked when a socket is bound and connected, and once for every peer that it sends to or receives from;
    /// its answer is remembered, for some thousand peers.
    pub fn checked(
        options: UdpOptions,
        check: impl Fn(SocketAddr, SocketAddrUse) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self::new(Permission::Some(Box::new(check)), options)
    }

    fn new(permission: Permission, options: UdpOptions) -> Self {
        let (peers, spare, turns) = Default::default();
        Self(Arc::new(Shared { permission, peers, options, spare, turns }))
    }

    /// The counts that the sockets add to.
    pub fn counters(&self) -> &Counters {
        &self.0.options.counters
    }

    /// Sends what the sockets hold when their guest has ended. Where the system has no room it is waited for, until for three seconds
    /// it has taken nothing of a socket's; what is left then is counted as dropped.
    ///
    /// Awaited before the store is dropped, in the runtime that the guest ran in.
    pub fn drain(&self) -> impl Future<Output = ()> + Send + use<> {
        let turns = self.0.turns.clone();
        async move { turns.finish().await }
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.0
    }
}

impl Drop for UdpCtx {
    fn drop(&mut self) {
        self.0.turns.stop();
    }
}

impl fmt::Debug for UdpCtx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UdpCtx").field("counters", self.counters()).finish_non_exhaustive()
    }
}

impl fmt::Debug for UdpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UdpOptions")
            .field("counters", &self.counters)
            .field("share_ports", &self.share_ports)
            .field("steer", &self.steer.is_some())
            .field("inbox", &self.inbox)
            .finish()
    }
}

impl Shared {
    pub(super) fn cells(&self) -> &Cells {
        self.options.counters.cells()
    }

    /// Whether there may be sockets at all.
    pub(super) fn allowed(&self) -> Result<(), Errno> {
        if matches!(self.permission, Permission::None) { Err(Errno::ACCESS) } else { Ok(()) }
    }

    /// Whether an address may be used so.
    pub(super) fn check(&self, addr: SocketAddr, purpose: SocketAddrUse) -> Result<(), Errno> {
        let permitted = match &self.permission {
            Permission::None => false,
            Permission::All => true,
            Permission::Some(check) => check(addr, purpose),
        };
        if permitted { Ok(()) } else { Err(Errno::ACCESS) }
    }

    /// The same for a peer, whose permission is remembered.
    pub(super) fn check_peer(&self, addr: SocketAddr, send: bool) -> Result<(), Errno> {
        if matches!(self.permission, Permission::All) {
            return Ok(());
        }
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        if peers.contains(&(addr, send)) {
            return Ok(());
        }
        self.check(addr, if send { SocketAddrUse::UdpSend } else { SocketAddrUse::UdpReceive })?;
        if peers.len() >= MAX_PEERS {
            peers.clear();
        }
        peers.insert((addr, send));
        Ok(())
    }
}

/// Access to what the functions of [`add_to_linker`](super::add_to_linker) need in a store's data.
pub trait UdpView: Send + 'static {
    /// The context and the table.
    fn udp(&mut self) -> UdpCtxView<'_>;
}

/// What a [`UdpView`] gives.
pub struct UdpCtxView<'a> {
    /// The context.
    pub ctx: &'a mut UdpCtx,
    /// The table of the store's resources, the same as for the rest of WASI.
    pub table: &'a mut ResourceTable,
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_peer_is_asked_for_once_and_a_refused_one_again() {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let ctx = UdpCtx::checked(UdpOptions::default(), move |addr, _| {
            count.fetch_add(1, Ordering::Relaxed);
            addr.port() != 7
        });
        let peer = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        for _ in 0..3 {
            assert_eq!(ctx.0.check_peer(peer(1), true), Ok(()));
        }
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        assert_eq!(ctx.0.check_peer(peer(1), false), Ok(()), "receiving is another permission");
        assert_eq!(asked.load(Ordering::Relaxed), 2);
        for _ in 0..2 {
            assert_eq!(ctx.0.check_peer(peer(7), true), Err(Errno::ACCESS));
        }
        assert_eq!(asked.load(Ordering::Relaxed), 4);
        for port in 1000..6000 {
            assert_eq!(ctx.0.check_peer(peer(port), true), Ok(()));
        }
        assert!(ctx.0.peers.lock().unwrap().len() <= MAX_PEERS);
    }
}
