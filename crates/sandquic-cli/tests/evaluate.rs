//! Every scenario of the evaluation, once and as small as it gets, with the components that the command holds.

mod support;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use support::sandquic;

#[test]
fn every_scenario_runs() {
    let directory = tempfile::tempdir().unwrap();
    let record = directory.path().join("smoke.jsonl");
    let output = sandquic()
        .args(["bench", "evaluate", "--effort", "smoke", "--record"])
        .arg(&record)
        .output()
        .expect("the command is there");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");

    let text = std::fs::read_to_string(&record).unwrap();
    let (mut runs, mut profiles) = (BTreeMap::<String, u32>::new(), BTreeMap::<String, u32>::new());
    let mut without_profiles = BTreeSet::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).expect("a line of JSON");
        match line["type"].as_str() {
            Some("run") => {
                assert_eq!(line["outcome"]["status"], "ok", "{line}");
                let expected =
                    if line["cell"]["workload"] == "connect" { "handshakes_per_s" } else { "goodput_mbps" };
                assert!(line["metrics"][expected].as_f64() > Some(0.0), "{line}");
                if line["cell"]["build"] == "wasm-host-crypto" {
                    assert!(line["metrics"]["host_calls"].as_f64() > Some(0.0), "{line}");
                }
                *runs.entry(line["cell"].to_string()).or_default() += 1;
            }
            Some("profile") => {
                let shares = line["categories"].as_object().unwrap().values().filter_map(Value::as_f64);
                assert!((shares.sum::<f64>() - 1.0).abs() < 1e-6, "{line}");
                *profiles.entry(line["cell"].to_string()).or_default() += 1;
            }
            Some("skipped") => {
                assert_eq!(line["what"], "profiles", "{line}");
                without_profiles.insert(line["scenario"].clone().to_string());
            }
            _ => assert_eq!(line["type"], "session", "{line}"),
        }
    }
    assert!(runs.values().chain(profiles.values()).all(|count| *count == 1), "{runs:?} {profiles:?}");

    let list = sandquic().args(["bench", "evaluate", "--list"]).output().unwrap();
    let list = String::from_utf8_lossy(&list.stdout);
    for name in list.lines().filter(|line| !line.starts_with(' ')).filter_map(|line| line.split(' ').next()) {
        let name = format!("\"scenario\":\"{name}\"");
        let of = |cells: &BTreeMap<String, u32>| cells.keys().filter(|cell| cell.contains(&name)).count();
        assert!(of(&runs) > 0, "{name} has no run");
        if name.contains("headline") && without_profiles.is_empty() {
            assert_eq!(of(&profiles), of(&runs), "{name}");
        }
    }
}
