//! GHASH in scalar code, by integer multiplication with gaps: every fourth bit is set at most, so that carries do not
//! reach the next one ("ctmul", as in BearSSL).

/// The low 64 bits of the carry-less product.
#[inline(always)]
fn product_low(a: u64, b: u64) -> u64 {
    const MASKS: [u64; 4] =
        [0x1111_1111_1111_1111, 0x2222_2222_2222_2222, 0x4444_4444_4444_4444, 0x8888_8888_8888_8888];
    let (a, b) = (MASKS.map(|m| a & m), MASKS.map(|m| b & m));
    let mut product = 0;
    for (k, mask) in MASKS.into_iter().enumerate() {
        let sum = (0..4).fold(0, |sum, i| sum ^ a[i].wrapping_mul(b[(k + 4 - i) % 4]));
        product |= sum & mask;
    }
    product
}

/// The carry-less product of 64 by 64 bits.
#[inline(always)]
fn product(a: u64, b: u64) -> u128 {
    let high = product_low(a.reverse_bits(), b.reverse_bits()).reverse_bits() >> 1;
    u128::from(product_low(a, b)) | u128::from(high) << 64
}

/// The product modulo x^128 + x^7 + x^2 + x + 1, bit i being the coefficient of x^i.
#[inline(always)]
fn multiply(a: u128, b: u128) -> u128 {
    let (a0, a1, b0, b1) = (a as u64, (a >> 64) as u64, b as u64, (b >> 64) as u64);
    let (low, high) = (product(a0, b0), product(a1, b1));
    let middle = product(a0 ^ a1, b0 ^ b1) ^ low ^ high;
    let (low, high) = (low ^ (middle << 64), high ^ (middle >> 64));
    let over = (high >> 127) ^ (high >> 126) ^ (high >> 121);
    let fold = |x: u128| x ^ (x << 1) ^ (x << 2) ^ (x << 7);
    low ^ fold(high) ^ fold(over)
}

/// Absorbs whole blocks, each turned round with `reverse`.
#[inline(always)]
pub(crate) fn absorb(h: &[u8; 16], y: &mut [u8; 16], blocks: &[u8], reverse: bool) {
    let h = u128::from_be_bytes(*h).reverse_bits();
    let mut sum = u128::from_be_bytes(*y).reverse_bits();
    for block in blocks.as_chunks::<16>().0 {
        let block = if reverse { u128::from_le_bytes(*block) } else { u128::from_be_bytes(*block) };
        sum = multiply(sum ^ block.reverse_bits(), h);
    }
    *y = sum.reverse_bits().to_be_bytes();
}
