//! Where the kernels keep the bytes of a state.
//!
//! FIPS 197 numbers the byte in row r and column c as 4c + r. The kernels keep it at position 8 r1 + 4 c1 + 2 r0 + c0
//! (r1, r0 and c1, c0 being the bits of r and c), because then a rotation by two rows, with or without one by two
//! columns, moves whole 32-bit elements.
//!
//! ShiftRows is never done. After k of them the byte that belongs in row r and column c lies in column c + k r instead
//! ("fixslicing", Adomnicai and Peyrin 2021). Seen from there MixColumns needs, for every row, the next row rotated by k
//! columns, and the row after that rotated by 2k. Round keys are kept in the layout of their round.

/// The position of the byte in row r and column c.
pub(crate) const fn position(r: usize, c: usize) -> usize {
    8 * (r >> 1) + 4 * (c >> 1) + 2 * (r & 1) + (c & 1)
}

/// Indices that bring a block into the layout after `k` omitted ShiftRows.
pub(crate) const fn arrange(k: usize) -> [u8; 16] {
    let mut indices = [0; 16];
    let mut i = 0;
    while i < 16 {
        let (r, c) = (i % 4, i / 4);
        indices[position(r, (c + k * r) % 4)] = i as u8;
        i += 1;
    }
    indices
}

/// Indices that undo [`arrange`].
pub(crate) const fn restore(k: usize) -> [u8; 16] {
    let mut indices = [0; 16];
    let mut i = 0;
    while i < 16 {
        let (r, c) = (i % 4, i / 4);
        indices[i] = position(r, (c + k * r) % 4) as u8;
        i += 1;
    }
    indices
}

/// Indices that bring to each byte the one in the next row, `k` columns on.
pub(crate) const fn next_row(k: usize) -> [u8; 16] {
    let mut indices = [0; 16];
    let mut i = 0;
    while i < 16 {
        let (r, c) = (i % 4, i / 4);
        indices[position(r, c)] = position((r + 1) % 4, (c + k) % 4) as u8;
        i += 1;
    }
    indices
}

/// A constant permutation of bytes in scalar code.
pub(crate) fn permute(bytes: &[u8; 16], indices: &[u8; 16]) -> [u8; 16] {
    core::array::from_fn(|i| bytes[usize::from(indices[i] & 15)])
}
