//! Session tickets (RFC 8446, 4.6.1; RFC 5077 for TLS 1.2) under keys that rotate.

use std::sync::Arc;

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
    Ok(Arc::new(TicketRotator::new(ROTATION, ticket_key)?))
}

/// One random ticket key: the generator for a [`TicketRotator`] with another rhythm.
///
/// A ticket is the key's name (16 bytes), a random nonce (12), the session sealed with ChaCha20-Poly1305, and
/// the tag (16).
///
/// # Errors
/// [`GetRandomFailed`] if the system gives no randomness.
pub fn ticket_key() -> Result<Box<dyn ProducesTickets>, GetRandomFailed> {
    let mut name = [0; NAME_LEN];
    let mut key = Zeroizing::new([0; 32]);
    System.fill(&mut name)?;
    System.fill(&mut *key)?;
    Ok(Box::new(TicketKey { name, aead: Aead::new(&key) }))
}

struct TicketKey {
    name: [u8; NAME_LEN],
    aead: <DefaultCiphers as Ciphers>::ChaCha20Poly1305,
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
        if *name != self.name {
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
