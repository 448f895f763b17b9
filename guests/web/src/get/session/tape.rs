//! A tape of what a handshake took from outside: random bytes, key shares, shared secrets, the time.
//!
//! rustls makes all of these through its provider and its clock, within calls that a [`Taped`] one wraps. While such a
//! call records or plays, the tape lies in a thread-local variable, since the provider's parts are `'static`.

use std::cell::RefCell;
use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

use rustls::crypto::{
    ActiveKeyExchange, CryptoProvider, GetRandomFailed, SecureRandom, SharedSecret, SupportedKxGroup,
};
use rustls::ffdhe_groups::FfdheGroup;
use rustls::pki_types::UnixTime;
use rustls::time_provider::{DefaultTimeProvider, TimeProvider};
use rustls::{Error, NamedGroup, ProtocolVersion};
use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

use super::hex;

/// What was taken once.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Event {
    /// Random bytes.
    Random(#[serde(with = "hex")] Vec<u8>),
    /// A key exchange began: its group, its share, and group and share of its classical half.
    Start(u16, #[serde(with = "hex")] Vec<u8>, u16, #[serde(with = "hex")] Vec<u8>),
    /// It ended with this secret.
    Secret(#[serde(with = "hex")] Vec<u8>),
    /// Seconds since 1970.
    Time(u64),
}

impl Drop for Event {
    fn drop(&mut self) {
        match self {
            Self::Random(bytes) | Self::Secret(bytes) => bytes.zeroize(),
            Self::Start(..) | Self::Time(_) => {}
        }
    }
}

/// A tape, and what it is for.
pub(super) enum Tape {
    /// Records.
    Recording(Vec<Event>),
    /// Plays; what is asked for in another order fails.
    Playing(std::vec::IntoIter<Event>),
}

/// The most events of a handshake: it has a dozen.
const MOST_EVENTS: usize = 100;

thread_local! {
    static TAPE: RefCell<Option<Tape>> = const { RefCell::new(None) };
}

/// Runs `call` with the tape, and gives the tape back.
pub(super) fn with<T>(tape: &mut Option<Tape>, call: impl FnOnce() -> T) -> T {
    /// Takes the tape out again, even if `call` panics.
    struct Lent<'a>(&'a mut Option<Tape>);
    impl Drop for Lent<'_> {
        fn drop(&mut self) {
            *self.0 = TAPE.with(|lent| lent.borrow_mut().take());
        }
    }
    TAPE.with(|lent| *lent.borrow_mut() = tape.take());
    let _lent = Lent(tape);
    call()
}

/// Records what `fresh` makes, or plays what it made. `None` if the tape has something else.
fn taped<T>(
    fresh: impl FnOnce() -> Option<T>,
    record: impl FnOnce(&T) -> Event,
    play: impl FnOnce(Event) -> Option<T>,
) -> Option<T> {
    TAPE.with(|lent| {
        match &mut *lent.borrow_mut() {
            Some(Tape::Playing(events)) => return play(events.next()?),
            Some(Tape::Recording(events)) if events.len() < MOST_EVENTS => {
                let value = fresh()?;
                events.push(record(&value));
                return Some(value);
            }
            _ => {}
        }
        fresh()
    })
}

/// The provider with every source taped. It is the same provider where there is no tape.
pub(crate) fn provider(mut provider: CryptoProvider) -> CryptoProvider {
    // One set for the process, since rustls wants them to live forever.
    static RANDOM: OnceLock<Random> = OnceLock::new();
    static GROUPS: OnceLock<Vec<Group>> = OnceLock::new();
    provider.secure_random = RANDOM.get_or_init(|| Random(provider.secure_random));
    let groups = GROUPS.get_or_init(|| provider.kx_groups.iter().copied().map(Group).collect());
    provider.kx_groups = groups.iter().map(|group| group as &dyn SupportedKxGroup).collect();
    provider
}

#[derive(Debug)]
struct Random(&'static dyn SecureRandom);

impl SecureRandom for Random {
    fn fill(&self, buf: &mut [u8]) -> Result<(), GetRandomFailed> {
        let length = buf.len();
        let mut bytes = taped(
            || {
                let mut bytes = vec![0; length];
                self.0.fill(&mut bytes).ok()?;
                Some(bytes)
            },
            |bytes| Event::Random(bytes.clone()),
            |mut event| match &mut event {
                Event::Random(bytes) if bytes.len() == length => Some(std::mem::take(bytes)),
                _ => None,
            },
        )
        .ok_or(GetRandomFailed)?;
        buf.copy_from_slice(&bytes);
        bytes.zeroize();
        Ok(())
    }
}

#[derive(Debug)]
struct Group(&'static dyn SupportedKxGroup);

impl SupportedKxGroup for Group {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let group = self.name();
        let exchange = taped(
            || {
                let exchange = self.0.start().ok()?;
                let pub_key = exchange.pub_key().to_vec();
                let half = exchange.hybrid_component().map(|(group, key)| (group, key.to_vec()));
                Some(Exchange { group, pub_key, half, live: Some(exchange) })
            },
            |exchange| {
                let (half, half_key) = exchange.half.clone().unwrap_or((NamedGroup::Unknown(0), Vec::new()));
                Event::Start(group.into(), exchange.pub_key.clone(), half.into(), half_key)
            },
            |mut event| match &mut event {
                Event::Start(name, pub_key, half, half_key) if *name == u16::from(group) => {
                    let half = (*half != 0).then(|| ((*half).into(), std::mem::take(half_key)));
                    Some(Exchange { group, pub_key: std::mem::take(pub_key), half, live: None })
                }
                _ => None,
            },
        );
        match exchange {
            Some(exchange) => Ok(Box::new(exchange)),
            None => Err(Error::FailedToGetRandomBytes),
        }
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        self.0.ffdhe_group()
    }

    fn name(&self) -> NamedGroup {
        self.0.name()
    }

    fn fips(&self) -> bool {
        self.0.fips()
    }

    fn usable_for_version(&self, version: ProtocolVersion) -> bool {
        self.0.usable_for_version(version)
    }
}

/// A key exchange whose secret goes onto the tape, or comes from there.
struct Exchange {
    group: NamedGroup,
    pub_key: Vec<u8>,
    half: Option<(NamedGroup, Vec<u8>)>,
    /// Absent while a tape plays.
    live: Option<Box<dyn ActiveKeyExchange>>,
}

impl Exchange {
    fn end(
        live: Option<Box<dyn ActiveKeyExchange>>,
        complete: impl FnOnce(Box<dyn ActiveKeyExchange>) -> Result<SharedSecret, Error>,
    ) -> Result<SharedSecret, Error> {
        let mut refused = Error::General("the recorded handshake went another way".into());
        let secret = taped(
            || match complete(live?) {
                Ok(secret) => Some(secret),
                Err(error) => {
                    refused = error;
                    None
                }
            },
            |secret| Event::Secret(secret.secret_bytes().to_vec()),
            |mut event| match &mut event {
                Event::Secret(bytes) => Some(SharedSecret::from(std::mem::take(bytes))),
                _ => None,
            },
        );
        secret.ok_or(refused)
    }
}

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer_pub_key: &[u8]) -> Result<SharedSecret, Error> {
        Self::end(self.live, |live| live.complete(peer_pub_key))
    }

    fn hybrid_component(&self) -> Option<(NamedGroup, &[u8])> {
        self.half.as_ref().map(|(group, key)| (*group, key.as_slice()))
    }

    fn complete_hybrid_component(self: Box<Self>, peer_pub_key: &[u8]) -> Result<SharedSecret, Error> {
        Self::end(self.live, |live| live.complete_hybrid_component(peer_pub_key))
    }

    fn pub_key(&self) -> &[u8] {
        &self.pub_key
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn group(&self) -> NamedGroup {
        self.group
    }
}

/// The system's clock, or the time on the tape.
///
/// rustls counts a ticket's age in whole seconds of this clock: from one that came at 0.9 s to a hello at 1.1 s it would be
/// 1 s, older than the ticket is to its server, and GnuTLS then refuses early data. So what is recorded behind the key
/// exchange is the end of the second, and an age is at most two seconds too short, which every server allows for
/// (RFC 8446, 8.3).
pub(super) struct Clock;

impl Clock {
    fn live() -> Option<UnixTime> {
        let now = DefaultTimeProvider.current_time()?;
        let is_late = TAPE.with(|lent| match &*lent.borrow() {
            Some(Tape::Recording(events)) => events.iter().any(|event| matches!(event, Event::Secret(_))),
            _ => false,
        });
        Some(UnixTime::since_unix_epoch(Duration::from_secs(now.as_secs() + u64::from(is_late))))
    }
}

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        // Before the tape is borrowed.
        let now = Self::live();
        taped(
            || now,
            |time| Event::Time(time.as_secs()),
            |event| match event {
                Event::Time(seconds) => Some(UnixTime::since_unix_epoch(Duration::from_secs(seconds))),
                _ => None,
            },
        )
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_never_older_than_it_is() {
        let system = || DefaultTimeProvider.current_time().unwrap().as_secs();
        let taken = |events: Vec<Event>| {
            let mut tape = Some(Tape::Recording(events));
            let before = system();
            let time = with(&mut tape, || Clock.current_time()).unwrap().as_secs();
            let Some(Tape::Recording(events)) = tape else { panic!("no tape") };
            assert!(matches!(events.last(), Some(Event::Time(recorded)) if *recorded == time));
            (before, time, system())
        };
        let (before, time, after) = taken(vec![]);
        assert!((before..=after).contains(&time));
        let (before, time, after) = taken(vec![Event::Secret(vec![1])]);
        assert!((before + 1..=after + 1).contains(&time));
        let mut playing = Some(Tape::Playing(vec![Event::Secret(vec![1]), Event::Time(7)].into_iter()));
        let played = with(&mut playing, || {
            taped(|| None, |_: &()| Event::Time(0), |_| Some(()));
            Clock.current_time()
        });
        assert_eq!(played.map(|time| time.as_secs()), Some(7));
    }
}
