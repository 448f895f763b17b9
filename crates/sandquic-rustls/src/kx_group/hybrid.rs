//! X25519MLKEM768 (draft-ietf-tls-ecdhe-mlkem): ML-KEM-768 first, X25519 second, in both shares and in the secret.
//!
//! | | ML-KEM-768 | X25519 | bytes |
//! | --- | --- | --- | --- |
//! | client's share | encapsulation key, 1184 | 32 | 1216 |
//! | server's share | ciphertext, 1088 | 32 | 1120 |
//! | secret | 32 | 32 | 64 |

use ml_kem::ml_kem_768::{DecapsulationKey, EncapsulationKey};
use ml_kem::{B32, Decapsulate, KeyExport, Seed};
use rustls::crypto::{ActiveKeyExchange, CompletedKeyExchange, SharedSecret, SupportedKxGroup};
use rustls::ffdhe_groups::FfdheGroup;
use rustls::{Error, NamedGroup, ProtocolVersion};
use zeroize::Zeroizing;

use super::{INVALID_SHARE, x25519};
use crate::random;

/// The group.
#[derive(Debug)]
pub(super) struct Group;

impl SupportedKxGroup for Group {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let mut seed = Zeroizing::new(Seed::default());
        random::fill(&mut seed)?;
        let kem = DecapsulationKey::from_seed(*seed);
        let ecdh = x25519::Exchange::start()?;
        let share = [kem.encapsulation_key().to_bytes().as_slice(), ecdh.share()].concat();
        Ok(Box::new(Exchange { kem, ecdh, share }))
    }

    fn start_and_complete(&self, peer_pub_key: &[u8]) -> Result<CompletedKeyExchange, Error> {
        let (kem_share, ecdh_share) = split(peer_pub_key)?;
        let key = kem_share.try_into().map_err(|_| INVALID_SHARE)?;
        let key = EncapsulationKey::new(key).map_err(|_| INVALID_SHARE)?;
        let mut message = Zeroizing::new(B32::default());
        random::fill(&mut message)?;
        let (ciphertext, kem_secret) = key.encapsulate_deterministic(&message);
        let kem_secret = Zeroizing::new(kem_secret);
        let ecdh = x25519::Exchange::start()?;
        let secret = join(&kem_secret, &ecdh.agree(ecdh_share)?);
        Ok(CompletedKeyExchange {
            group: NamedGroup::X25519MLKEM768,
            pub_key: [ciphertext.as_slice(), ecdh.share()].concat(),
            secret,
        })
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519MLKEM768
    }

    fn usable_for_version(&self, version: ProtocolVersion) -> bool {
        version == ProtocolVersion::TLSv1_3
    }
}

/// The client's side, waiting for the ciphertext.
struct Exchange {
    kem: DecapsulationKey,
    ecdh: x25519::Exchange,
    share: Vec<u8>,
}

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer_pub_key: &[u8]) -> Result<SharedSecret, Error> {
        let (ciphertext, ecdh_share) = split(peer_pub_key)?;
        let ciphertext = ciphertext.try_into().map_err(|_| INVALID_SHARE)?;
        let kem_secret = Zeroizing::new(self.kem.decapsulate(ciphertext));
        Ok(join(&kem_secret, &self.ecdh.agree(ecdh_share)?))
    }

    /// A server without the hybrid can take the X25519 half of the same offer.
    fn hybrid_component(&self) -> Option<(NamedGroup, &[u8])> {
        Some((NamedGroup::X25519, self.ecdh.share()))
    }

    fn complete_hybrid_component(self: Box<Self>, peer_pub_key: &[u8]) -> Result<SharedSecret, Error> {
        Ok(SharedSecret::from(self.ecdh.agree(peer_pub_key)?.as_bytes().as_slice()))
    }

    fn pub_key(&self) -> &[u8] {
        &self.share
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519MLKEM768
    }
}

/// The ML-KEM half of a share and its last 32 bytes, for X25519.
fn split(share: &[u8]) -> Result<(&[u8], &[u8; 32]), Error> {
    share.split_last_chunk().ok_or(INVALID_SHARE)
}

fn join(kem: &[u8], ecdh: &x25519_dalek::SharedSecret) -> SharedSecret {
    let mut secret = Zeroizing::new([0; 64]);
    let (first, second) = secret.split_at_mut(32);
    first.copy_from_slice(kem);
    second.copy_from_slice(ecdh.as_bytes());
    SharedSecret::from(secret.as_slice())
}
