//! Randomness from the system, through `getrandom`: `wasi:random` in a component.

use rustls::Error;
use rustls::crypto::{GetRandomFailed, SecureRandom};

/// The system's generator.
#[derive(Debug)]
pub(crate) struct System;

impl SecureRandom for System {
    fn fill(&self, buf: &mut [u8]) -> Result<(), GetRandomFailed> {
        getrandom::fill(buf).map_err(|_| GetRandomFailed)
    }
}

/// Fills `buf` with random bytes.
pub(crate) fn fill(buf: &mut [u8]) -> Result<(), Error> {
    getrandom::fill(buf).map_err(|_| Error::FailedToGetRandomBytes)
}
