//! Records of the evaluation: their form ([`record`]), statistics ([`stats`]).
//!
//! The runner writes records line by line and this crate reads them; nothing here starts a process or opens a socket.
#![forbid(unsafe_code)]

pub mod record;
pub mod stats;
