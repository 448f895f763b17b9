//! `cargo xtask test`: every check and test, in stages.

use std::time::{Duration, Instant};

use crate::cmd::Cmd;
use crate::report::{Tally, indent, time};
use crate::setup::{self, Toolchain};
use crate::workspace::Workspace;
use crate::{Error, Result, build, fuzz, guests, interop, kernels, lint, tools, unknown_argument};

pub(crate) const HELP: &str = "\
Runs the whole suite, from clean: sets up what is missing, then each stage, and tells each one's time and what failed.

usage: cargo xtask test [--full] [--only STAGE[,STAGE...]] [--kernels BUILD[,BUILD...]]

  --full    constant-time checks with a million samples
  --only    only these stages (they need what an earlier `build` made)
  --kernels only these builds of the stage `kernels` (an unknown name is answered with the known ones)

stages:
  lint      what `cargo xtask lint` checks
  build     the guests, the `sandquic` command, the imports of every component
  native    every test of the workspace, natively; end to end over loopback, on our host and on the stock wasmtime; those
            of components once more on Wasmtime's own UDP sockets
  sandbox   the tests of provider, endpoint, transfers and baselines as wasm32-wasip2, run by `sandquic run`; the
            drivers for WASI 0.3 and 0.2, and the example of a component, on both kinds of UDP sockets
  interop   a short pass of `cargo xtask interop`: `sandquic serve` and `get` with programs of others; with quinn on both
            kinds of sockets
  kernels   the tests of the kernels with every backend, on Wasmtime, V8, Wasmer, qemu, under AddressSanitizer
            and Miri (where installed), with every combination of features; the constant-time checks
  fuzz      the fuzz targets, a minute in all

A stage that fails does not keep the others from running, unless they need what it makes.
";

/// One part of the suite.
struct Stage {
    name: &'static str,
    run: fn(&Context) -> Result<Tally>,
    /// A stage without which this one cannot run.
    needs: Option<&'static str>,
}

const STAGES: &[Stage] = &[
    Stage { name: "lint", run: |c| Ok(lint::all(c.workspace, c.toolchain)), needs: None },
    Stage { name: "build", run: build_stage, needs: None },
    Stage { name: "native", run: native, needs: Some("build") },
    Stage { name: "sandbox", run: sandbox, needs: Some("build") },
    Stage { name: "interop", run: |c| interop::quick(c.workspace), needs: Some("build") },
    Stage { name: "kernels", run: kernel_tests, needs: Some("build") },
    Stage { name: "fuzz", run: |c| fuzz::smoke(c.workspace), needs: None },
];

/// The libraries whose tests run inside the sandbox; the kernels have a stage of their own.
const SANDBOXED: [&str; 4] = ["sandquic-rustls", "sandquic", "sandquic-transfer", "sandquic-baselines"];

/// For tests in WebAssembly: a panic ends the program there, with all that the harness has captured.
pub(crate) const UNCAPTURED: &str = "-- --nocapture";

/// What the stages share.
struct Context<'a> {
    workspace: &'a Workspace,
    toolchain: Toolchain,
    options: &'a Options,
}

/// What the command line asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    full: bool,
    only: Option<Vec<String>>,
    kernels: Option<Vec<String>>,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self> {
        let mut options = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--full" => options.full = true,
                "--only" => {
                    options.only = Some(names(arg, args.next(), STAGES.iter().map(|stage| stage.name))?)
                }
                "--kernels" => options.kernels = Some(names(arg, args.next(), kernels::names())?),
                other => return Err(unknown_argument(other, HELP)),
            }
        }
        Ok(options)
    }

    fn wants(&self, stage: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.iter().any(|name| name == stage))
    }
}

/// The list behind an option; each name must be a known one.
fn names<'a>(
    option: &str,
    list: Option<&String>,
    known: impl Iterator<Item = &'a str>,
) -> Result<Vec<String>> {
    let known: Vec<&str> = known.collect();
    let Some(list) = list else {
        return Err(Error::Usage(format!("xtask: {option} needs a list; there are {}", known.join(", "))));
    };
    let names: Vec<String> = list.split(',').map(str::to_owned).collect();
    match names.iter().find(|name| !known.contains(&name.as_str())) {
        Some(unknown) => {
            Err(Error::Usage(format!("xtask: {option} knows no `{unknown}`; there are {}", known.join(", "))))
        }
        None => Ok(names),
    }
}

pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<()> {
    let options = Options::parse(args)?;
    let begun = Instant::now();
    let context = Context { workspace, toolchain: setup::ensure(workspace)?, options: &options };
    let mut rows = vec![("setup", begun.elapsed(), Tally::default())];
    let mut total = Tally::default();
    for stage in STAGES.iter().filter(|stage| options.wants(stage.name)) {
        let started = Instant::now();
        eprintln!("\n== {} ==", stage.name);
        let broken = stage
            .needs
            .filter(|needed| rows.iter().any(|(name, _, tally)| name == needed && tally.failed > 0));
        let tally = match broken {
            Some(needed) => Tally::failure(format!("{}: not run, it needs {needed}", stage.name)),
            None => (stage.run)(&context)
                .unwrap_or_else(|error| Tally::failure(format!("{}: {}", stage.name, error.message()))),
        };
        eprintln!(
            "== {}: {} passed, {} failed, {} ==",
            stage.name,
            tally.passed,
            tally.failed,
            time(started.elapsed())
        );
        total.add(tally.clone());
        rows.push((stage.name, started.elapsed(), tally));
    }
    summary(&rows, &total, begun.elapsed());
    if total.failed > 0 {
        return Err(Error::Told);
    }
    Ok(())
}

/// The table of stages, the failures, and the line that ends the run.
fn summary(rows: &[(&str, Duration, Tally)], total: &Tally, took: Duration) {
    println!("\n{:<10} {:>14} {:>8} {:>8} {:>8}", "stage", "time", "passed", "failed", "ignored");
    for (name, took, tally) in rows {
        println!(
            "{name:<10} {:>14} {:>8} {:>8} {:>8}",
            time(*took),
            tally.passed,
            tally.failed,
            tally.ignored
        );
    }
    println!("{:<10} {:>14} {:>8} {:>8} {:>8}", "all", time(took), total.passed, total.failed, total.ignored);
    if !total.failures.is_empty() {
        println!("\nfailed:");
        for failure in &total.failures {
            println!("{}", indent(failure));
        }
    }
    println!("\n{} passed, {} failed", total.passed, total.failed);
}

fn build_stage(context: &Context) -> Result<Tally> {
    let mut tally = build::all(context.workspace, context.toolchain);
    tally.add(lint::component_imports(context.workspace));
    Ok(tally)
}

/// Every native test, those over real sockets among them.
fn native(context: &Context) -> Result<Tally> {
    let workspace = context.workspace;
    let mut tally = Tally::default();
    let mut cargo = build::native(workspace, "test --release --no-fail-fast")?;
    match tools::wasmtime(workspace) {
        Ok(program) => cargo = cargo.env("WASMTIME_BIN", program),
        Err(error) => tally.check("the stock wasmtime", Err(error.message().to_owned())),
    }
    tally.add(harness("native tests", cargo.limit(Duration::from_secs(40 * 60)))?);
    tally.add(harness("components on Wasmtime's own sockets", stock_udp(workspace)?)?);
    let without = "test --release --no-fail-fast --package sandquic-rustls --no-default-features";
    let cargo = workspace.cargo().words(without).limit(Duration::from_secs(20 * 60));
    tally.add(harness("the provider without TLS 1.2", cargo)?);
    Ok(tally)
}

/// The tests that run components over UDP, on Wasmtime's own sockets: those before had the host's. Left out are tests of what is
/// no socket's matter, for their time, and those of the batched sockets themselves, of instances (which need them) and of the
/// benchmarks (whose builds name their sockets).
fn stock_udp(workspace: &Workspace) -> Result<Cmd> {
    let tests =
        "test --release --no-fail-fast --package sandquic-cli --test end_to_end --test serve --test get";
    let cargo = build::native(workspace, tests)?.env("SANDQUIC_TEST_STOCK_UDP", "1");
    Ok(cargo.limit(Duration::from_secs(20 * 60)).words("-- --skip natively"))
}

/// The same tests inside the sandbox, on our own host.
fn sandbox(context: &Context) -> Result<Tally> {
    let mut cargo = sandboxed(context, "test --no-fail-fast");
    for package in SANDBOXED {
        cargo = cargo.args(["--package", package]);
    }
    let mut tally = harness("sandbox tests", cargo.limit(Duration::from_secs(30 * 60)).words(UNCAPTURED))?;

    // A harness is a synchronous program. With WASI 0.2 it may wait all the same. All other tests here use no sockets.
    for sockets in SOCKETS {
        let tests = on_sockets(
            sandboxed(context, "test --package sandquic --features wasip2 --test sockets"),
            context,
            sockets,
        );
        let name = format!("sockets of WASI 0.2 {sockets}");
        tally.add(harness(&name, tests.limit(Duration::from_secs(10 * 60)).words(UNCAPTURED))?);
    }
    for (what, example, features) in [
        ("the driver for WASI 0.3", "wasi", ""),
        ("the driver for WASI 0.2", "wasi", "--features wasip2"),
        ("the sockets of WASI 0.3", "wasi_sockets", ""),
        ("the example of a component, of WASI 0.3", "component", ""),
        ("the example of a component, of WASI 0.2", "component", "--features wasip2"),
    ] {
        let outcome = component(context, example, features).map_err(|error| error.message().to_owned());
        tally.check(what, outcome);
    }
    Ok(tally)
}

/// Cargo for what runs in the sandbox.
fn sandboxed(context: &Context, command: &str) -> Cmd {
    let workspace = context.workspace;
    let cargo = context
        .toolchain
        .cargo(workspace)
        .words(command)
        .words("--release --target wasm32-wasip2")
        .env("CARGO_TARGET_DIR", workspace.target("wasm-tests"))
        .env("RUSTFLAGS", guests::PRODUCT)
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    on_sockets(cargo, context, "")
}

/// With the option of `sandquic run` that says whose UDP sockets what runs there gets.
fn on_sockets(cargo: Cmd, context: &Context, option: &str) -> Cmd {
    let program = context.workspace.sandquic();
    let runner = format!("{} run {option} --inherit-network --dir . --", program.display());
    cargo.env("CARGO_TARGET_WASM32_WASIP2_RUNNER", runner)
}

/// Options of `sandquic run` for the host's own UDP sockets and for Wasmtime's.
const SOCKETS: [&str; 2] = ["", "--stock-udp"];

/// Builds a component of the examples, and runs it on the host's own sockets and on Wasmtime's.
fn component(context: &Context, example: &str, features: &str) -> Result<()> {
    sandboxed(context, "build --package sandquic").args(["--example", example]).words(features).run()?;
    let examples = context.workspace.target("wasm-tests").join("wasm32-wasip2/release/examples");
    let component = examples.join(example).with_extension("wasm");
    for sockets in SOCKETS {
        let run = Cmd::new(context.workspace.sandquic()).words("run --inherit-network").words(sockets);
        run.arg(&component).limit(Duration::from_secs(5 * 60)).run()?;
    }
    Ok(())
}

/// The kernels with every backend on every engine.
fn kernel_tests(context: &Context) -> Result<Tally> {
    let Options { full, kernels, .. } = context.options;
    Ok(kernels::test(context.workspace, context.toolchain, *full, kernels.as_deref()))
}

/// Runs `cargo test` and sums what its harnesses say. A failure that no harness counted (a build, a crash) counts as one.
pub(crate) fn harness(name: &str, cargo: Cmd) -> Result<Tally> {
    let mut tally = Tally::default();
    let mut programs = Vec::new();
    let success = cargo.tee(|line| {
        tally.harness_line(line);
        programs.extend(failed_program(line).map(str::to_owned));
    })?;
    if !success && tally.failed == 0 {
        let which = if programs.is_empty() { "the build failed".to_owned() } else { programs.join(", ") };
        tally.add(Tally::failure(format!("{name}: {which}: ended without a result; see its output above")));
    }
    if success && tally.passed == 0 {
        tally.add(Tally::failure(format!("{name}: nothing ran")));
    }
    Ok(tally)
}

/// A test program in the list with which `cargo test --no-fail-fast` ends: four spaces, then its flags in backquotes.
fn failed_program(line: &str) -> Option<&str> {
    line.strip_prefix("    `")?.strip_suffix('`').filter(|flags| flags.starts_with("-p "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options> {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read() {
        assert_eq!(parse("").unwrap(), Options::default());
        let some = parse("--full --only lint,native").unwrap();
        assert!(some.full && some.wants("lint") && some.wants("native") && !some.wants("build"));
        assert_eq!(parse("--kernels neon").unwrap().kernels, Some(vec!["neon".to_owned()]));
        for line in ["--only", "--only nothing", "--kernels", "--kernels nothing", "--quick", "lint"] {
            assert!(matches!(parse(line), Err(Error::Usage(_))), "`{line}` was accepted");
        }
    }

    #[test]
    fn a_program_that_ends_early_is_a_failure() {
        let shell = |script: &str| Cmd::new("sh").args(["-c", script]);
        let passed = harness("t", shell("echo 'test result: ok. 2 passed; 0 failed; 0 ignored'")).unwrap();
        assert_eq!((passed.passed, passed.failed), (2, 0));
        let crashed =
            harness("t", shell("echo 'test result: ok. 2 passed; 0 failed; 0 ignored'; exit 101")).unwrap();
        assert_eq!((crashed.passed, crashed.failed), (2, 1));
        let list = "printf 'error: 1 target failed:\\n    `-p a --test b`\\n'; exit 101";
        let named = harness("t", shell(list)).unwrap();
        assert!(named.failures[0].contains("-p a --test b"), "{:?}", named.failures);
        let empty = harness("t", shell("true")).unwrap();
        assert_eq!((empty.passed, empty.failed), (0, 1));
    }

    #[test]
    fn every_needed_stage_comes_first() {
        for (at, stage) in STAGES.iter().enumerate() {
            assert!(
                stage.needs.is_none_or(|needed| STAGES[..at].iter().any(|s| s.name == needed)),
                "{}",
                stage.name
            );
            assert!(HELP.contains(&format!("\n  {} ", stage.name)), "{} has no help", stage.name);
        }
    }
}
