//! Expanded keys.

use super::{
    bitslice::{self, PlaneKey},
    circuit, layout, nibble,
};
use crate::{
    backend,
    simd::{AesInstructions, AesKernel, Kernel, Vector},
    wipe::wipe,
};

/// Round keys of AES-256; the shorter keys leave some unused.
const MAX_KEYS: usize = 15;

/// A key with all it takes to encrypt and decrypt, expanded once.
#[derive(Clone)]
pub(crate) struct Key {
    /// The number of round keys: 11, 13 or 15.
    count: usize,
    /// The round keys of FIPS 197.
    plain: [[u8; 16]; MAX_KEYS],
    form: Form,
}

/// What else the chosen implementation needs.
#[derive(Clone)]
#[allow(clippy::large_enum_variant, reason = "no allocator; a program uses one variant for all its keys")]
enum Form {
    Native {
        /// The round keys of the equivalent inverse cipher, in the order of encryption.
        decrypt: [[u8; 16]; MAX_KEYS],
    },
    Soft(SoftKeys),
}

/// Round keys for the kernels in software.
#[derive(Clone)]
pub(crate) struct SoftKeys {
    /// On bit planes, in the layout of their round, 0x63 of SubBytes added to all but the first.
    planes: [PlaneKey; MAX_KEYS],
    /// The same as bytes in the basis of [`nibble`]; the last one in the plain basis.
    nibbles: [[u8; 16]; MAX_KEYS],
    /// The first two as plain bytes in their layouts, for the first round of a counter mode.
    first: [[u8; 16]; 2],
}

impl Key {
    /// Expands a key of 16, 24 or 32 bytes.
    pub(crate) fn new(key: &[u8]) -> Self {
        let mut expanded = Self {
            count: key.len() / 4 + 7,
            plain: [[0; 16]; MAX_KEYS],
            form: Form::Native { decrypt: [[0; 16]; MAX_KEYS] },
        };
        if let Err(expand) = backend::try_aes(ExpandNative { key, into: &mut expanded }) {
            let ExpandNative { key, into } = expand;
            backend::dispatch_narrow(ExpandSoft { key, into });
        }
        expanded
    }

    /// Expands a key for kernels on vectors of one type.
    #[cfg(test)]
    #[inline(always)]
    pub(crate) fn new_soft<V: Vector>(key: &[u8]) -> Self {
        let mut expanded = Self {
            count: key.len() / 4 + 7,
            plain: [[0; 16]; MAX_KEYS],
            form: Form::Native { decrypt: [[0; 16]; MAX_KEYS] },
        };
        ExpandSoft { key, into: &mut expanded }.run::<V>();
        expanded
    }

    /// The round keys of FIPS 197, in order.
    #[inline(always)]
    pub(crate) fn plain(&self) -> &[[u8; 16]] {
        &self.plain[..self.count]
    }

    /// The keys of the equivalent inverse cipher, if this key was expanded for the processor's instructions.
    #[inline(always)]
    pub(crate) fn native_decrypt(&self) -> &[[u8; 16]] {
        match &self.form {
            Form::Native { decrypt } => &decrypt[..self.count],
            Form::Soft(_) => &[],
        }
    }

    /// Round keys on planes.
    #[inline(always)]
    pub(crate) fn planes(&self) -> &[PlaneKey] {
        &self.soft().planes[..self.count]
    }

    /// Round keys for [`nibble`].
    #[inline(always)]
    pub(crate) fn nibbles(&self) -> &[[u8; 16]] {
        &self.soft().nibbles[..self.count]
    }

    /// Whether the key was expanded for kernels on vectors.
    #[inline(always)]
    pub(crate) fn is_soft(&self) -> bool {
        matches!(self.form, Form::Soft(_))
    }

    /// The first two round keys, see [`SoftKeys`].
    #[inline(always)]
    pub(crate) fn first(&self) -> &[[u8; 16]; 2] {
        &self.soft().first
    }

    /// The number of ShiftRows that a whole encryption omits, modulo 4.
    #[inline(always)]
    pub(crate) fn rotation(&self) -> usize {
        (self.count - 1) % 4
    }

    #[inline(always)]
    fn soft(&self) -> &SoftKeys {
        match &self.form {
            Form::Soft(keys) => keys,
            // The same answer of the same processor chooses the kernel and chose the expansion.
            Form::Native { .. } => {
                unreachable!("a key for the processor's instructions in a kernel of software")
            }
        }
    }

    /// FIPS 197, section 5.2, on words in memory order.
    #[inline(always)]
    fn schedule(&mut self, key: &[u8], mut sub_word: impl FnMut(u32) -> u32) {
        let words = key.len() / 4;
        let total = 4 * self.count;
        let mut w = [0u32; 4 * MAX_KEYS];
        for (word, bytes) in w.iter_mut().zip(key.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        let mut rcon = 1u32;
        for i in words..total {
            let mut t = w[i - 1];
            if i % words == 0 {
                t = sub_word(t.rotate_right(8)) ^ rcon;
                // At most ten are used: 1, 2, .. 0x80, 0x1b, 0x36.
                rcon = if rcon == 0x80 { 0x1b } else { rcon << 1 };
            } else if words == 8 && i % 8 == 4 {
                t = sub_word(t);
            }
            w[i] = w[i - words] ^ t;
        }
        for (key, words) in self.plain.iter_mut().zip(w.as_chunks::<4>().0) {
            for (bytes, word) in key.as_chunks_mut().0.iter_mut().zip(words) {
                *bytes = word.to_le_bytes();
            }
        }
        wipe(&mut w);
    }
}

struct ExpandNative<'a> {
    key: &'a [u8],
    into: &'a mut Key,
}

impl AesKernel for ExpandNative<'_> {
    type Output = ();

    #[inline(always)]
    fn run<A: AesInstructions>(self, aes: A) {
        self.into.schedule(self.key, |word| aes.sub_word(word));
        let mut decrypt = self.into.plain;
        let count = self.into.count;
        for key in &mut decrypt[1..count - 1] {
            aes.inv_mix_columns(<A::Narrow as AesInstructions>::V::load(key)).store(key);
        }
        self.into.form = Form::Native { decrypt };
    }
}

struct ExpandSoft<'a> {
    key: &'a [u8],
    into: &'a mut Key,
}

impl Kernel for ExpandSoft<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { key, into } = self;
        let constant = V::splat_u8(0x63);
        let tables = nibble::Tables::<V>::load();
        if V::FAST_SWIZZLE {
            into.schedule(key, |word| tables.sub_bytes(V::splat_u32(word)).xor(constant).extract_u32::<0>());
        } else {
            into.schedule(key, |word| sub_word_planes::<V>(word) ^ 0x6363_6363);
        }
        into.form = Form::Soft(SoftKeys {
            planes: [[[0; 16]; 8]; MAX_KEYS],
            nibbles: [[0; 16]; MAX_KEYS],
            first: [[0; 16]; 2],
        });
        let Form::Soft(soft) = &mut into.form else { return };
        let arrange = super::ARRANGE.each_ref().map(V::opaque);
        for i in 0..into.count {
            let plain = V::load(&into.plain[i]);
            let mut arranged = bitslice::permute(plain, &super::ARRANGE[i % 4], arrange[i % 4]);
            if i > 0 {
                arranged = arranged.xor(constant);
            }
            for (bytes, plane) in soft.planes[i].iter_mut().zip(bitslice::spread(arranged)) {
                plane.store(bytes);
            }
            if i < 2 {
                arranged.store(&mut soft.first[i]);
            }
            // Only swizzling kernels read these.
            if V::FAST_SWIZZLE {
                let last = i == into.count - 1;
                let encoded = if last { arranged } else { tables.encode(arranged) };
                encoded.store(&mut soft.nibbles[i]);
            }
        }
    }

    #[inline(always)]
    fn soft(self) {
        Kernel::run::<crate::simd::portable::V128>(self);
    }
}

/// Expands a key for the vectors of this machine, though it may have instructions for AES.
#[cfg(test)]
pub(crate) struct NewSoft<'a> {
    pub(crate) key: &'a [u8],
}

#[cfg(test)]
impl Kernel for NewSoft<'_> {
    type Output = Key;

    #[inline(always)]
    fn run<V: Vector>(self) -> Key {
        Key::new_soft::<V>(self.key)
    }

    #[inline(always)]
    fn soft(self) -> Key {
        Kernel::run::<crate::simd::portable::V128>(self)
    }
}

/// SubWord without 0x63 by the circuit, one bit of each byte in use.
#[inline(always)]
fn sub_word_planes<V: Vector>(word: u32) -> u32 {
    let mut bits = 0;
    let planes = core::array::from_fn(|_| {
        let plane = V::splat_u32((word >> bits) & 0x0101_0101);
        bits += 1;
        plane
    });
    let mut shift = 0;
    circuit::sub_bytes(planes).into_iter().fold(0, |word, plane| {
        let bit = (plane.extract_u32::<0>() & 0x0101_0101) << shift;
        shift += 1;
        word | bit
    })
}

#[cfg(feature = "zeroize")]
impl Drop for Key {
    fn drop(&mut self) {
        wipe(self.plain.as_flattened_mut());
        match &mut self.form {
            Form::Native { decrypt } => wipe(decrypt.as_flattened_mut()),
            Form::Soft(keys) => {
                wipe(keys.planes.as_flattened_mut().as_flattened_mut());
                wipe(keys.nibbles.as_flattened_mut());
                wipe(keys.first.as_flattened_mut());
            }
        }
    }
}

const _: () = {
    // The layouts are permutations and undo each other.
    let mut k = 0;
    while k < 4 {
        let (forth, back) = (layout::arrange(k), layout::restore(k));
        let mut i = 0;
        while i < 16 {
            assert!(forth[back[i] as usize] as usize == i);
            i += 1;
        }
        k += 1;
    }
};
