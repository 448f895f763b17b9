//! Session tickets (RFC 8446, 4.6.1; RFC 5077 for TLS 1.2) under keys that rotate.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustls::Error;
use rustls::crypto::{GetRandomFailed, SecureRandom};
use rustls::server::ProducesTickets;
use rustls::ticketer::TicketRotator;
use zeroize::Zeroizing;

use crate::ciphers::{Aead, Ciphers, DefaultCiphers, NONCE_LEN, TAG_LEN};
use crate::quic::open;
use crate::random::System;

/// How long a key seals new tickets, in seconds; it opens old ones for as long again.
const ROTATION: u32 = 6 * 60 * 60;
/// Length of the name that says which key sealed a ticket, in bytes.
const NAME_LEN: usize = 16;

/// A ticketer with random keys, a new one every six hours; a ticket is good for at most twelve.
///
/// 0-RTT needs a server without one: rustls accepts early data only with sessions that it stores.
///
/// # Errors
/// [`Error::FailedToGetRandomBytes`] if the system gives no randomness.
pub fn ticketer() -> Result<Arc<dyn ProducesTickets>, Error> {
    let key = || TicketKey::random(Some(Duration::from_secs(u64::from(2 * ROTATION))));
    Ok(Arc::new(TicketRotator::new(ROTATION, key)?))
}

/// One random ticket key: the generator for a [`TicketRotator`] with another rhythm.
///
/// A ticket is the key's name (16 bytes), a random nonce (12), the session sealed with ChaCha20-Poly1305, and
/// the tag (16). The key opens its tickets for as long as it exists, and a `TicketRotator` changes keys only when it is
/// used: after a pause it takes tickets as old as the pause. The keys of [`ticketer`] stop by themselves.
///
/// # Errors
/// [`GetRandomFailed`] if the system gives no randomness.
pub fn ticket_key() -> Result<Box<dyn ProducesTickets>, GetRandomFailed> {
    TicketKey::random(None)
}

struct TicketKey {
    name: [u8; NAME_LEN],
    aead: <DefaultCiphers as Ciphers>::ChaCha20Poly1305,
    made: SystemTime,
    /// How long after it was made the key opens tickets.
    lifetime: Option<Duration>,
}

impl TicketKey {
    fn random(lifetime: Option<Duration>) -> Result<Box<dyn ProducesTickets>, GetRandomFailed> {
        let mut name = [0; NAME_LEN];
        let mut key = Zeroizing::new([0; 32]);
        System.fill(&mut name)?;
        System.fill(&mut *key)?;
        Ok(Box::new(Self { name, aead: Aead::new(&key), made: SystemTime::now(), lifetime }))
    }

    /// Whether the key's time is over, by the clock that a [`TicketRotator`] goes by; also if that was set back to before
    /// the key was made.
    fn is_over(&self) -> bool {
        self.lifetime.is_some_and(|lifetime| self.made.elapsed().map_or(true, |age| age > lifetime))
    }
}

impl ProducesTickets for TicketKey {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        2 * ROTATION
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        // A counter would tell an observer how many tickets there are.
        let mut nonce = [0; NONCE_LEN];
        System.fill(&mut nonce).ok()?;
        let mut ticket = Vec::with_capacity(NAME_LEN + NONCE_LEN + plain.len() + TAG_LEN);
        ticket.extend_from_slice(&self.name);
        ticket.extend_from_slice(&nonce);
        ticket.extend_from_slice(plain);
        let tag = self.aead.seal(&nonce, &self.name, &mut ticket[NAME_LEN + NONCE_LEN..]).ok()?;
        ticket.extend_from_slice(&tag);
        Some(ticket)
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        let (name, rest) = cipher.split_first_chunk::<NAME_LEN>()?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE_LEN>()?;
        if *name != self.name || self.is_over() {
            return None;
        }
        let mut sealed = sealed.to_vec();
        let len = open(&self.aead, nonce, name, &mut sealed).ok()?.len();
        sealed.truncate(len);
        Some(sealed)
    }
}

impl core::fmt::Debug for TicketKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("TicketKey").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rotator that nobody uses for longer than a ticket is good still has the key of before.
    #[test]
    fn a_pause_does_not_prolong_tickets() {
        let key = || TicketKey::random(Some(Duration::from_secs(2)));
        let tickets = TicketRotator::new(1, key).unwrap();
        let old = tickets.encrypt(b"session").unwrap();
        assert_eq!(tickets.decrypt(&old).unwrap(), b"session");
        std::thread::sleep(Duration::from_millis(2500));
        assert!(tickets.decrypt(&old).is_none());
        let new = tickets.encrypt(b"session").unwrap();
        assert_eq!(tickets.decrypt(&new).unwrap(), b"session");
    }
}
