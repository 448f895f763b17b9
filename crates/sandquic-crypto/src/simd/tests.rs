//! Every operation of every vector type against the portable one, and the portable one against plain
//! arithmetic where the two could be wrong together.

extern crate std;
use std::vec::Vec;

use super::{Kernel, Vector, portable};
use crate::backend;

/// Bytes of a 64-bit linear congruential generator, with the values that carry and saturate mixed in.
struct Inputs(u64);

impl Inputs {
    fn block(&mut self) -> [u8; 16] {
        core::array::from_fn(|_| {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            match self.0 >> 60 {
                0 => 0,
                1 => 0xff,
                2 => 0x7f,
                3 => 0x80,
                _ => (self.0 >> 33) as u8,
            }
        })
    }
}

/// The result of each operation, for inputs of two lanes.
struct All {
    a: [[u8; 16]; 2],
    b: [[u8; 16]; 2],
    c: [[u8; 16]; 2],
}

#[inline(always)]
fn operations<V: Vector>(a: V, b: V, c: V) -> Vec<V> {
    let indices = c.and(V::splat_u8(0x8f));
    let (r16, r8) = (V::opaque(&super::ROTATE_16), V::opaque(&super::ROTATE_8));
    let mut out = Vec::new();
    let logic = [a.and(b), a.or(b), a.xor(b), a.andnot(b), a.not(), c.select(a, b), V::zero()];
    let sums = [a.add_u8(b), a.add_u32(b), a.add_u64(b)];
    let rest = [a.sub_u32(b), a.mul_even_u32(b), a.dot_i16(b)];
    let compare = [a.eq_u8(b), a.eq_u8(a), a.gt_i8(b), a.gt_i32(b)];
    let splats = [V::splat_u8(0xa5), V::splat_u32(0x8765_4321), V::splat_u64(1 << 63 | 5)];
    let shifts = [
        a.shl_u32::<7>(),
        a.shl_u64::<33>(),
        a.shr_u32::<13>(),
        a.shr_u64::<63>(),
        a.shr_i32::<31>(),
        a.rotl_u32::<7>(),
        a.rotl16_u32(r16),
        a.rotl8_u32(r8),
    ];
    let moves = [
        a.swizzle(indices),
        a.shuffle_u32::<3, 0, 2, 2>(),
        a.shuffle_u32::<1, 2, 3, 0>(),
        a.interleave_lo_u8(b),
        a.interleave_hi_u8(b),
        a.interleave_lo_u16(b),
        a.interleave_hi_u16(b),
        a.interleave_lo_u32(b),
        a.interleave_hi_u32(b),
        a.interleave_lo_u64(b),
        a.interleave_hi_u64(b),
        a.align_bytes::<1>(b),
        a.align_bytes::<4>(b),
        a.align_bytes::<11>(b),
        a.align_bytes::<15>(b),
        a.shl_bytes::<1>(),
        a.shl_bytes::<8>(),
        a.shl_bytes::<13>(),
        a.shr_bytes::<1>(),
        a.shr_bytes::<12>(),
        a.shr_bytes::<15>(),
    ];
    out.extend(logic);
    out.extend(sums);
    out.extend(rest);
    out.extend(compare);
    out.extend(splats);
    out.extend(shifts);
    out.extend(moves);
    out
}

impl Kernel for All {
    type Output = Vec<[[u8; 16]; 2]>;

    #[inline(always)]
    fn run<V: Vector>(self) -> Self::Output {
        let (a, b, c) =
            (V::from_lanes(|i| self.a[i]), V::from_lanes(|i| self.b[i]), V::from_lanes(|i| self.c[i]));
        if V::LANES == 2 {
            let lanes = |x: V| [x.lane(0), x.lane(1)];
            let out = operations(a, b, c).into_iter().map(lanes).collect();
            let (first, second) = a.zip_lanes(b);
            assert_eq!(lanes(first), [self.a[0], self.b[0]]);
            assert_eq!(lanes(second), [self.a[1], self.b[1]]);
            return out;
        }
        // One lane: the second by a second call.
        let first = operations(a, b, c);
        let (a, b, c) =
            (V::from_lanes(|_| self.a[1]), V::from_lanes(|_| self.b[1]), V::from_lanes(|_| self.c[1]));
        let second = operations(a, b, c);
        first.into_iter().zip(second).map(|(x, y)| [x.lane(0), y.lane(0)]).collect()
    }

    fn soft(self) -> Self::Output {
        self.run::<portable::V128>()
    }
}

/// No run of the matrix of builds may test another backend than it says.
#[test]
fn the_backend_is_the_expected_one() {
    if let Some(expected) = option_env!("SANDQUIC_EXPECT_BACKEND") {
        assert_eq!(backend(), expected, "the wrong backend is under test");
    }
    if let Some(expected) = option_env!("SANDQUIC_EXPECT_AES") {
        let tested = (crate::aes_backend(), crate::clmul_backend());
        assert_eq!(tested, (expected, expected), "the wrong code for AES and GHASH is under test");
    }
    let known = ["soft", "portable", "simd128", "sse2", "avx2", "neon"];
    assert!(known.contains(&backend()));
    assert!(backend::BACKEND == "x86" || backend::BACKEND == backend());
}

#[test]
fn all_types_agree() {
    let mut inputs = Inputs(1);
    // Miri takes some seconds a round.
    for round in 0..if cfg!(miri) { 3 } else { 500 } {
        let mut pair = || [inputs.block(), inputs.block()];
        let (a, b, c) = (pair(), pair(), pair());
        let expected = All { a, b, c }.soft();
        for got in [backend::dispatch(All { a, b, c }), backend::dispatch_narrow(All { a, b, c })] {
            for (i, (got, expected)) in got.iter().zip(&expected).enumerate() {
                assert_eq!(got, expected, "operation {i} in round {round}");
            }
        }
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        {
            use super::x86::{Sse2, Ssse3};
            assert_eq!(Sse2::detect().map(|t| t.run(All { a, b, c })).unwrap_or(expected.clone()), expected);
            assert_eq!(Ssse3::detect().map(|t| t.run(All { a, b, c })).unwrap_or(expected.clone()), expected);
        }
    }
}

/// Memory, elements and the definitions of what is easy to get the wrong way round.
struct Definitions;

impl Kernel for Definitions {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let bytes: [u8; 33] = core::array::from_fn(|i| i as u8);
        let v = V::load(&bytes[1..]);
        assert_eq!(v.extract_u32::<0>(), 0x0403_0201);
        assert_eq!(v.extract_u64::<1>(), 0x100f_0e0d_0c0b_0a09);
        let mut out = [0xee; 33];
        v.store(&mut out);
        assert_eq!(out[..V::BYTES], bytes[1..=V::BYTES]);
        assert!(out[V::BYTES..].iter().all(|&b| b == 0xee));
        v.xor_into(&mut out);
        assert!(out[..V::BYTES].iter().all(|&b| b == 0));
        assert_eq!(
            V::broadcast_u32([1, 2, 3, 4]).lane(V::LANES - 1),
            V::broadcast(&{
                let mut b = [0; 16];
                [b[0], b[4], b[8], b[12]] = [1, 2, 3, 4];
                b
            })
            .lane(0)
        );

        let (a, b) = (V::load(&bytes), V::splat_u8(0x40));
        assert_eq!(a.align_bytes::<3>(b).lane(0), [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 64, 64, 64]);
        assert_eq!(a.shl_bytes::<2>().lane(0), [0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
        assert_eq!(a.shr_bytes::<14>().lane(0), [14, 15, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(a.interleave_lo_u8(b).lane(0)[..4], [0, 64, 1, 64]);
        assert_eq!(a.interleave_hi_u64(b).lane(0)[..9], [8, 9, 10, 11, 12, 13, 14, 15, 64]);
        assert_eq!(a.andnot(V::splat_u8(1)).lane(0)[..4], [0, 0, 2, 2]);
        assert_eq!(V::splat_u8(0x0f).select(b, a).lane(0)[..3], [0, 0, 0]);
        assert_eq!(V::splat_u8(0xff).select(b, a).lane(0)[..3], [64, 64, 64]);
        let words = V::broadcast_u32([0x8000_7fff, 5, 0x0002_ffff, 7]);
        let dot = words.dot_i16(V::broadcast_u32([0x0001_0002, 0x0009_0003, 0x0004_0001, 0xffff_fffe]));
        assert_eq!([dot.extract_u32::<0>(), dot.extract_u32::<1>()], [32766, 15]);
        assert_eq!([dot.extract_u32::<2>(), dot.extract_u32::<3>()], [7, (-14i32) as u32]);
        let product =
            V::broadcast_u32([u32::MAX, 1, 3, 1]).mul_even_u32(V::broadcast_u32([u32::MAX, 1, 5, 1]));
        assert_eq!([product.extract_u64::<0>(), product.extract_u64::<1>()], [0xffff_fffe_0000_0001, 15]);
    }

    fn soft(self) {
        self.run::<portable::V128>();
    }
}

#[test]
fn definitions_hold() {
    Definitions.soft();
    backend::dispatch(Definitions);
    backend::dispatch_narrow(Definitions);
}

#[cfg(any(
    target_arch = "x86",
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_endian = "little", target_feature = "neon")
))]
mod native {
    use super::super::{AesClmulKernel, AesInstructions, ClmulInstructions, Vector};
    use crate::backend;

    struct Check;

    impl AesClmulKernel for Check {
        type Output = ();

        /// FIPS 197 appendix B, first round, and its inverse; sub_word from appendix A.1.
        #[inline(always)]
        fn run<N: AesInstructions + ClmulInstructions>(self, native: N) {
            let hex = |s: u128| N::V::broadcast(&s.to_be_bytes());
            let start = hex(0x193de3bea0f4e22b9ac68d2ae9f84808);
            let key = hex(0xa0fafe1788542cb123a339392a6c7605);
            let next = native.encrypt_round(start, key);
            for lane in 0..N::V::LANES {
                assert_eq!(next.lane(lane), 0xa49c7ff2689f352b6b5bea43026a5049_u128.to_be_bytes());
            }
            let shifted = native.encrypt_last(start, N::V::zero());
            assert_eq!(native.decrypt_last(shifted, N::V::zero()).lane(0), start.lane(0));
            let columns = next.xor(key);
            // One lane everywhere.
            let inv_mix_columns =
                |x: N::V| native.inv_mix_columns(<N::Narrow as AesInstructions>::V::broadcast(&x.lane(0)));
            let unmixed = inv_mix_columns(columns);
            assert_eq!(unmixed.lane(0), shifted.lane(0));
            let inverse = native.decrypt_round(shifted, N::V::zero());
            assert_eq!(inverse.lane(0), inv_mix_columns(start).lane(0));
            assert_eq!(
                native.sub_word(u32::from_be_bytes([0xcf, 0x4f, 0x3c, 0x09])).to_be_bytes(),
                [0x8a, 0x84, 0xeb, 0x01]
            );

            let a = N::W::broadcast_u32([3, 0, 0, 1 << 31]);
            let b = N::W::broadcast_u32([5, 0, 7, 1 << 31]);
            let words = |v: N::W| [v.extract_u64::<0>(), v.extract_u64::<1>()];
            assert_eq!(words(native.mul_lo_lo(a, b)), [0b1111, 0]);
            assert_eq!(words(native.mul_lo_hi(a, b)), [1 << 63 | 0b1001, 1]);
            assert_eq!(words(native.mul_hi_lo(a, b)), [1 << 63, 0b10]);
            assert_eq!(words(native.mul_hi_hi(a, b)), [1 << 63, 0b11 | 1 << 62]);
        }
    }

    #[test]
    fn instructions_do_what_their_names_say() {
        for failed in [backend::try_aes_clmul(Check).is_err(), backend::try_aes_clmul_wide(Check).is_err()] {
            assert!(!failed || backend::aes_backend() == "soft" || backend::clmul_backend() == "soft");
        }
    }
}
