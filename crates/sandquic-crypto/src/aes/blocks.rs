//! Encryption and decryption of independent blocks.

use super::{bitslice, key::Key, nibble};
use crate::simd::{AesInstructions, AesKernel, Kernel, Vector};

/// Encrypts blocks in place.
pub(crate) struct Encrypt<'a> {
    pub(crate) key: &'a Key,
    pub(crate) blocks: &'a mut [[u8; 16]],
}

/// Decrypts blocks in place.
pub(crate) struct Decrypt<'a> {
    pub(crate) key: &'a Key,
    pub(crate) blocks: &'a mut [[u8; 16]],
}

impl Encrypt<'_> {
    /// On the processor's instructions if it has them, else on vectors.
    #[inline(always)]
    pub(crate) fn dispatch(self) {
        if let Err(encrypt) = crate::backend::try_aes(self) {
            crate::backend::dispatch_narrow(encrypt);
        }
    }
}

impl Decrypt<'_> {
    /// On the processor's instructions if it has them, else on vectors.
    #[inline(always)]
    pub(crate) fn dispatch(self) {
        if let Err(decrypt) = crate::backend::try_aes(self) {
            crate::backend::dispatch_narrow(decrypt);
        }
    }
}

impl AesKernel for Encrypt<'_> {
    type Output = ();

    #[inline(always)]
    fn run<A: AesInstructions>(self, aes: A) {
        let keys = self.key.plain();
        let (eights, rest) = self.blocks.as_chunks_mut::<8>();
        for blocks in eights {
            let out = encrypt_native(aes, keys, core::array::from_fn::<_, 8, _>(|i| A::V::load(&blocks[i])));
            for (block, out) in blocks.iter_mut().zip(out) {
                out.store(block);
            }
        }
        for block in rest {
            let [out] = encrypt_native(aes, keys, [A::V::load(block)]);
            out.store(block);
        }
    }
}

/// All rounds on N vectors of blocks.
#[inline(always)]
pub(crate) fn encrypt_native<A: AesInstructions, const N: usize>(
    aes: A,
    keys: &[[u8; 16]],
    blocks: [A::V; N],
) -> [A::V; N] {
    // Loops, not closures: a closure is compiled without the caller's instructions.
    let first = A::V::broadcast(&keys[0]);
    let mut x = blocks;
    for x in &mut x {
        *x = x.xor(first);
    }
    let last = keys.len() - 1;
    for key in &keys[1..last] {
        let key = A::V::broadcast(key);
        for x in &mut x {
            *x = aes.encrypt_round(*x, key);
        }
    }
    let key = A::V::broadcast(&keys[last]);
    for x in &mut x {
        *x = aes.encrypt_last(*x, key);
    }
    x
}

impl AesKernel for Decrypt<'_> {
    type Output = ();

    #[inline(always)]
    fn run<A: AesInstructions>(self, aes: A) {
        let keys = self.key.native_decrypt();
        let (eights, rest) = self.blocks.as_chunks_mut::<8>();
        for blocks in eights {
            let out = decrypt_native(aes, keys, core::array::from_fn::<_, 8, _>(|i| A::V::load(&blocks[i])));
            for (block, out) in blocks.iter_mut().zip(out) {
                out.store(block);
            }
        }
        for block in rest {
            let [out] = decrypt_native(aes, keys, [A::V::load(block)]);
            out.store(block);
        }
    }
}

#[inline(always)]
fn decrypt_native<A: AesInstructions, const N: usize>(
    aes: A,
    keys: &[[u8; 16]],
    blocks: [A::V; N],
) -> [A::V; N] {
    let last = keys.len() - 1;
    let key = A::V::load(&keys[last]);
    let mut x = blocks;
    for x in &mut x {
        *x = x.xor(key);
    }
    for key in keys[1..last].iter().rev() {
        let key = A::V::load(key);
        for x in &mut x {
            *x = aes.decrypt_round(*x, key);
        }
    }
    let key = A::V::load(&keys[0]);
    for x in &mut x {
        *x = aes.decrypt_last(*x, key);
    }
    x
}

impl Kernel for Encrypt<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { key, mut blocks } = self;
        if blocks.len() > 4 || !V::FAST_SWIZZLE {
            let masks = bitslice::Masks::<V>::load();
            let arrange = V::opaque(&super::ARRANGE[0]);
            let restore_indices = &super::RESTORE[key.rotation()];
            let restore = V::opaque(restore_indices);
            while blocks.len() > 4 || (!V::FAST_SWIZZLE && !blocks.is_empty()) {
                let (now, later) = blocks.split_at_mut(blocks.len().min(8));
                let v = core::array::from_fn(|i| {
                    // Places without a block repeat the first.
                    let block = now.get(i).unwrap_or(&now[0]);
                    bitslice::permute(V::load(block), &super::ARRANGE[0], arrange)
                });
                let v = bitslice::encrypt(bitslice::transpose(v), key.planes(), &masks);
                for (block, v) in now.iter_mut().zip(bitslice::transpose(v)) {
                    bitslice::permute(v, restore_indices, restore).store(block);
                }
                blocks = later;
            }
        }
        if V::FAST_SWIZZLE && !blocks.is_empty() {
            match blocks.len() {
                1 => encrypt_few::<V, 1>(key, blocks),
                2 => encrypt_few::<V, 2>(key, blocks),
                _ => encrypt_few::<V, 4>(key, blocks),
            }
        }
    }

    #[inline(always)]
    fn soft(self) {
        Kernel::run::<crate::simd::portable::V128>(self);
    }
}

/// Encrypts up to N blocks by lookups of nibbles.
#[inline(always)]
fn encrypt_few<V: Vector, const N: usize>(key: &Key, blocks: &mut [[u8; 16]]) {
    let tables = nibble::Tables::<V>::load();
    let arrange = V::opaque(&super::ARRANGE[0]);
    let restore = V::opaque(&super::RESTORE[key.rotation()]);
    let v =
        core::array::from_fn::<_, N, _>(|i| V::load(blocks.get(i).unwrap_or(&blocks[0])).swizzle(arrange));
    for (block, v) in blocks.iter_mut().zip(tables.encrypt(key.nibbles(), v)) {
        v.swizzle(restore).store(block);
    }
}

impl Kernel for Decrypt<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { key, blocks } = self;
        let masks = bitslice::Masks::<V>::load();
        let arrange_indices = &super::ARRANGE[key.rotation()];
        let arrange = V::opaque(arrange_indices);
        let restore = V::opaque(&super::RESTORE[0]);
        for now in blocks.chunks_mut(8) {
            let v = core::array::from_fn(|i| {
                let block = now.get(i).unwrap_or(&now[0]);
                bitslice::permute(V::load(block), arrange_indices, arrange)
            });
            let v = bitslice::decrypt(bitslice::transpose(v), key.planes(), &masks);
            for (block, v) in now.iter_mut().zip(bitslice::transpose(v)) {
                bitslice::permute(v, &super::RESTORE[0], restore).store(block);
            }
        }
    }

    #[inline(always)]
    fn soft(self) {
        Kernel::run::<crate::simd::portable::V128>(self);
    }
}
