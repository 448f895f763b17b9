//! SHA-256 and SHA-384 as rustls asks for hashes.

use rustls::crypto::hash::{Context, Hash, HashAlgorithm, Output};
use sha2::Digest;
// Faster in WebAssembly; natively `sha2` has the processors' SHA instructions.
#[cfg(target_family = "wasm")]
use sandquic_crypto::sha2::{Sha256, Sha384};
#[cfg(not(target_family = "wasm"))]
use sha2::{Sha256, Sha384};

/// A hash function of a cipher suite, with the HMAC over it.
pub(crate) trait Algorithm: Send + Sync + 'static {
    /// The hash function.
    type Digest: Digest + Clone + Send + Sync + 'static;
    /// HMAC (RFC 2104) over it.
    type Mac: hmac::Mac + hmac::KeyInit + Clone + Send + Sync + 'static;

    /// rustls's name for it.
    const ALGORITHM: HashAlgorithm;
    /// Length of the hash and of the HMAC, in bytes.
    const LEN: usize;
}

/// SHA-256.
pub(crate) struct WithSha256;
/// SHA-384.
pub(crate) struct WithSha384;

impl Algorithm for WithSha256 {
    type Digest = Sha256;
    type Mac = hmac::Hmac<Sha256>;

    const ALGORITHM: HashAlgorithm = HashAlgorithm::SHA256;
    const LEN: usize = 32;
}

impl Algorithm for WithSha384 {
    type Digest = Sha384;
    type Mac = hmac::Hmac<Sha384>;

    const ALGORITHM: HashAlgorithm = HashAlgorithm::SHA384;
    const LEN: usize = 48;
}

impl<A: Algorithm> Hash for HashOf<A> {
    fn start(&self) -> Box<dyn Context> {
        Box::new(Running::<A>(A::Digest::new()))
    }

    fn hash(&self, data: &[u8]) -> Output {
        Output::new(&A::Digest::digest(data))
    }

    fn output_len(&self) -> usize {
        A::LEN
    }

    fn algorithm(&self) -> HashAlgorithm {
        A::ALGORITHM
    }
}

/// rustls's view of the hash function of `A`.
pub(crate) struct HashOf<A>(pub(crate) A);

struct Running<A: Algorithm>(A::Digest);

impl<A: Algorithm> Context for Running<A> {
    fn fork_finish(&self) -> Output {
        Output::new(&self.0.clone().finalize())
    }

    fn fork(&self) -> Box<dyn Context> {
        Box::new(Self(self.0.clone()))
    }

    fn finish(self: Box<Self>) -> Output {
        Output::new(&self.0.finalize())
    }

    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }
}
