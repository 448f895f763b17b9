//! The toolchain from Debian's packages: rustc-web of the configured suites, wasi-libc of a newer suite of the same
//! mirror, and std built once from rustc-web's own sources.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cmd::Cmd;
use crate::workspace::Workspace;
use crate::{Error, Result, fail};

/// The suite that wasi-libc comes from: Debian 12's own (2022) cannot link, its backport cannot link tests. The package
/// does not depend on the architecture and is unpacked, not installed.
const WASI_LIBC_SUITE: &str = "forky";

const PACKAGES: &str = "rustc-web cargo-web libstd-rust-web-dev rust-web-src rust-web-llvm rust-web-clippy";

/// Debian's compiler.
pub(super) fn rustc() -> &'static Path {
    Path::new("/usr/bin/rustc")
}

/// Why this way is closed here, if it is.
pub(super) fn impossible() -> Option<String> {
    if !Path::new("/usr/bin/apt-get").exists() {
        return Some("this is no Debian (there is no apt-get)".to_owned());
    }
    match Cmd::new("id").arg("-u").read() {
        Ok(id) if id.trim() == "0" => None,
        _ => Some("Debian's packages need root".to_owned()),
    }
}

/// Installs the compiler and makes std for `targets`.
pub(super) fn install(workspace: &Workspace, targets: &[&str]) -> Result<()> {
    let work = Work::new(workspace.target("setup"))?;
    apt(&["update", "-qq"])?;
    // Never at the price of something installed.
    let install = ["install", "-y", "-qq", "--no-install-recommends", "--no-remove"];
    let packages: Vec<&str> = install.into_iter().chain(PACKAGES.split_whitespace()).collect();
    apt(&packages)?;
    // Its linker is a link into the package of the LLVM it was built with.
    let about = Cmd::new(rustc()).arg("-vV").read()?;
    let Some(llvm) = llvm_major(&about) else {
        fail!("`{} -vV` names no LLVM version:\n{about}", rustc().display());
    };
    let lld = format!("lld-{llvm}");
    apt(&install.into_iter().chain([lld.as_str()]).collect::<Vec<_>>())?;

    let libc = wasi_libc(&work)?;
    let sysroot = Cmd::new(rustc()).words("--print sysroot").read()?;
    let rustlib = Path::new(sysroot.trim()).join("lib/rustlib");
    for target in targets {
        eprintln!("setup: building std for {target}");
        std_for(target, &rustlib, &libc, &work)?;
    }
    Ok(())
}

fn apt(args: &[&str]) -> Result<()> {
    Cmd::new("apt-get").args(args).env("DEBIAN_FRONTEND", "noninteractive").read().map(drop)
}

/// The major version of LLVM in the output of `rustc -vV`.
fn llvm_major(about: &str) -> Option<u32> {
    let version = about.lines().find_map(|line| line.strip_prefix("LLVM version:"))?;
    version.trim().split('.').next()?.parse().ok()
}

/// Fetches and unpacks wasi-libc inside the work folder; returns the folder that holds one folder for each target.
fn wasi_libc(work: &Work) -> Result<PathBuf> {
    let release = read(Path::new("/etc/os-release"))?;
    let Some(codename) = release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME=")) else {
        fail!("/etc/os-release has no VERSION_CODENAME: this is no Debian release");
    };
    let source = newer_source(codename.trim_matches('"'))?;
    let list = work.dir.join(source.name);
    write(&list, &source.text)?;
    let lists = work.dir.join("lists");
    create(&lists.join("partial"))?;
    // A configuration of its own: the system's lists and sources are neither read nor written.
    let options = [
        format!("Dir::Etc::sourcelist={}", list.display()),
        "Dir::Etc::sourceparts=/dev/null".to_owned(),
        format!("Dir::State::Lists={}", lists.display()),
        "APT::Sandbox::User=root".to_owned(),
    ];
    let apt =
        || options.iter().fold(Cmd::new("apt-get").dir(&work.dir), |cmd, option| cmd.arg("-o").arg(option));
    apt().words("update -qq").read()?;
    apt().words("download -qq wasi-libc").read()?;
    let packages = fs::read_dir(&work.dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let Some(package) = packages.into_iter().find(|path| path.extension().is_some_and(|ext| ext == "deb"))
    else {
        fail!("apt-get downloaded no wasi-libc from {WASI_LIBC_SUITE}");
    };
    let unpacked = work.dir.join("libc");
    Cmd::new("dpkg").arg("-x").arg(&package).arg(&unpacked).read()?;
    Ok(unpacked.join("usr/lib"))
}

/// A list of package sources, under the name whose ending says its format.
#[derive(Debug, PartialEq, Eq)]
struct Source {
    name: &'static str,
    text: String,
}

/// The configured source of the suite `codename`, with the newer suite in its place.
fn newer_source(codename: &str) -> Result<Source> {
    let mut files: Vec<PathBuf> = fs::read_dir("/etc/apt/sources.list.d")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    files.sort();
    files.insert(0, PathBuf::from("/etc/apt/sources.list"));
    let sources = files.iter().filter_map(|file| {
        let text = fs::read_to_string(file).ok()?;
        match file.extension()?.to_str()? {
            "sources" => deb822(&text, codename).map(|text| Source { name: "suite.sources", text }),
            "list" => one_line(&text, codename).map(|text| Source { name: "suite.list", text }),
            _ => None,
        }
    });
    let found = sources.into_iter().next();
    found.ok_or_else(|| Error::Failed(format!("no source of {codename} is configured under /etc/apt")))
}

/// The first paragraph of a deb822 file that has the suite `codename`, with the newer suite instead of its suites.
fn deb822(text: &str, codename: &str) -> Option<String> {
    let field = |line: &str, name: &str| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.to_owned())
    };
    let paragraphs =
        text.split("\n\n").map(|p| p.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>());
    let paragraph = paragraphs.into_iter().find(|lines| {
        let has = |name, word: &str| {
            lines
                .iter()
                .filter_map(|l| field(l, name))
                .any(|value| value.split_whitespace().any(|w| w == word))
        };
        has("Types", "deb") && has("Suites", codename)
    })?;
    let replaced = paragraph.iter().map(|line| match field(line, "Suites") {
        Some(_) => format!("Suites: {WASI_LIBC_SUITE}\n"),
        None => format!("{line}\n"),
    });
    Some(replaced.collect())
}

/// The first `deb` line that has the suite `codename`, with the newer suite instead.
fn one_line(text: &str, codename: &str) -> Option<String> {
    let line = text.lines().find(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some("deb") && words.any(|word| word == codename)
    })?;
    let words = line.split_whitespace().map(|word| if word == codename { WASI_LIBC_SUITE } else { word });
    Some(words.collect::<Vec<_>>().join(" ") + "\n")
}

/// Builds std for `target` and puts it, with its C library, where Debian's rustc looks: complete or not at all.
fn std_for(target: &str, rustlib: &Path, libc: &Path, work: &Work) -> Result<()> {
    let place = rustlib.join(target).join("lib");
    let libc_name = if target == "wasm32-wasip1" { "wasm32-wasi" } else { target };
    // The C library must stand in its final place, for the build of std links with it.
    copy_files(&libc.join(libc_name), &place.join("self-contained"), |name| {
        name.ends_with(".a") || name.ends_with(".o")
    })?;

    let krate = work.dir.join(format!("std-{target}"));
    create(&krate.join("src"))?;
    write(&krate.join("src/lib.rs"), "")?;
    let manifest = "[package]\nname = \"empty\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\
                    [workspace]\n[profile.release]\npanic = \"abort\"\n";
    write(&krate.join("Cargo.toml"), manifest)?;
    let build = Cmd::new("/usr/bin/cargo")
        .words("build --quiet --release -Zbuild-std=std,panic_abort,test --target")
        .arg(target)
        .dir(&krate)
        .env("CARGO_TARGET_DIR", krate.join("target"))
        .env("RUSTC", rustc())
        .env("RUSTC_BOOTSTRAP", "1")
        // With bitcode, or a guest with fat LTO does not link.
        .env("RUSTFLAGS", "-C embed-bitcode=yes")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("RUSTUP_TOOLCHAIN");
    build.read()?;

    let old = |name: &str| name.ends_with(".rlib") || name.ends_with(".rmeta");
    for entry in fs::read_dir(&place).into_iter().flatten().flatten() {
        if old(&entry.file_name().to_string_lossy()) {
            let _ = fs::remove_file(entry.path());
        }
    }
    let built = krate.join("target").join(target).join("release/deps");
    // The check for what is there asks for these three: last, so that an interrupted copy is not taken for whole.
    let last = |name: &str| ["libcore-", "libstd-", "libtest-"].iter().any(|lib| name.starts_with(lib));
    let wanted = |name: &str| old(name) && !name.starts_with("libempty-");
    copy_files(&built, &place, |name| wanted(name) && !last(name))?;
    copy_files(&built, &place, |name| wanted(name) && last(name))
}

/// Copies the files of `from` whose name is wanted into `to`. An error if there are none.
fn copy_files(from: &Path, to: &Path, wanted: impl Fn(&str) -> bool) -> Result<()> {
    create(to)?;
    let mut copied = 0;
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        if wanted(&entry.file_name().to_string_lossy()) {
            let target = to.join(entry.file_name());
            fs::copy(entry.path(), &target).map_err(|e| io("copy to", &target, &e))?;
            copied += 1;
        }
    }
    if copied == 0 {
        fail!("nothing to copy in {}", from.display());
    }
    Ok(())
}

/// A folder that is removed at the end, whatever the end.
struct Work {
    dir: PathBuf,
}

impl Work {
    fn new(dir: PathBuf) -> Result<Self> {
        let _ = fs::remove_dir_all(&dir);
        create(&dir)?;
        Ok(Self { dir })
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|e| io("read", path, &e))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|e| io("write", path, &e))
}

fn create(dir: &Path) -> Result<()> {
    fs::create_dir_all(dir).map_err(|e| io("make", dir, &e))
}

fn io(what: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::Failed(format!("cannot {what} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_suite_takes_the_place_of_the_configured_one() {
        let text = "Types: deb\n# a remark\nURIs: http://mirror/security\nSuites: bookworm-security\n\n\
                    Types: deb\nURIs: http://mirror/debian\nSuites: bookworm bookworm-updates\nComponents: main\n";
        let expected = "Types: deb\nURIs: http://mirror/debian\nSuites: forky\nComponents: main\n";
        assert_eq!(deb822(text, "bookworm").as_deref(), Some(expected));
        assert_eq!(deb822(text, "trixie"), None);

        let text = "# deb http://old bookworm main\ndeb http://mirror/security bookworm-security main\n\
                    deb [signed-by=/k] http://mirror/debian bookworm main contrib\n";
        let expected = "deb [signed-by=/k] http://mirror/debian forky main contrib\n";
        assert_eq!(one_line(text, "bookworm").as_deref(), Some(expected));
        assert_eq!(one_line(text, "trixie"), None);
    }

    #[test]
    fn the_llvm_version_is_read() {
        assert_eq!(llvm_major("rustc 1.96.0\nhost: x\nLLVM version: 22.1.2\n"), Some(22));
        assert_eq!(llvm_major("rustc 1.96.0\n"), None);
    }
}
