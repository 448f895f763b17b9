//! `sandquic report` as a user meets it.

mod support;

use std::fs;
use std::path::Path;

use support::{finish, sandquic};

const SESSION: &str = r#"{"schema_version":1,"type":"session","session":"s","effort":"quick","provenance":{"unix_time":0,
"command":["sandquic"],"commit":"abc","version":"0.1.0","rustc":"rustc","target":"t","target_features":"","profile":"release",
"engine":"e","cpu":"c","cpus":2,"cpu_features":[],"kernel":"k"},"setup":{}}"#;

/// A run of one GiB that takes so many CPU seconds.
fn run(build: &str, round: u32, cpu: f64) -> String {
    format!(
        r#"{{"schema_version":1,"type":"run","session":"s","cell":{{"scenario":"headline","workload":"receive","build":"{build}","cipher":"aes-128-gcm","bytes":1073741824}},"round":{round},"outcome":{{"status":"ok"}},"metrics":{{"seconds":10,"cpu_user_s":{cpu},"cpu_system_s":1}}}}"#
    )
}

fn record(directory: &Path, more: &str) -> String {
    let lines = [
        SESSION.replace('\n', ""),
        run("wasm-base", 1, 24.0),
        run("wasm-base", 2, 26.0),
        run("native-quinn", 1, 3.0),
        run("native-quinn", 2, 5.0),
    ];
    let path = directory.join("record.jsonl");
    fs::write(&path, format!("{}\n{more}", lines.join("\n"))).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_report_is_written_and_problems_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let record =
        record(directory.path(), &format!("{}\n{{\"schema_version\":1,\"ty", run("wasm-fast", 1, 1.0)));
    let out = directory.path().join("a/report");
    let mut command = sandquic();
    command.args(["report", &record, "--out", out.to_str().unwrap()]);
    let output = finish(command);
    assert_eq!(output.status, Some(0), "{output:?}");
    assert!(output.stderr.contains("sandquic: record.jsonl: unknown build \"wasm-fast\""), "{output:?}");
    assert!(output.stderr.contains("sandquic: record.jsonl: line 7: "), "{output:?}");
    for name in ["report.html", "report.md", "report.csv", "report.json"] {
        let text = fs::read_to_string(out.join(name)).unwrap();
        assert!(text.contains("wasm-base") && text.contains("wasm-fast") != name.ends_with("csv"), "{name}");
        // No path of this machine.
        assert!(!text.contains(directory.path().to_str().unwrap()), "{name}");
    }
}

#[test]
fn the_readme_is_filled_and_checked() {
    let directory = tempfile::tempdir().unwrap();
    let record = record(directory.path(), "");
    let readme = directory.path().join("README.md");
    let arguments = ["report", &record, "--readme", readme.to_str().unwrap()];
    let report = |more: &[&str]| {
        let mut command = sandquic();
        command.args(arguments).args(more);
        finish(command)
    };
    fs::write(&readme, "# x\n").unwrap();
    report(&[]).check_failure(1, "sandquic: ", &["README.md: there is no <!-- headline:begin -->"]);

    fs::write(&readme, "# x\n<!-- headline:begin -->\n<!-- headline:end -->\nend\n").unwrap();
    report(&["--check"]).check_failure(1, "sandquic: ", &["README.md", "headline.svg", "without --check"]);
    assert!(!directory.path().join("docs").exists());
    assert_eq!(report(&[]).status, Some(0));
    let text = fs::read_to_string(&readme).unwrap();
    assert!(
        text.starts_with("# x\n<!-- headline:begin -->\n| Receiver |")
            && text.ends_with("headline:end -->\nend\n")
    );
    // Means of 25 + 1 and 4 + 1 s; t(0.975, 1) times 1 is 12.7.
    assert!(
        text.contains("26.0 ± 12.7")
            && text.contains("5.00 ± 12.71")
            && text.contains("docs/img/headline.svg"),
        "{text}"
    );
    assert!(text.contains("[record.jsonl](record.jsonl)"), "{text}");
    assert!(fs::read_to_string(directory.path().join("docs/img/headline.svg")).unwrap().contains("26.0"));
    assert_eq!(report(&["--check"]).status, Some(0));

    fs::write(&readme, text.replace("26.0 ±", "25.0 ±")).unwrap();
    report(&["--check"]).check_failure(1, "sandquic: ", &["README.md"]);
}

#[test]
fn what_is_no_record_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str, text: &str| {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let old = at("old.json", "{\n\"schema_version\": 1, \"kind\": \"transfer\", \"rows\": []\n}");
    let other = at("other.jsonl", "{\"schema_version\":2,\"type\":\"run\"}\n");
    let out = directory.path().join("out");
    for (path, messages) in [
        (&old, &["a record of `sandquic bench transfer`", "bench evaluate"][..]),
        (&other, &["nothing to report", "line 1: schema_version 2"]),
        (&"no-such-file".to_owned(), &["no-such-file: "]),
    ] {
        let mut command = sandquic();
        command.args(["report", path, "--out", out.to_str().unwrap()]);
        finish(command).check_failure(1, "sandquic: ", messages);
    }
    assert!(!out.exists());
    let mut command = sandquic();
    command.args(["report", &old]);
    finish(command).check_failure(2, "sandquic: ", &["--out DIR"]);
}
