//! Tags, compared in constant time.

use aead::Error;
use subtle::ConstantTimeEq;

/// Compares the tag of decrypted data with the one that came with them; if they differ, overwrites the data.
#[inline(always)]
pub(crate) fn verify(expected: &[u8; 16], tag: &[u8; 16], data: &mut [u8]) -> Result<(), Error> {
    if bool::from(expected.ct_eq(tag)) {
        return Ok(());
    }
    data.fill(0);
    Err(Error)
}
