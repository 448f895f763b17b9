//! Component: the server of a QUIC transfer.
