//! Profiles of real processes, where `perf` may be used.
#![allow(clippy::print_stderr)]

mod common;

use std::path::Path;
use std::process::{Command, Stdio};

use common::{Server, certificates, program, stderr};
use sandquic_bench::profile::{self, CATEGORIES};

/// Whether `perf` may be used; says on standard error why a test is skipped if not.
fn perf() -> bool {
    profile::available().inspect_err(|why| eprintln!("skipped: no profile here: {why}")).is_ok()
}

#[test]
fn a_native_receiver_is_profiled() {
    if !perf() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    certificates(directory.path());
    let size = 64 << 20;
    let server = Server::start(directory.path(), &["--size", &size.to_string(), "--once"]);
    let mut receiver = program();
    receiver.args(["bench-peer", "sandquic-client", "--connect", &server.address, "--json"]);
    receiver.args(["--server-name", "localhost", "--cipher", "chacha20-poly1305", "--ca"]);
    receiver.arg(directory.path().join("ca.pem"));
    let data = directory.path().join("perf.data");
    let output = profile::wrap(receiver, &data).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    // What the receiver writes passes through.
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["bytes"], size);

    let profile = profile::read(&data).unwrap();
    assert!(profile.samples > 50, "{profile:?}");
    assert!(profile.cpu_s > 0.01 && profile.cpu_s < 60.0, "{profile:?}");
    assert!((profile.categories.values().sum::<f64>() - 1.0).abs() < 1e-9, "{profile:?}");
    assert_eq!(profile.categories.len(), CATEGORIES.len());
    for category in ["crypto", "socket-io", "quic-proto"] {
        assert!(profile.categories[category] > 0.0, "{category}: {profile:?}");
    }
    assert!(profile.symbols.iter().any(|symbol| symbol.symbol.contains("sandquic_crypto")), "{profile:?}");
}

/// Node's just-in-time compiler writes the same map as the sandbox's, and is at hand where the sandbox is not.
#[test]
fn compiled_code_has_names_as_long_as_its_map_is_there() {
    if !perf() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("perf.data");
    let mut node = Command::new(std::env::var_os("SANDQUIC_NODE").unwrap_or_else(|| "node".into()));
    if node.arg("--version").output().is_err() {
        eprintln!("skipped: no node to compile code in");
        return;
    }
    let mut node = Command::new(node.get_program());
    // It leaves a log where it runs.
    node.current_dir(directory.path()).args(["--perf-basic-prof", "--eval"]).arg(
        "function spin(n) { let x = 1; for (let i = 0; i < n; i++) x = (x * 31 + i) | 0; return x; }
         let s = 0; for (let k = 0; k < 100; k++) s += spin(1e6); console.log(process.pid)",
    );
    let output = profile::wrap(node, &data).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let map = format!("/tmp/perf-{}.map", String::from_utf8_lossy(&output.stdout).trim());

    let kept = profile::read_by(&data, &profile::Rules::built_in().unwrap()).unwrap();
    assert_eq!(kept.maps, [Path::new(&map)]);
    assert!(Path::new(&map).exists());
    let spin = &kept.unmatched_symbols[0];
    assert!(spin.symbol.contains("spin") && spin.object == "[jit]" && spin.share > 0.3, "{spin:?}");
    // What compiles is the engine, whatever its symbols are called.
    assert!(kept.symbols.iter().any(|symbol| symbol.object == "[engine]" && symbol.category == "runtime"));

    assert!(profile::read(&data).unwrap() == kept, "the same samples give another profile");
    assert!(!Path::new(&map).exists(), "{map} is left behind");
    let nameless = profile::read(&data).unwrap_err().to_string();
    assert!(nameless.contains(&map) && nameless.contains("--profile perfmap"), "{nameless}");
}

#[test]
fn the_exit_status_of_the_profiled_passes_through() {
    if !perf() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", "exit 7"]);
    let output = profile::wrap(shell, &directory.path().join("perf.data")).output().unwrap();
    assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
}

#[test]
fn what_is_no_profile_is_refused() {
    if !perf() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("perf.data");
    let absent = profile::read(&data).unwrap_err().to_string();
    assert!(absent.starts_with("perf cannot read the profile ") && absent.contains("perf.data"), "{absent}");
    std::fs::write(&data, "no profile".repeat(1000)).unwrap();
    let garbage = profile::read(&data).unwrap_err().to_string();
    assert!(garbage.starts_with("perf cannot read the profile ") && !garbage.contains('\n'), "{garbage}");
    // A profile of user space alone would leave out what sockets cost.
    let recorded = Command::new("perf")
        .args(["record", "--quiet", "--event", "task-clock:u", "--freq", "4000", "--output"])
        .arg(&data)
        .args(["--", "true"])
        .output()
        .unwrap();
    assert!(recorded.status.success(), "{}", stderr(&recorded));
    let blind = profile::read(&data).unwrap_err().to_string();
    assert!(blind.contains("perf may not look into the kernel"), "{blind}");
    // One by events counted, not sampled at a frequency, has no periods to weigh by.
    let recorded = Command::new("perf")
        .args(["record", "--quiet", "--event", "task-clock", "--count", "100000", "--output"])
        .arg(&data)
        .args(["--", "true"])
        .output()
        .unwrap();
    assert!(recorded.status.success(), "{}", stderr(&recorded));
    let weightless = profile::read(&data).unwrap_err().to_string();
    assert!(weightless.contains("was not recorded with --freq"), "{weightless}");
}
