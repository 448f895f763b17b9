//! The tickets of one server, the newest of which is used first.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

/// Tickets that are kept.
const MOST: usize = 8;

/// Each ticket is used once (RFC 8446, C.4).
#[derive(Debug, Default)]
pub(super) struct Tickets(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    tickets: VecDeque<Tls13ClientSessionValue>,
    group: Option<NamedGroup>,
}

impl Tickets {
    pub(super) fn is_empty(&self) -> bool {
        self.kept().tickets.is_empty()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientSessionStore for Tickets {
    fn set_kx_hint(&self, _: ServerName<'static>, group: NamedGroup) {
        self.kept().group = Some(group);
    }

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        self.kept().group
    }

    // QUIC has TLS 1.3 alone.
    fn set_tls12_session(&self, _: ServerName<'static>, _: Tls12ClientSessionValue) {}

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        None
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {}

    fn insert_tls13_ticket(&self, _: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        let tickets = &mut self.kept().tickets;
        if tickets.len() == MOST {
            tickets.pop_front();
        }
        tickets.push_back(ticket);
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.kept().tickets.pop_back()
    }
}
