//! ECDHE over NIST P-256 and P-384 (RFC 8446, 4.2.8.2): shares are uncompressed points (65 and 97 bytes), the
//! secret is the x coordinate (32 and 48 bytes).

use getrandom::SysRng;
use p256::elliptic_curve::Generate;
use rustls::crypto::{ActiveKeyExchange, SharedSecret, SupportedKxGroup};
use rustls::ffdhe_groups::FfdheGroup;
use rustls::{Error, NamedGroup};

use super::INVALID_SHARE;

macro_rules! group {
    ($curve:ident, $group:ident, $exchange:ident, $name:expr) => {
        /// The group.
        #[derive(Debug)]
        pub(super) struct $group;

        struct $exchange {
            secret: $curve::SecretKey,
            share: Box<[u8]>,
        }

        impl SupportedKxGroup for $group {
            fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
                let secret = $curve::SecretKey::try_generate_from_rng(&mut SysRng)
                    .map_err(|_| Error::FailedToGetRandomBytes)?;
                let share = $curve::Sec1Point::from(secret.public_key()).to_bytes();
                Ok(Box::new($exchange { secret, share }))
            }

            fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
                None
            }

            fn name(&self) -> NamedGroup {
                $name
            }
        }

        impl ActiveKeyExchange for $exchange {
            fn complete(self: Box<Self>, peer_pub_key: &[u8]) -> Result<SharedSecret, Error> {
                // TLS knows the uncompressed form alone.
                if peer_pub_key.first() != Some(&0x04) {
                    return Err(INVALID_SHARE);
                }
                let peer = $curve::PublicKey::from_sec1_bytes(peer_pub_key).map_err(|_| INVALID_SHARE)?;
                let secret = self.secret.diffie_hellman(&peer);
                Ok(SharedSecret::from(secret.raw_secret_bytes().as_slice()))
            }

            fn pub_key(&self) -> &[u8] {
                &self.share
            }

            fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
                None
            }

            fn group(&self) -> NamedGroup {
                $name
            }
        }
    };
}

group!(p256, P256, P256Exchange, NamedGroup::secp256r1);
group!(p384, P384, P384Exchange, NamedGroup::secp384r1);
