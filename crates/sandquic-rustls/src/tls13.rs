//! The TLS 1.3 cipher suites (RFC 8446, 5.2 and B.4), generic over [`Ciphers`].

use core::marker::PhantomData;

use rustls::crypto::CipherSuiteCommon;
use rustls::crypto::cipher::{
    AeadKey, InboundOpaqueMessage, InboundPlainMessage, Iv, MessageDecrypter, MessageEncrypter, Nonce,
    OutboundOpaqueMessage, OutboundPlainMessage, PrefixedPayload, Tls13AeadAlgorithm,
    UnsupportedOperationError, make_tls13_aad,
};
use rustls::{
    CipherSuite, ConnectionTrafficSecrets, ContentType, Error, ProtocolVersion, SupportedCipherSuite,
    Tls13CipherSuite,
};

use crate::ciphers::{Aead, Ciphers, TAG_LEN};
use crate::hash::{HashOf, WithSha256, WithSha384};
use crate::hkdf::HkdfOf;
use crate::quic::{Lazy, Limits, Protection, open};

/// Records that one AES-GCM key may protect (RFC 8446, 5.5: 2^24.5 full-size records).
pub(crate) const AES_GCM_RECORDS: u64 = 1 << 24;

/// The suites over the ciphers `C`.
pub(crate) struct Suites<C>(PhantomData<C>);

impl<C: Ciphers> Suites<C> {
    pub(crate) const AES_128_GCM_SHA256: SupportedCipherSuite =
        SupportedCipherSuite::Tls13(&Tls13CipherSuite {
            common: CipherSuiteCommon {
                suite: CipherSuite::TLS13_AES_128_GCM_SHA256,
                hash_provider: &HashOf(WithSha256),
                confidentiality_limit: AES_GCM_RECORDS,
            },
            hkdf_provider: &HkdfOf(WithSha256),
            aead_alg: &Records::<C::Aes128Gcm, 16>::new(|key, iv| ConnectionTrafficSecrets::Aes128Gcm {
                key,
                iv,
            }),
            quic: Some(&Protection::<C::Aes128Gcm, C::Aes128Mask, 16>::new(Limits::AES_GCM)),
        });

    pub(crate) const AES_256_GCM_SHA384: SupportedCipherSuite =
        SupportedCipherSuite::Tls13(&Tls13CipherSuite {
            common: CipherSuiteCommon {
                suite: CipherSuite::TLS13_AES_256_GCM_SHA384,
                hash_provider: &HashOf(WithSha384),
                confidentiality_limit: AES_GCM_RECORDS,
            },
            hkdf_provider: &HkdfOf(WithSha384),
            aead_alg: &Records::<C::Aes256Gcm, 32>::new(|key, iv| ConnectionTrafficSecrets::Aes256Gcm {
                key,
                iv,
            }),
            quic: Some(&Protection::<C::Aes256Gcm, C::Aes256Mask, 32>::new(Limits::AES_GCM)),
        });

    pub(crate) const CHACHA20_POLY1305_SHA256: SupportedCipherSuite =
        SupportedCipherSuite::Tls13(&Tls13CipherSuite {
            common: CipherSuiteCommon {
                suite: CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
                hash_provider: &HashOf(WithSha256),
                confidentiality_limit: u64::MAX,
            },
            hkdf_provider: &HkdfOf(WithSha256),
            aead_alg: &Records::<C::ChaCha20Poly1305, 32>::new(|key, iv| {
                ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv }
            }),
            quic: Some(&Protection::<C::ChaCha20Poly1305, C::ChaCha20Mask, 32>::new(
                Limits::CHACHA20_POLY1305,
            )),
        });
}

/// Record protection with the AEAD `A`.
struct Records<A, const KEY: usize> {
    secrets: fn(AeadKey, Iv) -> ConnectionTrafficSecrets,
    aead: PhantomData<fn() -> A>,
}

impl<A, const KEY: usize> Records<A, KEY> {
    const fn new(secrets: fn(AeadKey, Iv) -> ConnectionTrafficSecrets) -> Self {
        Self { secrets, aead: PhantomData }
    }
}

impl<A: Aead<KEY>, const KEY: usize> Tls13AeadAlgorithm for Records<A, KEY> {
    fn encrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageEncrypter> {
        Box::new(RecordKey { aead: Lazy::<A, KEY>::new(key), iv })
    }

    fn decrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageDecrypter> {
        Box::new(RecordKey { aead: Lazy::<A, KEY>::new(key), iv })
    }

    fn key_len(&self) -> usize {
        KEY
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: Iv,
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        Ok((self.secrets)(key, iv))
    }
}

struct RecordKey<A, const KEY: usize> {
    aead: Lazy<A, KEY>,
    iv: Iv,
}

impl<A: Aead<KEY>, const KEY: usize> MessageEncrypter for RecordKey<A, KEY> {
    fn encrypt(&mut self, msg: OutboundPlainMessage<'_>, seq: u64) -> Result<OutboundOpaqueMessage, Error> {
        let total = self.encrypted_payload_len(msg.payload.len());
        let mut payload = PrefixedPayload::with_capacity(total);
        payload.extend_from_chunks(&msg.payload);
        payload.extend_from_slice(&msg.typ.to_array());
        let tag = self
            .aead
            .get()
            .seal(&Nonce::new(&self.iv, seq).0, &make_tls13_aad(total), payload.as_mut())
            .map_err(|_| Error::EncryptError)?;
        payload.extend_from_slice(&tag);
        // RFC 8446, 5.2: every protected record claims to be TLS 1.2 application data.
        Ok(OutboundOpaqueMessage::new(ContentType::ApplicationData, ProtocolVersion::TLSv1_2, payload))
    }

    fn encrypted_payload_len(&self, payload_len: usize) -> usize {
        payload_len + 1 + TAG_LEN
    }
}

impl<A: Aead<KEY>, const KEY: usize> MessageDecrypter for RecordKey<A, KEY> {
    fn decrypt<'a>(
        &mut self,
        mut msg: InboundOpaqueMessage<'a>,
        seq: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        let aad = make_tls13_aad(msg.payload.len());
        let len = open(self.aead.get(), &Nonce::new(&self.iv, seq).0, &aad, &mut msg.payload)?.len();
        msg.payload.truncate(len);
        msg.into_tls13_unpadded_message()
    }
}
