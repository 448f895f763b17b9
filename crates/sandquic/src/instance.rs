//! Instances of one server that share an address.
//!
//! A host that runs several instances of a component, each on a thread of its own, gives them one UDP port and hands every
//! datagram to the instance that its destination connection ID names. So connections stay with their instance when a
//! client's address changes, by migration (RFC 9000, 9) or behind a NAT.
//!
//! The host tells an instance by environment variables (`SANDQUIC_INSTANCE` and `SANDQUIC_INSTANCE_KEY`) which one it is, and
//! a key that all have. Where they are set, [`EndpointConfig::default`](crate::EndpointConfig) and
//! [`ServerConfig::with_crypto`](crate::ServerConfig::with_crypto) heed them, so that a server needs nothing of this
//! module: its connection IDs name the instance, and the address-validation tokens (RFC 9000, 8.1) and stateless resets
//! (RFC 9000, 10.3) of all instances are the same. TLS sessions are not shared: a client that comes back to another instance
//! makes a full handshake. Nor is the record of tokens that were used: each instance takes a token once.

use std::env;
use std::sync::Arc;

use quinn_proto::crypto::{HandshakeTokenKey, HmacKey};
use quinn_proto::{ConnectionId, ConnectionIdGenerator, InvalidCid};
use rustls::crypto::SecureRandom;
use sandquic_instance::{ConnectionIds, KEY_VARIABLE, POSITION_VARIABLE};
use sandquic_rustls::token;

use crate::session::{ResetKey, TokenKey};

pub use sandquic_instance::{Key, MAX_INSTANCES, Position};

/// One of the instances that share an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instance {
    position: Position,
    key: Key,
}

/// The instance that the host says this program is, if it says so.
///
/// # Errors
///
/// If the variables are there but not as they must be.
pub fn from_env() -> Result<Option<Instance>, InvalidEnvironment> {
    let position = match env::var(POSITION_VARIABLE) {
        Ok(position) => position.parse().map_err(InvalidEnvironment)?,
        Err(env::VarError::NotPresent) => return Ok(None),
        Err(env::VarError::NotUnicode(_)) => {
            return Err(InvalidEnvironment(sandquic_instance::Invalid::Position));
        }
    };
    let key = env::var(KEY_VARIABLE).unwrap_or_default().parse().map_err(InvalidEnvironment)?;
    Ok(Some(Instance { position, key }))
}

/// The host's variables are not as they must be.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}; the host of the instances sets it")]
pub struct InvalidEnvironment(sandquic_instance::Invalid);

impl Instance {
    /// An instance with the key that all of them have: secret, random and made anew for every run.
    pub fn new(position: Position, key: Key) -> Self {
        Self { position, key }
    }

    /// Which instance it is, and of how many.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Makes the connection IDs that name this instance, for [`EndpointConfig`](crate::EndpointConfig).
    pub fn connection_ids(&self) -> InstanceConnectionIds {
        InstanceConnectionIds {
            ids: self.key.connection_ids(),
            index: self.position.index(),
            random: sandquic_rustls::provider().secure_random,
            nonces: Vec::new(),
        }
    }

    /// The key of stateless resets that all instances have.
    pub fn reset_key(&self) -> Arc<dyn HmacKey> {
        Arc::new(ResetKey::of(&self.derive(b"sandquic stateless reset")))
    }

    /// The key of address-validation tokens that all instances have.
    pub fn token_key(&self) -> Arc<dyn HandshakeTokenKey> {
        Arc::new(TokenKey::of(&self.derive(b"sandquic address validation")))
    }

    /// A key for one purpose.
    fn derive(&self, purpose: &[u8]) -> [u8; token::HmacKey::SIGNATURE_LEN] {
        token::HmacKey::new(self.key.secret()).sign(purpose)
    }
}

/// Makes connection IDs that name an instance to its host.
pub struct InstanceConnectionIds {
    ids: ConnectionIds,
    index: u8,
    random: &'static dyn SecureRandom,
    /// Not used yet. Under WASI it costs a call of the host to get some, however many.
    nonces: Vec<[u8; ConnectionIds::NONCE_LEN]>,
}

/// Nonces that are fetched at once.
const NONCES: usize = 64;

impl std::fmt::Debug for InstanceConnectionIds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InstanceConnectionIds").field("index", &self.index).finish_non_exhaustive()
    }
}

impl ConnectionIdGenerator for InstanceConnectionIds {
    fn generate_cid(&mut self) -> ConnectionId {
        if self.nonces.is_empty() {
            self.nonces.resize(NONCES, Default::default());
            let bytes = self.nonces.as_flattened_mut();
            self.random.fill(bytes).expect("the system gives randomness, without which there is no QUIC");
        }
        let nonce = self.nonces.pop().expect("filled just now");
        ConnectionId::new(&self.ids.encode(self.index, nonce))
    }

    /// Any instance's: a datagram of a connection whose instance is gone is answered with a stateless reset by another.
    fn validate(&self, cid: &ConnectionId) -> Result<(), InvalidCid> {
        self.ids.decode(cid).map(drop).ok_or(InvalidCid)
    }

    fn cid_len(&self) -> usize {
        ConnectionIds::LEN
    }

    fn cid_lifetime(&self) -> Option<std::time::Duration> {
        None
    }
}

/// What the host says, or nothing where it says it wrongly: then endpoints of servers fail to be made, with the reason.
pub(crate) fn current() -> Option<Instance> {
    from_env().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance(index: u16, seed: u8) -> Instance {
        Instance::new(Position::new(index, 3).unwrap(), Key::new([seed; 32]))
    }

    #[test]
    fn connection_ids_name_their_instance_and_differ() {
        let host = Key::new([1; 32]).connection_ids();
        for index in 0..3 {
            let mut ids = instance(index, 1).connection_ids();
            let (a, b) = (ids.generate_cid(), ids.generate_cid());
            assert_ne!(a, b);
            assert_eq!((a.len(), host.decode(&a)), (ids.cid_len(), Some(index as u8)));
            assert!(ids.validate(&a).is_ok() && instance(0, 1).connection_ids().validate(&b).is_ok());
            assert!(ids.validate(&ConnectionId::new(&[0; 8])).is_err());
        }
    }

    #[test]
    fn keys_are_shared_by_instances_and_no_others() {
        let sign = |instance: Instance| {
            let mut signature = [0; 32];
            instance.reset_key().sign(b"connection", &mut signature);
            signature
        };
        assert_eq!(sign(instance(0, 1)), sign(instance(2, 1)));
        assert_ne!(sign(instance(0, 1)), sign(instance(0, 2)));

        let mut sealed = b"an address".to_vec();
        instance(0, 1).token_key().aead_from_hkdf(b"n").seal(&mut sealed, b"").unwrap();
        let open = |instance: Instance| {
            instance.token_key().aead_from_hkdf(b"n").open(&mut sealed.clone(), b"").is_ok()
        };
        assert!(open(instance(1, 1)));
        assert!(!open(instance(1, 2)));
    }
}
