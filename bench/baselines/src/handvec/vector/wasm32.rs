use core::arch::wasm32::{
    i8x16_shuffle, i32x4_shuffle, u32x4, u32x4_add, u32x4_shl, u32x4_shr, u32x4_splat, v128, v128_and,
    v128_or, v128_xor,
};

#[derive(Clone, Copy)]
pub(in super::super) struct V(v128);

impl V {
    #[inline(always)]
    pub(in super::super) fn splat(word: u32) -> Self {
        Self(u32x4_splat(word))
    }

    #[inline(always)]
    pub(in super::super) fn words([a, b, c, d]: [u32; 4]) -> Self {
        Self(u32x4(a, b, c, d))
    }

    /// The words in memory, least significant byte first.
    #[inline(always)]
    pub(in super::super) fn load(bytes: &[u8; 16]) -> Self {
        Self(bytemuck::cast(*bytes))
    }

    #[inline(always)]
    pub(in super::super) fn load_words(words: &[u32; 4]) -> Self {
        Self(bytemuck::cast(*words))
    }

    #[inline(always)]
    pub(in super::super) fn bytes(self) -> [u8; 16] {
        bytemuck::cast(self.0)
    }

    #[inline(always)]
    pub(in super::super) fn xor(self, other: Self) -> Self {
        Self(v128_xor(self.0, other.0))
    }

    #[inline(always)]
    pub(in super::super) fn and(self, other: Self) -> Self {
        Self(v128_and(self.0, other.0))
    }

    #[inline(always)]
    pub(in super::super) fn or(self, other: Self) -> Self {
        Self(v128_or(self.0, other.0))
    }

    #[inline(always)]
    pub(in super::super) fn add(self, other: Self) -> Self {
        Self(u32x4_add(self.0, other.0))
    }

    #[inline(always)]
    pub(in super::super) fn shl<const N: u32>(self) -> Self {
        Self(u32x4_shl(self.0, N))
    }

    #[inline(always)]
    pub(in super::super) fn shr<const N: u32>(self) -> Self {
        Self(u32x4_shr(self.0, N))
    }

    /// Rotates each word by two bytes.
    #[inline(always)]
    pub(in super::super) fn rotate_16(self) -> Self {
        Self(i8x16_shuffle::<2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13>(self.0, self.0))
    }

    /// Rotates each word to the left by one byte.
    #[inline(always)]
    pub(in super::super) fn rotate_left_8(self) -> Self {
        Self(i8x16_shuffle::<3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14>(self.0, self.0))
    }

    /// Rotates each word to the right by one byte.
    #[inline(always)]
    pub(in super::super) fn rotate_right_8(self) -> Self {
        Self(i8x16_shuffle::<1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12>(self.0, self.0))
    }

    /// Moves lane `N` to lane 0 and the others after it.
    #[inline(always)]
    pub(in super::super) fn lanes_from<const N: usize>(self) -> Self {
        let v = self.0;
        Self(match N {
            1 => i32x4_shuffle::<1, 2, 3, 0>(v, v),
            2 => i32x4_shuffle::<2, 3, 0, 1>(v, v),
            _ => i32x4_shuffle::<3, 0, 1, 2>(v, v),
        })
    }

    #[inline(always)]
    pub(in super::super) fn unpack_low(self, other: Self) -> Self {
        Self(i32x4_shuffle::<0, 4, 1, 5>(self.0, other.0))
    }

    #[inline(always)]
    pub(in super::super) fn unpack_high(self, other: Self) -> Self {
        Self(i32x4_shuffle::<2, 6, 3, 7>(self.0, other.0))
    }

    #[inline(always)]
    pub(in super::super) fn low_halves(self, other: Self) -> Self {
        Self(i32x4_shuffle::<0, 1, 4, 5>(self.0, other.0))
    }

    #[inline(always)]
    pub(in super::super) fn high_halves(self, other: Self) -> Self {
        Self(i32x4_shuffle::<2, 3, 6, 7>(self.0, other.0))
    }
}
