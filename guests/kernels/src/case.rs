//! One library's way to do one thing.

use serde::{Deserialize, Serialize};

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    /// A keystream is xored in or written, or masks are made.
    Apply,
    /// A hash or an authenticator is computed.
    Hash,
    /// Encryption and authentication, in place.
    Seal,
    /// The reverse, the copy of the ciphertext into its place included.
    Open,
    /// A key is set up and used for one packet.
    Setup,
}

/// So many iterations over a message of the caller's length. The result of the last one, of any length.
pub(crate) type Body = Box<dyn FnMut(usize, &mut [u8]) -> Vec<u8>>;

pub(crate) struct Case {
    pub(crate) library: &'static str,
    pub(crate) backend: &'static str,
    pub(crate) primitive: &'static str,
    pub(crate) op: Op,
    /// The one length, if it is not the caller's.
    pub(crate) fixed_bytes: Option<usize>,
    pub(crate) run: Body,
}

impl Case {
    pub(crate) fn new(
        library: &'static str,
        primitive: &'static str,
        op: Op,
        run: impl FnMut(usize, &mut [u8]) -> Vec<u8> + 'static,
    ) -> Self {
        let backend = match library {
            "sandquic" => sandquic_crypto::backend(),
            "shuffle" => "shuffle",
            // Its vectors; the MACs beside them are RustCrypto's.
            "paper" if cfg!(target_feature = "simd128") => "simd128",
            "paper" if cfg!(target_arch = "x86_64") => "sse2",
            "paper" => "words",
            "rustcrypto" if cfg!(sha2_backend = "soft") => "soft",
            _ => "default",
        };
        Self { library, backend, primitive, op, fixed_bytes: None, run: Box::new(run) }
    }

    pub(crate) fn fixed(self, bytes: usize) -> Self {
        Self { fixed_bytes: Some(bytes), ..self }
    }
}

/// A body that repeats `once`. Its data pass through `black_box`, so that no iteration can be left out or shared.
pub(crate) fn repeat<R: AsRef<[u8]>>(
    mut once: impl FnMut(&mut [u8]) -> R,
) -> impl FnMut(usize, &mut [u8]) -> Vec<u8> {
    move |iterations, data| {
        let mut last = None;
        for _ in 0..iterations {
            last = Some(std::hint::black_box(once(std::hint::black_box(&mut *data))));
        }
        last.map_or_else(Vec::new, |result| result.as_ref().to_vec())
    }
}

/// Key bytes.
pub(crate) const fn key<const N: usize>() -> [u8; N] {
    let mut key = [0; N];
    let mut i = 0;
    while i < N {
        key[i] = (i * 11 + 3) as u8;
        i += 1;
    }
    key
}

/// The associated data of a packet: a header of QUIC of 20 bytes.
pub(crate) const HEADER: [u8; 20] = key();
