//! Overwriting of large secrets.

/// Fills with zeros and keeps the compiler from leaving that out. The crate `zeroize` writes single volatile bytes, which
/// for the kilobytes of an expanded key costs as much as a packet.
#[inline(always)]
pub(crate) fn wipe<T: Default + Copy>(secret: &mut [T]) {
    secret.fill(T::default());
    zeroize::optimization_barrier(secret);
}
