//! The soak, for some seconds.

mod support;

use std::process::Command;

use support::{Process, guest, sandquic};

fn soak(client: &str) -> Command {
    let mut command = sandquic();
    command.args(["bench", "soak", "--minutes", "0.1", "--size", "256KiB", "--json", "-"]);
    command.arg("--server").arg(guest("transfer-server")).arg("--client").arg(guest(client));
    command
}

#[test]
fn transfers_go_on_over_a_lossy_network_and_memory_is_sampled() {
    let mut command = soak("transfer-client");
    // The bound is for longer runs: so short after its start a process may still take what it needs.
    command.args(["--loss", "2", "--delay", "1", "--max-growth", "64MiB"]);
    let output = Process::start(command).finish();
    assert_eq!(output.status, Some(0), "{output:?}");
    let record: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    let transferred = &record["transferred"];
    assert!(transferred["downloads"].as_u64().unwrap() > 0, "{record}");
    assert!(transferred["upload_bytes"].as_u64().unwrap() > 0, "{record}");
    for way in ["up", "down"] {
        let [received, lost] =
            ["received", "lost"].map(|count| record["relay"][way][count].as_f64().unwrap());
        assert!(lost > 0.0 && lost < received * 0.1, "{record}");
    }
    let names: Vec<&str> =
        record["rows"].as_array().unwrap().iter().filter_map(|row| row["process"].as_str()).collect();
    assert_eq!(names, ["server", "downloader", "uploader"]);
    for row in record["rows"].as_array().unwrap() {
        let [rss, most, end, guest] =
            ["rss_start", "rss_max", "rss_end", "guest_end"].map(|name| row[name].as_u64().unwrap());
        assert!(rss > 1 << 20 && most >= rss && most >= end, "{row}");
        // A guest of Rust begins with a stack of a MiB; what it has is a part of what the process could have touched.
        assert!((1 << 20..1 << 28).contains(&guest), "{row}");
    }
    assert!(record["samples"].as_array().unwrap().len() > 5, "{record}");
}

#[test]
fn a_client_that_fails_fails_the_soak() {
    // One that knows no such flags.
    Process::start(soak("transfer-server")).finish().check_failure(
        1,
        "sandquic: ",
        &["the downloader ", "--connect"],
    );
}
