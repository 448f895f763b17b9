//! `cargo xtask setup`: a compiler for the wasm32 targets. Every other command asks here for it.
//!
//! Nothing is remembered between runs: what is there is looked at each time.

mod debian;

use std::path::Path;
use std::time::Duration;

use crate::cmd::Cmd;
use crate::workspace::Workspace;
use crate::{Result, fail, no_arguments};

pub(crate) const HELP: &str = "\
Finds or makes a compiler for wasm32-wasip2 (components) and wasm32-wasip1 (core modules).

usage: cargo xtask setup

In this order: what is installed; `rustup target add`; Debian's packages (rustc-web and wasi-libc, needs root), from
which std is built once and which rustup then knows as the toolchain `distro`. Neither the default toolchain nor the
system's package sources are changed. Safe to run again. WASM_TOOLCHAIN=debian skips the first two ways.
";

/// The targets of every component and core module of the project.
const TARGETS: [&str; 2] = ["wasm32-wasip2", "wasm32-wasip1"];

/// The rustup toolchain that stands for the system's own compiler in `/usr`.
const DISTRO: &str = "distro";

/// A compiler that builds every target of [`TARGETS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Toolchain {
    /// Plain `cargo`.
    Default,
    /// `cargo +distro`.
    Distro,
}

impl Toolchain {
    fn name(self) -> Option<&'static str> {
        match self {
            Self::Default => None,
            Self::Distro => Some(DISTRO),
        }
    }

    /// How one calls its cargo.
    fn shown(self) -> &'static str {
        match self {
            Self::Default => "cargo",
            Self::Distro => "cargo +distro",
        }
    }

    /// Its cargo, in the workspace.
    pub(crate) fn cargo(self, workspace: &Workspace) -> Cmd {
        workspace.cargo_of(self.name())
    }
}

pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<()> {
    no_arguments(args, HELP)?;
    ensure(workspace).map(drop)
}

/// Finds the toolchain, or makes it, and says in a line which it is.
pub(crate) fn ensure(workspace: &Workspace) -> Result<Toolchain> {
    let forced = match std::env::var("WASM_TOOLCHAIN").as_deref() {
        Ok("debian") => true,
        Ok("") | Err(_) => false,
        Ok(other) => {
            fail!("WASM_TOOLCHAIN is `{other}`; only `debian` is known. Unset it to choose by what is there")
        }
    };
    let say = |toolchain: Toolchain, how: &str| {
        eprintln!("setup: {} by `{}` ({how})", TARGETS.join(" and "), toolchain.shown());
        Ok(toolchain)
    };
    let rustc = Path::new("rustc");
    let rustup = Cmd::new("rustup").arg("--version").capture().is_ok_and(|done| done.success);

    if !forced && has_all(rustc) {
        return say(Toolchain::Default, "installed");
    }
    if has_all(debian::rustc()) {
        return say(link(rustup)?, "installed");
    }
    if !forced && rustup {
        eprintln!("setup: `rustup target add {}`", TARGETS.join(" "));
        let limit = Duration::from_secs(180);
        let added = Cmd::new("rustup").words("target add").args(TARGETS).limit(limit).capture();
        if added.is_ok_and(|done| done.success) && has_all(rustc) {
            return say(Toolchain::Default, "added with rustup");
        }
    }
    if let Some(why) = debian::impossible() {
        fail!(
            "no compiler for {targets}: rustup cannot add them here, and {why}.\n\
             With a network:            rustup target add {targets}\n\
             On Debian 12 or newer:     sudo -E env WASM_TOOLCHAIN=debian \"PATH=$PATH\" cargo xtask setup\n\
             Then:                      cargo xtask setup",
            targets = TARGETS.join(" ")
        );
    }
    check_link(rustup)?;
    eprintln!("setup: Debian's rustc-web, with std built from its sources (a few minutes, once)");
    debian::install(workspace, &TARGETS)?;
    // Cargo does not see that std changed.
    for dir in crate::guests::BUILD_DIRS {
        let _ = std::fs::remove_dir_all(workspace.target(dir));
    }
    if !has_all(debian::rustc()) {
        fail!(
            "std was built, but {} does not find it: report this with the output above",
            debian::rustc().display()
        );
    }
    say(link(rustup)?, "made from Debian's packages")
}

/// Whether `rustc` has std, the test harness and the C library of every target where it looks for them.
fn has_all(rustc: &Path) -> bool {
    TARGETS.iter().all(|target| has(rustc, target))
}

fn has(rustc: &Path, target: &str) -> bool {
    let Ok(done) = Cmd::new(rustc).words("--print target-libdir --target").arg(target).capture() else {
        return false;
    };
    done.success && holds_std(Path::new(done.stdout.trim()))
}

/// Whether a target's folder of libraries is complete.
fn holds_std(dir: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(dir) else { return false };
    let names: Vec<_> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    ["libcore-", "libstd-", "libtest-"]
        .iter()
        .all(|lib| names.iter().any(|name| name.starts_with(lib) && name.ends_with(".rlib")))
        && dir.join("self-contained/libc.a").is_file()
}

/// Makes Debian's compiler callable through cargo: rustup's toolchain `distro`, or plainly where there is no rustup.
fn link(rustup: bool) -> Result<Toolchain> {
    if !rustup {
        return Ok(Toolchain::Default);
    }
    if !check_link(rustup)? {
        Cmd::new("rustup").args(["toolchain", "link", DISTRO, "/usr"]).read()?;
    }
    Ok(Toolchain::Distro)
}

/// Whether `distro` is linked. An error if it is something else than the system's compiler.
fn check_link(rustup: bool) -> Result<bool> {
    if !rustup {
        return Ok(false);
    }
    let known = Cmd::new("rustup").words("toolchain list").read()?;
    if !known.lines().any(|line| line.split_whitespace().next() == Some(DISTRO)) {
        return Ok(false);
    }
    let sysroot = Cmd::new("rustup").words("run distro rustc --print sysroot").capture()?;
    if sysroot.success && sysroot.stdout.trim() != "/usr" {
        fail!("the rustup toolchain `{DISTRO}` is {}, not /usr: rename it", sysroot.stdout.trim());
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_copied_std_is_not_taken() {
        let dir = std::env::temp_dir().join(format!("xtask-setup-{}", std::process::id()));
        std::fs::create_dir_all(dir.join("self-contained")).unwrap();
        let put = |name: &str| std::fs::write(dir.join(name), "").unwrap();
        for name in ["libcore-1.rlib", "libstd-1.rlib", "libtest-1.rmeta", "self-contained/libc.a"] {
            put(name);
            assert!(!holds_std(&dir), "complete after {name}");
        }
        put("libtest-1.rlib");
        assert!(holds_std(&dir));
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
