//! The vector types: one per architecture, holding all `unsafe` of the crate.
//!
//! Algorithms are generic over [`Vector`] and reach a type of this module only through
//! [`crate::backend::dispatch`] and its siblings: the types whose instructions need a check at run time
//! are private to their module, so that no safe code can name one on a machine that lacks them.
//!
//! Rules for kernels: everything below [`Kernel::run`] is `#[inline(always)]` (an intrinsic is compiled
//! well only inside the function that enables its target feature), and a table of byte indices for
//! [`Vector::swizzle`] that is constant goes through [`Vector::opaque`] once per call (see there).

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub(crate) mod wasm32;

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
#[allow(dead_code, reason = "a build uses some of the backends, and features take away the users of others")]
pub(crate) mod x86;

#[cfg(all(target_arch = "aarch64", target_endian = "little", target_feature = "neon"))]
pub(crate) mod aarch64;

#[cfg(not(any(
    target_arch = "x86",
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_endian = "little", target_feature = "neon")
)))]
pub(crate) mod none;

#[allow(dead_code, reason = "the backend of last resort: used when forced and in tests")]
pub(crate) mod portable;

#[cfg(test)]
mod tests;

/// A computation with a version for every vector type and one in scalar code.
///
/// Both methods are to be `#[inline(always)]`.
pub(crate) trait Kernel {
    /// What the computation returns.
    type Output;

    /// The computation on vectors of type `V`.
    fn run<V: Vector>(self) -> Self::Output;

    /// The computation in scalar code, for the backend "soft".
    #[allow(dead_code, reason = "a build with vectors does not call it")]
    fn soft(self) -> Self::Output;
}

/// A computation that uses instructions for AES.
#[allow(dead_code, reason = "only some targets have the instructions")]
pub(crate) trait AesKernel {
    /// What the computation returns.
    type Output;

    /// The computation; `#[inline(always)]`.
    fn run<A: AesInstructions>(self, aes: A) -> Self::Output;
}

/// A computation that uses carry-less multiplication.
#[allow(dead_code, reason = "only some targets have the instructions")]
pub(crate) trait ClmulKernel {
    /// What the computation returns.
    type Output;

    /// The computation; `#[inline(always)]`.
    fn run<C: ClmulInstructions>(self, clmul: C) -> Self::Output;
}

/// A computation that uses both instructions for AES and carry-less multiplication.
#[allow(dead_code, reason = "only some targets have the instructions")]
pub(crate) trait AesClmulKernel {
    /// What the computation returns.
    type Output;

    /// The computation; `#[inline(always)]`. `N` is both at once, over vectors of as many lanes.
    fn run<N: AesInstructions + ClmulInstructions>(self, native: N) -> Self::Output;
}

/// Instructions for AES. A value of the type exists only where the processor has them.
#[allow(dead_code, reason = "only some targets have the instructions")]
pub(crate) trait AesInstructions: Copy {
    /// The vector that holds a block in each lane: byte i of the block in byte i of the lane.
    type V: Vector;
    /// The same instructions on vectors of one lane.
    type Narrow: AesInstructions<Narrow = Self::Narrow>;

    /// For what has no second block.
    fn narrow(self) -> Self::Narrow;
    /// SubBytes, ShiftRows, MixColumns, then the round key: `AESENC`.
    fn encrypt_round(self, block: Self::V, key: Self::V) -> Self::V;
    /// SubBytes, ShiftRows, then the round key: `AESENCLAST`.
    fn encrypt_last(self, block: Self::V, key: Self::V) -> Self::V;
    /// InvShiftRows, InvSubBytes, InvMixColumns, then the round key (of the equivalent inverse cipher, so
    /// passed through [`inv_mix_columns`](Self::inv_mix_columns)): `AESDEC`.
    fn decrypt_round(self, block: Self::V, key: Self::V) -> Self::V;
    /// InvShiftRows, InvSubBytes, then the round key: `AESDECLAST`.
    fn decrypt_last(self, block: Self::V, key: Self::V) -> Self::V;
    /// InvMixColumns: `AESIMC`, which has one lane everywhere.
    fn inv_mix_columns(
        self,
        key: <Self::Narrow as AesInstructions>::V,
    ) -> <Self::Narrow as AesInstructions>::V;
    /// SubWord of FIPS 197 section 5.2: the S-box on each byte of a word.
    fn sub_word(self, word: u32) -> u32;
}

/// Carry-less multiplication of 64-bit halves to 128 bits. A value of the type exists only where the
/// processor has it.
#[allow(dead_code, reason = "only some targets have the instructions")]
pub(crate) trait ClmulInstructions: Copy {
    /// The vector, lane by lane; as [`AesInstructions::V`] where one type implements both.
    type W: Vector;

    /// a\[0\] times b\[0\].
    fn mul_lo_lo(self, a: Self::W, b: Self::W) -> Self::W;
    /// a\[0\] times b\[1\].
    fn mul_lo_hi(self, a: Self::W, b: Self::W) -> Self::W;
    /// a\[1\] times b\[0\].
    fn mul_hi_lo(self, a: Self::W, b: Self::W) -> Self::W;
    /// a\[1\] times b\[1\].
    fn mul_hi_hi(self, a: Self::W, b: Self::W) -> Self::W;
}

/// Indices of a left rotation of 32-bit elements by 16, for [`Vector::opaque`].
pub(crate) const ROTATE_16: [u8; 16] = [2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13];
/// Indices of a left rotation of 32-bit elements by 8, for [`Vector::opaque`].
pub(crate) const ROTATE_8: [u8; 16] = [3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14];

/// One or two independent lanes of 128 bits.
///
/// Memory order is little-endian everywhere: byte i of a lane is bits 8(i mod 4).. of 32-bit element i/4.
/// Every operation works inside each 128-bit lane as if the other were not there. Elements are numbered
/// from the first lane's least significant one.
#[allow(dead_code, reason = "the vocabulary is one for all kernels, features take away some")]
pub(crate) trait Vector: Copy + 'static {
    /// The number of 128-bit lanes: 1 or 2.
    const LANES: usize;
    /// The size in bytes: 16 or 32.
    const BYTES: usize = 16 * Self::LANES;
    /// Whether [`swizzle`](Self::swizzle) is an instruction or two. Where it is not, it is emulated in
    /// constant time by dozens.
    const FAST_SWIZZLE: bool;

    // Memory.

    /// The first `BYTES` bytes of a slice, which must be that long.
    fn load(bytes: &[u8]) -> Self;
    /// Writes the first `BYTES` bytes of a slice, which must be that long.
    fn store(self, bytes: &mut [u8]);
    /// Lane i holds `lane(i)`.
    fn from_lanes(lane: impl FnMut(usize) -> [u8; 16]) -> Self;
    /// A lane's bytes.
    fn lane(self, index: usize) -> [u8; 16];

    /// Reads a vector that [`keep`](Self::keep) has written.
    #[inline(always)]
    fn recall(place: &Self) -> Self {
        *place
    }
    /// Writes a vector to memory. On Wasm `recall` and `keep` are volatile, for the code that the engines make: see
    /// `stream::Slots`. Elsewhere they are assignments.
    #[inline(always)]
    fn keep(place: &mut Self, value: Self) {
        *place = value;
    }
    /// Xors into the first `BYTES` bytes of a slice, which must be that long.
    #[inline(always)]
    fn xor_into(self, bytes: &mut [u8]) {
        self.xor(Self::load(bytes)).store(bytes);
    }
    /// The same 16 bytes in every lane.
    #[inline(always)]
    fn broadcast(bytes: &[u8; 16]) -> Self {
        Self::from_lanes(|_| *bytes)
    }
    /// As [`broadcast`](Self::broadcast), with a value that the compiler must not know, even if it is a constant.
    ///
    /// On Wasm, LLVM turns a swizzle with known indices back into `i8x16.shuffle` with a zero operand,
    /// which Cranelift compiles to four instructions or to a slow one instead of `pshufb`. Call it once per
    /// call of a kernel, outside the loop. On x86, LLVM would move a permutation with known indices from a sum to both its
    /// terms. Elsewhere it is `broadcast`.
    #[inline(always)]
    fn opaque(bytes: &[u8; 16]) -> Self {
        Self::broadcast(bytes)
    }
    /// The same inside of a loop that needs all registers: Cranelift keeps there what it knows from outside on the stack.
    #[inline(always)]
    fn opaque_here(bytes: &[u8; 16]) -> Self {
        Self::broadcast(bytes)
    }
    /// The same four words, first one least significant, in every lane.
    #[inline(always)]
    fn broadcast_u32(words: [u32; 4]) -> Self {
        Self::broadcast(&words_to_bytes(words))
    }
    /// Lane i holds the four words of `lane(i)`.
    #[inline(always)]
    fn from_lanes_u32(mut lane: impl FnMut(usize) -> [u32; 4]) -> Self {
        Self::from_lanes(|i| words_to_bytes(lane(i)))
    }
    /// All bits zero.
    #[inline(always)]
    fn zero() -> Self {
        Self::splat_u32(0)
    }
    /// A byte in every element.
    #[inline(always)]
    fn splat_u8(x: u8) -> Self {
        Self::splat_u32(u32::from(x) * 0x0101_0101)
    }
    /// A word in every element.
    fn splat_u32(x: u32) -> Self;
    /// A double word in every element.
    fn splat_u64(x: u64) -> Self;

    // Bits.

    /// Bitwise and.
    fn and(self, other: Self) -> Self;
    /// Bitwise or.
    fn or(self, other: Self) -> Self;
    /// Bitwise exclusive or.
    fn xor(self, other: Self) -> Self;
    /// `self` and not `other`: one instruction everywhere.
    fn andnot(self, other: Self) -> Self;
    /// Bitwise complement: on x86 an xor with a constant, so prefer [`andnot`](Self::andnot).
    #[inline(always)]
    fn not(self) -> Self {
        self.xor(Self::splat_u32(!0))
    }
    /// Where a bit of `self` is set the bit of `a`, else that of `b`. Three instructions on x86.
    #[inline(always)]
    fn select(self, a: Self, b: Self) -> Self {
        a.and(self).or(b.andnot(self))
    }

    // Arithmetic, modulo the element's size.

    /// Sums of bytes.
    fn add_u8(self, other: Self) -> Self;
    /// Sums of 32-bit elements, signed or not.
    fn add_u32(self, other: Self) -> Self;
    /// Sums of 64-bit elements.
    fn add_u64(self, other: Self) -> Self;
    /// Differences of 32-bit elements.
    fn sub_u32(self, other: Self) -> Self;
    /// Products of the even (less significant) 32-bit elements of each pair, as 64 bits, unsigned.
    fn mul_even_u32(self, other: Self) -> Self;
    /// `a[2i] * b[2i] + a[2i+1] * b[2i+1]` of signed 16-bit elements, as 32 bits: `pmaddwd`.
    fn dot_i16(self, other: Self) -> Self;

    // Comparisons: all bits of an element set where true.

    /// Equal bytes.
    fn eq_u8(self, other: Self) -> Self;
    /// Greater signed bytes.
    fn gt_i8(self, other: Self) -> Self;
    /// Greater signed 32-bit elements.
    fn gt_i32(self, other: Self) -> Self;

    // Shifts by constants: 0 < N < the element's size.

    /// Left, 32-bit elements.
    fn shl_u32<const N: i32>(self) -> Self;
    /// Left, 64-bit elements.
    fn shl_u64<const N: i32>(self) -> Self;
    /// Right, 32-bit elements, zeros come in.
    fn shr_u32<const N: i32>(self) -> Self;
    /// Right, 64-bit elements, zeros come in.
    fn shr_u64<const N: i32>(self) -> Self;
    /// Right, 32-bit elements, the sign comes in.
    fn shr_i32<const N: i32>(self) -> Self;
    /// Rotates 32-bit elements left: two shifts and an or.
    fn rotl_u32<const N: i32>(self) -> Self;

    /// Rotates 32-bit elements left by 16. `indices` is `opaque(&ROTATE_16)`; not every type uses it.
    #[inline(always)]
    fn rotl16_u32(self, indices: Self) -> Self {
        self.swizzle(indices)
    }
    /// Rotates 32-bit elements left by 8. `indices` is `opaque(&ROTATE_8)`; not every type uses it.
    #[inline(always)]
    fn rotl8_u32(self, indices: Self) -> Self {
        self.swizzle(indices)
    }

    // Permutations, within each 128-bit lane.

    /// Byte i of the result is byte `indices[i]` of `self`, 0 where `indices[i]` has its top bit set.
    ///
    /// An index of 16 to 127 gives 0 on some machines and byte `index % 16` on others: never use one.
    /// Constant-time in both operands.
    fn swizzle(self, indices: Self) -> Self;
    /// 32-bit elements A, B, C, D, the first becoming the least significant.
    fn shuffle_u32<const A: usize, const B: usize, const C: usize, const D: usize>(self) -> Self;
    /// Bytes 0 to 7 of both, alternating, `self` first.
    fn interleave_lo_u8(self, other: Self) -> Self;
    /// Bytes 8 to 15 of both, alternating, `self` first.
    fn interleave_hi_u8(self, other: Self) -> Self;
    /// 16-bit elements 0 to 3 of both, alternating.
    fn interleave_lo_u16(self, other: Self) -> Self;
    /// 16-bit elements 4 to 7 of both, alternating.
    fn interleave_hi_u16(self, other: Self) -> Self;
    /// 32-bit elements 0 and 1 of both, alternating.
    fn interleave_lo_u32(self, other: Self) -> Self;
    /// 32-bit elements 2 and 3 of both, alternating.
    fn interleave_hi_u32(self, other: Self) -> Self;
    /// 64-bit elements 0 of both.
    fn interleave_lo_u64(self, other: Self) -> Self;
    /// 64-bit elements 1 of both.
    fn interleave_hi_u64(self, other: Self) -> Self;
    /// Bytes N to N+15 of `self` followed by `next`, 0 < N < 16: `palignr`.
    fn align_bytes<const N: i32>(self, next: Self) -> Self;
    /// Moves bytes up (byte i to i + N), zeros come in, 0 < N < 16.
    fn shl_bytes<const N: i32>(self) -> Self;
    /// Moves bytes down (byte i + N to i), zeros come in, 0 < N < 16.
    fn shr_bytes<const N: i32>(self) -> Self;

    // Across lanes.

    /// With two lanes: (first of `self`, first of `other`) and (second of `self`, second of `other`).
    /// With one: the two vectors as they are.
    fn zip_lanes(self, other: Self) -> (Self, Self);
    /// Element I of 4 `LANES` words.
    fn extract_u32<const I: usize>(self) -> u32;
    /// Element I of 2 `LANES` double words.
    fn extract_u64<const I: usize>(self) -> u64;
}

#[inline(always)]
fn words_to_bytes(words: [u32; 4]) -> [u8; 16] {
    let mut bytes = [0; 16];
    for (chunk, word) in bytes.chunks_exact_mut(4).zip(words) {
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}
