//! The host of the benchmark in which the host protects a component's packets.
//!
//! [`aead`] provides the interface of `../wit/aead.wit` to one component, the transfer client of `../guest`. It is no
//! part of the product: the `sandquic` command does not link this crate, and a component that imports the interface
//! does not start there.

#![forbid(unsafe_code)]

pub mod aead;
