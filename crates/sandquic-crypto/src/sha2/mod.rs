//! SHA-2 (FIPS 180-4), HMAC and HKDF through it.
