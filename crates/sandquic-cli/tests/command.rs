//! `sandquic run` and `sandquic info` as a user meets them.

mod support;

use std::fs;
use std::process::Command;

use support::{finish, guest, sandquic};

/// A core module that prints its arguments, separated by zero bytes, and leaves with the status 3.
const ARGUMENTS: &str = r#"(module
    (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "args_sizes_get" (func $args_sizes_get (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "args_get" (func $args_get (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
    (memory (export "memory") 1)
    (func (export "_start")
        (drop (call $args_sizes_get (i32.const 8) (i32.const 4)))
        (drop (call $args_get (i32.const 1024) (i32.const 2048)))
        (i32.store (i32.const 0) (i32.const 2048))
        (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
        (call $proc_exit (i32.const 3))))"#;

#[test]
fn arguments_reach_the_program_with_and_without_dashes() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("arguments.wasm");
    fs::write(&program, wat::parse_str(ARGUMENTS).unwrap()).unwrap();
    let program = program.to_str().unwrap();
    for (line, expected) in [
        (&[program][..], "arguments\0"),
        (&[program, "a", "--b"], "arguments\0a\0--b\0"),
        (&[program, "--", "a", "--b"], "arguments\0a\0--b\0"),
        (&["--", program, "--b", "a"], "arguments\0--b\0a\0"),
        (&["--inherit-network", "--dir", ".", "--", program, "--dir"], "arguments\0--dir\0"),
        (&[program, "a", "--", "b"], "arguments\0a\0--\0b\0"),
    ] {
        let mut command = sandquic();
        command.arg("run").args(line);
        let output = finish(command);
        assert_eq!(output.status, Some(3), "{line:?} {output:?}");
        assert_eq!(output.stdout.trim_end(), expected, "{line:?}");
    }
}

#[test]
fn wrong_command_lines_have_status_2() {
    for (line, message) in [
        (&["frob"][..], "unrecognized subcommand 'frob'"),
        (&["run"], "required arguments were not provided"),
        (&["run", "--frob", "x.wasm"], "no option --frob"),
        (&["run", "--env", "=x", "x.wasm"], "the name is empty"),
        (&["run", "--env", "NO_SUCH_VARIABLE_HERE", "x.wasm"], "no such variable"),
        (&["run", "--profile", "gprof", "x.wasm"], "invalid value 'gprof'"),
        (&["run", "--max-memory", "much", "x.wasm"], "`much` is not a size"),
        (&["run", "@nothing"], "no component nothing is built in; there are: "),
        (&["bench", "transfer", "--build", "wasm-fast"], "invalid value 'wasm-fast'"),
    ] {
        let mut command = sandquic();
        command.args(line);
        finish(command).check_failure(2, "sandquic: ", &[message]);
    }
}

#[test]
fn programs_that_cannot_run_have_status_1() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_string();
    fs::write(path("text.wasm"), "no program").unwrap();
    let sound = fs::read(guest("transfer-client")).unwrap();
    fs::write(path("cut.wasm"), &sound[..sound.len() / 2]).unwrap();
    fs::write(path("library.wasm"), wat::parse_str("(component)").unwrap()).unwrap();
    fs::write(
        path("crash.wasm"),
        wat::parse_str("(module (func $f (export \"_start\") unreachable))").unwrap(),
    )
    .unwrap();
    fs::write(
        path("large.wasm"),
        wat::parse_str("(module (memory 16385) (func (export \"_start\")))").unwrap(),
    )
    .unwrap();
    for (line, message) in [
        (vec![path("none.wasm")], "no such file: "),
        (vec![path("")], "cannot read "),
        (vec![path("text.wasm")], "text is not a WebAssembly binary"),
        (vec![path("cut.wasm")], "cut is damaged"),
        (vec![path("library.wasm")], "library is not a command"),
        (vec![path("crash.wasm")], "crash trapped: wasm `unreachable` instruction executed"),
        (
            vec!["--max-memory".into(), "1MiB".into(), path("large.wasm")],
            "it needs more than the 1 MiB of memory",
        ),
        (vec![path("large.wasm")], "--max-memory"),
        (vec!["--dir".into(), path("none"), path("crash.wasm")], "cannot open the directory "),
    ] {
        let mut command = sandquic();
        command.arg("run").args(&line);
        finish(command).check_failure(1, "sandquic: ", &[message]);
    }
    let mut command = sandquic();
    command.args(["run", &path("crash.wasm")]).env("SANDQUIC_CACHE_DIR", path("text.wasm"));
    finish(command).check_failure(1, "sandquic: cannot keep compiled code in ", &["SANDQUIC_CACHE_DIR"]);
}

#[test]
fn a_second_start_compiles_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let run = || {
        let mut command = sandquic();
        command.arg("run").arg(guest("transfer-client")).arg("--help");
        command.env("SANDQUIC_CACHE_DIR", directory.path());
        finish(command)
    };
    let entries = || -> Vec<(std::path::PathBuf, std::time::SystemTime)> {
        let mut found = Vec::new();
        let mut pending = vec![directory.path().to_path_buf()];
        while let Some(path) = pending.pop() {
            for entry in fs::read_dir(path).unwrap().flatten() {
                let metadata = entry.metadata().unwrap();
                match metadata.is_dir() {
                    true => pending.push(entry.path()),
                    // Counts of use are kept beside the code and change.
                    false if metadata.len() > 100_000 => {
                        found.push((entry.path(), metadata.modified().unwrap()))
                    }
                    false => {}
                }
            }
        }
        found
    };
    let first = run();
    let kept = entries();
    assert!(!kept.is_empty(), "the code of the component is kept");
    let second = run();
    assert_eq!(entries(), kept, "the second start found it");
    assert_eq!((first.status, first.stdout), (second.status, second.stdout));
}

#[test]
fn compile_tells_that_the_code_cannot_be_kept() {
    let directory = tempfile::tempdir().unwrap();
    // No file may be larger than a few KiB, as on a full disk.
    let mut command = Command::new("sh");
    command.args(["-c", r#"trap "" XFSZ; ulimit -f 8; exec "$@""#, "sh", env!("CARGO_BIN_EXE_sandquic")]);
    command.arg("compile").arg(guest("udp")).env("SANDQUIC_CACHE_DIR", directory.path());
    finish(command).check_failure(1, "sandquic: cannot keep compiled code in ", &["SANDQUIC_CACHE_DIR"]);
}

#[test]
fn without_the_cache_nothing_is_read_or_kept() {
    let directory = tempfile::tempdir().unwrap();
    let run = |flags: &[&str], cache: &std::path::Path| {
        let mut command = sandquic();
        command.arg("run").args(flags).arg(guest("transfer-client")).arg("--help");
        command.env("SANDQUIC_CACHE_DIR", cache);
        finish(command)
    };
    let output = run(&["--no-cache"], directory.path());
    assert_eq!(output.status, Some(0), "{output:?}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    // A place that cannot hold a cache is an error to whoever would use it.
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    assert_eq!(run(&[], &file).status, Some(1));
    assert_eq!(run(&["--no-cache"], &file).status, Some(0));
}

#[test]
fn the_components_are_inside_the_command() {
    for name in ["transfer-client", "transfer-server"] {
        // Only a component that was there when the command was built can be inside it.
        guest(name);
        let elsewhere = tempfile::tempdir().unwrap();
        let mut command = sandquic();
        command.current_dir(&elsewhere).args(["run", &format!("@{name}"), "--help"]);
        let output = finish(command);
        assert_eq!(output.status, Some(0), "{output:?}");
        assert!(output.stdout.starts_with(&format!("usage: {name} --")), "{output:?}");
    }
}

/// The ciphers that protect nothing are for programs of the benchmarks alone: not in the command, not in its components.
#[test]
fn the_command_holds_no_way_to_send_unprotected() {
    let program = fs::read(env!("CARGO_BIN_EXE_sandquic")).unwrap();
    let holds = |text: &str| program.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(holds("this build has only its own ciphers"), "messages of the product are found");
    assert!(!holds("this program protects no packets"));
    let flags = ["--connect", "127.0.0.1:1", "--server-name", "a", "--ca", "b", "--ciphers", "unprotected"];
    for start in [
        &["run", "@transfer-client"][..],
        &["run", "@bench-client-simd128"],
        &["bench-peer", "sandquic-client"],
    ] {
        let mut command = sandquic();
        command.args(start).args(flags);
        let output = finish(command);
        assert!(output.status == Some(2) && output.stderr.contains("unprotected"), "{output:?}");
    }
}

#[test]
fn info_says_what_the_build_holds() {
    let mut command = sandquic();
    command.args(["info", "--json"]);
    let output = finish(command);
    assert_eq!(output.status, Some(0), "{output:?}");
    let info: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(info["schema_version"], 1);
    assert_eq!(info["version"], env!("CARGO_PKG_VERSION"));
    assert!(info["engine"].as_str().unwrap().starts_with("wasmtime 48."), "{info}");
    assert_eq!(info["backend"], sandquic_crypto::backend());
    assert!(info["features"].as_array().unwrap().contains(&"wasi-0.3".into()), "{info}");
    assert!(info["components"]["transfer-client"].as_u64().unwrap() > 100_000, "{info}");
    let mut command = sandquic();
    command.arg("info");
    let text = finish(command).stdout;
    for key in ["backend", "engine", "features", "cache", "components"] {
        assert!(text.lines().any(|line| line.starts_with(key)), "{key} is not in {text}");
    }
}
