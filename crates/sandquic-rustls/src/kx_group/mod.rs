//! Key exchange groups.

mod hybrid;
mod nist;
mod x25519;

use rustls::crypto::SupportedKxGroup;
use rustls::{Error, PeerMisbehaved};

/// X25519 (RFC 7748).
pub static X25519: &dyn SupportedKxGroup = &x25519::Group;
/// ECDHE over NIST P-256.
pub static SECP256R1: &dyn SupportedKxGroup = &nist::P256;
/// ECDHE over NIST P-384.
pub static SECP384R1: &dyn SupportedKxGroup = &nist::P384;
/// The post-quantum hybrid of ML-KEM-768 (FIPS 203) and X25519, for TLS 1.3 (draft-ietf-tls-ecdhe-mlkem).
pub static X25519MLKEM768: &dyn SupportedKxGroup = &hybrid::Group;

/// Every group, in the order in which the provider offers them.
pub static ALL_KX_GROUPS: &[&dyn SupportedKxGroup] = &[X25519MLKEM768, X25519, SECP256R1, SECP384R1];

/// The peer's share is malformed or is no point to exchange keys with.
const INVALID_SHARE: Error = Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare);
