//! A QUIC endpoint that runs inside a WebAssembly component or natively, with quinn's names.
