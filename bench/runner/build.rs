//! Stamps the build with what a record's provenance needs: commit, compiler, target and its features.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let git = |args: &[&str]| output(Command::new("git").arg("-C").arg(&root).args(args));
    let commit = git(&["rev-parse", "HEAD"]).unwrap_or_else(|| "unknown".into());
    let changed =
        git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|list| !list.is_empty());
    let commit = if changed { commit + "+" } else { commit };
    println!("cargo:rustc-env=SANDQUIC_BENCH_COMMIT={commit}");
    // The log of HEAD grows with every commit; without one (a tarball, a fresh clone) HEAD itself must do. In a worktree
    // both are elsewhere.
    for file in ["logs/HEAD", "HEAD"] {
        let path = git(&["rev-parse", "--git-path", file]).map(|path| root.join(path));
        if let Some(path) = path.filter(|path| path.exists()) {
            println!("cargo:rerun-if-changed={}", path.display());
            break;
        }
    }
    println!("cargo:rerun-if-changed=build.rs");

    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let version = output(Command::new(rustc).arg("--version")).unwrap_or_else(|| "unknown".into());
    println!("cargo:rustc-env=SANDQUIC_BENCH_RUSTC={version}");
    println!("cargo:rustc-env=SANDQUIC_BENCH_TARGET={}", env::var("TARGET").unwrap_or_default());
    println!(
        "cargo:rustc-env=SANDQUIC_BENCH_FEATURES={}",
        env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default()
    );
    println!("cargo:rustc-env=SANDQUIC_BENCH_PROFILE={}", env::var("PROFILE").unwrap_or_default());
}

fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
