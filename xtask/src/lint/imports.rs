//! The rule on what a built guest asks of its host: standard interfaces only.

use std::fs;

use wasmparser::{Encoding, Parser, Payload};

use crate::guests::BUILDS;
use crate::lint::outcome;
use crate::report::Tally;
use crate::workspace::Workspace;

/// What core modules may import from.
const PREVIEW1: &str = "wasi_snapshot_preview1";

/// What one component of the benchmarks may import beside: its file, the import, and why.
const EXCEPTED: [(&str, &str, &str); 1] = [(
    "host-crypto/client.wasm",
    "sandquic:bench/aead",
    "it measures what cryptography by the host would gain",
)];

/// Checks every guest that `build` makes.
pub(crate) fn check(workspace: &Workspace) -> Tally {
    let mut tally = Tally::default();
    for output in BUILDS.iter().flat_map(|build| build.outputs) {
        let (name, file) = (output.name, output.path(workspace));
        let outcome = match fs::read(&file) {
            Err(error) => Err(format!("{}: {error}; run `cargo xtask build`", file.display())),
            Ok(bytes) => foreign(&bytes).and_then(|found| outcome(refused(name, &found))),
        };
        let beside = EXCEPTED.iter().find(|(file, ..)| *file == name);
        let beside = beside.map_or(String::new(), |(_, import, why)| format!(" and {import} ({why})"));
        tally.check(&format!("{name} imports only wasi{beside}"), outcome);
    }
    tally
}

/// What is wrong with the imports of a file that are not WASI's.
fn refused(name: &str, found: &[String]) -> Vec<String> {
    let excepted =
        |import: &&String| EXCEPTED.iter().any(|(file, allowed, _)| *file == name && allowed == import);
    let mut wrong: Vec<String> = found
        .iter()
        .filter(|import| !excepted(import))
        .map(|import| format!("imports `{import}`: only wasi:* is on every host"))
        .collect();
    // An exception that nothing needs would let something else through one day.
    for (_, import, _) in EXCEPTED.iter().filter(|(file, ..)| *file == name) {
        if !found.iter().any(|found| found == import) {
            wrong.push(format!("does not import `{import}`: take its exception away"));
        }
    }
    wrong
}

/// The imports of a component or module that are not WASI's.
fn foreign(bytes: &[u8]) -> Result<Vec<String>, String> {
    let unreadable = |error| format!("is no readable WebAssembly: {error}");
    // Only the outermost level meets the host: what is inside imports from what is around it.
    let (mut depth, mut component, mut found) = (0, false, Vec::new());
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(unreadable)? {
            Payload::Version { encoding, .. } if depth == 0 => component = encoding == Encoding::Component,
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth -= 1,
            Payload::ComponentImportSection(imports) if depth == 0 => {
                for import in imports {
                    let name = import.map_err(unreadable)?.name.name;
                    if !name.starts_with("wasi:") {
                        found.push(name.to_owned());
                    }
                }
            }
            Payload::ImportSection(imports) if depth == 0 && !component => {
                for import in imports.into_imports() {
                    let import = import.map_err(unreadable)?;
                    if import.module != PREVIEW1 {
                        found.push(format!("{}.{}", import.module, import.name));
                    }
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A section: its id, its length, its contents.
    fn section(id: u8, contents: &[u8]) -> Vec<u8> {
        [&[id, u8::try_from(contents.len()).unwrap()], contents].concat()
    }

    fn name(text: &str) -> Vec<u8> {
        [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat()
    }

    /// A core module that imports a function.
    fn module(from: &str) -> Vec<u8> {
        let import = [&[1][..], &name(from), &name("f"), &[0, 0]].concat();
        [b"\0asm\x01\0\0\0", &section(1, &[1, 0x60, 0, 0])[..], &section(2, &import)].concat()
    }

    /// A component that imports an instance by name, and has a module inside.
    fn component(import: &str, inside: &[u8]) -> Vec<u8> {
        // One type: an instance type without declarations.
        let types = section(7, &[1, 0x42, 0]);
        let imports = section(10, &[&[1, 0][..], &name(import), &[5, 0]].concat());
        [b"\0asm\x0d\0\x01\0", &types[..], &imports, &section(1, inside)].concat()
    }

    #[test]
    fn standard_imports_pass() {
        assert_eq!(foreign(&module(PREVIEW1)), Ok(vec![]));
        // The module inside imports from the component, not from the host.
        assert_eq!(foreign(&component("wasi:sockets/types@0.3.0", &module("env"))), Ok(vec![]));
    }

    #[test]
    fn an_exception_is_one_files_and_one_imports() {
        let (file, import, _) = EXCEPTED[0];
        let import = import.to_owned();
        assert_eq!(refused(file, std::slice::from_ref(&import)), Vec::<String>::new());
        assert_eq!(refused("transfer-client.wasm", std::slice::from_ref(&import)).len(), 1);
        assert_eq!(refused(file, &[import, "acme:crypto/seal".to_owned()]).len(), 1);
        assert_eq!(refused(file, &[]).len(), 1);
        assert_eq!(refused("transfer-client.wasm", &[]), Vec::<String>::new());
    }

    #[test]
    fn planted_imports_are_found() {
        assert_eq!(foreign(&module("env")), Ok(vec!["env.f".to_owned()]));
        let planted = component("acme:crypto/seal", &module(PREVIEW1));
        assert_eq!(foreign(&planted), Ok(vec!["acme:crypto/seal".to_owned()]));
        assert!(foreign(b"no wasm").unwrap_err().contains("no readable WebAssembly"));
    }
}
