#[derive(Clone, Copy)]
pub(in super::super) struct V([u32; 4]);

impl V {
    #[inline(always)]
    fn map(self, f: impl Fn(u32) -> u32) -> Self {
        Self(self.0.map(f))
    }

    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(u32, u32) -> u32) -> Self {
        Self(core::array::from_fn(|i| f(self.0[i], other.0[i])))
    }

    #[inline(always)]
    pub(in super::super) fn splat(word: u32) -> Self {
        Self([word; 4])
    }

    #[inline(always)]
    pub(in super::super) fn words(words: [u32; 4]) -> Self {
        Self(words)
    }

    /// The words in memory, least significant byte first.
    #[inline(always)]
    pub(in super::super) fn load(bytes: &[u8; 16]) -> Self {
        let (words, _) = bytes.as_chunks::<4>();
        Self(core::array::from_fn(|i| u32::from_le_bytes(words[i])))
    }

    #[inline(always)]
    pub(in super::super) fn load_words(words: &[u32; 4]) -> Self {
        Self(*words)
    }

    #[inline(always)]
    pub(in super::super) fn bytes(self) -> [u8; 16] {
        bytemuck::cast(self.0.map(u32::to_le_bytes))
    }

    #[inline(always)]
    pub(in super::super) fn xor(self, other: Self) -> Self {
        self.zip(other, |a, b| a ^ b)
    }

    #[inline(always)]
    pub(in super::super) fn and(self, other: Self) -> Self {
        self.zip(other, |a, b| a & b)
    }

    #[inline(always)]
    pub(in super::super) fn or(self, other: Self) -> Self {
        self.zip(other, |a, b| a | b)
    }

    #[inline(always)]
    pub(in super::super) fn add(self, other: Self) -> Self {
        self.zip(other, u32::wrapping_add)
    }

    #[inline(always)]
    pub(in super::super) fn shl<const N: u32>(self) -> Self {
        self.map(|word| word << N)
    }

    #[inline(always)]
    pub(in super::super) fn shr<const N: u32>(self) -> Self {
        self.map(|word| word >> N)
    }

    /// Rotates each word by two bytes.
    #[inline(always)]
    pub(in super::super) fn rotate_16(self) -> Self {
        self.map(|word| word.rotate_left(16))
    }

    /// Rotates each word to the left by one byte.
    #[inline(always)]
    pub(in super::super) fn rotate_left_8(self) -> Self {
        self.map(|word| word.rotate_left(8))
    }

    /// Rotates each word to the right by one byte.
    #[inline(always)]
    pub(in super::super) fn rotate_right_8(self) -> Self {
        self.map(|word| word.rotate_right(8))
    }

    /// Moves lane `N` to lane 0 and the others after it.
    #[inline(always)]
    pub(in super::super) fn lanes_from<const N: usize>(self) -> Self {
        Self(core::array::from_fn(|i| self.0[(i + N) % 4]))
    }

    #[inline(always)]
    pub(in super::super) fn unpack_low(self, other: Self) -> Self {
        Self([self.0[0], other.0[0], self.0[1], other.0[1]])
    }

    #[inline(always)]
    pub(in super::super) fn unpack_high(self, other: Self) -> Self {
        Self([self.0[2], other.0[2], self.0[3], other.0[3]])
    }

    #[inline(always)]
    pub(in super::super) fn low_halves(self, other: Self) -> Self {
        Self([self.0[0], self.0[1], other.0[0], other.0[1]])
    }

    #[inline(always)]
    pub(in super::super) fn high_halves(self, other: Self) -> Self {
        Self([self.0[2], self.0[3], other.0[2], other.0[3]])
    }
}
