//! ECDSA on P-256 against RustCrypto's: the provider, which under fuzzing verifies with what it has for WebAssembly, and
//! `crrl`, with which it verifies natively, take what `p256` takes and nothing else. Signatures are made valid for scalars
//! and points that sums of multiples can stumble over, and then corrupted or not.

#![no_main]

use std::iter::repeat_n;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use p256::ecdsa::signature::hazmat::PrehashVerifier;
use p256::ecdsa::{Signature, VerifyingKey};
use p256::elliptic_curve::PrimeField;
use p256::elliptic_curve::ops::Reduce;
use p256::{ProjectivePoint, PublicKey, Scalar, Sec1Point, U256};
use rustls::pki_types::SignatureVerificationAlgorithm;
use sandquic_rustls::SUPPORTED_ALGORITHMS;
use sha2::{Digest, Sha256, Sha384, Sha512};

#[derive(Arbitrary, Debug)]
struct Case {
    hash: u8,
    make: Make,
    change: Change,
    message: Vec<u8>,
}

/// A scalar: most are near where an implementation changes its ways.
#[derive(Arbitrary, Debug)]
enum Number {
    Small(i16),
    Power {
        exponent: u8,
        addend: i16,
    },
    /// `numerator` over `denominator`, which `denominator` times makes small.
    Fraction {
        numerator: i16,
        denominator: u8,
    },
    /// The same bytes again and again.
    Repeated([u8; 4]),
    Any([u8; 32]),
}

impl Number {
    fn scalar(&self) -> Scalar {
        let small = |number: i16| {
            let size = Scalar::from(u64::from(number.unsigned_abs()));
            if number < 0 { -size } else { size }
        };
        match *self {
            Self::Small(number) => small(number),
            Self::Power { exponent, addend } => {
                repeat_n((), exponent.into()).fold(Scalar::ONE, |power, ()| power + power) + small(addend)
            }
            Self::Fraction { numerator, denominator } => {
                small(numerator) * inverse(&Scalar::from(u64::from(denominator) + 1))
            }
            Self::Repeated(bytes) => reduce(&bytes.repeat(8).try_into().expect("32 bytes")),
            Self::Any(bytes) => reduce(&bytes),
        }
    }

    fn not_zero(&self) -> Scalar {
        let scalar = self.scalar();
        if scalar == Scalar::ZERO { Scalar::ONE } else { scalar }
    }
}

/// The sum that a signature is to lead to.
#[derive(Arbitrary, Debug)]
enum Point {
    Multiple(Number),
    /// One of two with this x coordinate.
    Lifted([u8; 32]),
    /// One whose x coordinate is so much above n, and so is not its own remainder.
    AboveOrder(u64),
}

impl Point {
    fn affine(&self) -> Option<PublicKey> {
        let lift = |x: &[u8]| PublicKey::from_sec1_bytes(&[&[2], x].concat()).ok();
        match self {
            Self::Multiple(number) => affine(ProjectivePoint::GENERATOR * number.not_zero()),
            Self::Lifted(x) => lift(x),
            Self::AboveOrder(addend) => {
                // n - 1 and what is left to add: its last bytes are far from a carry beyond eight bytes.
                let mut x: [u8; 32] = (-Scalar::ONE).to_repr().into();
                let mut carry = u128::from(*addend) + 1;
                for byte in x.iter_mut().rev() {
                    carry += u128::from(*byte);
                    *byte = carry as u8;
                    carry >>= 8;
                }
                lift(&x)
            }
        }
    }
}

/// How key and signature come about. In the words of FIPS 186-5, 6.4.2, R = u G + v Q with u = hash / s and v = r / s.
#[derive(Arbitrary, Debug)]
enum Make {
    /// By a signer.
    Signed {
        key: Number,
        nonce: Number,
    },
    /// The key that makes these valid.
    WithS {
        sum: Point,
        s: Number,
    },
    WithU {
        sum: Point,
        u: Number,
    },
    WithV {
        sum: Point,
        v: Number,
    },
    /// u G = v Q.
    Equal {
        nonce: Number,
    },
    /// u G = -v Q.
    Inverse {
        r: Number,
        s: Number,
    },
    Unrelated {
        key: Number,
        r: [u8; 32],
        s: [u8; 32],
    },
}

/// A key, and r and s.
type Signed = (PublicKey, [u8; 32], [u8; 32]);

impl Make {
    /// `None` where there is nothing of the kind. With it, whether the signature is known to be valid.
    fn make(&self, hash: &Scalar) -> Option<(Signed, bool)> {
        let bytes = |scalar: Scalar| <[u8; 32]>::from(scalar.to_repr());
        let multiple = |number: Scalar| affine(ProjectivePoint::GENERATOR * number);
        let solved = |sum: PublicKey, r: Scalar, s: Scalar| {
            let key = sum.to_projective() * s - ProjectivePoint::GENERATOR * hash;
            Some(((affine(key * inverse(&r))?, bytes(r), bytes(s)), s != Scalar::ZERO))
        };
        match self {
            Self::Signed { key, nonce } => {
                let (key, nonce) = (key.not_zero(), nonce.not_zero());
                let r = x(&multiple(nonce)?)?;
                let s = (*hash + r * key) * inverse(&nonce);
                Some(((multiple(key)?, bytes(r), bytes(s)), s != Scalar::ZERO))
            }
            Self::WithS { sum, s } => {
                let sum = sum.affine()?;
                solved(sum, x(&sum)?, s.scalar())
            }
            Self::WithU { sum, u } => {
                let sum = sum.affine()?;
                solved(sum, x(&sum)?, *hash * inverse(&u.not_zero()))
            }
            Self::WithV { sum, v } => {
                let sum = sum.affine()?;
                let r = x(&sum)?;
                solved(sum, r, r * inverse(&v.not_zero()))
            }
            Self::Equal { nonce } => {
                let nonce = nonce.not_zero();
                let r = x(&multiple(nonce)?)?;
                let s = *hash * Scalar::from(2_u64) * inverse(&nonce);
                Some(((multiple(*hash * inverse(&r))?, bytes(r), bytes(s)), s != Scalar::ZERO))
            }
            Self::Inverse { r, s } => {
                let (r, s) = (r.not_zero(), s.not_zero());
                Some(((multiple(-*hash * inverse(&r))?, bytes(r), bytes(s)), false))
            }
            Self::Unrelated { key, r, s } => Some(((multiple(key.not_zero())?, *r, *s), false)),
        }
    }
}

#[derive(Arbitrary, Debug)]
enum Change {
    None,
    /// -s is as good as s.
    NegatedS,
    Bit {
        part: Part,
        bit: u8,
    },
    /// What is there and n, if 32 bytes hold that.
    PlusOrder(Part),
    Replaced {
        part: Part,
        number: Number,
    },
    Swapped,
    Message,
    /// Bytes of the signature's DER.
    Der {
        at: u8,
        byte: u8,
    },
    Cut {
        length: u8,
    },
    /// The first byte of the key.
    Form(u8),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Part {
    R,
    S,
    X,
    Y,
}

fuzz_target!(|case: Case| {
    let hash: fn(&[u8]) -> Vec<u8> = match case.hash % 3 {
        0 => |message| Sha256::digest(message).to_vec(),
        1 => |message| Sha384::digest(message).to_vec(),
        _ => |message| Sha512::digest(message).to_vec(),
    };
    let algorithm = SUPPORTED_ALGORITHMS.all[usize::from(case.hash % 3)];
    let mut message = case.message;
    let mut digest = hash(&message);
    let leftmost = digest[..32].try_into().expect("32 bytes");
    let Some(((key, mut r, mut s), mut valid)) = case.make.make(&reduce(&leftmost)) else { return };
    let mut key = Sec1Point::from(key).to_bytes().to_vec();
    if valid {
        verify(algorithm, &key, &message, &digest, &der(&r, &s), Some(true));
    }

    let (x, y) = key[1..].split_at_mut(32);
    let parts = [&mut r[..], &mut s[..], x, y];
    let mut change_der = None;
    match case.change {
        Change::None => {}
        Change::NegatedS => s = (-reduce(&s)).to_repr().into(),
        Change::Bit { part: which, bit } => {
            parts[which as usize][usize::from(bit / 8)] ^= 1 << (bit % 8);
            valid = false;
        }
        Change::PlusOrder(which) => {
            let bytes = &mut *parts[which as usize];
            let order = (-Scalar::ONE).to_repr();
            let mut carry = 1;
            let mut sum = [0; 32];
            for i in (0..32).rev() {
                carry += u16::from(bytes[i]) + u16::from(order[i]);
                sum[i] = carry as u8;
                carry >>= 8;
            }
            if carry == 0 {
                bytes.copy_from_slice(&sum);
                valid = false;
            }
        }
        Change::Replaced { part: which, number } => {
            parts[which as usize].copy_from_slice(&number.scalar().to_repr());
            valid = false;
        }
        Change::Swapped => {
            (r, s) = (s, r);
            valid = false;
        }
        Change::Message => {
            message.push(0);
            digest = hash(&message);
            valid = false;
        }
        Change::Der { .. } | Change::Cut { .. } => {
            change_der = Some(case.change);
            valid = false;
        }
        Change::Form(byte) => {
            key[0] = byte;
            valid &= byte == 4;
        }
    }
    let mut der = der(&r, &s);
    match change_der {
        Some(Change::Der { at, byte }) => {
            let at = usize::from(at) % der.len();
            der[at] = byte;
        }
        Some(Change::Cut { length }) => der.truncate(length.into()),
        _ => {}
    }
    // A change may by chance lead to something valid again, but not the other way round.
    verify(algorithm, &key, &message, &digest, &der, valid.then_some(true));
});

/// Asks all three.
fn verify(
    algorithm: &dyn SignatureVerificationAlgorithm,
    key: &[u8],
    message: &[u8],
    digest: &[u8],
    der: &[u8],
    known: Option<bool>,
) {
    let read = || {
        let key = VerifyingKey::from_sec1_bytes(key).ok().filter(|_| key.first() == Some(&4))?;
        Some((key, Signature::from_der(der).ok()?))
    };
    let expected = read().is_some_and(|(key, signature)| key.verify_prehash(digest, &signature).is_ok());
    assert!(known.is_none_or(|known| known == expected), "p256 says {expected}");
    // The key's multiples are kept when it comes for the second time.
    for time in 0..2 {
        let ours = algorithm.verify_signature(key, message, der).is_ok();
        assert_eq!(ours, expected, "time {time}, key {key:02x?}, signature {der:02x?}");
    }
    if let Some((_, signature)) = read() {
        let native = crrl::p256::PublicKey::decode(key).expect("p256 takes it");
        assert_eq!(native.verify_hash(&signature.to_bytes(), digest), expected, "crrl");
    }
}

/// A signature as certificates have it, also one out of range.
fn der(r: &[u8; 32], s: &[u8; 32]) -> Vec<u8> {
    let integer = |bytes: &[u8; 32]| {
        let zeros = bytes.iter().take(31).take_while(|byte| **byte == 0).count();
        let sign = if bytes[zeros] >= 0x80 { &[0][..] } else { &[] };
        let bytes = [sign, &bytes[zeros..]].concat();
        [&[2, bytes.len() as u8], &bytes[..]].concat()
    };
    let integers = [integer(r), integer(s)].concat();
    [&[0x30, integers.len() as u8], &integers[..]].concat()
}

/// The point, unless it is at infinity.
fn affine(point: ProjectivePoint) -> Option<PublicKey> {
    PublicKey::from_affine(point.to_affine()).ok()
}

/// The point's x coordinate modulo n, unless it is 0.
fn x(point: &PublicKey) -> Option<Scalar> {
    let point = Sec1Point::from(*point);
    let x = reduce(&point.as_bytes()[1..33].try_into().expect("32 bytes"));
    (x != Scalar::ZERO).then_some(x)
}

fn reduce(bytes: &[u8; 32]) -> Scalar {
    Scalar::reduce(&U256::from_be_slice(bytes))
}

/// The inverse of what is not 0.
fn inverse(scalar: &Scalar) -> Scalar {
    scalar.invert().expect("it is not 0")
}
