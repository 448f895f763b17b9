//! HTTP over QUIC on `sandquic`'s endpoint: a server of files and a client, as programs.
//!
//! The same code is the components of the sandbox and, under `--native`, part of the `sandquic` command. Both programs
//! are functions from a command line to an exit status: [`serve::run`] and [`get::run`]. They speak HTTP/3 (RFC 9114) and,
//! where a peer asks for it by its ALPN name, HTTP/0.9 as the interoperability tests of QUIC have it ([`hq`]).
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "programs speak on their standard streams")]

pub mod get;
pub mod hq;
pub mod serve;
pub mod tls;
mod units;
