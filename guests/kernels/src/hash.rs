//! Hashes and authenticators.

use digest::Digest;
use universal_hash::{KeyInit, UniversalHash};

use crate::case::{Case, Op, key, repeat};

pub(crate) fn cases(cases: &mut Vec<Case>) {
    use sandquic_crypto::sha2 as ours;

    cases.push(hash::<ours::Sha256>("sandquic", "sha256"));
    cases.push(hash::<sha2::Sha256>("rustcrypto", "sha256"));
    cases.push(hash::<ours::Sha512>("sandquic", "sha512"));
    cases.push(hash::<sha2::Sha512>("rustcrypto", "sha512"));
    cases.push(Case::new("sandquic", "poly1305", Op::Hash, {
        let key = key::<32>().into();
        repeat(move |data| sandquic_crypto::poly1305::Poly1305::new(&key).compute_unpadded(data))
    }));
    cases.push(Case::new("rustcrypto", "poly1305", Op::Hash, {
        let key = key::<32>().into();
        repeat(move |data| poly1305::Poly1305::new(&key).compute_unpadded(data))
    }));
    cases.push(ghash::<sandquic_crypto::ghash::GHash>("sandquic"));
    cases.push(ghash::<ghash::GHash>("rustcrypto"));
}

fn hash<D: Digest>(library: &'static str, primitive: &'static str) -> Case {
    Case::new(library, primitive, Op::Hash, repeat(|data| D::digest(&*data)))
}

/// The key is set up once, as in a connection, and its tables stay in place: the messages of a sample follow one another.
fn ghash<H: UniversalHash + KeyInit + Clone + 'static>(library: &'static str) -> Case {
    let mut h = universal_hash::Key::<H>::default();
    h.copy_from_slice(&key::<16>());
    let keyed = <H as KeyInit>::new(&h);
    let mut hash = keyed.clone();
    Case::new(library, "ghash", Op::Hash, move |iterations, data: &mut [u8]| {
        if iterations == 1 {
            hash = keyed.clone();
        }
        repeat(|data| {
            hash.update_padded(data);
            []
        })(iterations, data);
        hash.clone().finalize().to_vec()
    })
}
