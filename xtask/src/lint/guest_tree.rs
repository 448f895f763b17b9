//! The rule on what is inside a guest: no C, no assembly, no other cryptographic library, and nothing of `bench/` in
//! the product.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::Result;
use crate::lint::{builds_for_wasm, outcome};
use crate::workspace::{Package, Workspace};

/// Crates that compile or bind other languages, or bring compiled cryptography.
const BANNED: [&str; 12] = [
    "ring",
    "aws-lc-rs",
    "aws-lc-sys",
    "aws-lc-fips-sys",
    "openssl",
    "openssl-sys",
    "boring-sys",
    "cc",
    "cmake",
    "nasm-rs",
    "bindgen",
    "autotools",
];

/// Crates that ship C files and may be used all the same, with the reason.
const EXCEPTED: [(&str, &str); 1] =
    // `cabi_realloc` and the task context under the names the component model prescribes: symbols, no algorithm.
    [("wit-bindgen", "the symbols of the component ABI")];

/// Crates that say they link a library and link none, with the reason.
const LINKS_NOTHING: [(&str, &str); 1] =
    // It formats what `wit-bindgen`'s macro generates, for one component of the benchmarks; the mark keeps its version
    // unique. It runs in the compiler and is no part of a guest.
    [("prettyplease", "a mark, so that there is one version of it in a build")];

/// Files that are not Rust.
const FOREIGN: [&str; 8] = ["c", "cc", "cpp", "cxx", "S", "s", "asm", "o"];

/// The ciphers that protect nothing. What a user runs must not hold them, by whatever way.
const UNPROTECTED: &str = "sandquic-unprotected";

/// What users run that is built natively.
const COMMAND: &str = "sandquic-cli";

/// One outcome for each library and component that is built for wasm, and for the components' benchmark feature.
pub(super) fn check(workspace: &Workspace, members: &[Package]) -> Vec<(String, Result<(), String>)> {
    let packages = match workspace.packages() {
        Ok(packages) => packages,
        Err(error) => return vec![("guests' dependencies".to_owned(), Err(error.message().to_owned()))],
    };
    let mut outcomes = Vec::new();
    for member in members.iter().filter(|member| builds_for_wasm(member)) {
        let mut variants = vec![""];
        variants.extend(["baselines", "wasip2"].into_iter().filter(|f| member.features.contains_key(*f)));
        for features in variants {
            let outcome = tree(workspace, &member.name, features)
                .map_err(|error| error.message().to_owned())
                .and_then(|names| {
                    let inside: Vec<&Package> = packages
                        .iter()
                        .filter(|p| names.contains(&(p.name.clone(), p.version.clone())))
                        .collect();
                    let bench = workspace.path("bench");
                    let product = features != "baselines" && !member.dir.starts_with(&bench);
                    let mut found = violations(&inside, workspace.root(), product.then_some(bench.as_path()));
                    if !member.name.starts_with(UNPROTECTED) {
                        found.extend(without_protection(&member.name, &names));
                    }
                    outcome(found)
                });
            let with = if features.is_empty() { String::new() } else { format!(" with {features}") };
            outcomes.push((format!("what {}{with} depends on", member.name), outcome));
        }
    }
    let command = command_tree(workspace).map_err(|error| error.message().to_owned());
    let command = command.and_then(|names| outcome(without_protection(COMMAND, &names)));
    outcomes.push((format!("what {COMMAND} depends on"), command));
    outcomes
}

/// What [`tree`] says of the command, built natively with all its features.
fn command_tree(workspace: &Workspace) -> Result<BTreeSet<(String, String)>> {
    let cargo =
        workspace.cargo().words("tree --quiet --all-features --edges normal,build --prefix none --package");
    Ok(cargo.arg(COMMAND).read()?.lines().filter_map(name_and_version).collect())
}

/// Why a tree is not that of a product, if it holds the ciphers that protect nothing.
fn without_protection(package: &str, tree: &BTreeSet<(String, String)>) -> Vec<String> {
    let found = tree.iter().filter(|(name, _)| name == UNPROTECTED);
    found
        .map(|(name, _)| {
            format!("{name}: protects nothing; `cargo tree -p {package} --all-features -i {name}` shows who wants it")
        })
        .collect()
}

/// Name and version of each package that is compiled into `package`, or runs while it is built.
fn tree(workspace: &Workspace, package: &str, features: &str) -> Result<BTreeSet<(String, String)>> {
    let mut cargo = workspace
        .cargo()
        .words("tree --quiet --target wasm32-wasip2 --edges normal,build --prefix none --package")
        .arg(package);
    if !features.is_empty() {
        cargo = cargo.args(["--features", features]);
    }
    Ok(cargo.read()?.lines().filter_map(name_and_version).collect())
}

/// The first two words of a line of `cargo tree`: `name v1.2.3 (path)`.
fn name_and_version(line: &str) -> Option<(String, String)> {
    let mut words = line.split_whitespace();
    let name = words.next()?;
    Some((name.to_owned(), words.next()?.strip_prefix('v')?.to_owned()))
}

/// What may not be in a tree of packages. Nothing under `bench` either, if given.
fn violations(tree: &[&Package], root: &Path, bench: Option<&Path>) -> Vec<String> {
    let mut found = Vec::new();
    for package in tree {
        let named = format!("{} {}", package.name, package.version);
        let mut tell = |what: String| {
            found.push(format!(
                "{named}: {what}; `cargo tree --target wasm32-wasip2 -i {}` shows who wants it",
                package.name
            ))
        };
        if BANNED.contains(&package.name.as_str()) {
            tell("no C, assembly or foreign cryptography may be in a guest".to_owned());
            continue;
        }
        let marked = LINKS_NOTHING.iter().any(|(name, _)| *name == package.name);
        if let Some(library) = package.links.as_ref().filter(|_| !marked) {
            tell(format!("links the native library `{library}`"));
        }
        if bench.is_some_and(|bench| package.dir.starts_with(bench)) {
            tell("the product must not reach bench/".to_owned());
        }
        let excepted =
            !package.dir.starts_with(root) && EXCEPTED.iter().any(|(name, _)| *name == package.name);
        if let Some(file) = foreign_file(&package.dir, 0).filter(|_| !excepted) {
            tell(format!("has source that is not Rust ({file})"));
        }
    }
    found
}

/// A file of another language in a package, but for its tests, benchmarks and examples.
fn foreign_file(dir: &Path, depth: usize) -> Option<String> {
    for entry in fs::read_dir(dir).ok()?.flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let aside = name.starts_with('.')
            || ["target", "tests", "test", "benches", "examples", "ci", "docs"].contains(&name.as_str());
        if path.is_dir() && !aside && depth < 8 {
            if let Some(file) = foreign_file(&path, depth + 1) {
                return Some(format!("{name}/{file}"));
            }
        } else if path.is_file() && path.extension().is_some_and(|ext| FOREIGN.iter().any(|f| ext == *f)) {
            return Some(name);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dir: &Path) -> Package {
        Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            dir: dir.to_owned(),
            ..Package::default()
        }
    }

    #[test]
    fn lines_of_the_tree_are_read() {
        let expected = Some(("ring".to_owned(), "0.17.14".to_owned()));
        assert_eq!(name_and_version("ring v0.17.14"), expected);
        assert_eq!(name_and_version("ring v0.17.14 (proc-macro) (*)"), expected);
        assert_eq!(name_and_version(""), None);
        assert_eq!(name_and_version("[build-dependencies]"), None);
    }

    #[test]
    fn the_ciphers_that_protect_nothing_are_found_in_a_tree() {
        let tree = |names: &[&str]| {
            names.iter().map(|name| ((*name).to_owned(), "0.1.0".to_owned())).collect::<BTreeSet<_>>()
        };
        assert_eq!(without_protection("p", &tree(&["sandquic", "sandquic-baselines"])), Vec::<String>::new());
        let found = without_protection("p", &tree(&["sandquic", "sandquic-unprotected"]));
        assert!(found.len() == 1 && found[0].contains("protects nothing"), "{found:?}");
    }

    #[test]
    fn planted_violations_are_found() {
        let root = std::env::temp_dir().join(format!("xtask-tree-{}", std::process::id()));
        for dir in ["bench/baselines/src", "clean/src", "clean/tests", "foreign/src", "excepted/src"] {
            fs::create_dir_all(root.join(dir)).unwrap();
        }
        for file in ["clean/src/lib.rs", "clean/tests/vectors.c", "foreign/src/fast.S", "excepted/src/abi.c"]
        {
            fs::write(root.join(file), "").unwrap();
        }
        let elsewhere = Path::new("/nowhere");
        let clean = package("clean", &root.join("clean"));
        let foreign = package("foreign", &root.join("foreign"));
        let excepted = package("wit-bindgen", &root.join("excepted"));
        let bench = package("sandquic-baselines", &root.join("bench/baselines"));
        let linking = Package { links: Some("z".to_owned()), ..package("z-sys", &root.join("clean")) };
        let marked = Package {
            links: Some("prettyplease03".to_owned()),
            ..package("prettyplease", &root.join("clean"))
        };
        let ring = package("ring", &root.join("clean"));

        let bench_dir = root.join("bench");
        let check = |package: &Package| violations(&[package], elsewhere, Some(&bench_dir)).len();
        assert_eq!(check(&clean), 0);
        assert_eq!(check(&excepted), 0);
        assert_eq!(check(&marked), 0);
        for package in [&foreign, &bench, &linking, &ring] {
            assert_eq!(check(package), 1, "{}", package.name);
        }
        assert_eq!(violations(&[&bench], elsewhere, None).len(), 0);
        fs::remove_dir_all(&root).unwrap();
    }
}
