//! Overwriting of secrets.

/// With feature `zeroize`, fills with zeros and keeps the compiler from leaving that out; else does nothing. The crate
/// `zeroize` writes single volatile bytes, which for the kilobytes of an expanded key costs as much as a packet.
#[inline(always)]
pub(crate) fn wipe<T: Default + Copy>(secret: &mut [T]) {
    #[cfg(feature = "zeroize")]
    {
        secret.fill(T::default());
        zeroize::optimization_barrier(secret);
    }
    #[cfg(not(feature = "zeroize"))]
    let _ = secret;
}
