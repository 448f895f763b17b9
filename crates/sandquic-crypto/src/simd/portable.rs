//! A vector type in plain scalar code, without `unsafe`: the kernels can run anywhere, under any checker.

use super::Vector;

/// Four 32-bit words, the least significant first.
#[derive(Clone, Copy)]
pub(crate) struct V128([u32; 4]);

impl V128 {
    #[inline(always)]
    fn bytes(self) -> [u8; 16] {
        super::words_to_bytes(self.0)
    }
    #[inline(always)]
    fn from_bytes(bytes: [u8; 16]) -> Self {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = bytes;
        Self([[a, b, c, d], [e, f, g, h], [i, j, k, l], [m, n, o, p]].map(u32::from_le_bytes))
    }
    #[inline(always)]
    fn u16s(self) -> [u16; 8] {
        core::array::from_fn(|i| (self.0[i / 2] >> (16 * (i % 2))) as u16)
    }
    #[inline(always)]
    fn from_u16s(x: [u16; 8]) -> Self {
        Self(core::array::from_fn(|i| u32::from(x[2 * i]) | u32::from(x[2 * i + 1]) << 16))
    }
    #[inline(always)]
    fn u64s(self) -> [u64; 2] {
        core::array::from_fn(|i| u64::from(self.0[2 * i]) | u64::from(self.0[2 * i + 1]) << 32)
    }
    #[inline(always)]
    fn from_u64s(x: [u64; 2]) -> Self {
        Self(core::array::from_fn(|i| (x[i / 2] >> (32 * (i % 2))) as u32))
    }
    #[inline(always)]
    fn zip_u8(self, other: Self, f: impl Fn(u8, u8) -> u8) -> Self {
        let (a, b) = (self.bytes(), other.bytes());
        Self::from_bytes(core::array::from_fn(|i| f(a[i], b[i])))
    }
    #[inline(always)]
    fn zip_u32(self, other: Self, f: impl Fn(u32, u32) -> u32) -> Self {
        Self(core::array::from_fn(|i| f(self.0[i], other.0[i])))
    }
    #[inline(always)]
    fn zip_u64(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        let (a, b) = (self.u64s(), other.u64s());
        Self::from_u64s([f(a[0], b[0]), f(a[1], b[1])])
    }
}

impl Vector for V128 {
    const LANES: usize = 1;
    const FAST_SWIZZLE: bool = false;

    #[inline(always)]
    fn load(bytes: &[u8]) -> Self {
        let mut block = [0; 16];
        block.copy_from_slice(&bytes[..16]);
        Self::from_bytes(block)
    }
    #[inline(always)]
    fn store(self, bytes: &mut [u8]) {
        bytes[..16].copy_from_slice(&self.bytes());
    }
    #[inline(always)]
    fn from_lanes(mut lane: impl FnMut(usize) -> [u8; 16]) -> Self {
        Self::from_bytes(lane(0))
    }
    #[inline(always)]
    fn lane(self, _index: usize) -> [u8; 16] {
        self.bytes()
    }
    #[inline(always)]
    fn splat_u32(x: u32) -> Self {
        Self([x; 4])
    }
    #[inline(always)]
    fn splat_u64(x: u64) -> Self {
        Self::from_u64s([x; 2])
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        self.zip_u32(other, |a, b| a & b)
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        self.zip_u32(other, |a, b| a | b)
    }
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        self.zip_u32(other, |a, b| a ^ b)
    }
    #[inline(always)]
    fn andnot(self, other: Self) -> Self {
        self.zip_u32(other, |a, b| a & !b)
    }

    #[inline(always)]
    fn add_u8(self, other: Self) -> Self {
        self.zip_u8(other, u8::wrapping_add)
    }
    #[inline(always)]
    fn add_u32(self, other: Self) -> Self {
        self.zip_u32(other, u32::wrapping_add)
    }
    #[inline(always)]
    fn add_u64(self, other: Self) -> Self {
        self.zip_u64(other, u64::wrapping_add)
    }
    #[inline(always)]
    fn sub_u32(self, other: Self) -> Self {
        self.zip_u32(other, u32::wrapping_sub)
    }
    #[inline(always)]
    fn mul_even_u32(self, other: Self) -> Self {
        self.zip_u64(other, |a, b| u64::from(a as u32) * u64::from(b as u32))
    }
    #[inline(always)]
    fn dot_i16(self, other: Self) -> Self {
        self.zip_u32(other, |a, b| {
            let low = i32::from(a as i16) * i32::from(b as i16);
            let high = ((a as i32) >> 16) * ((b as i32) >> 16);
            low.wrapping_add(high) as u32
        })
    }

    #[inline(always)]
    fn eq_u8(self, other: Self) -> Self {
        self.zip_u8(other, |a, b| 0u8.wrapping_sub(u8::from(a == b)))
    }
    #[inline(always)]
    fn gt_i8(self, other: Self) -> Self {
        self.zip_u8(other, |a, b| 0u8.wrapping_sub(u8::from(a as i8 > b as i8)))
    }
    #[inline(always)]
    fn gt_i32(self, other: Self) -> Self {
        self.zip_u32(other, |a, b| 0u32.wrapping_sub(u32::from(a as i32 > b as i32)))
    }

    #[inline(always)]
    fn shl_u32<const N: i32>(self) -> Self {
        Self(self.0.map(|x| x << N))
    }
    #[inline(always)]
    fn shl_u64<const N: i32>(self) -> Self {
        Self::from_u64s(self.u64s().map(|x| x << N))
    }
    #[inline(always)]
    fn shr_u32<const N: i32>(self) -> Self {
        Self(self.0.map(|x| x >> N))
    }
    #[inline(always)]
    fn shr_u64<const N: i32>(self) -> Self {
        Self::from_u64s(self.u64s().map(|x| x >> N))
    }
    #[inline(always)]
    fn shr_i32<const N: i32>(self) -> Self {
        Self(self.0.map(|x| (x as i32 >> N) as u32))
    }
    #[inline(always)]
    fn rotl_u32<const N: i32>(self) -> Self {
        Self(self.0.map(|x| x.rotate_left(N as u32)))
    }
    #[inline(always)]
    fn rotl16_u32(self, _indices: Self) -> Self {
        self.rotl_u32::<16>()
    }
    #[inline(always)]
    fn rotl8_u32(self, _indices: Self) -> Self {
        self.rotl_u32::<8>()
    }

    /// Looks at every byte for every index, so that no address depends on one.
    #[inline(always)]
    fn swizzle(self, indices: Self) -> Self {
        let (bytes, indices) = (self.bytes(), indices.bytes());
        let mut out = [0; 16];
        for (i, byte) in bytes.into_iter().enumerate() {
            for (out, index) in out.iter_mut().zip(indices) {
                // All ones where index == i: only a zero difference borrows into the upper half.
                let mask = (u16::from(index ^ i as u8).wrapping_sub(1) >> 8) as u8;
                *out |= byte & mask;
            }
        }
        Self::from_bytes(out)
    }
    #[inline(always)]
    fn shuffle_u32<const A: usize, const B: usize, const C: usize, const D: usize>(self) -> Self {
        Self([self.0[A], self.0[B], self.0[C], self.0[D]])
    }
    #[inline(always)]
    fn interleave_lo_u8(self, other: Self) -> Self {
        let (a, b) = (self.bytes(), other.bytes());
        Self::from_bytes(core::array::from_fn(|i| if i % 2 == 0 { a[i / 2] } else { b[i / 2] }))
    }
    #[inline(always)]
    fn interleave_hi_u8(self, other: Self) -> Self {
        let (a, b) = (self.bytes(), other.bytes());
        Self::from_bytes(core::array::from_fn(|i| if i % 2 == 0 { a[8 + i / 2] } else { b[8 + i / 2] }))
    }
    #[inline(always)]
    fn interleave_lo_u16(self, other: Self) -> Self {
        let (a, b) = (self.u16s(), other.u16s());
        Self::from_u16s([a[0], b[0], a[1], b[1], a[2], b[2], a[3], b[3]])
    }
    #[inline(always)]
    fn interleave_hi_u16(self, other: Self) -> Self {
        let (a, b) = (self.u16s(), other.u16s());
        Self::from_u16s([a[4], b[4], a[5], b[5], a[6], b[6], a[7], b[7]])
    }
    #[inline(always)]
    fn interleave_lo_u32(self, other: Self) -> Self {
        Self([self.0[0], other.0[0], self.0[1], other.0[1]])
    }
    #[inline(always)]
    fn interleave_hi_u32(self, other: Self) -> Self {
        Self([self.0[2], other.0[2], self.0[3], other.0[3]])
    }
    #[inline(always)]
    fn interleave_lo_u64(self, other: Self) -> Self {
        Self([self.0[0], self.0[1], other.0[0], other.0[1]])
    }
    #[inline(always)]
    fn interleave_hi_u64(self, other: Self) -> Self {
        Self([self.0[2], self.0[3], other.0[2], other.0[3]])
    }
    #[inline(always)]
    fn align_bytes<const N: i32>(self, next: Self) -> Self {
        let (a, b, n) = (self.bytes(), next.bytes(), N as usize);
        Self::from_bytes(core::array::from_fn(|i| if i + n < 16 { a[i + n] } else { b[i + n - 16] }))
    }
    #[inline(always)]
    fn shl_bytes<const N: i32>(self) -> Self {
        let (a, n) = (self.bytes(), N as usize);
        Self::from_bytes(core::array::from_fn(|i| if i < n { 0 } else { a[i - n] }))
    }
    #[inline(always)]
    fn shr_bytes<const N: i32>(self) -> Self {
        let (a, n) = (self.bytes(), N as usize);
        Self::from_bytes(core::array::from_fn(|i| if i + n < 16 { a[i + n] } else { 0 }))
    }

    #[inline(always)]
    fn zip_lanes(self, other: Self) -> (Self, Self) {
        (self, other)
    }
    #[inline(always)]
    fn extract_u32<const I: usize>(self) -> u32 {
        self.0[I]
    }
    #[inline(always)]
    fn extract_u64<const I: usize>(self) -> u64 {
        self.u64s()[I]
    }
}
