//! The first screen: the question's answer in one table and one chart.

use super::{Bar, Bars, Block, Chart, Section, Table, drops_note, mark, metric, runs, sizes_note};
use crate::analysis::{Analysis, CPU, GOODPUT};
use crate::catalog::{CIPHERS, Kind};
use crate::text;

/// The table: CPU time and goodput of every build with every cipher.
pub(crate) fn table(analysis: &Analysis) -> Table {
    let mut columns = vec!["Receiver".to_owned(), "What it is".to_owned()];
    columns.extend(CIPHERS.iter().map(|(_, cipher)| format!("{cipher}, CPU s/GiB")));
    columns.extend(CIPHERS.iter().map(|(_, cipher)| format!("{cipher}, Mb/s")));
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table =
        Table::new("CPU time of the receiving process and goodput: mean ± 95 % interval", 2, &columns);
    for build in analysis.headline_builds() {
        let mut cells = vec![build.name.to_owned(), build.what.to_owned()];
        for name in [CPU, GOODPUT] {
            cells.extend(CIPHERS.iter().map(|(cipher, _)| {
                let cell = analysis.headline(build.name, cipher);
                // The mark of drops belongs to goodput: CPU time hardly knows of them.
                match cell.and_then(|cell| cell.metric(name)) {
                    Some(summary) if name == CPU => text::mean(summary),
                    _ => metric(cell, name),
                }
            }));
        }
        table.build(build.name, cells);
    }
    table
}

/// A chart for each cipher.
pub(crate) fn charts(analysis: &Analysis, name: &str) -> Vec<Chart> {
    let builds = analysis.headline_builds();
    CIPHERS
        .iter()
        .filter(|(cipher, _)| builds.iter().any(|build| analysis.headline(build.name, cipher).is_some()))
        .map(|(cipher, title)| {
            let bars = builds
                .iter()
                .map(|build| {
                    let cell = analysis.headline(build.name, cipher);
                    let summary = cell.and_then(|cell| cell.metric(name));
                    Bar {
                        build: build.name.to_owned(),
                        value: summary.map(|summary| summary.mean),
                        ci95: summary.and_then(|summary| summary.ci95),
                        mark: if name == GOODPUT { cell.map_or("", mark) } else { "" },
                    }
                })
                .collect();
            let unit = if name == CPU { "CPU s/GiB" } else { "goodput, Mb/s" };
            Chart::Bars(Bars { title: (*title).to_owned(), unit: unit.to_owned(), bars, at_least: 0.0 })
        })
        .collect()
}

/// Every cell with what its mean does not tell.
fn spread(analysis: &Analysis) -> Table {
    let columns = [
        "Build",
        "Cipher",
        "Metric",
        "Runs",
        "Mean",
        "Median",
        "Least",
        "Greatest",
        "Runs with drops",
        "Runs left out",
    ];
    let mut table = Table::new("Bulk transfer", 3, &columns);
    for (cipher, title) in CIPHERS {
        for build in analysis.headline_builds() {
            let Some(cell) = analysis.headline(build.name, cipher) else { continue };
            for (name, unit) in [(CPU, "CPU, s/GiB"), (GOODPUT, "Goodput, Mb/s")] {
                let Some(summary) = cell.metric(name) else { continue };
                table.build(
                    build.name,
                    vec![
                        build.name.to_owned(),
                        (*title).to_owned(),
                        unit.to_owned(),
                        summary.count.to_string(),
                        text::mean(summary),
                        text::number(summary.median),
                        text::number(summary.min),
                        text::number(summary.max),
                        cell.runs_with_drops.to_string(),
                        cell.left_out().to_string(),
                    ],
                );
            }
        }
    }
    table
}

/// What stands on the first screen.
pub(super) fn lead(analysis: &Analysis) -> Vec<Block> {
    if analysis.headline_builds().is_empty() {
        return vec![Block::Text("The records have no run of the headline.".to_owned())];
    }
    let mut blocks = Vec::new();
    if let Some(answer) = answer(analysis) {
        blocks.push(Block::Text(answer));
    }
    blocks.push(Block::Table(table(analysis)));
    let notes: Vec<String> =
        [super::headline_drops(analysis), doubts(analysis)].into_iter().flatten().collect();
    if !notes.is_empty() {
        blocks.push(Block::Note(notes.join(" ")));
    }
    blocks.push(Block::Charts(charts(analysis, CPU)));
    blocks
}

/// The answer in a sentence, from the figures.
fn answer(analysis: &Analysis) -> Option<String> {
    let (mut names, mut ours, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for (cipher, title) in CIPHERS {
        let to_quinn = |build| analysis.build_ratio(CPU, cipher, build, "native-quinn");
        if let Some((own, paper)) = to_quinn("wasm-sandquic").zip(to_quinn("wasm-handvec")) {
            names.push(*title);
            ours.push(text::number(own.value));
            theirs.push(text::number(paper.value));
        }
    }
    (!names.is_empty()).then(|| {
        format!(
            "In the sandbox, sandquic takes {} times the CPU time of native quinn (with {}), where the paper's kernels take {}.",
            listed(&ours),
            listed(&names),
            listed(&theirs)
        )
    })
}

/// Words with commas and an `and`.
fn listed<T: AsRef<str>>(words: &[T]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

/// Gaps that are named beside the headline.
const NAMED_GAPS: usize = 3;

/// What the table lacks.
pub(crate) fn doubts(analysis: &Analysis) -> Option<String> {
    let mut parts = Vec::new();
    if analysis.sessions.iter().any(|info| info.session.effort == "smoke") {
        parts.push("Of effort smoke: it shows that everything runs; its figures mean nothing.".to_owned());
    }
    let gaps: Vec<_> = analysis.gaps.iter().filter(|gap| gap.scenario == "headline").collect();
    if !gaps.is_empty() {
        let named: Vec<String> =
            gaps.iter().take(NAMED_GAPS).map(|gap| format!("{} ({})", gap.what, gap.why)).collect();
        let more = match gaps.len().saturating_sub(NAMED_GAPS) {
            0 => String::new(),
            more => format!("; {more} more are listed in the report"),
        };
        parts.push(format!("Not measured: {}{more}.", named.join("; ")));
    }
    let left_out: usize =
        analysis.cells.iter().filter(|s| s.cell.scenario == "headline").map(|s| s.left_out()).sum();
    if left_out > 0 {
        parts.push(format!("Runs that failed or whose bytes did not match, in no mean: {left_out}."));
    }
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// Goodput: the paper's figure 3.
pub(super) fn section(analysis: &Analysis) -> Section {
    let mut blocks = Vec::new();
    let builds = analysis.headline_builds();
    if !builds.is_empty() {
        let cells = || {
            builds.iter().flat_map(|build| {
                CIPHERS.iter().filter_map(|(cipher, _)| analysis.headline(build.name, cipher))
            })
        };
        blocks.push(Block::Text(format!(
            "{} {}. Bars are means, whiskers their 95 % intervals (Student's t).",
            Kind::Headline.question(),
            capital(&runs(cells()))
        )));
        blocks.push(Block::Charts(charts(analysis, GOODPUT)));
        blocks.extend(sizes_note(analysis, "headline"));
        blocks.extend(drops_note(cells()));
        blocks.push(Block::Details(
            "Every cell of the bulk transfer: runs, means, medians, least and greatest".to_owned(),
            vec![Block::Table(spread(analysis))],
        ));
    }
    Section { id: "goodput", title: "Goodput (the paper's figure 3)".to_owned(), blocks }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
