//! One implementation of `Ciphers` for both generations of RustCrypto's crates.

/// Implements [`sandquic_rustls::Ciphers`] for `$ciphers` over the crates that the invoking module has in scope
/// as `aes`, `aes_gcm`, `chacha20poly1305` and `chacha20`, with their traits. The three closures call what the
/// generations name differently: sealing and opening in place with the tag apart, and one ChaCha20 block.
macro_rules! ciphers {
    (
        $(#[$doc:meta])* $ciphers:ident, $name:literal,
        seal: $seal:expr, open: $open:expr, encrypt_blocks: $encrypt_blocks:expr, chacha20_block: $chacha20_block:expr
    ) => {
        use sandquic_rustls::ciphers::{
            Aead, AeadError, Ciphers, HeaderMask, MASK_LEN, NONCE_LEN, SAMPLE_LEN, TAG_LEN,
        };
        use zeroize::Zeroizing;

        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $ciphers;

        impl Ciphers for $ciphers {
            const NAME: &'static str = $name;

            type Aes128Gcm = InPlace<aes_gcm::Aes128Gcm>;
            type Aes256Gcm = InPlace<aes_gcm::Aes256Gcm>;
            type ChaCha20Poly1305 = InPlace<chacha20poly1305::ChaCha20Poly1305>;
            type Aes128Mask = AesMask<aes::Aes128>;
            type Aes256Mask = AesMask<aes::Aes256>;
            type ChaCha20Mask = ChaCha20Mask;
        }

        /// An AEAD of this generation.
        pub struct InPlace<A>(A);

        ciphers!(@aead aes_gcm::Aes128Gcm, 16, $seal, $open);
        ciphers!(@aead aes_gcm::Aes256Gcm, 32, $seal, $open);
        ciphers!(@aead chacha20poly1305::ChaCha20Poly1305, 32, $seal, $open);

        /// Header masks by AES blocks (RFC 9001, 5.4.3).
        pub struct AesMask<B>(B);

        ciphers!(@aes_mask aes::Aes128, 16, $encrypt_blocks);
        ciphers!(@aes_mask aes::Aes256, 32, $encrypt_blocks);

        /// Header masks by ChaCha20 blocks (RFC 9001, 5.4.4).
        pub struct ChaCha20Mask(Zeroizing<[u8; 32]>);

        impl HeaderMask<32> for ChaCha20Mask {
            fn new(key: &[u8; 32]) -> Self {
                Self(Zeroizing::new(*key))
            }

            #[inline]
            fn mask(&self, sample: &[u8; SAMPLE_LEN]) -> [u8; MASK_LEN] {
                let [c0, c1, c2, c3, nonce @ ..] = sample;
                head(&$chacha20_block(&*self.0, nonce, u32::from_le_bytes([*c0, *c1, *c2, *c3])))
            }
        }

        /// The first [`MASK_LEN`] bytes of a block.
        #[inline]
        fn head(block: &[u8]) -> [u8; MASK_LEN] {
            let mut mask = [0; MASK_LEN];
            mask.copy_from_slice(&block[..MASK_LEN]);
            mask
        }
    };

    (@aead $aead:ty, $key:literal, $seal:expr, $open:expr) => {
        impl Aead<$key> for InPlace<$aead> {
            fn new(key: &[u8; $key]) -> Self {
                Self(<$aead>::new(key.into()))
            }

            #[inline]
            fn seal(
                &self,
                nonce: &[u8; NONCE_LEN],
                aad: &[u8],
                data: &mut [u8],
            ) -> Result<[u8; TAG_LEN], AeadError> {
                $seal(&self.0, nonce.into(), aad, data).map(Into::into).map_err(|_| AeadError)
            }

            #[inline]
            fn open(
                &self,
                nonce: &[u8; NONCE_LEN],
                aad: &[u8],
                data: &mut [u8],
                tag: &[u8; TAG_LEN],
            ) -> Result<(), AeadError> {
                $open(&self.0, nonce.into(), aad, data, tag.into()).map_err(|_| AeadError)
            }
        }
    };

    (@aes_mask $block:ty, $key:literal, $encrypt_blocks:expr) => {
        impl HeaderMask<$key> for AesMask<$block> {
            fn new(key: &[u8; $key]) -> Self {
                Self(<$block>::new(key.into()))
            }

            #[inline]
            fn mask(&self, sample: &[u8; SAMPLE_LEN]) -> [u8; MASK_LEN] {
                let mut blocks = [(*sample).into()];
                $encrypt_blocks(&self.0, &mut blocks[..]);
                head(&blocks[0])
            }

            fn masks(&self, samples: &[[u8; SAMPLE_LEN]], masks: &mut [[u8; MASK_LEN]]) {
                // Eight blocks are what the widest software backend takes at a time.
                for (masks, samples) in masks.chunks_mut(8).zip(samples.chunks(8)) {
                    let mut blocks = [aes::Block::default(); 8];
                    for (block, sample) in blocks.iter_mut().zip(samples) {
                        *block = (*sample).into();
                    }
                    let used = masks.len().min(samples.len());
                    $encrypt_blocks(&self.0, &mut blocks[..used]);
                    for (mask, block) in masks.iter_mut().zip(&blocks[..used]) {
                        *mask = head(block);
                    }
                }
            }
        }
    };
}
