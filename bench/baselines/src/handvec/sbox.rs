//! The S-box of AES by the circuit of Boyar and Peralta.

use super::vector::V;

/// Bits that gates work on side by side.
pub(super) trait Bits: Copy {
    fn xor(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
}

impl Bits for u32 {
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        self ^ other
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        self & other
    }
}

impl Bits for V {
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        V::xor(self, other)
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        V::and(self, other)
    }
}

/// SubBytes without the constant 0x63, `q[i]` being bit i of every byte. The circuit counts its inputs from the most
/// significant bit.
#[inline(always)]
pub(super) fn sub_bytes<B: Bits>(q: [B; 8]) -> [B; 8] {
    let [x7, x6, x5, x4, x3, x2, x1, x0] = q;

    // The top linear layer.
    let y14 = x3.xor(x5);
    let y13 = x0.xor(x6);
    let y9 = x0.xor(x3);
    let y8 = x0.xor(x5);
    let t0 = x1.xor(x2);
    let y1 = t0.xor(x7);
    let y4 = y1.xor(x3);
    let y12 = y13.xor(y14);
    let y2 = y1.xor(x0);
    let y5 = y1.xor(x6);
    let y3 = y5.xor(y8);
    let t1 = x4.xor(y12);
    let y15 = t1.xor(x5);
    let y20 = t1.xor(x1);
    let y6 = y15.xor(x7);
    let y10 = y15.xor(t0);
    let y11 = y20.xor(y9);
    let y7 = x7.xor(y11);
    let y17 = y10.xor(y11);
    let y19 = y10.xor(y8);
    let y16 = t0.xor(y11);
    let y21 = y13.xor(y16);
    let y18 = x0.xor(y16);

    // Inversion in GF(2^8) as a tower over GF(2^4).
    let t2 = y12.and(y15);
    let t3 = y3.and(y6);
    let t4 = t3.xor(t2);
    let t5 = y4.and(x7);
    let t6 = t5.xor(t2);
    let t7 = y13.and(y16);
    let t8 = y5.and(y1);
    let t9 = t8.xor(t7);
    let t10 = y2.and(y7);
    let t11 = t10.xor(t7);
    let t12 = y9.and(y11);
    let t13 = y14.and(y17);
    let t14 = t13.xor(t12);
    let t15 = y8.and(y10);
    let t16 = t15.xor(t12);
    let t17 = t4.xor(t14);
    let t18 = t6.xor(t16);
    let t19 = t9.xor(t14);
    let t20 = t11.xor(t16);
    let t21 = t17.xor(y20);
    let t22 = t18.xor(y19);
    let t23 = t19.xor(y21);
    let t24 = t20.xor(y18);

    let t25 = t21.xor(t22);
    let t26 = t21.and(t23);
    let t27 = t24.xor(t26);
    let t28 = t25.and(t27);
    let t29 = t28.xor(t22);
    let t30 = t23.xor(t24);
    let t31 = t22.xor(t26);
    let t32 = t31.and(t30);
    let t33 = t32.xor(t24);
    let t34 = t23.xor(t33);
    let t35 = t27.xor(t33);
    let t36 = t24.and(t35);
    let t37 = t36.xor(t34);
    let t38 = t27.xor(t36);
    let t39 = t29.and(t38);
    let t40 = t25.xor(t39);

    let t41 = t40.xor(t37);
    let t42 = t29.xor(t33);
    let t43 = t29.xor(t40);
    let t44 = t33.xor(t37);
    let t45 = t42.xor(t41);
    let z0 = t44.and(y15);
    let z1 = t37.and(y6);
    let z2 = t33.and(x7);
    let z3 = t43.and(y16);
    let z4 = t40.and(y1);
    let z5 = t29.and(y7);
    let z6 = t42.and(y11);
    let z7 = t45.and(y17);
    let z8 = t41.and(y10);
    let z9 = t44.and(y12);
    let z10 = t37.and(y3);
    let z11 = t33.and(y4);
    let z12 = t43.and(y13);
    let z13 = t40.and(y5);
    let z14 = t29.and(y2);
    let z15 = t42.and(y9);
    let z16 = t45.and(y14);
    let z17 = t41.and(y8);

    // The bottom linear layer, without its four inverters.
    let t46 = z15.xor(z16);
    let t47 = z10.xor(z11);
    let t48 = z5.xor(z13);
    let t49 = z9.xor(z10);
    let t50 = z2.xor(z12);
    let t51 = z2.xor(z5);
    let t52 = z7.xor(z8);
    let t53 = z0.xor(z3);
    let t54 = z6.xor(z7);
    let t55 = z16.xor(z17);
    let t56 = z12.xor(t48);
    let t57 = t50.xor(t53);
    let t58 = z4.xor(t46);
    let t59 = z3.xor(t54);
    let t60 = t46.xor(t57);
    let t61 = z14.xor(t57);
    let t62 = t52.xor(t58);
    let t63 = t49.xor(t58);
    let t64 = z4.xor(t59);
    let t65 = t61.xor(t62);
    let t66 = z1.xor(t63);
    let s0 = t59.xor(t63);
    let s6 = t56.xor(t62);
    let s7 = t48.xor(t60);
    let t67 = t64.xor(t65);
    let s3 = t53.xor(t66);
    let s4 = t51.xor(t66);
    let s5 = t47.xor(t65);
    let s1 = t64.xor(s3);
    let s2 = t55.xor(t67);
    [s7, s6, s5, s4, s3, s2, s1, s0]
}
