//! `cargo xtask lint`: cargo's own checks, then the rules of this project that no tool knows.

mod guest_tree;
mod imports;
mod layers;
mod sources;
mod text;

use crate::report::Tally;
use crate::setup::{self, Toolchain};
use crate::workspace::{Package, Workspace};
use crate::{Error, Result, build, cmd::Cmd, guests, tools, unknown_argument};

pub(crate) use imports::check as component_imports;

/// Libraries that guests are made of, and the benchmarks' guest, which is one too.
const LIBRARIES_FOR_WASM: [&str; 6] = [
    "sandquic-crypto",
    "sandquic-rustls",
    "sandquic",
    "sandquic-transfer",
    "sandquic-kernels",
    "sandquic-baselines",
];

pub(crate) const HELP: &str = "\
Checks the tree: rustfmt; clippy natively and for wasm32-wasip2; rustdoc; licences, bans and sources (cargo-deny); and the
project's rules: no crate names one of a higher layer, `unsafe` and assembly stay where they belong, no C and no foreign
cryptography in a guest's dependency tree, components import nothing but wasi:*.

usage: cargo xtask lint [--rules]

  --rules   only the project's rules on sources and dependencies, which build nothing
";

pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<()> {
    let tally = match args {
        [] => {
            let toolchain = setup::ensure(workspace)?;
            let mut tally = all(workspace, toolchain);
            tally.add(build::all_guests(workspace, toolchain));
            tally.add(component_imports(workspace));
            tally
        }
        [flag] if flag == "--rules" => rules(workspace),
        [flag, other, ..] if flag == "--rules" => return Err(unknown_argument(other, HELP)),
        [other, ..] => return Err(unknown_argument(other, HELP)),
    };
    eprintln!();
    for failure in &tally.failures {
        eprintln!("FAIL  {failure}");
    }
    println!("{} passed, {} failed", tally.passed, tally.failed);
    if tally.failed > 0 { Err(Error::Told) } else { Ok(()) }
}

/// Every check but the one that needs built components.
pub(crate) fn all(workspace: &Workspace, toolchain: Toolchain) -> Tally {
    // The rules first: they take no time.
    let mut tally = rules(workspace);
    let members = match workspace.members() {
        Ok(members) => members,
        Err(error) => {
            tally.add(Tally::failure(error.message().to_owned()));
            return tally;
        }
    };
    let mut check = |name: &str, cmd: Result<Cmd>, remedy: &str| {
        let outcome = cmd.and_then(Cmd::run).map_err(|error| format!("{}\n{remedy}", error.message()));
        tally.check(name, outcome);
    };
    let fmt =
        tools::component(workspace, "fmt", "rustfmt").map(|()| workspace.cargo().words("fmt --all --check"));
    check("rustfmt", fmt, "run `cargo fmt`");
    let fmt_fuzz = "fmt --manifest-path fuzz/Cargo.toml --check";
    check(
        "rustfmt, fuzz",
        Ok(workspace.cargo().words(fmt_fuzz)),
        "run `cargo fmt --manifest-path fuzz/Cargo.toml`",
    );

    // The release profile, as everything native: build scripts and procedural macros are built once.
    let clippy = tools::component(workspace, "clippy", "clippy")
        .and_then(|()| build::native(workspace, "clippy --quiet --keep-going --release"))
        .map(|cargo| cargo.words("--all-targets -- -D warnings"));
    check("clippy, native", clippy, "mend what is named above, or allow it in place with a reason");

    let wasm = |features: &str| {
        let mut cargo = toolchain
            .cargo(workspace)
            .words("clippy --quiet --keep-going --release --target wasm32-wasip2")
            .env("CARGO_TARGET_DIR", workspace.target("wasm-lint"))
            .env("RUSTFLAGS", guests::SIMD128)
            .env_remove("CARGO_ENCODED_RUSTFLAGS");
        let wanted = |package: &&Package| match features {
            "" => builds_for_wasm(package),
            feature => package.is_component() && package.features.contains_key(feature),
        };
        for package in members.iter().filter(wanted) {
            cargo = cargo.args(["--package", &package.name]);
        }
        if !features.is_empty() {
            cargo = cargo.args(["--features", features]);
        }
        cargo.words("-- -D warnings")
    };
    let remedy = "mend what is named above (if clippy itself is missing: apt-get install rust-web-clippy)";
    check("clippy, wasm32-wasip2", Ok(wasm("")), remedy);
    for feature in ["baselines", "wasip2"] {
        if members.iter().any(|package| package.is_component() && package.features.contains_key(feature)) {
            check(&format!("clippy, wasm32-wasip2, {feature}"), Ok(wasm(feature)), remedy);
        }
    }

    let doc = build::native(workspace, "doc --quiet --release --no-deps")
        .map(|c| c.env("RUSTDOCFLAGS", "-D warnings"));
    check("rustdoc", doc, "mend the links and the missing documentation named above");

    let deny = tools::cargo_deny(workspace).map(|program| {
        Cmd::new(program).dir(workspace.root()).words("check --hide-inclusion-graph bans licenses sources")
    });
    check(
        "cargo-deny",
        deny,
        "deny.toml says what is allowed and why: use another crate, or argue for this one there",
    );
    tally
}

/// The rules on sources and dependencies.
fn rules(workspace: &Workspace) -> Tally {
    let mut tally = Tally::default();
    match workspace.members() {
        Ok(members) => {
            tally.check("no crate names a higher layer", layers::check(workspace, &members));
            for (name, outcome) in sources::check(workspace, &members) {
                tally.check(name, outcome);
            }
            for (name, outcome) in guest_tree::check(workspace, &members) {
                tally.check(&name, outcome);
            }
        }
        Err(error) => tally.add(Tally::failure(error.message().to_owned())),
    }
    tally
}

/// Whether a member is part of what runs in the sandbox.
fn builds_for_wasm(package: &Package) -> bool {
    package.is_component() || LIBRARIES_FOR_WASM.contains(&package.name.as_str())
}

/// A rule's outcome from what it found wrong.
fn outcome(found: Vec<String>) -> Result<(), String> {
    if found.is_empty() { Ok(()) } else { Err(found.join("\n")) }
}
