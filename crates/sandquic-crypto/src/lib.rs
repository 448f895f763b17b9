#![doc = include_str!("../README.md")]
// Unit tests need an allocator, whatever the features.
#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![deny(unsafe_code)]

mod backend;
#[allow(unsafe_code)]
mod simd;
mod stream;
mod tag;
mod wipe;

pub mod aes;
pub mod chacha;
pub mod chachapoly;
pub mod gcm;
pub mod ghash;
pub mod poly1305;
pub mod quic;
pub mod salsa;
pub mod sha2;

pub use backend::{BACKEND, aes_backend, backend, clmul_backend};

pub use cipher;
