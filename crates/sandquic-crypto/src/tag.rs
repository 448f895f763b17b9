//! Tags, compared in constant time.

use core::hint::black_box;

use aead::Error;

/// Compares the tag of decrypted data with the one that came with them; if they differ, overwrites the data.
#[inline(always)]
pub(crate) fn verify(expected: &[u8; 16], tag: &[u8; 16], data: &mut [u8]) -> Result<(), Error> {
    let difference = u128::from_ne_bytes(*expected) ^ u128::from_ne_bytes(*tag);
    // One word, which the compiler cannot take apart again to leave off at the first half. `subtle` goes byte by byte, each
    // through memory.
    if black_box(difference as u64 | (difference >> 64) as u64) == 0 {
        return Ok(());
    }
    data.fill(0);
    Err(Error)
}
