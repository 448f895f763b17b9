//! X25519 (RFC 7748, RFC 8446 4.2.8.2): shares and secret have 32 bytes.

use rustls::crypto::{ActiveKeyExchange, SharedSecret, SupportedKxGroup};
use rustls::ffdhe_groups::FfdheGroup;
use rustls::{Error, NamedGroup};
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::Zeroizing;

use super::INVALID_SHARE;
use crate::random;

/// The group.
#[derive(Debug)]
pub(super) struct Group;

impl SupportedKxGroup for Group {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        Ok(Box::new(Exchange::start()?))
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

/// An ephemeral key pair.
pub(super) struct Exchange {
    secret: StaticSecret,
    public: PublicKey,
}

impl Exchange {
    pub(super) fn start() -> Result<Self, Error> {
        let mut seed = Zeroizing::new([0; 32]);
        random::fill(&mut *seed)?;
        let secret = StaticSecret::from(*seed);
        let public = PublicKey::from(&secret);
        Ok(Self { secret, public })
    }

    pub(super) fn share(&self) -> &[u8; 32] {
        self.public.as_bytes()
    }

    /// The shared secret with the owner of `share`, as [`x25519_dalek::SharedSecret`], wiped when dropped.
    pub(super) fn agree(&self, share: &[u8]) -> Result<x25519_dalek::SharedSecret, Error> {
        let share: [u8; 32] = share.try_into().map_err(|_| INVALID_SHARE)?;
        let secret = self.secret.diffie_hellman(&PublicKey::from(share));
        // RFC 8446, 7.4.2: an all-zero secret comes from a share of small order.
        if !secret.was_contributory() {
            return Err(INVALID_SHARE);
        }
        Ok(secret)
    }
}

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer_pub_key: &[u8]) -> Result<SharedSecret, Error> {
        Ok(SharedSecret::from(self.agree(peer_pub_key)?.as_bytes().as_slice()))
    }

    fn pub_key(&self) -> &[u8] {
        self.share()
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}
