//! Reports of whole records: what is in them, and what is refused.

mod synthetic;

use std::path::Path;

use sandquic_report::record::{self, Cell, Line, Outcome, Run};
use sandquic_report::{Analysis, Error, Source, embed, files};

use synthetic::{MIB, cell, lines, run, session, text};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

fn source(name: &str, bytes: &[u8]) -> Source {
    Source { name: name.into(), record: record::parse(bytes).unwrap() }
}

fn analysis(lines: &[Line]) -> Analysis {
    Analysis::new(vec![source("record.jsonl", &text(lines))], false).unwrap()
}

fn file(analysis: &Analysis, name: &str) -> String {
    files(analysis).into_iter().find(|(other, _)| *other == name).unwrap().1
}

/// Headline runs of CPU seconds a GiB, one GiB each, at half a GiB a second.
fn headline(build: &str, cipher: &str, cpu: &[f64]) -> Vec<Line> {
    (1..)
        .zip(cpu)
        .map(|(round, cpu)| of(cell("headline", "receive", build, cipher, 1 << 30, &[]), round, *cpu))
        .collect()
}

fn of(cell: Cell, round: u32, cpu: f64) -> Line {
    run(cell, round, &[("seconds", 2.0), ("cpu_user_s", cpu - 0.25), ("cpu_system_s", 0.25), ("drops", 0.0)])
}

/// Every element is closed in order, and nothing but elements opens with `<`.
fn check_balance(html: &str) {
    const VOID: [&str; 3] = ["meta", "br", "hr"];
    const EMPTY: [&str; 3] = ["path", "rect", "circle"];
    let mut open: Vec<&str> = Vec::new();
    let mut rest = html.strip_prefix("<!DOCTYPE html>").unwrap_or(html);
    let mut elements = 0;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let end = rest.find('>').expect("an element ends");
        let tag = &rest[..end];
        assert!(!tag.contains('<'), "{tag}");
        rest = &rest[end + 1..];
        elements += 1;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "closed out of order");
            continue;
        }
        let name = tag.split([' ', '/']).next().unwrap();
        assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric()) && !name.is_empty(), "{tag}");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        if tag.ends_with('/') {
            assert!(EMPTY.contains(&name), "{tag}");
        } else if !VOID.contains(&name) {
            open.push(name);
        }
    }
    assert_eq!(open, Vec::<&str>::new());
    assert!(elements > 20);
}

#[test]
fn the_page_is_well_formed_and_needs_nothing_else() {
    let analysis = analysis(&lines());
    let page = file(&analysis, "report.html");
    check_balance(&page);
    for part in ["<script", "javascript:", "http:", "https:", "//", "<link", "<img", "@import", "url("] {
        assert!(!page.contains(part), "{part}");
    }
    let tags = page.split('<').map(|tag| tag.split('>').next().unwrap());
    let handler =
        tags.flat_map(|tag| tag.split(' ')).find(|word| word.starts_with("on") && word.contains('='));
    assert_eq!(handler, None);
    let chart = embed::headline_chart(&analysis);
    check_balance(&chart);
    assert!(chart.contains("prefers-color-scheme:dark") && page.contains("prefers-color-scheme:dark"));
    assert_eq!(chart.replace("xmlns=\"http://www.w3.org/2000/svg\"", "").matches("http").count(), 0);
}

#[test]
fn every_scenario_has_its_section_and_every_figure_of_the_headline_is_there() {
    let analysis = analysis(&lines());
    let (page, markdown) = (file(&analysis, "report.html"), file(&analysis, "report.md"));
    for id in [
        "goodput",
        "cpu-bound",
        "categories",
        "ladders",
        "amdahl",
        "ratios",
        "baselines",
        "fixed-cost",
        "send",
        "connect",
        "network",
        "mtu",
        "host-crypto",
        "ablation",
        "ceiling",
        "left-out",
        "missing",
        "problems",
        "method",
        "provenance",
    ] {
        assert!(page.contains(&format!("<section id=\"{id}\">")), "{id}");
        assert!(page.contains(&format!("href=\"#{id}\"")), "{id}");
    }
    // 13 builds, 3 ciphers, 2 metrics: from the means, by another formatter than the report's.
    let mut figures = 0;
    for summary in analysis.cells.iter().filter(|summary| summary.cell.scenario == "headline") {
        let cpu = summary.mean("cpu_s_per_gib").unwrap();
        let expected = if cpu >= 10.0 { format!("{cpu:.1} ±") } else { format!("{cpu:.2} ±") };
        let mbps = summary.mean("goodput_mbps").unwrap().round_ties_even() as u64;
        let expected_mbps = if mbps >= 1000 {
            format!("{},{:03} ±", mbps / 1000, mbps % 1000)
        } else {
            format!("{mbps} ±")
        };
        for expected in [expected, expected_mbps] {
            let head = page.split("</header>").next().unwrap();
            assert!(head.contains(&expected), "{} {expected}", summary.cell.build);
            assert!(markdown.contains(&expected), "{} {expected}", summary.cell.build);
            figures += 1;
        }
    }
    assert_eq!(figures, 78);
}

#[test]
fn means_intervals_ratios_steps_and_lines_are_those_worked_out_by_hand() {
    let cha = "chacha20-poly1305";
    let mut lines = vec![session("one", COMMIT)];
    lines.extend(headline("wasm-handvec", cha, &[19.0, 20.0, 21.0]));
    lines.extend(headline("native-handvec", cha, &[9.0, 10.0, 11.0]));
    for (build, crypto) in [("wasm-handvec", 0.6), ("native-handvec", 0.4)] {
        lines.push(Line::Profile(record::Profile {
            session: "one".into(),
            cell: cell("headline", "receive", build, cha, 1 << 30, &[]),
            round: 1,
            samples: 1000,
            cpu_s: 99.0,
            categories: [("crypto".to_owned(), crypto), ("alloc".to_owned(), 1.0 - crypto)].into(),
            symbols: Vec::new(),
        }));
    }
    for (mib, cpu) in [(1024, 2.0), (2048, 4.0), (3072, 5.0), (4096, 8.0)] {
        let cell = cell("lengths", "receive", "wasm-handvec", cha, mib * MIB, &[("start", "jit")]);
        lines.push(of(cell, 1, cpu));
    }
    let analysis = analysis(&lines);
    let cpu = analysis.headline("wasm-handvec", cha).unwrap().metrics["cpu_s_per_gib"];
    // t(0.975, 2) / sqrt(3) = 2.4841.
    assert!((cpu.mean - 20.0).abs() < 1e-12 && (cpu.ci95.unwrap() - 2.4841).abs() < 1e-3, "{cpu:?}");
    let goodput = analysis.headline_mean("wasm-handvec", cha, "goodput_mbps").unwrap();
    assert!((goodput - 4_294.967_296).abs() < 1e-6, "{goodput}");
    // 12 s and 4 s of cryptography of 20 s and 10 s; 8 s and 6 s of allocation.
    let step = analysis.step("wasm-handvec", "native-handvec", cha).unwrap();
    let (crypto, alloc) = (step.change("crypto").unwrap(), step.change("alloc").unwrap());
    assert!((crypto.decrease - 8.0).abs() < 1e-9 && (crypto.predicted.unwrap() - 20.0 / 12.0).abs() < 1e-9);
    assert!((alloc.decrease - 2.0).abs() < 1e-9 && (alloc.predicted.unwrap() - 20.0 / 18.0).abs() < 1e-9);
    assert!((step.decrease.unwrap() - 10.0).abs() < 1e-9);
    let ratio = step.cpu.unwrap();
    let (low, high) = ratio.interval.unwrap();
    assert!((ratio.value - 2.0).abs() < 1e-12 && (low - 1.5432).abs() < 1e-4 && (high - 2.7199).abs() < 1e-4);
    let estimate = analysis.estimate("wasm-handvec", "native-handvec", cha).unwrap();
    assert!((estimate.share - 0.6).abs() < 1e-9 && (estimate.reduction - 2.0 / 3.0).abs() < 1e-9);
    // 1 / (1 - 0.6 * 2/3) = 5/3.
    assert!((estimate.speedup - 5.0 / 3.0).abs() < 1e-9 && (estimate.cpu - 12.0).abs() < 1e-9);
    assert!((estimate.goodput.unwrap() - goodput * 5.0 / 3.0).abs() < 1e-6);
    let [cost] = &analysis.fixed_costs()[..] else { panic!("one line") };
    assert!((cost.line.slope - 1.9).abs() < 1e-9 && cost.line.fixed.abs() < 1e-9, "{cost:?}");
}

#[test]
fn an_ablation_is_a_ratio_to_the_whole() {
    let mut lines = vec![session("one", COMMIT)];
    lines.extend(headline("native-opt", "aes-128-gcm", &[2.0, 2.0]));
    for (build, cpu) in
        [("wasm-sandquic", 4.0), ("wasm-no-one-pass", 5.6), ("wasm-no-aes", 7.0), ("native-no-aes", 5.0)]
    {
        for round in 1..=2 {
            lines.push(of(cell("ablation", "receive", build, "aes-128-gcm", 1 << 30, &[]), round, cpu));
        }
    }
    let markdown = file(&analysis(&lines), "report.md");
    let row = |build: &str| {
        let start = format!("| {build} | AES-128-GCM | ");
        let section = markdown.split("## What each part is worth").nth(1).unwrap();
        section.lines().find(|line| line.starts_with(&start)).unwrap().to_owned()
    };
    // In the scenario itself and by our kernels in two passes; from the headline.
    // Medians, least and greatest of every cell are there too.
    assert!(markdown.contains(
        "| native-opt | AES-128-GCM | CPU, s/GiB | 2 | 2.00 ± 0.00 | 2.00 | 2.00 | 2.00 | 0 | 0 |"
    ));
    assert!(row("wasm-no-aes").contains("| 1.75 (1.75–1.75) | 1.25 (1.25–1.25) |"), "{}", row("wasm-no-aes"));
    assert!(row("native-no-aes").contains("| 2.50 (2.50–2.50) | – |"), "{}", row("native-no-aes"));
    assert!(markdown.contains("The whole builds are those of the headline"));
}

#[test]
fn runs_that_do_not_count_are_shown_and_drops_marked() {
    let analysis = analysis(&lines());
    let markdown = file(&analysis, "report.md");
    let left_out = markdown.split("## Runs that do not count").nth(1).unwrap().split("## ").next().unwrap();
    assert!(
        left_out.contains("| wasm-autovec | AES-128-GCM | headline | 5 | 1 | 0 | the hash is not"),
        "{left_out}"
    );
    assert!(
        left_out.contains("| native-port | AES-128-GCM | headline | 5 | 0 | 1 | no answer"),
        "{left_out}"
    );
    let row = markdown.lines().find(|line| line.starts_with("| wasm-base | sandbox")).unwrap();
    assert_eq!(row.matches('†').count(), 3, "{row}");
    assert!(markdown.contains("In 3 of 195 runs datagrams (51 in all)"));
    let csv = file(&analysis, "report.csv");
    assert!(csv.contains("headline,receive,wasm-autovec,aes-128-gcm,268435456,,5,1,0,0,cpu_s,5,"));
}

#[test]
fn what_is_missing_is_named_with_its_reason() {
    let mut lines = vec![session("one", COMMIT)];
    lines.extend(headline("wasm-base", "aes-128-gcm", &[25.0]));
    lines.push(Line::Skipped(record::Skipped {
        session: "one".into(),
        scenario: "headline".into(),
        what: "native-handvec".into(),
        why: "no sandquic-peer-128: run `cargo xtask build`".into(),
    }));
    let mut failed = cell("headline", "receive", "native-opt", "aes-128-gcm", 1 << 30, &[]);
    failed.options.clear();
    lines.push(Line::Run(Run {
        session: "one".into(),
        cell: failed,
        round: 1,
        outcome: Outcome::Failed("killed".into()),
        metrics: Default::default(),
    }));
    let analysis = analysis(&lines);
    let gap = |what: &str| {
        &analysis.gaps.iter().find(|gap| gap.scenario == "headline" && gap.what == what).expect(what).why
    };
    assert!(gap("native-handvec, AES-128-GCM").contains("no sandquic-peer-128"));
    assert_eq!(gap("native-opt, AES-128-GCM"), "none of its 1 runs counts");
    assert_eq!(gap("wasm-base, AES-256-GCM"), "not in these records");
    // 39 cells less the one that was measured, the line itself, and eight scenarios.
    assert_eq!(analysis.gaps.len(), 38 + 1 + 8);
    let page = file(&analysis, "report.html");
    assert!(page.contains("none of its 1 runs counts"));
    // A build none of whose runs counts keeps its place.
    assert!(page.contains("not measured</text>"));
    assert!(page.contains("CPU time by category is missing"));
    // Beside the headline too.
    let head = page.split("</header>").next().unwrap();
    assert!(head.contains("Not measured: ") && head.contains("36 more are listed"), "{head}");
    assert!(head.contains("in no mean: 1."));
}

#[test]
fn the_whole_record_lacks_nothing_but_what_it_says() {
    let analysis = analysis(&lines());
    let of = |scenario: &str| {
        let gaps = analysis.gaps.iter().filter(|gap| gap.scenario == scenario);
        gaps.map(|gap| format!("{}: {}", gap.what, gap.why)).collect::<Vec<_>>()
    };
    assert_eq!(of("headline"), Vec::<String>::new());
    // Programs outside the sandbox have no start to choose.
    assert_eq!(of("fixed-cost"), Vec::<String>::new());
    assert_eq!(of("mtu"), ["mtu 9000 of wasm-base: a component sends datagrams of 1,200 bytes"]);
    let starts: Vec<_> = analysis.fixed_costs().into_iter().map(|cost| (cost.build, cost.start)).collect();
    assert!(starts.contains(&("native-quinn".to_owned(), "native".to_owned())), "{starts:?}");
    assert!(file(&analysis, "report.html").contains("256 MiB instead of 1 GiB, to fit into the time"));
}

#[test]
fn what_one_session_skipped_and_another_did_is_no_gap() {
    let mut lines = vec![session("one", COMMIT)];
    for (what, why) in [("wasm-base", "broken"), ("wasm-base64", "no component"), ("profiles", "no perf")] {
        lines.push(Line::Skipped(record::Skipped {
            session: "one".into(),
            scenario: "headline".into(),
            what: what.into(),
            why: why.into(),
        }));
    }
    lines.extend(headline("wasm-base", "aes-128-gcm", &[25.0]));
    let analysis = analysis(&lines);
    let why = |what: &str| {
        let mut gaps = analysis.gaps.iter().filter(|gap| gap.scenario == "headline" && gap.what == what);
        gaps.next().map(|gap| gap.why.as_str())
    };
    assert_eq!(why("wasm-base"), None);
    assert_eq!(why("wasm-base, AES-256-GCM"), Some("not in these records"));
    assert_eq!(why("wasm-base64, AES-256-GCM"), Some("no component"));
    assert!(file(&analysis, "report.md").contains("CPU time by category is missing: no perf."));
}

#[test]
fn text_of_a_record_is_never_markup() {
    const EVIL: &str = "<script>alert(1)</script>\"'&|`\n# x";
    let mut lines = vec![session("one", COMMIT)];
    lines.extend(headline("wasm-base", "aes-128-gcm", &[25.0, 26.0]));
    if let Line::Session(session) = &mut lines[0] {
        session.provenance.cpu = EVIL.into();
        session.setup.insert(EVIL.into(), EVIL.into());
    }
    let mut evil = cell(EVIL, "receive", "wasm-base", "aes-128-gcm", 1 << 30, &[(EVIL, EVIL)]);
    lines.push(of(evil.clone(), 1, 3.0));
    lines.push(Line::Run(Run {
        session: "one".into(),
        cell: evil.clone(),
        round: 2,
        outcome: Outcome::Failed(EVIL.into()),
        metrics: Default::default(),
    }));
    lines.push(Line::Profile(record::Profile {
        session: "one".into(),
        cell: cell("headline", "receive", "wasm-base", "aes-128-gcm", 1 << 30, &[]),
        round: 1,
        samples: 1,
        cpu_s: 1.0,
        categories: [("crypto".to_owned(), 1.0), (EVIL.to_owned(), 0.0)].into(),
        symbols: vec![record::Symbol {
            category: "crypto".into(),
            symbol: EVIL.into(),
            object: EVIL.into(),
            share: 1.0,
        }],
    }));
    evil.build = EVIL.into();
    lines.push(of(evil, 1, 3.0));
    let analysis = analysis(&lines);
    let page = file(&analysis, "report.html");
    check_balance(&page);
    assert!(!page.contains("<script") && page.contains("&lt;script&gt;alert(1)"));
    let markdown = file(&analysis, "report.md");
    assert!(!markdown.contains("<script") && !markdown.contains("\n# x"));
    let json: serde_json::Value = serde_json::from_str(&file(&analysis, "report.json")).unwrap();
    assert_eq!(json["provenance"][0]["provenance"]["cpu"], EVIL);
    for block in [embed::headline(&analysis, Path::new(".")), embed::mapping(&analysis, Path::new("."))] {
        assert!(!block.contains("<script"), "{block}");
    }
}

#[test]
fn what_is_unknown_is_named_and_the_rest_is_used() {
    let mut lines = vec![session("one", COMMIT)];
    lines.extend(headline("wasm-base", "aes-128-gcm", &[25.0, 26.0]));
    lines.extend(headline("wasm-fast", "aes-128-gcm", &[1.0, 2.0]));
    lines.extend(headline("wasm-base", "rot13", &[1.0]));
    lines.push(of(cell("juggling", "receive", "wasm-base", "aes-128-gcm", 1 << 30, &[]), 1, 3.0));
    lines.push(of(cell("headline", "dance", "wasm-base", "aes-128-gcm", 1 << 30, &[]), 1, 3.0));
    let Line::Run(mut stray) = headline("wasm-base", "aes-128-gcm", &[99.0]).remove(0) else {
        unreachable!()
    };
    stray.session = "two".into();
    lines.push(Line::Run(stray));
    let mut bytes = text(&lines);
    bytes.extend_from_slice(
        b"{\"schema_version\":9,\"type\":\"run\"}\n{\"schema_version\":1,\"type\":\"run\",\"cell",
    );
    let analysis = Analysis::new(vec![source("r.jsonl", &bytes)], false).unwrap();
    let last = lines.len();
    for part in [
        "r.jsonl: unknown build \"wasm-fast\"; its runs are left out; known are wasm-base, ".to_owned(),
        "(2 lines)".into(),
        "r.jsonl: unknown cipher \"rot13\"".into(),
        "unknown scenario \"juggling\"".into(),
        "unknown workload \"dance\"".into(),
        "no session \"two\"".into(),
        format!("r.jsonl: line {}: schema_version 9", last + 1),
        format!("r.jsonl: line {}: not a line of a record", last + 2),
        "the line is cut off".into(),
    ] {
        assert!(
            analysis.problems.iter().any(|problem| problem.contains(&part)),
            "{part}: {:#?}",
            analysis.problems
        );
        let shown = part.replace('"', "&quot;");
        assert!(file(&analysis, "report.html").contains(&shown), "{part}");
    }
    assert_eq!(analysis.headline_mean("wasm-base", "aes-128-gcm", "cpu_s_per_gib"), Some(25.5));
    // The unknown scenario's figures are shown as they are.
    assert!(file(&analysis, "report.md").contains("Scenario juggling"));
}

#[test]
fn nothing_usable_is_refused() {
    let error =
        Analysis::new(vec![source("r.jsonl", b"{\"schema_version\":9}\nnonsense\n")], false).unwrap_err();
    let message = error.to_string();
    for part in ["nothing to report", "r.jsonl: line 1: schema_version 9", "r.jsonl: line 2"] {
        assert!(message.contains(part), "{message}");
    }
    assert!(matches!(error, Error::Nothing(_)));
    assert!(matches!(Analysis::new(vec![source("r", b"")], false), Err(Error::Nothing(_))));
}

#[test]
fn sessions_of_other_code_are_not_merged_unawares() {
    let record = |session_name: &str, commit: &str, cpu: f64| {
        let mut lines = vec![session(session_name, commit)];
        for mut line in headline("wasm-base", "aes-128-gcm", &[cpu]) {
            if let Line::Run(run) = &mut line {
                run.session = session_name.into();
            }
            lines.push(line);
        }
        text(&lines)
    };
    let (one, two, other) =
        (record("one", COMMIT, 20.0), record("two", COMMIT, 30.0), record("two", "f00", 30.0));
    let same = Analysis::new(vec![source("1", &one), source("2", &two)], false).unwrap();
    assert_eq!(same.headline_mean("wasm-base", "aes-128-gcm", "cpu_s_per_gib"), Some(25.0));
    assert_eq!(same.sessions.len(), 2);
    let page = file(&same, "report.html");
    assert!(page.contains("Session one of 1,") && page.contains("Session two of 2,"));
    let mixed = || vec![source("1", &one), source("2", &other)];
    let message = Analysis::new(mixed(), false).unwrap_err().to_string();
    assert!(
        message.contains("commit") && message.contains("f00") && message.contains("--allow-mixed"),
        "{message}"
    );
    let merged = Analysis::new(mixed(), true).unwrap();
    assert_eq!(merged.headline_mean("wasm-base", "aes-128-gcm", "cpu_s_per_gib"), Some(25.0));
    assert!(merged.problems.iter().any(|problem| problem.contains("f00")));
    let twice = Analysis::new(vec![source("1", &one), source("2", &one)], true).unwrap_err();
    assert!(matches!(twice, Error::Twice(_)), "{twice}");
}

#[test]
fn a_record_of_bench_transfer_is_told_from_one_of_bench_evaluate() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../record/transfer.json");
    let message = Source::read(&path).unwrap_err().to_string();
    assert!(message.contains("a record of `sandquic bench transfer`"), "{message}");
    assert!(message.contains("`sandquic bench evaluate --record FILE`"), "{message}");
    assert!(matches!(Source::read(Path::new("no-such-file")), Err(Error::Io(..))));
}

#[test]
fn the_data_files_hold_what_the_analysis_holds() {
    let analysis = analysis(&lines());
    let csv = file(&analysis, "report.csv");
    let columns = csv.lines().next().unwrap().split(',').count();
    assert!(csv.lines().all(|line| line.split(',').count() == columns));
    let metrics: usize = analysis.cells.iter().map(|summary| summary.metrics.len()).sum();
    let shares: usize = analysis.profiles.iter().map(|profile| profile.categories.len()).sum();
    assert_eq!(csv.lines().count(), 1 + metrics + shares);
    let json: serde_json::Value = serde_json::from_str(&file(&analysis, "report.json")).unwrap();
    assert_eq!(json["schema_version"], 1);
    assert_eq!(json["rows"].as_array().unwrap().len(), analysis.cells.len());
    // Every ordered pair of 13 builds, with 3 ciphers and 2 metrics.
    assert_eq!(json["ratios"].as_array().unwrap().len(), 13 * 12 * 3 * 2);
    let row = &json["rows"][0];
    assert!(row["metrics"]["cpu_s"]["mean"].is_f64() && row["build"].is_string() && row["ok"].is_u64());
}

#[test]
fn the_mapping_computes_the_papers_claims_from_the_record() {
    let cha = "chacha20-poly1305";
    let mut lines = vec![session("one", COMMIT)];
    for (build, cipher, seconds) in
        [("wasm-base", "aes-128-gcm", 10.0), ("wasm-handvec", "aes-128-gcm", 8.0), ("wasm-handvec", cha, 4.0)]
    {
        let cell = cell("headline", "receive", build, cipher, 1 << 30, &[]);
        lines.push(run(cell, 1, &[("seconds", seconds), ("cpu_user_s", 9.0), ("cpu_system_s", 0.5)]));
    }
    let mapping = embed::mapping(&analysis(&lines), Path::new("."));
    let row = |start: &str| mapping.lines().find(|line| line.contains(start)).expect(start);
    // 10 s to 8 s are 25 % more; 8 s to 4 s are 2 times.
    assert!(
        row("AES-128-GCM: goodput gain of Wasm-HandVec over Wasm-Base")
            .contains("| 61.3 % | 25.0 % | 0.41 |"),
        "{}",
        row("AES-128-GCM: goodput gain of Wasm-HandVec over Wasm-Base")
    );
    assert!(
        row("Wasm-HandVec: goodput of ChaCha20-Poly1305 by AES-128-GCM")
            .contains("| 1.99 × | 2.00 × | 1.01 |")
    );
    assert!(row("predicted speedup").contains("| 1.57 × | – | – |"));
}

#[test]
fn no_record_makes_it_panic() {
    // Values that no measurement gives.
    for value in [0.0, -5.0, 1e308, -1e308, 1e-320, f64::MIN_POSITIVE] {
        let mut lines = vec![session("one", COMMIT)];
        for (build, bytes) in [("wasm-sandquic", 1 << 30), ("wasm-handvec", u64::MAX), ("native-quinn", 0)] {
            for (scenario, workload, option) in [
                ("headline", "receive", None),
                ("a", "receive", Some(("start", "jit"))),
                ("b", "receive", Some(("mtu", "-1e999"))),
                ("c", "connect", Some(("mode", ""))),
            ] {
                let cell = cell(scenario, workload, build, "aes-128-gcm", bytes, option.as_slice());
                let names = [
                    "seconds",
                    "goodput_mbps",
                    "cpu_user_s",
                    "cpu_system_s",
                    "drops",
                    "connections",
                    "sender_cpu_s",
                ];
                lines.push(run(cell.clone(), 1, &names.map(|name| (name, value))));
                lines.push(run(cell.clone(), 2, &names.map(|name| (name, value * 0.5))));
                lines.push(Line::Profile(record::Profile {
                    session: "one".into(),
                    cell,
                    round: 1,
                    samples: u64::MAX / 4,
                    cpu_s: value,
                    categories: [("crypto".to_owned(), value), ("copy".to_owned(), 1.0)].into(),
                    symbols: Vec::new(),
                }));
            }
        }
        let analysis = analysis(&lines);
        for (name, content) in files(&analysis) {
            assert!(content.len() < 1 << 20, "{name} of {value}: {} bytes", content.len());
        }
        check_balance(&file(&analysis, "report.html"));
        embed::mapping(&analysis, Path::new("."));
        embed::headline_chart(&analysis);
    }
    // Bytes of a record changed anywhere.
    let whole = text(&lines()[..40]);
    let mut state = 1_u64;
    let mut used = 0;
    for _ in 0..200 {
        let mut bytes = whole.clone();
        for _ in 0..20 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = (state >> 33) as usize % bytes.len();
            bytes[at] = b"0e-\"{}[],:\n\xff"[(state >> 20) as usize % 12];
        }
        if let Ok(analysis) = Analysis::new(vec![source("r", &bytes)], true) {
            check_balance(&file(&analysis, "report.html"));
            used += 1;
        }
    }
    assert!(used > 50, "{used}");
}
