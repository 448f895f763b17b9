//! Resumption with stored sessions and with tickets, and what rotation does to tickets.

mod common;

use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use common::*;
use rustls::server::{NoServerSessionStorage, ProducesTickets};
use rustls::ticketer::TicketRotator;
use rustls::{HandshakeKind, SupportedCipherSuite};
use sandquic_rustls::{ALL_CIPHER_SUITES, provider, ticket_key, ticketer};

fn identity(suite: SupportedCipherSuite) -> Identity {
    if format!("{:?}", suite.suite()).contains("_RSA_") { RSA2048 } else { P256 }
}

/// Connects several times and gives what kind of handshake each connection had.
fn kinds(
    suite: SupportedCipherSuite,
    tickets: Option<Arc<dyn ProducesTickets>>,
    times: usize,
) -> Vec<HandshakeKind> {
    let client = Arc::new(client_config(with_suite(provider(), suite), CA, None));
    let mut server = server_config(provider(), identity(suite), None);
    if let Some(tickets) = tickets {
        server.ticketer = tickets;
        // Whatever is resumed is resumed from a ticket.
        server.session_storage = Arc::new(NoServerSessionStorage {});
    }
    let server = Arc::new(server);
    let connect = |_| {
        let mut pair = Pair::new(client.clone(), server.clone());
        pair.run().unwrap();
        pair.client.handshake_kind().unwrap()
    };
    (0..times).map(connect).collect()
}

#[test]
fn stored_sessions() {
    for &suite in ALL_CIPHER_SUITES {
        let kinds = kinds(suite, None, 3);
        assert_eq!(kinds, [HandshakeKind::Full, HandshakeKind::Resumed, HandshakeKind::Resumed], "{suite:?}");
    }
}

#[test]
fn tickets() {
    for &suite in ALL_CIPHER_SUITES {
        let kinds = kinds(suite, Some(ticketer().unwrap()), 3);
        assert_eq!(kinds, [HandshakeKind::Full, HandshakeKind::Resumed, HandshakeKind::Resumed], "{suite:?}");
    }
}

/// Rotates every second but tells clients an hour, so that what is tested is the keys and not the clients' clocks.
#[derive(Debug)]
struct EverySecond(TicketRotator);

impl ProducesTickets for EverySecond {
    fn enabled(&self) -> bool {
        self.0.enabled()
    }

    fn lifetime(&self) -> u32 {
        3600
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        self.0.encrypt(plain)
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        self.0.decrypt(cipher)
    }
}

/// A ticket outlives one change of keys and not two.
#[test]
fn tickets_across_rotation() {
    // The rotator counts whole seconds and changes keys at the first use after the one that is due: two seconds
    // make a change certain, and however slow this runs, one use makes no more than one.
    let over = Duration::from_millis(2100);
    let tickets: Arc<dyn ProducesTickets> = Arc::new(EverySecond(TicketRotator::new(1, ticket_key).unwrap()));
    let suite = ALL_CIPHER_SUITES[0];
    let client = Arc::new(client_config(with_suite(provider(), suite), CA, None));
    let mut server = server_config(provider(), P256, None);
    server.ticketer = tickets.clone();
    server.session_storage = Arc::new(NoServerSessionStorage {});
    let server = Arc::new(server);
    let connect = || {
        let mut pair = Pair::new(client.clone(), server.clone());
        pair.run().unwrap();
        pair.client.handshake_kind().unwrap()
    };
    let first = tickets.encrypt(b"session").unwrap();
    assert_eq!(connect(), HandshakeKind::Full);
    sleep(over);
    assert_eq!(connect(), HandshakeKind::Resumed, "the key before the current one still opens");
    sleep(over);
    let new = tickets.encrypt(b"new").unwrap();
    assert!(tickets.decrypt(&first).is_none(), "the first key is gone after two changes");
    assert!(ticketer().unwrap().decrypt(&new).is_none());
}

#[test]
fn only_whole_tickets_of_the_same_key_open() {
    let key = ticket_key().unwrap();
    assert!(key.enabled() && key.lifetime() > 0);
    for len in [0, 1, 100, 5000] {
        let session = vec![42; len];
        let ticket = key.encrypt(&session).unwrap();
        assert_eq!(ticket.len(), len + 16 + 12 + 16);
        assert_eq!(key.decrypt(&ticket).unwrap(), session);
        assert_ne!(key.encrypt(&session).unwrap(), ticket, "two tickets are never the same");
        assert!(ticket_key().unwrap().decrypt(&ticket).is_none(), "another key");
        for end in (0..ticket.len()).step_by(7) {
            assert!(key.decrypt(&ticket[..end]).is_none(), "{end} bytes");
        }
        for at in (0..ticket.len()).step_by(5) {
            let mut changed = ticket.clone();
            changed[at] ^= 1;
            assert!(key.decrypt(&changed).is_none(), "byte {at} changed");
        }
    }
}
