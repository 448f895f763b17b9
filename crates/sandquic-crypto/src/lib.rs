//! Cryptographic kernels for 128-bit WebAssembly SIMD, x86 and Arm, behind RustCrypto's traits.
#![no_std]
