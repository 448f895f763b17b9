use safe_arch::{
    add_i32_m128i, bitand_m128i, bitor_m128i, bitxor_m128i, m128i, shl_imm_u32_m128i, shr_imm_u32_m128i,
    shuffle_ai_f32_all_m128i, unpack_high_i32_m128i, unpack_high_i64_m128i, unpack_low_i32_m128i,
    unpack_low_i64_m128i,
};

#[derive(Clone, Copy)]
pub(in super::super) struct V(m128i);

/// A byte permutation of each word: one instruction where the build has SSSE3, else two shifts and an OR.
macro_rules! permute_words {
    ($v:expr, [$($byte:literal),*], $left:literal, $right:literal) => {{
        cfg_select! {
            target_feature = "ssse3" => {{
                let word = u32::from_le_bytes([$($byte),*]);
                let mask = [word, word + 0x0404_0404, word + 0x0808_0808, word + 0x0c0c_0c0c];
                V(safe_arch::shuffle_av_i8z_all_m128i($v.0, bytemuck::cast(mask)))
            }}
            _ => {{
                $v.rotate_left::<$left, $right>()
            }}
        }
    }};
}

impl V {
    #[inline(always)]
    pub(in super::super) fn splat(word: u32) -> Self {
        Self::words([word; 4])
    }

    #[inline(always)]
    pub(in super::super) fn words(words: [u32; 4]) -> Self {
        Self(bytemuck::cast(words))
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
        Self(bitxor_m128i(self.0, other.0))
    }

    #[inline(always)]
    pub(in super::super) fn and(self, other: Self) -> Self {
        Self(bitand_m128i(self.0, other.0))
    }

    #[inline(always)]
    pub(in super::super) fn or(self, other: Self) -> Self {
        Self(bitor_m128i(self.0, other.0))
    }

    #[inline(always)]
    pub(in super::super) fn add(self, other: Self) -> Self {
        Self(add_i32_m128i(self.0, other.0))
    }

    #[inline(always)]
    pub(in super::super) fn shl<const N: u32>(self) -> Self {
        // The number of bits is a constant, but of another type.
        match N {
            1 => Self(shl_imm_u32_m128i::<1>(self.0)),
            2 => Self(shl_imm_u32_m128i::<2>(self.0)),
            4 => Self(shl_imm_u32_m128i::<4>(self.0)),
            6 => Self(shl_imm_u32_m128i::<6>(self.0)),
            7 => Self(shl_imm_u32_m128i::<7>(self.0)),
            8 => Self(shl_imm_u32_m128i::<8>(self.0)),
            12 => Self(shl_imm_u32_m128i::<12>(self.0)),
            16 => Self(shl_imm_u32_m128i::<16>(self.0)),
            24 => Self(shl_imm_u32_m128i::<24>(self.0)),
            _ => unreachable!(),
        }
    }

    #[inline(always)]
    pub(in super::super) fn shr<const N: u32>(self) -> Self {
        match N {
            1 => Self(shr_imm_u32_m128i::<1>(self.0)),
            2 => Self(shr_imm_u32_m128i::<2>(self.0)),
            4 => Self(shr_imm_u32_m128i::<4>(self.0)),
            6 => Self(shr_imm_u32_m128i::<6>(self.0)),
            8 => Self(shr_imm_u32_m128i::<8>(self.0)),
            16 => Self(shr_imm_u32_m128i::<16>(self.0)),
            20 => Self(shr_imm_u32_m128i::<20>(self.0)),
            24 => Self(shr_imm_u32_m128i::<24>(self.0)),
            25 => Self(shr_imm_u32_m128i::<25>(self.0)),
            _ => unreachable!(),
        }
    }

    /// Rotates each word by two bytes.
    #[inline(always)]
    pub(in super::super) fn rotate_16(self) -> Self {
        permute_words!(self, [2, 3, 0, 1], 16, 16)
    }

    /// Rotates each word to the left by one byte.
    #[inline(always)]
    pub(in super::super) fn rotate_left_8(self) -> Self {
        permute_words!(self, [3, 0, 1, 2], 8, 24)
    }

    /// Rotates each word to the right by one byte.
    #[inline(always)]
    pub(in super::super) fn rotate_right_8(self) -> Self {
        permute_words!(self, [1, 2, 3, 0], 24, 8)
    }

    /// Moves lane `N` to lane 0 and the others after it.
    #[inline(always)]
    pub(in super::super) fn lanes_from<const N: usize>(self) -> Self {
        Self(match N {
            1 => shuffle_ai_f32_all_m128i::<0b00_11_10_01>(self.0),
            2 => shuffle_ai_f32_all_m128i::<0b01_00_11_10>(self.0),
            _ => shuffle_ai_f32_all_m128i::<0b10_01_00_11>(self.0),
        })
    }

    #[inline(always)]
    pub(in super::super) fn unpack_low(self, other: Self) -> Self {
        Self(unpack_low_i32_m128i(self.0, other.0))
    }

    #[inline(always)]
    pub(in super::super) fn unpack_high(self, other: Self) -> Self {
        Self(unpack_high_i32_m128i(self.0, other.0))
    }

    #[inline(always)]
    pub(in super::super) fn low_halves(self, other: Self) -> Self {
        Self(unpack_low_i64_m128i(self.0, other.0))
    }

    #[inline(always)]
    pub(in super::super) fn high_halves(self, other: Self) -> Self {
        Self(unpack_high_i64_m128i(self.0, other.0))
    }
}
