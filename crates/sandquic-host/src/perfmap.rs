//! Readable names in the file from which `perf` names compiled functions.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The file that the engine writes for [`Profile::PerfMap`](crate::Profile::PerfMap), and `perf` looks for.
pub(crate) fn path() -> PathBuf {
    PathBuf::from(format!("/tmp/perf-{}.map", std::process::id()))
}

/// Replaces the mangled names of Rust functions: `perf` does that for the symbols of programs, not for this file.
///
/// The file stays the same one, since the engine appends to it for as long as the process lives.
pub(crate) fn demangle(path: &Path) -> io::Result<()> {
    let map = fs::read_to_string(path)?;
    let demangled: String = map.split_inclusive('\n').map(demangle_line).collect();
    if demangled == map { Ok(()) } else { fs::write(path, demangled) }
}

/// `START SIZE NAME`.
fn demangle_line(line: &str) -> String {
    let mut fields = line.splitn(3, ' ');
    match (fields.next(), fields.next(), fields.next()) {
        (Some(start), Some(size), Some(name)) => {
            let (name, end) = name.strip_suffix('\n').map_or((name, ""), |name| (name, "\n"));
            format!("{start} {size} {:#}{end}", rustc_demangle::demangle(name))
        }
        _ => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_change() {
        for (line, expected) in [
            ("0x7f00 1a _ZN4test5inner17h0123456789abcdefE\n", "0x7f00 1a test::inner\n"),
            (
                "0x7f00 1a _ZN26_$LT$impl$u20$a..State$GT$6handle17h0123456789abcdefE\n",
                "0x7f00 1a <impl a::State>::handle\n",
            ),
            ("0x7f00 1a component-trampolines[3]\n", "0x7f00 1a component-trampolines[3]\n"),
            ("0x7f00 1a a name with spaces\n", "0x7f00 1a a name with spaces\n"),
            ("0x7f00 1a memcpy", "0x7f00 1a memcpy"),
            ("0x7f00\n", "0x7f00\n"),
            ("\n", "\n"),
        ] {
            assert_eq!(demangle_line(line), expected);
        }
    }
}
