//! The tests of the kernels on every engine and with every backend: a matrix of builds and of what runs them.

use std::ffi::OsString;
use std::thread;
use std::time::{Duration, Instant};

use crate::cmd::Cmd;
use crate::report::{Tally, time};
use crate::setup::Toolchain;
use crate::test::{UNCAPTURED, harness};
use crate::workspace::Workspace;
use crate::{Result, guests, tools};

/// What runs the test programs of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Engine {
    /// The processor.
    Native,
    /// Wasmtime, in the `sandquic` command.
    Wasmtime,
    /// V8, in Node.
    V8,
    /// Wasmer, in Python.
    Wasmer,
    /// qemu's user mode for aarch64.
    Qemu,
    /// Miri, where it is installed.
    Miri,
}

/// A build, and what it runs on.
struct Row {
    /// Its folder under `target/kernels`.
    name: &'static str,
    /// `None` is the host.
    target: Option<&'static str>,
    rustflags: &'static str,
    /// The backend that must be under test, if it is not this machine's.
    backend: &'static str,
    /// The same of AES and GHASH.
    aes: &'static str,
    engines: &'static [Engine],
    /// Feature flags of each run.
    features: &'static [&'static str],
    /// Which of the crate's test programs.
    tests: &'static str,
    /// The lengths that differ alone, and not the whole grid; and hardly optimised, since compiling takes a hundred times as
    /// long as that grid.
    small: bool,
}

/// What most builds have in common.
const ROW: Row = Row {
    name: "",
    target: None,
    rustflags: "",
    backend: "",
    aes: "",
    engines: &[Engine::Native],
    features: &[""],
    tests: "--tests",
    small: false,
};
const WASI: Option<&str> = Some("wasm32-wasip1");

/// Natively, the backend that is found at run time is tested with the rest of the workspace.
const ROWS: &[Row] = &[
    Row {
        name: "sse2",
        rustflags: r#"--cfg sandquic_backend="sse2" --cfg sandquic_aes="soft" --cfg sandquic_clmul="soft""#,
        backend: "sse2",
        aes: "soft",
        ..ROW
    },
    Row {
        name: "soft",
        rustflags: r#"--cfg sandquic_backend="soft" --cfg sandquic_aes="soft" --cfg sandquic_clmul="soft""#,
        backend: "soft",
        aes: "soft",
        ..ROW
    },
    Row {
        name: "aes-ni",
        // On 128 bits, where the processor has VAES too.
        rustflags: r#"-C target-feature=+aes,+avx,+pclmulqdq --cfg sandquic_aes="native" --cfg sandquic_clmul="native""#,
        aes: "native",
        tests: "--lib --test gcm --test ctr --test cavp --test quic --test wycheproof",
        small: true,
        ..ROW
    },
    Row {
        name: "portable-asan",
        target: Some("x86_64-unknown-linux-gnu"),
        rustflags: r#"-Z sanitizer=address --cfg sandquic_backend="portable" --cfg sandquic_aes="soft" --cfg sandquic_clmul="soft""#,
        backend: "portable",
        // Unoptimised and checked at every access, `gcm` and `random` alone take longer than all other rows.
        tests: "--lib --test chacha --test salsa --test sha2 --test chachapoly --test ctr",
        small: true,
        ..ROW
    },
    Row {
        name: "portable-miri",
        rustflags: r#"--cfg sandquic_backend="portable" --cfg sandquic_aes="soft" --cfg sandquic_clmul="soft""#,
        backend: "portable",
        engines: &[Engine::Miri],
        tests: UNSAFE,
        ..ROW
    },
    Row {
        name: "avx2-miri",
        // Miri has no instruction for the keys of AES.
        rustflags: r#"-C target-feature=+avx2,+pclmulqdq --cfg sandquic_aes="soft""#,
        backend: "avx2",
        engines: &[Engine::Miri],
        tests: UNSAFE,
        ..ROW
    },
    Row {
        name: "wasm-simd128",
        target: WASI,
        rustflags: guests::SIMD128,
        backend: "simd128",
        engines: &[Engine::Wasmtime, Engine::V8, Engine::Wasmer],
        ..ROW
    },
    Row {
        name: "wasm-base",
        target: WASI,
        rustflags: guests::BASE,
        backend: "soft",
        engines: &[Engine::Wasmtime, Engine::V8, Engine::Wasmer],
        ..ROW
    },
    Row {
        name: "wasm-simd128-soft",
        target: WASI,
        rustflags: r#"-C target-feature=+simd128 --cfg sandquic_backend="soft""#,
        backend: "soft",
        engines: &[Engine::Wasmtime],
        ..ROW
    },
    Row {
        name: "wasm-wide",
        target: WASI,
        rustflags: guests::WIDE,
        backend: "simd128",
        engines: &[Engine::Wasmtime],
        // LLVM 22 miscompiles 128-bit sums with wide-arithmetic: the walks over positions in `chacha` and `salsa` fail
        // there. The feature is for the MAC, which these cover.
        tests: "--lib --test chachapoly --test gcm --test ctr --test quic --test random --test wycheproof",
        ..ROW
    },
    Row { name: "neon", target: Some(tools::AARCH64), backend: "neon", engines: &[Engine::Qemu], ..ROW },
    Row { name: "features", features: COMBINATIONS, small: true, ..ROW },
    Row {
        name: "wasm-features",
        target: WASI,
        rustflags: guests::SIMD128,
        backend: "simd128",
        engines: &[Engine::Wasmtime],
        features: COMBINATIONS,
        small: true,
        ..ROW
    },
];

/// The tests of the folder that holds all `unsafe` code, one call of every operation with every type. Miri takes seconds
/// for what a processor does in microseconds.
const UNSAFE: &str = "--lib simd::";

/// Every combination of the crate's features but all, which is the default.
const COMBINATIONS: &[&str] = &[
    "--no-default-features",
    "--no-default-features --features std",
    "--no-default-features --features zeroize",
    "--no-default-features --features rng",
    "--no-default-features --features std,zeroize",
    "--no-default-features --features std,rng",
    "--no-default-features --features zeroize,rng",
];

/// The name of the constant-time checks among those of the builds.
const CONSTANT_TIME: &str = "ctbench";

/// The names of the builds, and of the constant-time checks.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.name).chain([CONSTANT_TIME])
}

/// Looks for secrets in the time that every keyed function takes, natively and in Wasmtime; `full` takes the samples of a
/// record.
fn constant_time(workspace: &Workspace, toolchain: Toolchain, full: bool) -> Tally {
    let mut tally = Tally::default();
    let program = |wasm: bool, mode: &str| -> Result<Cmd> {
        let cargo = if wasm { toolchain.cargo(workspace) } else { workspace.cargo() };
        let mut cargo = cargo
            .words("run --quiet --release --package sandquic-crypto --example ctbench")
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .limit(Duration::from_secs(60 * 60));
        if wasm {
            // In the matrix's folder, which holds most of it; natively the workspace's does.
            let dir = workspace.target("kernels").join("wasm-simd128");
            cargo = cargo.env("CARGO_TARGET_DIR", dir).env("RUSTFLAGS", guests::SIMD128);
            let runner = runner(workspace, Engine::Wasmtime)?.unwrap_or_default();
            cargo = cargo.words("--target wasm32-wasip1").env("CARGO_TARGET_WASM32_WASIP1_RUNNER", runner);
        }
        Ok(cargo.arg("--").arg(mode))
    };
    for (wasm, place) in [(false, "natively"), (true, "in Wasmtime")] {
        let run = |mode| program(wasm, mode).and_then(Cmd::run).map_err(|error| error.message().to_owned());
        tally.check(&format!("constant time, {place}"), run(if full { "full" } else { "smoke" }));
        let planted = match program(wasm, "planted").and_then(Cmd::capture) {
            Ok(done) if !done.success && done.stderr.contains("leaks, as it should") => Ok(()),
            Ok(done) => Err(format!("the leak was not found: the check finds nothing\n{}", done.stderr)),
            Err(error) => Err(error.message().to_owned()),
        };
        tally.check(&format!("a planted leak is found, {place}"), planted);
    }
    tally
}

/// Runs the builds of these names, else all; `full` takes a million samples of the constant-time checks. Each run of a
/// harness adds its tests.
pub(crate) fn test(
    workspace: &Workspace,
    toolchain: Toolchain,
    full: bool,
    only: Option<&[String]>,
) -> Tally {
    let wanted = |name: &str| only.is_none_or(|names| names.iter().any(|n| n == name));
    // The x86 builds and the sanitizer's need that machine; on an Arm the native tests are those of NEON.
    let runs_here = |row: &Row| cfg!(target_arch = "x86_64") || row.target == WASI;
    let rows = |wasm: bool| {
        ROWS.iter().filter(move |row| wanted(row.name) && runs_here(row) && (row.target == WASI) == wasm)
    };
    // Side by side: a program in WebAssembly has one thread, and the last of a build's crates are compiled one at a time.
    let mut total = thread::scope(|scope| {
        let wasm = scope.spawn(|| run(workspace, toolchain, rows(true)));
        let mut total = run(workspace, toolchain, rows(false));
        total.add(wasm.join().unwrap_or_else(|_| Tally::failure("kernels: xtask itself failed".to_owned())));
        total
    });
    if wanted(CONSTANT_TIME) {
        total.add(constant_time(workspace, toolchain, full));
    }
    total
}

/// Runs these builds on each of their engines, one after the other.
fn run<'a>(workspace: &Workspace, toolchain: Toolchain, rows: impl Iterator<Item = &'a Row>) -> Tally {
    let mut total = Tally::default();
    for row in rows {
        for &engine in row.engines {
            if engine == Engine::Miri && !tools::has_miri() {
                eprintln!("kernels: {}: skipped, {}", row.name, tools::MIRI_HINT);
                continue;
            }
            for features in row.features {
                let name = [row.name, &format!("{engine:?}").to_lowercase(), features].join(" ");
                let started = Instant::now();
                let tally = command(workspace, toolchain, row, engine)
                    .map(|cargo| {
                        cargo.words(features).words(if row.target == WASI { UNCAPTURED } else { "" })
                    })
                    .and_then(|cargo| harness(name.trim(), cargo))
                    .unwrap_or_else(|error| Tally::failure(format!("{}: {}", name.trim(), error.message())));
                let took = time(started.elapsed());
                eprintln!(
                    "kernels: {}: {} passed, {} failed, {took}",
                    name.trim(),
                    tally.passed,
                    tally.failed
                );
                total.add(tally);
            }
        }
    }
    total
}

fn command(workspace: &Workspace, toolchain: Toolchain, row: &Row, engine: Engine) -> Result<Cmd> {
    let test = format!("test --release --no-fail-fast --package sandquic-crypto {}", row.tests);
    let cargo = match (engine, row.target) {
        (Engine::Miri, _) => tools::miri(workspace, &format!("test --package sandquic-crypto {}", row.tests)),
        (_, Some(tools::AARCH64)) => tools::aarch64(workspace, &test)?,
        (_, target) => {
            let cargo = if target == WASI { toolchain.cargo(workspace) } else { workspace.cargo() };
            cargo.words(&test).args(target.iter().flat_map(|target| ["--target", target]))
        }
    };
    let mut cargo = cargo
        .env("CARGO_TARGET_DIR", workspace.target("kernels").join(row.name))
        .env("RUSTFLAGS", row.rustflags)
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .limit(Duration::from_secs(20 * 60));
    if !row.backend.is_empty() {
        cargo = cargo.env("SANDQUIC_EXPECT_BACKEND", row.backend);
    }
    if !row.aes.is_empty() {
        cargo = cargo.env("SANDQUIC_EXPECT_AES", row.aes);
    }
    if row.rustflags.contains("-Z ") {
        cargo = cargo.env("RUSTC_BOOTSTRAP", "1");
    }
    // Optimising the unrolled kernels on the portable type with the sanitizer's checks takes a quarter of an hour.
    if row.rustflags.contains("sanitizer") {
        cargo = cargo.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0");
    } else if row.small {
        cargo = cargo.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1");
    }
    if row.small {
        // Frames of unoptimised kernels do not fit the 2 MiB of a test's thread.
        cargo = cargo.env("RUST_MIN_STACK", (64 << 20).to_string());
    }
    // The whole grid natively and in Wasmtime; elsewhere the lengths that differ.
    if row.small || !matches!(engine, Engine::Native | Engine::Wasmtime) {
        cargo = cargo.env("SANDQUIC_TEST_GRID", "small").env("SANDQUIC_TEST_LENGTHS", "300");
    }
    Ok(match runner(workspace, engine)? {
        Some(runner) => cargo.env("CARGO_TARGET_WASM32_WASIP1_RUNNER", runner),
        None => cargo,
    })
}

/// The program and its arguments that cargo runs a test of wasm32-wasip1 with.
fn runner(workspace: &Workspace, engine: Engine) -> Result<Option<OsString>> {
    let script = |program: OsString, flags: &str, script: &str| {
        let mut line = program;
        line.push(flags);
        line.push(" ");
        line.push(workspace.path("xtask/engines").join(script));
        line
    };
    Ok(match engine {
        Engine::Native | Engine::Qemu | Engine::Miri => None,
        Engine::Wasmtime => {
            let mut line = workspace.sandquic().into_os_string();
            line.push(" run");
            Some(line)
        }
        Engine::V8 => Some(script(tools::node()?.into_os_string(), " --no-warnings", "node.mjs")),
        Engine::Wasmer => Some(script(tools::wasmer(workspace)?.into_os_string(), "", "wasmer.py")),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_combination_of_features_is_left_out() {
        let manifest = include_str!("../../crates/sandquic-crypto/Cargo.toml");
        let section =
            manifest.split("[features]\n").nth(1).and_then(|rest| rest.split("\n[").next()).unwrap();
        let features: BTreeSet<&str> = section
            .lines()
            .filter_map(|line| line.split_once(" = ").map(|(name, _)| name))
            .filter(|name| !["default", "bench-variants"].contains(name))
            .collect();
        let combinations: BTreeSet<BTreeSet<&str>> = COMBINATIONS
            .iter()
            .map(|flags| flags.split_once("--features "))
            .map(|list| list.map_or_else(BTreeSet::new, |(_, list)| list.split(',').collect()))
            .collect();
        assert!(combinations.iter().all(|combination| combination.is_subset(&features)), "{combinations:?}");
        // Without all.
        assert_eq!(combinations.len(), (1 << features.len()) - 1);
    }

    #[test]
    fn no_build_disturbs_another() {
        let names: BTreeSet<_> = names().collect();
        assert_eq!(names.len(), ROWS.len() + 1, "two builds in one folder");
    }
}
