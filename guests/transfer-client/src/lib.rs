//! Component: the client of a QUIC transfer.
