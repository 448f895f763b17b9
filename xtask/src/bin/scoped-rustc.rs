//! `RUSTC_WRAPPER` of builds with `+wide-arithmetic`: gives that target feature to `sandquic-crypto` and to no other
//! crate.
//!
//! LLVM 22 (rustc 1.95) compiles some uses of a 128-bit product wrongly with it: `high + (low >> 63)` adds a factor
//! instead of the high half. `std` prints wrong floating-point numbers then, and anything else that multiplies to 128 bits is
//! in doubt. The kernels are tested with the feature. It is the object file, not the function, that has a target
//! feature, so link-time optimization has to be off as well.

#![forbid(unsafe_code)]
#![allow(clippy::print_stderr)]

use std::env;
use std::process::{Command, ExitCode};

const FEATURE: &str = "+wide-arithmetic";
const TESTED: &str = "sandquic_crypto";

fn main() -> ExitCode {
    let mut words = env::args_os().skip(1);
    let Some(rustc) = words.next() else {
        eprintln!("scoped-rustc: cargo calls this as RUSTC_WRAPPER, with rustc and its arguments");
        return ExitCode::from(2);
    };
    let mut words: Vec<_> = words.collect();
    if !words.windows(2).any(|pair| pair[0] == "--crate-name" && pair[1] == TESTED) {
        for word in &mut words {
            let Some(text) = word.to_str().filter(|text| text.contains(FEATURE)) else { continue };
            let (option, features) = text.split_once('=').unwrap_or(("", text));
            let kept: Vec<&str> = features.split(',').filter(|feature| *feature != FEATURE).collect();
            *word = format!("{option}={}", kept.join(",")).into();
        }
    }
    match Command::new(&rustc).args(words).status() {
        Ok(status) => ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)),
        Err(error) => {
            eprintln!("scoped-rustc: cannot run {}: {error}", rustc.display());
            ExitCode::FAILURE
        }
    }
}
