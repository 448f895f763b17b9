//! AES-128, -192 and -256 (FIPS 197) and CTR mode.
