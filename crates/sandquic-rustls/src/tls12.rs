//! The TLS 1.2 cipher suites (RFC 5288 and 5289 for AES-GCM, RFC 7905 for ChaCha20-Poly1305), generic over
//! [`Ciphers`].

use core::marker::PhantomData;

use rustls::crypto::cipher::{
    AeadKey, InboundOpaqueMessage, InboundPlainMessage, Iv, KeyBlockShape, MessageDecrypter,
    MessageEncrypter, NONCE_LEN, Nonce, OutboundOpaqueMessage, OutboundPlainMessage, PrefixedPayload,
    Tls12AeadAlgorithm, UnsupportedOperationError, make_tls12_aad,
};
use rustls::crypto::tls12::PrfUsingHmac;
use rustls::crypto::{CipherSuiteCommon, KeyExchangeAlgorithm};
use rustls::{
    CipherSuite, ConnectionTrafficSecrets, Error, SignatureScheme, SupportedCipherSuite, Tls12CipherSuite,
};

use crate::ciphers::{Aead, Ciphers, TAG_LEN};
use crate::hash::{HashOf, WithSha256, WithSha384};
use crate::hmac::HmacOf;
use crate::quic::{exactly, open};
use crate::tls13::AES_GCM_RECORDS;

/// The longest plaintext of a record (RFC 5246, 6.2.1).
const MAX_PLAINTEXT: usize = 1 << 14;
/// Bytes of the GCM nonce that a record carries (RFC 5288, 3).
const EXPLICIT_LEN: usize = 8;
/// Bytes of the GCM nonce that come from the key block.
const SALT_LEN: usize = NONCE_LEN - EXPLICIT_LEN;

const ECDSA: &[SignatureScheme] = &[
    SignatureScheme::ED25519,
    SignatureScheme::ECDSA_NISTP384_SHA384,
    SignatureScheme::ECDSA_NISTP256_SHA256,
];
const RSA: &[SignatureScheme] = &[
    SignatureScheme::RSA_PSS_SHA256,
    SignatureScheme::RSA_PSS_SHA384,
    SignatureScheme::RSA_PSS_SHA512,
    SignatureScheme::RSA_PKCS1_SHA256,
    SignatureScheme::RSA_PKCS1_SHA384,
    SignatureScheme::RSA_PKCS1_SHA512,
];

/// The suites over the ciphers `C`.
pub(crate) struct Suites<C>(PhantomData<C>);

macro_rules! suite {
    ($name:ident, $suite:ident, $sign:ident, $hash:ident, $records:expr, $aead:expr) => {
        pub(crate) const $name: SupportedCipherSuite = SupportedCipherSuite::Tls12(&Tls12CipherSuite {
            common: CipherSuiteCommon {
                suite: CipherSuite::$suite,
                hash_provider: &HashOf($hash),
                confidentiality_limit: $records,
            },
            prf_provider: &PrfUsingHmac(&HmacOf($hash)),
            kx: KeyExchangeAlgorithm::ECDHE,
            sign: $sign,
            aead_alg: $aead,
        });
    };
}

impl<C: Ciphers> Suites<C> {
    suite!(
        ECDSA_AES_128_GCM_SHA256,
        TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        ECDSA,
        WithSha256,
        AES_GCM_RECORDS,
        &AesGcm::<C::Aes128Gcm, 16>::new(|key, iv| ConnectionTrafficSecrets::Aes128Gcm { key, iv })
    );
    suite!(
        ECDSA_AES_256_GCM_SHA384,
        TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        ECDSA,
        WithSha384,
        AES_GCM_RECORDS,
        &AesGcm::<C::Aes256Gcm, 32>::new(|key, iv| ConnectionTrafficSecrets::Aes256Gcm { key, iv })
    );
    suite!(
        ECDSA_CHACHA20_POLY1305_SHA256,
        TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
        ECDSA,
        WithSha256,
        u64::MAX,
        &ChaChaPoly::<C::ChaCha20Poly1305>(PhantomData)
    );
    suite!(
        RSA_AES_128_GCM_SHA256,
        TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        RSA,
        WithSha256,
        AES_GCM_RECORDS,
        &AesGcm::<C::Aes128Gcm, 16>::new(|key, iv| ConnectionTrafficSecrets::Aes128Gcm { key, iv })
    );
    suite!(
        RSA_AES_256_GCM_SHA384,
        TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        RSA,
        WithSha384,
        AES_GCM_RECORDS,
        &AesGcm::<C::Aes256Gcm, 32>::new(|key, iv| ConnectionTrafficSecrets::Aes256Gcm { key, iv })
    );
    suite!(
        RSA_CHACHA20_POLY1305_SHA256,
        TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        RSA,
        WithSha256,
        u64::MAX,
        &ChaChaPoly::<C::ChaCha20Poly1305>(PhantomData)
    );
}

/// Record protection with AES-GCM: a salt of 4 bytes, and 8 bytes of nonce in every record.
struct AesGcm<A, const KEY: usize> {
    secrets: fn(AeadKey, Iv) -> ConnectionTrafficSecrets,
    aead: PhantomData<fn() -> A>,
}

impl<A, const KEY: usize> AesGcm<A, KEY> {
    const fn new(secrets: fn(AeadKey, Iv) -> ConnectionTrafficSecrets) -> Self {
        Self { secrets, aead: PhantomData }
    }
}

impl<A: Aead<KEY>, const KEY: usize> Tls12AeadAlgorithm for AesGcm<A, KEY> {
    fn encrypter(&self, key: AeadKey, iv: &[u8], extra: &[u8]) -> Box<dyn MessageEncrypter> {
        Box::new(GcmSealer { aead: A::new(exactly(&key)), iv: gcm_iv(iv, extra) })
    }

    fn decrypter(&self, key: AeadKey, iv: &[u8]) -> Box<dyn MessageDecrypter> {
        let salt = iv.try_into().expect("the salt has the length that the key block's shape states");
        Box::new(GcmOpener { aead: A::new(exactly(&key)), salt })
    }

    fn key_block_shape(&self) -> KeyBlockShape {
        KeyBlockShape { enc_key_len: KEY, fixed_iv_len: SALT_LEN, explicit_nonce_len: EXPLICIT_LEN }
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: &[u8],
        explicit: &[u8],
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        Ok((self.secrets)(key, gcm_iv(iv, explicit)))
    }
}

/// The first nonce: the salt, then bytes of the key block. Every record's number is xored into these, so the explicit
/// part never repeats under a key.
fn gcm_iv(salt: &[u8], explicit: &[u8]) -> Iv {
    let mut iv = [0; NONCE_LEN];
    iv[..SALT_LEN].copy_from_slice(salt);
    iv[SALT_LEN..].copy_from_slice(explicit);
    Iv::new(iv)
}

struct GcmSealer<A, const KEY: usize> {
    aead: A,
    iv: Iv,
}

impl<A: Aead<KEY>, const KEY: usize> MessageEncrypter for GcmSealer<A, KEY> {
    fn encrypt(&mut self, msg: OutboundPlainMessage<'_>, seq: u64) -> Result<OutboundOpaqueMessage, Error> {
        let mut payload = PrefixedPayload::with_capacity(self.encrypted_payload_len(msg.payload.len()));
        let nonce = Nonce::new(&self.iv, seq).0;
        let aad = make_tls12_aad(seq, msg.typ, msg.version, msg.payload.len());
        payload.extend_from_slice(&nonce[SALT_LEN..]);
        payload.extend_from_chunks(&msg.payload);
        let data = &mut payload.as_mut()[EXPLICIT_LEN..];
        let tag = self.aead.seal(&nonce, &aad, data).map_err(|_| Error::EncryptError)?;
        payload.extend_from_slice(&tag);
        Ok(OutboundOpaqueMessage::new(msg.typ, msg.version, payload))
    }

    fn encrypted_payload_len(&self, payload_len: usize) -> usize {
        EXPLICIT_LEN + payload_len + TAG_LEN
    }
}

struct GcmOpener<A, const KEY: usize> {
    aead: A,
    salt: [u8; SALT_LEN],
}

impl<A: Aead<KEY>, const KEY: usize> MessageDecrypter for GcmOpener<A, KEY> {
    fn decrypt<'a>(
        &mut self,
        mut msg: InboundOpaqueMessage<'a>,
        seq: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        let len = plaintext_len(msg.payload.len(), EXPLICIT_LEN + TAG_LEN)?;
        let aad = make_tls12_aad(seq, msg.typ, msg.version, len);
        let (explicit, sealed) = msg.payload.split_at_mut(EXPLICIT_LEN);
        let mut nonce = [0; NONCE_LEN];
        nonce[..SALT_LEN].copy_from_slice(&self.salt);
        nonce[SALT_LEN..].copy_from_slice(explicit);
        open(&self.aead, &nonce, &aad, sealed)?;
        Ok(msg.into_plain_message_range(EXPLICIT_LEN..EXPLICIT_LEN + len))
    }
}

/// Record protection with ChaCha20-Poly1305: the nonce is the IV and the record's number, as in TLS 1.3.
struct ChaChaPoly<A>(PhantomData<fn() -> A>);

impl<A: Aead<32>> Tls12AeadAlgorithm for ChaChaPoly<A> {
    fn encrypter(&self, key: AeadKey, iv: &[u8], _extra: &[u8]) -> Box<dyn MessageEncrypter> {
        Box::new(ChaChaPolyKey { aead: A::new(exactly(&key)), iv: Iv::copy(iv) })
    }

    fn decrypter(&self, key: AeadKey, iv: &[u8]) -> Box<dyn MessageDecrypter> {
        Box::new(ChaChaPolyKey { aead: A::new(exactly(&key)), iv: Iv::copy(iv) })
    }

    fn key_block_shape(&self) -> KeyBlockShape {
        KeyBlockShape { enc_key_len: 32, fixed_iv_len: NONCE_LEN, explicit_nonce_len: 0 }
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: &[u8],
        _explicit: &[u8],
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        Ok(ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv: Iv::copy(iv) })
    }
}

struct ChaChaPolyKey<A> {
    aead: A,
    iv: Iv,
}

impl<A: Aead<32>> MessageEncrypter for ChaChaPolyKey<A> {
    fn encrypt(&mut self, msg: OutboundPlainMessage<'_>, seq: u64) -> Result<OutboundOpaqueMessage, Error> {
        let mut payload = PrefixedPayload::with_capacity(self.encrypted_payload_len(msg.payload.len()));
        let aad = make_tls12_aad(seq, msg.typ, msg.version, msg.payload.len());
        payload.extend_from_chunks(&msg.payload);
        let tag = self
            .aead
            .seal(&Nonce::new(&self.iv, seq).0, &aad, payload.as_mut())
            .map_err(|_| Error::EncryptError)?;
        payload.extend_from_slice(&tag);
        Ok(OutboundOpaqueMessage::new(msg.typ, msg.version, payload))
    }

    fn encrypted_payload_len(&self, payload_len: usize) -> usize {
        payload_len + TAG_LEN
    }
}

impl<A: Aead<32>> MessageDecrypter for ChaChaPolyKey<A> {
    fn decrypt<'a>(
        &mut self,
        mut msg: InboundOpaqueMessage<'a>,
        seq: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        let len = plaintext_len(msg.payload.len(), TAG_LEN)?;
        let aad = make_tls12_aad(seq, msg.typ, msg.version, len);
        open(&self.aead, &Nonce::new(&self.iv, seq).0, &aad, &mut msg.payload)?;
        msg.payload.truncate(len);
        Ok(msg.into_plain_message())
    }
}

/// The length of the plaintext in a record of `len` bytes, `overhead` of which are nonce and tag.
fn plaintext_len(len: usize, overhead: usize) -> Result<usize, Error> {
    match len.checked_sub(overhead) {
        None => Err(Error::DecryptError),
        Some(len) if len > MAX_PLAINTEXT => Err(Error::PeerSentOversizedRecord),
        Some(len) => Ok(len),
    }
}
