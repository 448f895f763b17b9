//! QUIC packet and header protection (RFC 9001, 5) for the three TLS 1.3 suites.
//!
//! rustls derives the keys of every packet space (and, through [`rustls::quic::Keys::initial`], those of Initial
//! packets) and calls these to use them; a key update is new [`PacketKey`](rustls::quic::PacketKey)s.

use core::marker::PhantomData;
use std::sync::OnceLock;

use rustls::Error;
use rustls::crypto::cipher::{AeadKey, Iv, Nonce};
use rustls::quic;

use crate::ahead;
use crate::ciphers::{Aead, HeaderMask, MASK_LEN, NONCE_LEN, SAMPLE_LEN, TAG_LEN};

/// The AEAD `A` and the header masks `H`, with keys of `KEY` bytes each.
pub(crate) struct Protection<A, H, const KEY: usize> {
    limits: Limits,
    keys: PhantomData<fn() -> (A, H)>,
}

impl<A, H, const KEY: usize> Protection<A, H, KEY> {
    pub(crate) const fn new(limits: Limits) -> Self {
        Self { limits, keys: PhantomData }
    }
}

/// How many packets a key may serve (RFC 9001, 6.6).
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// Packets that may be sealed.
    confidentiality: u64,
    /// Packets that may fail to open.
    integrity: u64,
}

impl Limits {
    /// AES-128-GCM and AES-256-GCM.
    pub(crate) const AES_GCM: Self = Self { confidentiality: 1 << 23, integrity: 1 << 52 };
    /// ChaCha20-Poly1305: the number of packets that QUIC can number is the smaller limit.
    pub(crate) const CHACHA20_POLY1305: Self = Self { confidentiality: u64::MAX, integrity: 1 << 36 };
}

impl<A: Aead<KEY>, H: HeaderMask<KEY>, const KEY: usize> quic::Algorithm for Protection<A, H, KEY> {
    fn packet_key(&self, key: AeadKey, iv: Iv) -> Box<dyn quic::PacketKey> {
        Box::new(PacketKey { aead: Lazy::<A, KEY>::new(key), iv, limits: self.limits })
    }

    fn header_protection_key(&self, key: AeadKey) -> Box<dyn quic::HeaderProtectionKey> {
        Box::new(HeaderKey { mask: H::new(exactly(&key)), id: ahead::Id::new() })
    }

    fn aead_key_len(&self) -> usize {
        KEY
    }
}

/// The bytes of `key`, whose length is what the algorithm told rustls to make.
pub(crate) fn exactly<const KEY: usize>(key: &AeadKey) -> &[u8; KEY] {
    key.as_ref().try_into().expect("a key has the length that its algorithm states")
}

/// An AEAD whose tables are made when they are first needed. Each takes kilobytes and, in software, microseconds, and
/// of the keys that TLS makes for a QUIC connection a good half is never used: those of its records, and those of a key
/// update that does not come.
pub(crate) struct Lazy<A, const KEY: usize> {
    key: AeadKey,
    aead: OnceLock<Box<A>>,
}

impl<A: Aead<KEY>, const KEY: usize> Lazy<A, KEY> {
    pub(crate) fn new(key: AeadKey) -> Self {
        Self { key, aead: OnceLock::new() }
    }

    pub(crate) fn get(&self) -> &A {
        self.aead.get_or_init(|| Box::new(A::new(exactly(&self.key))))
    }
}

struct PacketKey<A, const KEY: usize> {
    aead: Lazy<A, KEY>,
    iv: Iv,
    limits: Limits,
}

impl<A: Aead<KEY>, const KEY: usize> PacketKey<A, KEY> {
    fn seal(&self, nonce: Nonce, header: &[u8], payload: &mut [u8]) -> Result<quic::Tag, Error> {
        let tag = self.aead.get().seal(&nonce.0, header, payload).map_err(|_| Error::EncryptError)?;
        Ok(quic::Tag::from(tag.as_slice()))
    }

    fn open<'a>(&self, nonce: Nonce, header: &[u8], payload: &'a mut [u8]) -> Result<&'a [u8], Error> {
        open(self.aead.get(), &nonce.0, header, payload).map(|opened| &*opened)
    }
}

/// Opens `payload`, which ends with its tag, and returns what was sealed.
pub(crate) fn open<'a, A: Aead<KEY>, const KEY: usize>(
    aead: &A,
    nonce: &[u8; NONCE_LEN],
    aad: &[u8],
    payload: &'a mut [u8],
) -> Result<&'a mut [u8], Error> {
    let (data, tag) = payload.split_last_chunk_mut::<TAG_LEN>().ok_or(Error::DecryptError)?;
    aead.open(nonce, aad, data, tag).map_err(|_| Error::DecryptError)?;
    Ok(data)
}

impl<A: Aead<KEY>, const KEY: usize> quic::PacketKey for PacketKey<A, KEY> {
    fn encrypt_in_place(
        &self,
        packet_number: u64,
        header: &[u8],
        payload: &mut [u8],
    ) -> Result<quic::Tag, Error> {
        self.seal(Nonce::new(&self.iv, packet_number), header, payload)
    }

    fn encrypt_in_place_for_path(
        &self,
        path_id: u32,
        packet_number: u64,
        header: &[u8],
        payload: &mut [u8],
    ) -> Result<quic::Tag, Error> {
        self.seal(Nonce::for_path(path_id, &self.iv, packet_number), header, payload)
    }

    fn decrypt_in_place<'a>(
        &self,
        packet_number: u64,
        header: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        self.open(Nonce::new(&self.iv, packet_number), header, payload)
    }

    fn decrypt_in_place_for_path<'a>(
        &self,
        path_id: u32,
        packet_number: u64,
        header: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        self.open(Nonce::for_path(path_id, &self.iv, packet_number), header, payload)
    }

    fn tag_len(&self) -> usize {
        TAG_LEN
    }

    fn confidentiality_limit(&self) -> u64 {
        self.limits.confidentiality
    }

    fn integrity_limit(&self) -> u64 {
        self.limits.integrity
    }
}

struct HeaderKey<H, const KEY: usize> {
    mask: H,
    id: ahead::Id,
}

impl<H: HeaderMask<KEY>, const KEY: usize> HeaderKey<H, KEY> {
    /// RFC 9001, 5.4.1. `length` gives the flags whose low bits say how long the packet number is: those before
    /// masking on one side, after unmasking on the other. `mask` makes the mask.
    fn apply(
        &self,
        sample: &[u8],
        mask: impl FnOnce(&[u8; SAMPLE_LEN]) -> [u8; MASK_LEN],
        first: &mut u8,
        packet_number: &mut [u8],
        length: fn(before: u8, after: u8) -> u8,
    ) -> Result<(), Error> {
        let sample: &[u8; SAMPLE_LEN] = sample.try_into().map_err(|_| {
            Error::General(format!("a header protection sample has {SAMPLE_LEN} bytes, not {}", sample.len()))
        })?;
        if packet_number.len() > 4 {
            let len = packet_number.len();
            return Err(Error::General(format!("a packet number has at most 4 bytes, not {len}")));
        }
        let [flags, numbers @ ..] = mask(sample);
        // The long form masks four bits of the first byte, the short form five.
        let bits = if *first & 0x80 != 0 { 0x0f } else { 0x1f };
        let masked = *first ^ (flags & bits);
        let used = usize::from(length(*first, masked) & 0x03) + 1;
        *first = masked;
        for (byte, mask) in packet_number.iter_mut().zip(numbers).take(used) {
            *byte ^= mask;
        }
        Ok(())
    }
}

impl<H: HeaderMask<KEY>, const KEY: usize> quic::HeaderProtectionKey for HeaderKey<H, KEY> {
    fn encrypt_in_place(&self, sample: &[u8], first: &mut u8, packet_number: &mut [u8]) -> Result<(), Error> {
        self.apply(sample, |sample| self.mask.mask(sample), first, packet_number, |before, _| before)
    }

    fn decrypt_in_place(&self, sample: &[u8], first: &mut u8, packet_number: &mut [u8]) -> Result<(), Error> {
        let mask = |sample: &_| {
            if ahead::PAYS { ahead::mask(&self.mask, self.id, sample) } else { self.mask.mask(sample) }
        };
        self.apply(sample, mask, first, packet_number, |_, after| after)
    }

    fn sample_len(&self) -> usize {
        SAMPLE_LEN
    }
}
