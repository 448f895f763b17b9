//! The only dispatch: which vector type and which instructions this build, or this machine, uses.

/// The vector backend of this build.
pub const BACKEND: &str = "soft";
