//! Ports that several sockets of this process share.
//!
//! The system shares a port with whoever asks for it, also in another process of the same user, which would then get
//! some of the clients. So the first socket here makes sure that nobody has the port yet.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use super::system::{self, Family};

/// How many sockets of this process have each.
static SHARED: LazyLock<Mutex<HashMap<SocketAddr, usize>>> = LazyLock::new(Mutex::default);

fn shared() -> MutexGuard<'static, HashMap<SocketAddr, usize>> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A socket's part in a shared port; others of this process may have it too until the last is dropped.
pub(super) struct SharedPort(SocketAddr);

impl SharedPort {
    /// A part in a port that no other process has.
    ///
    /// # Errors
    /// The system's: [`Errno::ADDRINUSE`] above all.
    pub(super) fn claim(family: Family, addr: SocketAddr) -> Result<Self, Errno> {
        let mut shared = shared();
        if !shared.contains_key(&addr) {
            system::is_free(family, addr)?;
        }
        *shared.entry(addr).or_default() += 1;
        Ok(Self(addr))
    }
}

impl Drop for SharedPort {
    fn drop(&mut self) {
        let mut shared = shared();
        if let Some(count) = shared.get_mut(&self.0) {
            *count -= 1;
            if *count == 0 {
                shared.remove(&self.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_another_has_is_not_shared() {
        let taken = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let addr = taken.local_addr().unwrap();
        assert_eq!(SharedPort::claim(Family::V4, addr).err(), Some(Errno::ADDRINUSE));
        // What shares it with any other process does not share it with us.
        drop(taken);
        let other = system::create(Family::V4).unwrap().0;
        system::share_port(&other).unwrap();
        system::bind(&other, addr).unwrap();
        assert_eq!(SharedPort::claim(Family::V4, addr).err(), Some(Errno::ADDRINUSE));
        drop(other);
        let first = SharedPort::claim(Family::V4, addr).unwrap();
        let socket = system::create(Family::V4).unwrap().0;
        system::share_port(&socket).unwrap();
        system::bind(&socket, addr).unwrap();
        let second = SharedPort::claim(Family::V4, addr).unwrap();
        drop((first, second));
        assert!(!shared().contains_key(&addr));
    }
}
