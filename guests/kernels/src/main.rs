//! The command: its argument is a request in JSON, its output a row in JSON on each line.
#![forbid(unsafe_code)]

use std::io::{self, Write};
use std::process::ExitCode;

use sandquic_kernels::{Request, run};

fn main() -> ExitCode {
    let result = std::env::args()
        .nth(1)
        .ok_or_else(|| {
            "no request: the argument is {\"bytes\":[N,..],\"repetitions\":N,\"sample_us\":N}".to_string()
        })
        .and_then(|text| {
            serde_json::from_str::<Request>(&text)
                .map_err(|error| format!("the request is not understood: {error}"))
        })
        .and_then(|request| {
            let mut out = io::stdout().lock();
            let mut failed = None;
            run(&request, |row| {
                let line = serde_json::to_string(&row).map_err(io::Error::other);
                if let Err(error) = line.and_then(|line| writeln!(out, "{line}")) {
                    failed = Some(format!("cannot write a row: {error}"));
                }
            })?;
            failed.map_or(Ok(()), Err)
        });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            let _ = writeln!(io::stderr(), "kernels: {message}");
            ExitCode::FAILURE
        }
    }
}
