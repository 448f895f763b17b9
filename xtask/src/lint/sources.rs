//! Rules on source files: where `unsafe` and assembly may stand.

use std::fs;
use std::path::{Path, PathBuf};

use crate::lint::outcome;
use crate::lint::text::{code_only, lines_with};
use crate::workspace::{Package, Workspace};

/// The folder that holds the vector types and all their `unsafe`.
const SIMD: &str = "crates/sandquic-crypto/src/simd/";

/// The folder that holds the calls of the component ABI, each with its reason.
const RAW: &str = "crates/sandquic-wasi/src/raw/";

/// The crate that may have one `unsafe` line, where a call of the engine needs it.
const HOST: &str = "crates/sandquic-host/";

/// `unsafe` lines that the host may have.
const HOST_LINES: usize = 1;

/// Crates that hold `unsafe`: `deny`, which a module may lift, stands for `forbid`.
const MAY_LIFT: [&str; 4] = ["sandquic-crypto", "sandquic-wasi", "sandquic-host", GENERATED.0];

/// The crate with a module that a macro generates with `unsafe` in it (the calls of an import that only it has), and
/// the file in which that module alone lifts the rule.
const GENERATED: (&str, &str) = ("sandquic-host-crypto-client", "bench/host-crypto/guest/src/lib.rs");

pub(super) fn check(workspace: &Workspace, members: &[Package]) -> Vec<(&'static str, Result<(), String>)> {
    let mut files = Vec::new();
    collect(workspace.root(), workspace.root(), &mut files);
    files.sort();
    let sources: Vec<(String, String)> = files
        .iter()
        .filter_map(|file| {
            Some((file.to_string_lossy().into_owned(), fs::read_to_string(workspace.root().join(file)).ok()?))
        })
        .collect();
    vec![
        ("`unsafe` only in the vector types", outcome(unsafe_lines(&sources))),
        ("`unsafe` only in the vector types and in the raw calls of WASI", outcome(unsafe_lines(&sources))),
        ("`unsafe_code` is lifted in three places", outcome(lifts(&sources))),
        ("no assembly", outcome(assembly(&sources))),
        ("every crate forbids `unsafe`", outcome(unguarded(workspace.root(), members))),
    ]
}

/// Rust files under `dir`, relative to `root`, but for build folders and hidden ones.
fn collect(root: &Path, dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && !name.starts_with('.') && name != "target" && name != "node_modules" {
            collect(root, &path, files);
        } else if kind.is_file() && name.ends_with(".rs") {
            files.extend(path.strip_prefix(root).map(Path::to_owned));
        }
    }
}

/// Each `unsafe` that stands where none may, or without its reason.
fn unsafe_lines(sources: &[(String, String)]) -> Vec<String> {
    let mut found = Vec::new();
    let mut host_lines = 0;
    for (file, source) in sources {
        if file.starts_with(SIMD) {
            continue;
        }
        let lines: Vec<&str> = source.lines().collect();
        for number in lines_with(&code_only(source), "unsafe") {
            if !file.starts_with(HOST) && !file.starts_with(RAW) {
                found.push(format!("{file}:{number}: `unsafe` outside {SIMD} and {RAW}: write it safely, or as an operation of the vector type"));
                continue;
            }
            if !reasoned(&lines, number) {
                found.push(format!("{file}:{number}: `unsafe` without a `// SAFETY:` comment above it"));
            }
            if file.starts_with(RAW) {
                continue;
            }
            host_lines += 1;
            if host_lines > HOST_LINES {
                found.push(format!(
                    "{file}:{number}: `unsafe` line {host_lines} of {HOST}: {HOST_LINES} is allowed"
                ));
            }
        }
    }
    found
}

/// Each lifting of the rule but the three that are named: the vector types, the host's mapping of compiled code, and one
/// module that a macro generates.
/// Whether the comment above a line with `unsafe` says why it holds. Declarations need none where their use has one, and
/// a function says in its documentation what its caller promises.
fn reasoned(lines: &[&str], number: usize) -> bool {
    let line = lines[number - 1].trim_start();
    let declares = ["unsafe extern", "type "].iter().any(|start| line.starts_with(start))
        && !line.contains("fn ")
        || line.contains("unsafe extern \"C\" fn(");
    let above = || lines[..number - 1].iter().rev().map(|line| line.trim_start());
    declares
        || above()
            .take_while(|line| line.starts_with("//") || line.starts_with("#["))
            .any(|line| line.contains("SAFETY:") || line.contains("# Safety"))
        // Within a statement that begins on the lines before.
        || above().take(2).any(|line| line.contains("SAFETY:"))
}

/// Each lifting of the rule but those that are named: the vector types, the raw calls of WASI, and one module that a macro
/// generates.
fn lifts(sources: &[(String, String)]) -> Vec<String> {
    let mut found = Vec::new();
    for (file, source) in sources {
        let code = code_only(source);
        let dense: String = code.split_whitespace().collect();
        for (at, _) in dense.match_indices("allow(") {
            let attribute = &dense[at..];
            let inside = attribute.split(']').next().unwrap_or_default();
            if lines_with(inside, "unsafe_code").next().is_none() {
                continue;
            }
            let lifted = attribute[inside.len()..].trim_start_matches(']');
            let named = match file.as_str() {
                "crates/sandquic-host/src/cache/entry.rs" => lifted.starts_with("fndeserialize("),
                "crates/sandquic-crypto/src/lib.rs" => lifted.starts_with("modsimd;"),
                "crates/sandquic-wasi/src/lib.rs" => lifted.starts_with("modraw;"),
                file if file == GENERATED.1 => lifted.starts_with("modbindings{wit_bindgen::generate!("),
                _ => false,
            };
            if !named {
                found.push(format!(
                    "{file}: lifts `unsafe_code` for something else than what may hold `unsafe`"
                ));
            }
        }
    }
    found
}

fn assembly(sources: &[(String, String)]) -> Vec<String> {
    let mut found = Vec::new();
    for (file, source) in sources {
        let code = code_only(source);
        for name in ["asm", "global_asm", "naked_asm"] {
            for number in lines_with(&code, name) {
                if code.lines().nth(number - 1).is_some_and(|line| line.contains(&format!("{name}!"))) {
                    found.push(format!("{file}:{number}: `{name}!`: use intrinsics"));
                }
            }
        }
    }
    found
}

/// Crate roots of libraries and programs that do not forbid `unsafe`.
fn unguarded(root: &Path, members: &[Package]) -> Vec<String> {
    let mut found = Vec::new();
    for package in members {
        let compiled = |kind: &str| {
            ["lib", "bin", "cdylib", "proc-macro", "rlib"].iter().any(|k| kind.split(',').any(|w| w == *k))
        };
        for (_, file) in package.targets.iter().filter(|(kind, _)| compiled(kind)) {
            let source = fs::read_to_string(file).unwrap_or_default();
            let lift = MAY_LIFT.contains(&package.name.as_str());
            if !forbids_unsafe(&source, lift) {
                let shown = file.strip_prefix(root).unwrap_or(file).display();
                let attribute = if lift { "#![deny(unsafe_code)]" } else { "#![forbid(unsafe_code)]" };
                found.push(format!("{shown}: begin it with `{attribute}`"));
            }
        }
    }
    found
}

/// Whether a crate root has the attribute that forbids `unsafe` (or, for `lift`, one that denies it).
fn forbids_unsafe(source: &str, lift: bool) -> bool {
    let code: String = code_only(source).split_whitespace().collect();
    let has = |level: &str| {
        code.match_indices(&format!("#![{level}(")).any(|(at, _)| {
            code[at..]
                .split(']')
                .next()
                .is_some_and(|attribute| lines_with(attribute, "unsafe_code").next().is_some())
        })
    };
    has("forbid") || (lift && has("deny"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(file: &str, source: &str) -> Vec<String> {
        unsafe_lines(&[(file.to_owned(), source.to_owned())])
    }

    #[test]
    fn planted_unsafe_is_found() {
        let line = "fn f() {\n    unsafe { g() }\n}\n";
        let told = found("crates/sandquic-rustls/src/lib.rs", line);
        assert_eq!(told.len(), 1);
        assert!(told[0].starts_with("crates/sandquic-rustls/src/lib.rs:2:"), "{told:?}");
        assert_eq!(found("crates/sandquic-crypto/src/chacha/mod.rs", line).len(), 1);
        assert_eq!(found("crates/sandquic-crypto/src/simd/x86.rs", line), Vec::<String>::new());
        assert_eq!(
            found("crates/sandquic/src/lib.rs", "// unsafe\nconst A: &str = \"unsafe\";\n"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn the_host_has_one_line_with_its_reason() {
        let file = "crates/sandquic-host/src/host.rs";
        assert_eq!(
            found(file, "// SAFETY: the engine wrote the file.\nunsafe { load() }\n"),
            Vec::<String>::new()
        );
        assert!(found(file, "unsafe { load() }\n")[0].contains("SAFETY"));
        let two = "// SAFETY: a.\nunsafe { load() }\n// SAFETY: b.\nunsafe { load() }\n";
        assert!(found(file, two)[0].contains("line 2"));
    }

    #[test]
    fn the_raw_calls_have_their_reasons() {
        let file = "crates/sandquic-wasi/src/raw/udp.rs";
        let with = "// SAFETY: ours.\nunsafe { call() }\nunsafe extern \"C\" {\n    fn call();\n}\n";
        assert_eq!(found(file, with), Vec::<String>::new());
        assert!(found(file, "fn f() {\n\n\n    unsafe { call() }\n}\n")[0].contains("SAFETY"));
        assert_eq!(found("crates/sandquic-wasi/src/lib.rs", with).len(), 2);
    }

    #[test]
    fn a_planted_lift_is_found() {
        let found = |file: &str, source: &str| lifts(&[(file.to_owned(), source.to_owned())]).len();
        let generated = "#[allow(missing_docs, unsafe_code, reason = \"r\")]\nmod bindings {\n    wit_bindgen::generate!({});\n}\n";
        assert_eq!(found(GENERATED.1, generated), 0);
        assert_eq!(found("crates/sandquic-rustls/src/lib.rs", generated), 1);
        assert_eq!(found(GENERATED.1, "#[allow(unsafe_code)]\nmod other;\n"), 1);
        assert_eq!(found(GENERATED.1, &format!("{generated}#[allow(unsafe_code)]\nfn f() {{}}\n")), 1);
        assert_eq!(found("crates/sandquic-crypto/src/lib.rs", "#[allow(unsafe_code)]\nmod simd;\n"), 0);
        let mapped = "#[allow(unsafe_code, reason = \"r\")]\nfn deserialize() {}\n";
        assert_eq!(found("crates/sandquic-host/src/cache/entry.rs", mapped), 0);
        assert_eq!(
            found(
                "crates/sandquic-host/src/cache/entry.rs",
                &format!("{mapped}{mapped}").replace("deserialize", "f")
            ),
            2
        );
        assert_eq!(found("crates/sandquic-host/src/host.rs", mapped), 1);
        assert_eq!(found("crates/sandquic-crypto/src/lib.rs", "#![allow(unsafe_code)]\nmod chacha;\n"), 1);
        assert_eq!(found("a.rs", "// allow(unsafe_code)\n#[allow(dead_code)]\nfn f() {}\n"), 0);
    }

    #[test]
    fn planted_assembly_is_found() {
        let source = "fn f() { core::arch::asm!(\"nop\") }\n// asm!\nfn asm() {}\n".to_owned();
        let told = assembly(&[("a.rs".to_owned(), source)]);
        assert_eq!(told.len(), 1, "{told:?}");
    }

    #[test]
    fn a_crate_root_without_the_attribute_is_found() {
        assert!(forbids_unsafe("//! A crate.\n#![forbid(unsafe_code)]\n", false));
        assert!(forbids_unsafe("#![forbid(missing_docs, unsafe_code)]\n", false));
        assert!(!forbids_unsafe("// #![forbid(unsafe_code)]\nfn f() {}\n", false));
        assert!(!forbids_unsafe("#![deny(unsafe_code)]\n", false));
        assert!(forbids_unsafe("#![deny(unsafe_code)]\n", true));
        assert!(!forbids_unsafe("#![deny(missing_docs)]\n", true));
    }
}
