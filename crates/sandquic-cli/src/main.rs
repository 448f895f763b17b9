//! The sandquic command: runs components, transfers files over QUIC in the sandbox, measures.

fn main() {}
