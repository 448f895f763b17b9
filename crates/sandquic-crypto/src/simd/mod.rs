//! The vector types: one per architecture, holding all `unsafe` of the crate.
