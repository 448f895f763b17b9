//! `cargo xtask build`: the guests, then the `sandquic` command that embeds them.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use crate::cmd::Cmd;
use crate::guests::{BUILDS, Build};
use crate::report::{Tally, time};
use crate::setup::{self, Toolchain};
use crate::workspace::Workspace;
use crate::{Error, Result, fail, unknown_argument};

pub(crate) const HELP: &str = "\
Builds the guests into target/guests/NAME.wasm, then the `sandquic` command that embeds them, target/release/sandquic,
and beside it what only the benchmarks need: sandquic-bench-host, which runs a client whose packets the host protects;
sandquic-peer-128, native ends whose ciphers have 128-bit vectors and no
more; sandquic-peer-no-avx2, -no-aes and -no-clmul, without one of the processor's gifts each; sandquic-unprotected,
natively and as a component, whose packets are not protected.

usage: cargo xtask build [--guests]

  --guests   only the guests

What is up to date is not built again.
";

pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<()> {
    let build = match args {
        [] => all,
        [flag] if flag == "--guests" => all_guests,
        [flag, other, ..] if flag == "--guests" => return Err(unknown_argument(other, HELP)),
        [other, ..] => return Err(unknown_argument(other, HELP)),
    };
    let tally = build(workspace, setup::ensure(workspace)?);
    match tally.failures.first() {
        None => Ok(()),
        Some(_) => fail!("not everything was built:\n{}", tally.failures.join("\n")),
    }
}

/// Builds everything; each call of cargo counts as one check.
pub(crate) fn all(workspace: &Workspace, toolchain: Toolchain) -> Tally {
    // Side by side: a guest is optimized as a whole by one thread.
    let mut tally = thread::scope(|scope| {
        let libraries = scope.spawn(|| {
            let mut tally = Tally::default();
            timed(&mut tally, "libraries, Wasmtime among what they need", || libraries(workspace));
            tally
        });
        let mut tally = all_guests(workspace, toolchain);
        tally.add(
            libraries.join().unwrap_or_else(|_| Tally::failure("build: xtask itself failed".to_owned())),
        );
        tally
    });
    timed(&mut tally, "target/release/sandquic, sandquic-bench-host", || command(workspace));
    for (name, difference) in peers() {
        timed(&mut tally, &format!("target/release/sandquic-peer-{name}"), || {
            peer(workspace, name, &difference)
        });
    }
    tally
}

/// Builds the guests.
pub(crate) fn all_guests(workspace: &Workspace, toolchain: Toolchain) -> Tally {
    let mut tally = Tally::default();
    for build in BUILDS {
        let names: Vec<&str> = build.outputs.iter().map(|output| output.name).collect();
        timed(&mut tally, &names.join(", "), || guests(workspace, toolchain, build));
    }
    tally
}

fn timed(tally: &mut Tally, name: &str, build: impl FnOnce() -> Result<()>) {
    let started = Instant::now();
    let outcome = build().map_err(|error| error.message().to_owned());
    tally.check(&format!("{name} ({})", time(started.elapsed())), outcome);
}

/// Builds the libraries of the command, Wasmtime among what they need. Out of the whole workspace, for which cargo
/// unites features: the command and the tests then find all of it built as they need it.
fn libraries(workspace: &Workspace) -> Result<()> {
    if !workspace.sandquic().exists() {
        eprintln!("build: Wasmtime is compiled beside the guests, once: 12 minutes or so on two cores");
    }
    native(workspace, "build --release")?.words("--lib").run()
}

/// Builds the `sandquic` command with the guests that are there, and the other programs that hold a guest or Wasmtime.
fn command(workspace: &Workspace) -> Result<()> {
    native(workspace, "build --release")?
        .words("--bin sandquic --bin sandquic-bench-host --bin sandquic-unprotected")
        .run()
}

/// `RUSTFLAGS` for 128-bit vectors and no instructions for AES and GHASH, in our kernels and in RustCrypto's crates.
fn native_128() -> String {
    let vectors = if cfg!(any(target_arch = "x86", target_arch = "x86_64")) {
        r#"-C target-feature=+ssse3 --cfg sandquic_backend="sse2""#
    } else {
        // Others have one width; it is chosen by itself.
        ""
    };
    let soft = ["sandquic_aes", "sandquic_clmul", "aes_backend", "polyval_backend", "poly1305_backend"];
    let soft = soft.into_iter().chain(["chacha20_backend"]).map(|name| format!(r#" --cfg {name}="soft""#));
    vectors.to_owned() + &soft.collect::<String>()
}

/// How a build of the benchmarks' native peer differs from the command's own ciphers.
enum Peer {
    /// In the flags of every crate.
    Flags(String),
    /// In one `cfg` of our kernels.
    Cfg { name: &'static str, value: &'static str },
}

/// The builds of the benchmarks' native peer: what its name ends with, and how it differs.
fn peers() -> Vec<(&'static str, Peer)> {
    let soft = |name| Peer::Cfg { name, value: "soft" };
    let mut peers = vec![
        ("128", Peer::Flags(native_128())),
        ("no-aes", soft("sandquic_aes")),
        ("no-clmul", soft("sandquic_clmul")),
    ];
    if cfg!(any(target_arch = "x86", target_arch = "x86_64")) {
        peers.push(("no-avx2", Peer::Cfg { name: "sandquic_backend", value: "sse2" }));
    }
    peers
}

/// Builds the benchmarks' native peer beside the command.
fn peer(workspace: &Workspace, name: &str, peer: &Peer) -> Result<()> {
    let built = |name: &str| format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let to = workspace.sandquic().with_file_name(built(&format!("sandquic-peer-{name}")));
    let from = match peer {
        Peer::Flags(flags) => {
            let dir = workspace.target("native-peers");
            // Procedural macros and build scripts get no flags where a target is named.
            let target = host()?;
            workspace
                .cargo()
                .words("build --release --package sandquic-peer --target")
                .arg(&target)
                .env("CARGO_TARGET_DIR", &dir)
                .env("RUSTFLAGS", flags)
                .env_remove("CARGO_ENCODED_RUSTFLAGS")
                .run()?;
            dir.join(target).join("release").join(built("sandquic-peer"))
        }
        Peer::Cfg { name, value } => {
            let wrapper = own_program(workspace, "member-rustc")?;
            let named = wrapper.with_file_name(built(&format!("member-rustc.{name}.{value}")));
            update(&wrapper, &named)?;
            // Beside the command and with the same choice of features, so that the dependencies are built already.
            native(workspace, "build --release")?
                .words("--bin sandquic-peer")
                .env("RUSTC_WORKSPACE_WRAPPER", &named)
                .run()?;
            workspace.sandquic().with_file_name(built("sandquic-peer"))
        }
    };
    update(&from, &to)
}

/// The target that is built for natively.
fn host() -> Result<String> {
    let version = Cmd::new("rustc").words("--version --verbose").read()?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| Error::Failed("rustc does not name its host".to_owned()))
}

/// Builds another program of this package, a wrapper of rustc (its source says what for), beside this one.
fn own_program(workspace: &Workspace, name: &str) -> Result<PathBuf> {
    workspace.cargo().words("build --quiet --package xtask --bin").arg(name).run()?;
    let here = std::env::current_exe()
        .map_err(|error| Error::Failed(format!("cannot tell where this program is: {error}")))?;
    Ok(here.with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}

/// Cargo over every member that is built natively.
pub(crate) fn native(workspace: &Workspace, command: &str) -> Result<Cmd> {
    let mut cargo = workspace.cargo().words(command).arg("--workspace");
    for package in workspace.members()?.iter().filter(|package| package.is_component()) {
        cargo = cargo.args(["--exclude", &package.name]);
    }
    Ok(cargo)
}

fn guests(workspace: &Workspace, toolchain: Toolchain, build: &Build) -> Result<()> {
    let dir = workspace.target("guests-build").join(build.dir);
    let mut cargo = toolchain
        .cargo(workspace)
        .words("build --profile guest --target")
        .arg(build.target)
        .env("CARGO_TARGET_DIR", &dir)
        .env("RUSTFLAGS", build.rustflags)
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    for output in build.outputs {
        cargo = cargo.args(["--package", output.package]);
    }
    if !build.features.is_empty() {
        cargo = cargo.args(["--features", build.features]);
    }
    if build.is_wide() {
        cargo = cargo
            .env("RUSTC_WRAPPER", own_program(workspace, "scoped-rustc")?)
            .env("CARGO_PROFILE_GUEST_LTO", "off");
    }
    cargo.run()?;

    for output in build.outputs {
        let from = dir.join(build.target).join("guest").join(output.file);
        update(&from, &output.path(workspace))?;
    }
    Ok(())
}

/// Copies a file that is not the same already. One that did not change keeps its time, so that nothing is built again
/// for it.
fn update(from: &Path, to: &Path) -> Result<()> {
    let failed =
        |what: &str, path: &Path, error| Error::Failed(format!("cannot {what} {}: {error}", path.display()));
    let new = fs::read(from).map_err(|e| failed("read", from, e))?;
    if fs::read(to).ok().as_deref() == Some(&new) {
        return Ok(());
    }
    let dir = to.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(dir).map_err(|e| failed("make", dir, e))?;
    // With its permissions, and whole or not at all.
    let part = to.with_extension("part");
    fs::copy(from, &part).map_err(|e| failed("write", &part, e))?;
    fs::rename(&part, to).map_err(|e| failed("write", to, e))
}
