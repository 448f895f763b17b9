//! The measurement as a whole, through the program. Sandboxed builds are tested where the sandbox is; here the
//! receiver is native, or a script that fails in one particular way.

mod common;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use common::{run, stderr};
use serde_json::Value;

#[test]
fn a_native_transfer_is_measured() {
    let output = run(&[
        "transfer",
        "--build",
        "native-opt,native-quinn",
        "--cipher",
        "aes-128-gcm,chacha20-poly1305",
        "--size",
        "4MiB",
        "--runs",
        "2",
        "--json",
        "-",
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(record["schema_version"], 1);
    for field in ["commit", "rustc", "target", "engine", "cpu", "kernel", "command"] {
        assert!(!record["provenance"][field].is_null(), "{record}");
    }
    let rows = record["rows"].as_array().unwrap();
    let expected = [
        ("native-opt", "aes-128-gcm"),
        ("native-quinn", "aes-128-gcm"),
        ("native-opt", "chacha20-poly1305"),
        ("native-quinn", "chacha20-poly1305"),
    ];
    assert_eq!(rows.len(), expected.len());
    for (row, (build, cipher)) in rows.iter().zip(expected) {
        assert_eq!((&row["build"], &row["cipher"]), (&build.into(), &cipher.into()));
        assert_eq!((&row["bytes"], &row["runs"]), (&(4 << 20).into(), &2.into()));
        assert_eq!((&row["mismatched_runs"], &row["failed_runs"]), (&0.into(), &0.into()));
        let number = |name: &str| row[name].as_f64().unwrap_or_else(|| panic!("{name} in {row}"));
        assert!(number("goodput_mbps") > 10.0 && number("cpu_s_per_gib") > 0.1, "{row}");
        assert!(number("goodput_min") <= number("goodput_median") && number("goodput_ci95") >= 0.0);
        let ratio = number("cpu_to_native_quinn");
        assert!(if build == "native-quinn" { ratio == 1.0 } else { ratio > 0.0 }, "{row}");
        let sample = &row["samples"][0];
        assert!(sample["seconds"].as_f64().unwrap() > 0.0, "{sample}");
        assert!(sample["sender_cpu_s"].as_f64().unwrap() > 0.0, "{sample}");
    }
    // The table goes where the JSON does not.
    assert!(stderr(&output).contains("native-quinn"), "{}", stderr(&output));
}

#[test]
fn a_file_is_transferred_and_the_record_written() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("content");
    let json = directory.path().join("record.json");
    fs::write(&file, vec![1; 1_234_567]).unwrap();
    let output = run(&[
        "transfer",
        "--build",
        "native-quinn",
        "--cipher",
        "aes-256-gcm",
        "--runs",
        "1",
        "--file",
        file.to_str().unwrap(),
        "--json",
        json.to_str().unwrap(),
        "--no-pin",
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(table.contains("aes-256-gcm  native-quinn") && table.contains("1,234,567 B"), "{table}");
    let record: Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    assert_eq!(record["rows"][0]["bytes"], 1_234_567);
    assert!(record["setup"]["receiver_cpus"].is_null());
    assert!(record["rows"][0]["goodput_ci95"].is_null());
}

#[test]
fn what_does_not_exist_is_refused_with_what_does() {
    for (args, words) in [
        (&["--build", "wasm-turbo"][..], &["wasm-turbo", "wasm-base64", "native-quinn"][..]),
        (&["--build", "native-quinn,"], &["native-quinn"]),
        (&["--cipher", "aes-128"], &["aes-128", "aes-128-gcm", "chacha20-poly1305"]),
        (&["--size", "huge"], &["huge", "256MiB"]),
        (&["--size", "0"], &["no bytes"]),
        (&["--runs", "0"], &["--runs"]),
        (&["--window", "1"], &["--window", "64KiB"]),
        (&["--size", "1MiB", "--file", "x"], &["--size", "--file"]),
    ] {
        let output = run(&[&["transfer"], args].concat());
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
        for word in words {
            assert!(text.contains(word), "no {word:?} in {text}");
        }
    }
}

#[test]
fn what_cannot_be_read_or_written_is_named() {
    for (args, word) in [
        (["--file", "/no/such/content"], "/no/such/content"),
        (["--file", "/proc"], "not a file"),
        (["--json", "/no/such/directory/record"], "/no/such/directory/record"),
    ] {
        let output = run(&["transfer", "--build", "native-quinn", args[0], args[1]]);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains(word), "{}", stderr(&output));
    }
    let output = run(&["--sandquic", "/no/such/sandquic", "transfer", "--build", "wasm-base"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("build wasm-base does not work: cannot start"), "{}", stderr(&output));
}

/// A receiver that succeeds in the first transfer, which is not counted, and then does as the script says. It knows no
/// subcommand but `run`.
#[cfg(unix)]
fn saboteur(directory: &Path, script: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let path = directory.join("receiver");
    let report = |xxh64: &str, bytes: u64| {
        format!(
            r#"{{"bytes":{bytes},"xxh64":"{xxh64}","expected":"00000000000000aa","seconds":1.0,"handshake_seconds":0.1,"recv_buffer":1,"send_buffer":1,"packets":{{"sent":1,"lost":0}}}}"#
        )
    };
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = run ] || exit 1\ngood='{}'\nwrong='{}'\nif mkdir \"$0.first\" 2>/dev/null; then echo \"$good\"; exit 0; fi\n{script}\n",
        report("00000000000000aa", 1 << 20),
        report("00000000000000bb", 1 << 20),
    );
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[cfg(unix)]
fn sabotaged(script: &str, more: &[&str]) -> (Value, String, Option<i32>) {
    let directory = tempfile::tempdir().unwrap();
    let receiver = saboteur(directory.path(), script);
    let args = [
        "--sandquic",
        &receiver,
        "transfer",
        "--build",
        "wasm-base",
        "--cipher",
        "aes-128-gcm",
        "--size",
        "1MiB",
        "--runs",
        "2",
        "--json",
        "-",
    ];
    let output = run(&[&args, more].concat());
    (serde_json::from_slice(&output.stdout).unwrap(), stderr(&output), output.status.code())
}

#[cfg(unix)]
#[test]
fn wrong_bytes_are_a_failure_and_left_out() {
    let script = "if mkdir \"$0.second\" 2>/dev/null; then echo \"$wrong\"; exit 1; fi\necho \"$good\"";
    let (record, text, status) = sabotaged(script, &[]);
    let row = &record["rows"][0];
    assert_eq!((&row["mismatched_runs"], &row["runs"]), (&1.into(), &1.into()), "{row}");
    // 8 Mibit in the one second that the good run reports.
    assert_eq!(row["goodput_mbps"], 8.388608);
    assert_eq!(status, Some(1));
    assert!(text.contains("what arrived is not what was sent"), "{text}");
    assert!(text.contains("1 run failed; it is left out of the means"), "{text}");
}

#[cfg(unix)]
#[test]
fn a_receiver_that_fails_is_quoted() {
    let (record, text, status) = sabotaged("echo 'no network here' >&2; exit 3", &[]);
    let row = &record["rows"][0];
    assert_eq!((&row["failed_runs"], &row["runs"]), (&2.into(), &0.into()), "{row}");
    assert!(row["goodput_mbps"].is_null() && row["cpu_s_per_gib"].is_null(), "{row}");
    assert_eq!(status, Some(1));
    assert!(text.contains("ended with status 3: no network here"), "{text}");
}

#[cfg(unix)]
#[test]
fn a_receiver_that_hangs_is_killed_in_time() {
    let started = Instant::now();
    let (record, text, status) = sabotaged("exec sleep 600", &["--timeout", "4"]);
    assert_eq!(record["rows"][0]["failed_runs"], 2);
    assert_eq!(status, Some(1));
    assert!(text.contains("did not end within 4 s"), "{text}");
    assert!(started.elapsed() < Duration::from_secs(60));
}
