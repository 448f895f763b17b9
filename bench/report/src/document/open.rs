//! What the paper left open: from the headline's runs, and scenario by scenario.

use std::collections::BTreeMap;

use super::{
    Bar, Bars, Block, Chart, Lines, Section, Series, Table, drops_note, mark, metric, runs, scaled_metric,
    sizes_note,
};
use crate::analysis::{Analysis, CPU, CellSummary, GOODPUT, ratio};
use crate::catalog::{self, CIPHERS, Kind};
use crate::record::Cell;
use crate::text;

pub(super) fn sections(analysis: &Analysis) -> Vec<Section> {
    let mut sections =
        vec![Section { id: "baselines", title: "Baselines and ciphers".into(), blocks: baselines(analysis) }];
    let mut kinds: BTreeMap<Kind, Vec<String>> = BTreeMap::new();
    for (kind, name) in analysis.scenarios() {
        if kind != Kind::Headline {
            kinds.entry(kind).or_default().push(name);
        }
    }
    for (kind, names) in kinds {
        let mut blocks = Vec::new();
        if !kind.question().is_empty() {
            blocks.push(Block::Text(kind.question().to_owned()));
        }
        for name in &names {
            if names.len() > 1 || kind == Kind::Other {
                blocks.push(Block::Heading(format!("Scenario {name}")));
            }
            blocks.extend(sizes_note(analysis, name));
            blocks.extend(match kind {
                Kind::FixedCost => fixed_cost(analysis, name),
                _ => scenario(analysis, kind, name),
            });
        }
        sections.push(Section { id: id(kind), title: kind.title().to_owned(), blocks });
    }
    sections
}

fn id(kind: Kind) -> &'static str {
    match kind {
        Kind::Headline => "headline",
        Kind::FixedCost => "fixed-cost",
        Kind::Send => "send",
        Kind::Connect => "connect",
        Kind::Network => "network",
        Kind::Mtu => "mtu",
        Kind::HostCrypto => "host-crypto",
        Kind::Ablation => "ablation",
        Kind::Ceiling => "ceiling",
        Kind::Other => "other-scenarios",
    }
}

/// Ratios of the headline that answer questions of the paper's discussion.
fn baselines(analysis: &Analysis) -> Vec<Block> {
    let mut table = Table::new(
        "Goodput and CPU time as ratios, with 95 % intervals",
        1,
        &["Question", "Cipher", "Goodput", "CPU time"],
    );
    table.columns[1].1 = false;
    table.group = Some(0);
    for (question, build, to) in [
        ("64-bit scalar words by 32-bit ones (wasm-base64 by wasm-base)", "wasm-base64", "wasm-base"),
        ("the same, vectorized (wasm-autovec64 by wasm-autovec)", "wasm-autovec64", "wasm-autovec"),
        (
            "the paper's kernels by the 64-bit baseline (wasm-handvec by wasm-base64)",
            "wasm-handvec",
            "wasm-base64",
        ),
        ("our kernels by the 64-bit baseline (wasm-sandquic by wasm-base64)", "wasm-sandquic", "wasm-base64"),
        ("our kernels by the paper's (wasm-sandquic by wasm-handvec)", "wasm-sandquic", "wasm-handvec"),
    ] {
        for (cipher, title) in CIPHERS {
            let of = |metric| analysis.build_ratio(metric, cipher, build, to);
            let (goodput, cpu) = (of(GOODPUT), of(CPU));
            if goodput.is_some() || cpu.is_some() {
                let cell = |ratio: Option<_>| ratio.as_ref().map_or(text::NONE.into(), text::ratio);
                table.row(vec![question.into(), (*title).into(), cell(goodput), cell(cpu)]);
            }
        }
    }
    let mut ciphers = Table::new(
        "One cipher by another in the same build",
        1,
        &[
            "Build",
            "AES-256-GCM by AES-128-GCM: goodput",
            "CPU time",
            "ChaCha20-Poly1305 by AES-128-GCM: goodput",
            "CPU time",
        ],
    );
    for build in analysis.headline_builds() {
        let of = |metric: &str, cipher: &str| {
            let top = analysis.headline(build.name, cipher)?.metric(metric)?;
            ratio(top, analysis.headline(build.name, "aes-128-gcm")?.metric(metric)?)
        };
        let cells: Vec<_> = ["aes-256-gcm", "chacha20-poly1305"]
            .iter()
            .flat_map(|cipher| [of(GOODPUT, cipher), of(CPU, cipher)])
            .collect();
        if cells.iter().any(Option::is_some) {
            let mut row = vec![build.name.to_owned()];
            row.extend(cells.iter().map(|cell| cell.as_ref().map_or(text::NONE.into(), text::ratio)));
            ciphers.build(build.name, row);
        }
    }
    [table, ciphers].into_iter().filter(|table| !table.rows.is_empty()).map(Block::Table).collect()
}

fn fixed_cost(analysis: &Analysis, name: &str) -> Vec<Block> {
    let costs: Vec<_> = analysis.fixed_costs().into_iter().filter(|cost| cost.scenario == name).collect();
    let mut table = Table::new(
        "CPU time of the process = fixed cost + slope × length, by least squares over all runs",
        3,
        &["Build", "Cipher", "Start", "Fixed, s", "Slope, s/GiB", "Runs", "Measured, s a run"],
    );
    table.columns[6].1 = false;
    for cost in &costs {
        let sizes: Vec<String> = cost
            .sizes
            .iter()
            .map(|(gib, cpu)| {
                format!("{}: {}", text::size((gib * crate::analysis::GIB) as u64), text::mean(cpu))
            })
            .collect();
        table.build(
            &cost.build,
            vec![
                cost.build.clone(),
                catalog::cipher(&cost.cipher).unwrap_or(&cost.cipher).into(),
                cost.start.clone(),
                text::plus_minus(cost.line.fixed, cost.line.fixed_ci95),
                text::plus_minus(cost.line.slope, cost.line.slope_ci95),
                cost.line.points.to_string(),
                sizes.join("; "),
            ],
        );
    }
    let charts = CIPHERS
        .iter()
        .filter_map(|(cipher, title)| {
            let series: Vec<Series> = costs
                .iter()
                .filter(|cost| cost.cipher == *cipher)
                .map(|cost| Series {
                    build: cost.build.clone(),
                    label: format!("{}, {}", cost.build, cost.start),
                    dashed: cost.start == "jit",
                    points: cost.sizes.iter().map(|(gib, cpu)| (*gib, cpu.mean, cpu.ci95)).collect(),
                    line: (cost.line.fixed, cost.line.slope),
                })
                .collect();
            (!series.is_empty()).then(|| {
                Chart::Lines(Lines {
                    title: (*title).into(),
                    x: "GiB".into(),
                    y: "CPU s a run".into(),
                    series,
                })
            })
        })
        .collect::<Vec<_>>();
    let mut blocks = Vec::new();
    if !charts.is_empty() {
        blocks.push(Block::Charts(charts));
    }
    if !table.rows.is_empty() {
        blocks.push(Block::Table(table));
    }
    blocks.push(Block::Note(
        "The intervals are those of the line (Student's t). Long transfers weigh most in it, so the fixed cost is \
         less certain where transfers are long."
            .into(),
    ));
    blocks
}

/// A column of a scenario's table.
enum Column {
    /// A metric of the cell, times a factor.
    Metric(&'static str, f64),
    /// A metric by that of the whole build.
    ToWhole(&'static str),
    /// A metric by that of our kernels in two passes, where a variant has two passes too.
    ToTwoPasses(&'static str),
    /// A metric by that of native-quinn with the same options.
    ToQuinn(&'static str),
    /// The sum of a counter over the mean count of connections.
    Plain(&'static str),
}

/// The columns of a kind's table, with their heads, and the metric and unit of its chart.
fn columns(kind: Kind) -> (Vec<(&'static str, Column)>, (&'static str, &'static str)) {
    use Column::{Metric, Plain, ToQuinn, ToTwoPasses, ToWhole};
    let transfer = || vec![("CPU, s/GiB", Metric(CPU, 1.0)), ("Goodput, Mb/s", Metric(GOODPUT, 1.0))];
    let cpu = (CPU, "CPU s/GiB");
    match kind {
        Kind::Connect => (
            vec![
                ("Handshakes/s", Metric("handshakes_per_s", 1.0)),
                ("Handshake, median ms", Metric("handshake_median_s", 1e3)),
                ("First byte, median ms", Metric("first_byte_median_s", 1e3)),
                ("CPU, ms a connection", Metric("cpu_ms_per_connection", 1.0)),
                ("Connections", Plain("connections")),
                ("Resumed", Plain("resumed")),
                ("0-RTT accepted", Plain("early_data_accepted")),
                ("Handshakes/s to native-quinn", ToQuinn("handshakes_per_s")),
            ],
            ("cpu_ms_per_connection", "CPU ms a connection"),
        ),
        Kind::Network => {
            let mut columns = transfer();
            columns.extend([
                ("Goodput to native-quinn", ToQuinn(GOODPUT)),
                ("Packets sent", Plain("packets_sent")),
                ("Packets lost", Plain("packets_lost")),
            ]);
            (columns, (GOODPUT, "goodput, Mb/s"))
        }
        Kind::Send | Kind::Mtu | Kind::Other => {
            let mut columns = transfer();
            columns.extend([
                ("CPU to native-quinn", ToQuinn(CPU)),
                ("Goodput to native-quinn", ToQuinn(GOODPUT)),
                ("Other end's CPU, s/GiB", Metric("sender_cpu_s_per_gib", 1.0)),
            ]);
            (columns, cpu)
        }
        Kind::HostCrypto => {
            let mut columns = transfer();
            columns.extend([
                ("CPU to the whole", ToWhole(CPU)),
                ("Goodput to the whole", ToWhole(GOODPUT)),
                ("Host calls a GiB", Plain("host_calls_per_gib")),
                ("Bytes copied a byte of content", Metric("host_bytes_copied_per_byte", 1.0)),
            ]);
            (columns, cpu)
        }
        Kind::Ablation => {
            let mut columns = transfer();
            columns.extend([
                ("CPU to the whole", ToWhole(CPU)),
                ("CPU to wasm-no-one-pass", ToTwoPasses(CPU)),
                ("Goodput to the whole", ToWhole(GOODPUT)),
            ]);
            (columns, cpu)
        }
        Kind::Ceiling => {
            let mut columns = transfer();
            columns.extend([("CPU to the whole", ToWhole(CPU)), ("Goodput to the whole", ToWhole(GOODPUT))]);
            (columns, cpu)
        }
        Kind::Headline | Kind::FixedCost => (transfer(), cpu),
    }
}

fn scenario(analysis: &Analysis, kind: Kind, name: &str) -> Vec<Block> {
    let mut cells: Vec<&CellSummary> =
        analysis.scenario(name).into_iter().filter(|cell| cell.ok > 0).collect();
    let (columns, (charted, unit)) = columns(kind);
    // The whole builds that variants are compared with, where the scenario itself does not have them.
    let mut borrowed = Vec::new();
    for cell in &cells {
        if let Some(whole) = analysis.whole(cell)
            && whole.cell.scenario != name
            && !borrowed.iter().any(|other: &&CellSummary| other.cell == whole.cell)
        {
            borrowed.push(whole);
        }
    }
    let lengths_differ =
        borrowed.iter().any(|whole| cells.iter().any(|cell| cell.cell.bytes != whole.cell.bytes));
    cells.extend(&borrowed);
    cells.sort_by_cached_key(|cell| {
        let cipher = CIPHERS.iter().position(|(name, _)| *name == cell.cell.cipher);
        (cipher, group_key(cell), order(&cell.cell.build))
    });
    if cells.is_empty() {
        return vec![Block::Text(format!("No run of scenario {name} counts; see what is missing."))];
    }
    let varied: Vec<&str> = {
        let names: std::collections::BTreeSet<&str> =
            cells.iter().flat_map(|cell| cell.cell.options.keys()).map(String::as_str).collect();
        names.into_iter().collect()
    };
    let sizes_vary = cells.iter().any(|cell| cell.cell.bytes != cells[0].cell.bytes);
    let workloads_vary = cells.iter().any(|cell| cell.cell.workload != cells[0].cell.workload);
    let mut heads: Vec<String> = vec!["Build".into(), "Cipher".into()];
    if workloads_vary {
        heads.push("Workload".into());
    }
    if sizes_vary {
        heads.push("Length".into());
    }
    heads.extend(varied.iter().map(|name| option_title(name)));
    let words = heads.len();
    // A column that no cell has a value for says nothing.
    let columns: Vec<_> = columns
        .into_iter()
        .filter(|(_, column)| cells.iter().any(|cell| value(analysis, cell, column).is_some()))
        .collect();
    heads.extend(columns.iter().map(|(head, _)| (*head).to_owned()));
    heads.push("Runs".into());
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let mut table = Table::new(format!("Scenario {name}: {}", runs(cells.iter().copied())), words, &heads);
    for cell in &cells {
        let mut row = vec![
            cell.cell.build.clone(),
            catalog::cipher(&cell.cell.cipher).unwrap_or(&cell.cell.cipher).to_owned(),
        ];
        if workloads_vary {
            row.push(cell.cell.workload.clone());
        }
        if sizes_vary {
            row.push(text::size(cell.cell.bytes));
        }
        row.extend(
            varied
                .iter()
                .map(|name| cell.cell.options.get(*name).map_or(text::NONE.to_owned(), Clone::clone)),
        );
        row.extend(
            columns
                .iter()
                .map(|(_, column)| value(analysis, cell, column).unwrap_or_else(|| text::NONE.into())),
        );
        let left_out = match cell.left_out() {
            0 => String::new(),
            count => format!(" ({count} left out)"),
        };
        row.push(format!("{}{left_out}", cell.ok));
        table.build(&cell.cell.build, row);
    }
    let mut blocks = Vec::new();
    let charts = charts(kind, &cells, charted, unit);
    // Loss and delay in every combination fill a page; their charts are there when asked for.
    if charts.len() > 9 {
        blocks.push(Block::Table(table));
        blocks.push(Block::Details(format!("Charts: {unit}"), vec![Block::Charts(charts)]));
    } else {
        blocks.push(Block::Charts(charts));
        blocks.push(Block::Table(table));
    }
    blocks.extend(drops_note(cells.iter().copied()));
    if !borrowed.is_empty() {
        let lengths = if lengths_differ { ", whose transfers have another length" } else { "" };
        blocks.push(Block::Note(format!(
            "The whole builds are those of the headline{lengths}: they were not measured in this scenario."
        )));
    }
    blocks
}

/// What cells of one chart have in common beside the cipher, in order.
fn group_key(cell: &CellSummary) -> Vec<(String, u64, String)> {
    cell.cell
        .options
        .iter()
        .map(|(name, value)| {
            // Numbers by size, connections from the dearest on.
            let place = match value.as_str() {
                "full" => 0,
                "resumed" => 1,
                "early-data" => 2,
                other => other.parse::<f64>().map_or(0, |number| (number * 1e6) as u64),
            };
            (name.clone(), place, value.clone())
        })
        .collect()
}

/// The whole build first, its variants after it.
fn order(build: &str) -> (usize, usize) {
    let whole = catalog::find(build).and_then(|build| build.role.whole()).unwrap_or(build);
    (catalog::rank(whole), catalog::rank(build))
}

fn option_title(name: &str) -> String {
    match name {
        "mtu" => "Datagram, bytes".into(),
        "loss_percent" => "Loss, %".into(),
        "delay_ms" => "Delay, ms".into(),
        "start" => "Start".into(),
        "mode" => "Mode".into(),
        other => other.to_owned(),
    }
}

fn option_text(name: &str, value: &str) -> String {
    match name {
        "mtu" => format!("{value} bytes"),
        "loss_percent" => format!("loss {value} %"),
        "delay_ms" => format!("delay {value} ms"),
        "start" | "mode" => value.to_owned(),
        other => format!("{other} {value}"),
    }
}

fn value(analysis: &Analysis, cell: &CellSummary, column: &Column) -> Option<String> {
    match column {
        Column::Metric(name, factor) => {
            cell.metric(name)?;
            // Only goodput suffers from drops.
            Some(if *name == GOODPUT { metric(Some(cell), name) } else { scaled_plain(cell, name, *factor) })
        }
        Column::Plain(name) => cell.mean(name).map(|mean| text::fixed(mean, 0)),
        Column::ToWhole(name) => {
            let whole = analysis.whole(cell)?;
            Some(text::ratio(&ratio(cell.metric(name)?, whole.metric(name)?)?))
        }
        Column::ToTwoPasses(name) => {
            let (two_passes, variants) = catalog::TWO_PASSES;
            variants
                .contains(&cell.cell.build.as_str())
                .then(|| to_twin(analysis, cell, two_passes, name))
                .flatten()
        }
        Column::ToQuinn(name) => {
            if cell.cell.build == "native-quinn" {
                return None;
            }
            to_twin(analysis, cell, "native-quinn", name)
        }
    }
}

/// A metric by that of another build, all else equal.
fn to_twin(analysis: &Analysis, cell: &CellSummary, build: &str, name: &str) -> Option<String> {
    let twin = Cell { build: build.to_owned(), ..cell.cell.clone() };
    let other = analysis.cells.iter().find(|other| other.ok > 0 && other.cell == twin)?;
    Some(text::ratio(&ratio(cell.metric(name)?, other.metric(name)?)?))
}

fn scaled_plain(cell: &CellSummary, name: &str, factor: f64) -> String {
    let mut quiet = cell.clone();
    quiet.runs_with_drops = 0;
    scaled_metric(Some(&quiet), name, factor)
}

/// A chart for each cipher and each combination of options; variants of different builds are apart.
fn charts(kind: Kind, cells: &[&CellSummary], name: &str, unit: &str) -> Vec<Chart> {
    let whole = |build: &str| match kind {
        Kind::Ablation => {
            catalog::find(build).and_then(|build| build.role.whole()).unwrap_or(build).to_owned()
        }
        _ => String::new(),
    };
    let mut groups: Vec<((String, String), String, Vec<&CellSummary>)> = Vec::new();
    for cell in cells {
        let cipher = catalog::cipher(&cell.cell.cipher).unwrap_or(&cell.cell.cipher);
        let mut title = cipher.to_owned();
        for (name, value) in &cell.cell.options {
            title.push_str(&format!(", {}", option_text(name, value)));
        }
        let key = (title, whole(&cell.cell.build));
        match groups.iter_mut().find(|(other, ..)| *other == key) {
            Some((_, _, group)) => group.push(cell),
            None => groups.push((key, cipher.to_owned(), vec![cell])),
        }
    }
    let mut charts: Vec<(String, Bars)> = groups
        .into_iter()
        .map(|((title, _), cipher, group)| {
            let bars = group
                .into_iter()
                .map(|cell| Bar {
                    build: cell.cell.build.clone(),
                    value: cell.mean(name),
                    ci95: cell.metric(name).and_then(|summary| summary.ci95),
                    mark: if name == GOODPUT { mark(cell) } else { "" },
                })
                .collect();
            (cipher, Bars { title, unit: unit.to_owned(), bars, at_least: 0.0 })
        })
        .collect();
    // Circumstances are compared with one another, so their charts have one scale; under loss and delay the scales are
    // too far apart.
    if matches!(kind, Kind::Mtu | Kind::Connect) {
        for at in 0..charts.len() {
            let same = charts.iter().filter(|(cipher, _)| *cipher == charts[at].0);
            charts[at].1.at_least = same.map(|(_, bars)| bars.reach()).fold(0.0, f64::max);
        }
    }
    charts.into_iter().map(|(_, bars)| Chart::Bars(bars)).collect()
}
