//! A rustls CryptoProvider with QUIC keys that builds for WebAssembly without C or assembly.
