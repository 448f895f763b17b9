//! The hashes by which certificates are pinned.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use digest::Digest;
use sandquic_crypto::sha2::Sha256;

/// SHA-256 of a certificate in DER, as hexadecimal digits: what browsers show, and `serverCertificateHashes` takes.
pub fn certificate_hash(certificate: &[u8]) -> String {
    Sha256::digest(certificate).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256 of a SubjectPublicKeyInfo in DER, in base64: what curl's `--pinnedpubkey sha256//` and Chromium's
/// `--ignore-certificate-errors-spki-list` take.
pub fn spki_hash(spki: &[u8]) -> String {
    STANDARD.encode(Sha256::digest(spki))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_have_the_usual_forms() {
        // FIPS 180-4's example of "abc".
        assert_eq!(
            certificate_hash(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(spki_hash(b"abc"), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
    }
}
