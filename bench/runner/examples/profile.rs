//! What profiles say, category by category: `cargo run --release -p sandquic-bench --example profile -- PERF.DATA...`
//!
//! The files were written by `perf record --freq 4000 --event task-clock`; a sandboxed receiver's symbol map must still be in
//! /tmp. docs/profile.md shows how.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::path::Path;
use std::process::ExitCode;

use sandquic_bench::profile::{CATEGORIES, Rules, read_by};

fn main() -> ExitCode {
    let files: Vec<String> = std::env::args().skip(1).collect();
    let rules = match Rules::built_in() {
        Ok(rules) if !files.is_empty() => rules,
        Ok(_) => {
            eprintln!("usage: profile PERF.DATA...");
            return ExitCode::from(2);
        }
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut status = ExitCode::SUCCESS;
    for file in files {
        let profile = match read_by(Path::new(&file), &rules) {
            Ok(profile) => profile,
            Err(error) => {
                eprintln!("error: {file}: {error}");
                status = ExitCode::FAILURE;
                continue;
            }
        };
        println!("{file}: {} samples, {:.3} s of CPU time", profile.samples, profile.cpu_s);
        for category in CATEGORIES {
            println!("  {category:<10} {:6.2} %", 100.0 * profile.categories[category]);
            for symbol in profile.symbols.iter().filter(|symbol| symbol.category == category) {
                println!("      {:6.2} %  {}  {}", 100.0 * symbol.share, symbol.object, symbol.symbol);
            }
        }
        println!("  unmatched  {:6.2} %", 100.0 * profile.unmatched);
        for symbol in &profile.unmatched_symbols {
            println!("      {:6.2} %  {}  {}", 100.0 * symbol.share, symbol.object, symbol.symbol);
        }
    }
    status
}
