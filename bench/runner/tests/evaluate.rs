//! An evaluation as a whole, through the program: what it appends, how it is taken up again, and what it does with what
//! is wrong. Builds are native, or a script in place of the sandbox.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use common::{program, run, stderr};
use sandquic_report::record::{self, Cell, Line, Outcome, Run};
use tempfile::TempDir;

/// A scenario's file and a record beside it.
struct Place {
    directory: TempDir,
}

impl Place {
    fn new(scenario: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("small.toml"), scenario).unwrap();
        Self { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn record(&self) -> PathBuf {
        self.path("record.jsonl")
    }

    fn evaluate(&self, more: &[&str]) -> Output {
        let (scenario, record) = (self.path("small.toml"), self.record());
        let (scenario, record) = (scenario.to_str().unwrap(), record.to_str().unwrap());
        run(&[more, &["evaluate", "--effort", "smoke", "--scenario", scenario, "--record", record]].concat())
    }

    fn lines(&self) -> Vec<Line> {
        record::read(&self.record()).unwrap().lines
    }

    fn runs(&self) -> Vec<Run> {
        runs(self.lines())
    }
}

fn runs(lines: Vec<Line>) -> Vec<Run> {
    lines
        .into_iter()
        .filter_map(|line| match line {
            Line::Run(run) => Some(run),
            _ => None,
        })
        .collect()
}

fn scenario(builds: &str, bytes: &str, runs: u32) -> String {
    format!(
        "title = 'T'\nquestion = 'Q?'\nworkload = 'receive'\nbuilds = {builds}\n\
         ciphers = ['aes-128-gcm', 'chacha20-poly1305']\nbytes = {bytes}\nruns = {runs}\n"
    )
}

#[test]
fn cells_take_turns_and_each_run_is_a_line() {
    let place = Place::new(&scenario("['native-opt', 'native-quinn']", "['1MiB']", 2));
    let output = place.evaluate(&[]);
    assert!(output.status.success(), "{}", stderr(&output));
    let lines = place.lines();
    let Line::Session(session) = &lines[0] else { panic!("{lines:?}") };
    assert_eq!((session.effort.as_str(), session.setup["sizes.small"].as_str()), ("smoke", "1 MiB"));
    assert!(session.setup.contains_key("rmem_max") && !session.provenance.commit.is_empty());
    let runs = runs(lines.clone());
    assert_eq!((lines.len(), runs.len()), (9, 8));
    let order: Vec<(u32, &str, &str)> =
        runs.iter().map(|run| (run.round, run.cell.cipher.as_str(), run.cell.build.as_str())).collect();
    let one_round = [
        ("aes-128-gcm", "native-opt"),
        ("aes-128-gcm", "native-quinn"),
        ("chacha20-poly1305", "native-opt"),
        ("chacha20-poly1305", "native-quinn"),
    ];
    for (at, (round, cipher, build)) in order.into_iter().enumerate() {
        assert_eq!((round as usize, (cipher, build)), (at / 4 + 1, one_round[at % 4]));
    }
    for run in &runs {
        assert_eq!(run.outcome, Outcome::Ok);
        assert_eq!(run.session, session.session);
        let metric = |name: &str| *run.metrics.get(name).unwrap_or_else(|| panic!("{name} in {run:?}"));
        let goodput = 8.0 * 1048576.0 / (1e6 * metric("seconds"));
        assert!((metric("goodput_mbps") / goodput - 1.0).abs() < 1e-9);
        assert!(metric("cpu_user_s") + metric("cpu_system_s") > 0.0 && metric("sender_cpu_s") > 0.0);
        assert!(metric("recv_buffer_bytes") > 0.0 && metric("packets_sent") > 0.0);
    }

    // There is nothing left to do.
    let before = fs::read(place.record()).unwrap();
    let output = place.evaluate(&[]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("8 runs were there"));
    assert_eq!(fs::read(place.record()).unwrap(), before);
}

#[test]
fn every_workload_and_option_is_measured() {
    let text = |workload: &str, options: &str| {
        scenario("['native-opt', 'native-quinn']", "['100kB']", 1).replace("'receive'", workload)
            + "[options]\n"
            + options
    };
    for (text, cells, metrics) in [
        (text("'send'", "mtu = ['1200', '4096']"), 8, &["goodput_mbps", "sender_cpu_s", "handshake_s"][..]),
        (
            text("'receive'", "loss_percent = ['1']\ndelay_ms = ['0', '5']"),
            8,
            &["goodput_mbps", "packets_sent", "drops"],
        ),
        (
            text("'connect'\nconnections = 4", "mode = ['full', 'resumed', 'early-data']"),
            12,
            &["handshakes_per_s", "first_byte_median_s", "handshake_median_s", "cpu_user_s"],
        ),
    ] {
        let place = Place::new(&text);
        let output = place.evaluate(&[]);
        assert!(output.status.success(), "{}", stderr(&output));
        let runs = place.runs();
        assert_eq!(runs.len(), cells, "{text}");
        for run in runs {
            assert_eq!(run.outcome, Outcome::Ok);
            for metric in metrics {
                assert!(run.metrics.contains_key(*metric), "{metric} in {run:?}");
            }
            let told = |metric: &str| run.metrics.get(metric).copied();
            if let Some(mode) = run.cell.options.get("mode") {
                assert_eq!(told("connections"), Some(4.0));
                assert_eq!(told("resumed"), Some(if mode == "full" { 0.0 } else { 4.0 }));
                assert_eq!(told("early_data_accepted"), Some(if mode == "early-data" { 4.0 } else { 0.0 }));
            }
            if run.cell.options.get("delay_ms").is_some_and(|delay| delay == "5") {
                // There and back, at least once.
                assert!(told("seconds") >= Some(0.01) && told("handshake_s") >= Some(0.01), "{run:?}");
            }
        }
    }
}

#[test]
fn an_interrupted_evaluation_is_taken_up() {
    let place = Place::new(&scenario("['native-opt', 'native-quinn']", "['2MiB']", 5));
    let (scenario, record) = (place.path("small.toml"), place.record());
    let mut child = program()
        .args(["evaluate", "--effort", "smoke", "--scenario", scenario.to_str().unwrap(), "--record"])
        .arg(&record)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(120);
    // In the second round.
    while fs::read_to_string(&record).unwrap_or_default().lines().count() < 7 {
        assert!(Instant::now() < deadline, "it does not get on");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // As if it had been killed while it wrote.
    let text = fs::read(&record).unwrap();
    fs::write(&record, &text[..text.len() - 40]).unwrap();
    let whole = text.split(|byte| *byte == b'\n').count() - 1;

    let output = place.evaluate(&[]);
    assert!(output.status.success(), "{}", stderr(&output));
    let told = stderr(&output);
    assert!(told.contains(&format!("line {whole}: ")) && told.contains("cut off"), "{told}");
    let found = record::read(&record).unwrap();
    assert_eq!(found.problems.len(), 1);
    let sessions = found.lines.iter().filter(|line| matches!(line, Line::Session(_))).count();
    assert_eq!(sessions, 2);
    let mut rounds: BTreeMap<Cell, Vec<u32>> = BTreeMap::new();
    for run in runs(found.lines) {
        assert_eq!(run.outcome, Outcome::Ok);
        rounds.entry(run.cell).or_default().push(run.round);
    }
    assert_eq!(rounds.len(), 4);
    for (cell, rounds) in rounds {
        assert_eq!(rounds, [1, 2, 3, 4, 5], "{cell:?}");
    }
}

#[test]
fn a_record_of_something_else_is_not_appended_to() {
    let place = Place::new(&scenario("['native-quinn']", "['1MiB']", 1));
    assert!(place.evaluate(&[]).status.success());
    let text = fs::read_to_string(place.record()).unwrap();
    let Line::Session(session) = place.lines().remove(0) else { panic!("{text}") };
    let other = text.replace(&session.provenance.commit, "0123abc");
    fs::write(place.record(), &other).unwrap();
    fs::write(place.path("small.toml"), scenario("['native-quinn']", "['1MiB']", 2)).unwrap();
    let output = place.evaluate(&[]);
    assert_eq!(output.status.code(), Some(1));
    let told = stderr(&output);
    assert!(told.contains("commit `0123abc`") && told.contains("--allow-mixed"), "{told}");
    assert_eq!(fs::read_to_string(place.record()).unwrap(), other);

    let (scenario, record) = (place.path("small.toml"), place.record());
    let output = run(&[
        "evaluate",
        "--effort",
        "smoke",
        "--allow-mixed",
        "--scenario",
        scenario.to_str().unwrap(),
        "--record",
        record.to_str().unwrap(),
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(place.runs().len(), 4);
}

#[test]
fn what_is_wrong_is_named() {
    let record = tempfile::tempdir().unwrap();
    let path = record.path().join("r.jsonl");
    let path = path.to_str().unwrap();
    for (args, status, words) in [
        (&["--scenario", "headlines", "--record", path][..], 2, &["headlines", "headline", ".toml"][..]),
        (&["--scenario", "headline,headline", "--record", path], 2, &["twice"]),
        (&["--effort", "huge", "--record", path], 2, &["huge", "smoke, quick, full"]),
        (&["--minutes", "0", "--record", path], 2, &["--minutes"]),
        (&[], 2, &["--record"]),
        (&["--scenario", "/no/such.toml", "--record", path], 1, &["/no/such.toml"]),
        (&["--record", "/proc"], 1, &["/proc"]),
    ] {
        let output = run(&[&["evaluate"], args].concat());
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(status), "{args:?}: {text}");
        for word in words {
            assert!(text.contains(word), "no {word:?} in {text}");
        }
        assert!(!Path::new(path).exists() || fs::read(path).unwrap().is_empty());
    }
    let place = Place::new(&scenario("['native-turbo']", "['1MiB']", 1));
    let output = place.evaluate(&[]);
    assert!(
        stderr(&output).contains("`native-turbo` is not known; there are `wasm-base`"),
        "{}",
        stderr(&output)
    );
    assert!(!place.record().exists());
}

#[test]
fn the_scenarios_are_listed() {
    let output = run(&["evaluate", "--list"]);
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("headline  ") && text.contains('?'), "{text}");
}

#[test]
fn what_cannot_fit_is_refused_and_nothing_is_written() {
    let place = Place::new(&scenario("['native-quinn']", "['8TiB']", 1));
    let (scenario, record) = (place.path("small.toml"), place.record());
    let output = run(&[
        "evaluate",
        "--minutes",
        "1",
        "--scenario",
        scenario.to_str().unwrap(),
        "--record",
        record.to_str().unwrap(),
    ]);
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("do not fit into 1 min; give --minutes "), "{told}");
    assert!(fs::read(&record).unwrap().is_empty());
}

/// What plays the sandbox: it succeeds in the first transfer, which is not counted, and then does as the script says.
#[cfg(unix)]
fn saboteur(place: &Place, script: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let path = place.path("receiver");
    let report = |xxh64: &str| {
        format!(
            r#"{{"bytes":1048576,"xxh64":"{xxh64}","expected":"00000000000000aa","seconds":1.0,"handshake_seconds":0.1,"recv_buffer":1,"send_buffer":1,"packets":{{"sent":1,"lost":0}}}}"#
        )
    };
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = run ] || exit 1\ngood='{}'\nwrong='{}'\n\
         if mkdir \"$0.first\" 2>/dev/null; then echo \"$good\"; exit 0; fi\n{script}\n",
        report("00000000000000aa"),
        report("00000000000000bb"),
    );
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[cfg(unix)]
#[test]
fn wrong_bytes_are_recorded_once_and_bring_no_figures() {
    let text = scenario("['wasm-base']", "['1MiB']", 2).replace("['aes-128-gcm', ", "[");
    let place = Place::new(&text);
    let receiver = saboteur(
        &place,
        "if mkdir \"$0.second\" 2>/dev/null; then echo \"$wrong\"; exit 1; fi\necho \"$good\"",
    );
    let output = place.evaluate(&["--sandquic", &receiver]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("1 runs brought wrong bytes"), "{}", stderr(&output));
    let runs = place.runs();
    assert_eq!(runs.len(), 2);
    assert!(matches!(&runs[0].outcome, Outcome::Mismatch(why) if why.contains("XXH64 00000000000000bb")));
    assert!(runs[0].metrics.is_empty());
    assert_eq!((&runs[1].outcome, runs[1].metrics["goodput_mbps"]), (&Outcome::Ok, 8.388608));

    // It is not tried until it suits.
    assert!(place.evaluate(&["--sandquic", &receiver]).status.success());
    assert_eq!(place.runs(), runs);
}

#[cfg(unix)]
#[test]
fn a_failure_is_tried_once_more_and_again_by_the_next_session() {
    let text = scenario("['wasm-base', 'native-quinn']", "['1MiB']", 1).replace("['aes-128-gcm', ", "[");
    let place = Place::new(&text);
    let receiver = saboteur(&place, "echo x >> \"$0.count\"\necho 'no network here' >&2; exit 3");
    for session in 1..=2 {
        let output = place.evaluate(&["--sandquic", &receiver]);
        assert_eq!(output.status.code(), Some(1));
        let told = stderr(&output);
        if session == 1 {
            let tries = fs::read_to_string(place.path("receiver.count")).unwrap().lines().count();
            assert_eq!(tries, 2, "{told}");
            let runs = place.runs();
            assert!(matches!(&runs[0].outcome, Outcome::Failed(why) if why.contains("no network here")));
            // The rest is measured.
            assert_eq!((runs.len(), &runs[1].outcome), (2, &Outcome::Ok));
        } else {
            // By now it does not even begin: it is left out, with the reason.
            assert!(told.contains("wasm-base does not work and is left out"), "{told}");
            let skipped = place.lines().into_iter().find_map(|line| match line {
                Line::Skipped(skipped) => Some(skipped),
                _ => None,
            });
            let skipped = skipped.unwrap();
            assert_eq!((skipped.scenario.as_str(), skipped.what.as_str()), ("small", "wasm-base"));
            assert!(skipped.why.contains("no network here"), "{skipped:?}");
        }
    }
}
