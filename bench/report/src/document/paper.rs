//! The paper's tables 2 to 5 and figure 4 for our builds, and the ratio of any two.

use super::{Block, Chart, Row, Section, Stacked, Table};
use crate::analysis::ladder::{KERNEL_STEPS, LADDERS};
use crate::analysis::{Analysis, CPU, GIB, GOODPUT, Step};
use crate::catalog::{CATEGORIES, CIPHERS};
use crate::text;

pub(super) fn sections(analysis: &Analysis) -> Vec<Section> {
    vec![
        Section {
            id: "cpu-bound",
            title: "Is the receiver CPU-bound? (table 2)".into(),
            blocks: bound(analysis),
        },
        Section {
            id: "categories",
            title: "Where CPU time goes (tables 3 and 4, figure 4)".into(),
            blocks: categories(analysis),
        },
        Section {
            id: "ladders",
            title: "From the sandbox to native, step by step (table 5)".into(),
            blocks: ladders(analysis),
        },
        Section {
            id: "amdahl",
            title: "What cryptography alone could still give (Amdahl's law)".into(),
            blocks: estimates(analysis),
        },
        Section { id: "ratios", title: "The ratio of any two builds".into(), blocks: ratios(analysis) },
    ]
}

fn bound(analysis: &Analysis) -> Vec<Block> {
    let mut table = Table::new(
        "Table 2: time to transfer 1 GiB at the measured goodput, beside the CPU time",
        2,
        &[
            "Build",
            "Cipher",
            "Goodput, Mb/s",
            "Transfer, s/GiB",
            "CPU, s/GiB",
            "CPU/transfer",
            "CPU − transfer, s",
        ],
    );
    for (cipher, title) in CIPHERS {
        for build in analysis.headline_builds() {
            let Some(cell) = analysis.headline(build.name, cipher) else { continue };
            let goodput = cell.mean(GOODPUT).filter(|goodput| *goodput > 0.0);
            let transfer = goodput.map(|goodput| 8.0 * GIB / 1e6 / goodput);
            let cpu = cell.mean(CPU);
            let both = transfer.zip(cpu);
            table.build(
                build.name,
                vec![
                    build.name.into(),
                    (*title).into(),
                    text::optional(goodput),
                    text::optional(transfer),
                    text::optional(cpu),
                    both.map_or(text::NONE.into(), |(transfer, cpu)| text::fixed(cpu / transfer, 2)),
                    both.map_or(text::NONE.into(), |(transfer, cpu)| text::fixed(cpu - transfer, 2)),
                ],
            );
        }
    }
    if table.rows.is_empty() {
        return Vec::new();
    }
    vec![
        Block::Text(
            "Where CPU time is as long as the transfer, the receiver was busy all the time and its goodput is \
             inversely proportional to its CPU time. Well below 1, something else set the pace: the sender, the link, \
             or another process on its processor."
                .into(),
        ),
        Block::Table(table),
    ]
}

fn categories(analysis: &Analysis) -> Vec<Block> {
    let builds = analysis.headline_builds();
    let measured = |cipher: &str| builds.iter().any(|build| analysis.breakdown(build.name, cipher).is_some());
    let ciphers: Vec<_> = CIPHERS.iter().filter(|(cipher, _)| measured(cipher)).collect();
    if ciphers.is_empty() {
        let why = analysis
            .gaps
            .iter()
            .find(|gap| gap.what.contains("profile") || gap.scenario.contains("profile"))
            .map_or("the records hold no profile of the headline", |gap| &gap.why);
        return vec![Block::Text(format!("CPU time by category is missing: {why}."))];
    }
    let charts = ciphers
        .iter()
        .map(|(cipher, title)| {
            let bars = builds
                .iter()
                .map(|build| {
                    let parts = analysis.breakdown(build.name, cipher).map(|breakdown| {
                        CATEGORIES.iter().map(|category| breakdown.category(category.name)).collect()
                    });
                    (build.name.to_owned(), parts)
                })
                .collect();
            Chart::Stacked(Stacked { title: (*title).into(), unit: "CPU s/GiB".into(), bars })
        })
        .collect();
    let mut columns = vec!["Build", "Cipher"];
    columns.extend(CATEGORIES.iter().map(|category| category.name));
    columns.extend(["total", "crypto, %"]);
    let mut breakdowns = Table::new("Table 4: CPU time by category, ms/GiB", 2, &columns);
    let mut shares = Table::new(
        "Table 3: cryptography and the rest",
        2,
        &["Build", "Cipher", "Goodput, Mb/s", "Total, ms/GiB", "crypto", "non-crypto", "crypto share"],
    );
    for (cipher, title) in &ciphers {
        for build in &builds {
            let mut cells = vec![build.name.to_owned(), (*title).to_owned()];
            let Some(breakdown) = analysis.breakdown(build.name, cipher) else {
                if analysis.headline(build.name, cipher).is_some() {
                    cells.resize(breakdowns.columns.len(), text::NONE.into());
                    breakdowns.build(build.name, cells);
                }
                continue;
            };
            let crypto = breakdown.category("crypto");
            let ms = |seconds: f64| text::fixed(seconds * 1e3, if seconds < 0.001 { 1 } else { 0 });
            shares.build(
                build.name,
                vec![
                    build.name.into(),
                    (*title).into(),
                    text::optional(analysis.headline_mean(build.name, cipher, GOODPUT)),
                    ms(breakdown.total),
                    ms(crypto),
                    ms(breakdown.total - crypto),
                    text::percent(breakdown.share("crypto")),
                ],
            );
            cells.extend(CATEGORIES.iter().map(|category| ms(breakdown.category(category.name))));
            cells.push(ms(breakdown.total));
            cells.push(text::fixed(breakdown.share("crypto") * 100.0, 1));
            breakdowns.build(build.name, cells);
        }
    }
    let profiles: Vec<usize> = ciphers
        .iter()
        .flat_map(|(cipher, _)| {
            builds.iter().filter_map(|build| analysis.headline_profile(build.name, cipher))
        })
        .map(|profile| profile.profiles)
        .collect();
    let (fewest, most) = (profiles.iter().min().copied(), profiles.iter().max().copied());
    let count = match (fewest, most) {
        (Some(fewest), Some(most)) if fewest != most => format!("{fewest} to {most} profiles"),
        (_, Some(1)) => "1 profile".to_owned(),
        (_, most) => format!("{} profiles", most.unwrap_or(0)),
    };
    let mut blocks = vec![
        Block::Text(format!(
            "CPU time is sampled at 4,000 Hz in runs that count for nothing else; each sample belongs to a category by \
             the name of its symbol and of the object that holds it. A category's time is its mean share over {count} \
             a cell, times the mean CPU time of the counted runs."
        )),
        Block::CategoryLegend,
        Block::Charts(charts),
        Block::Table(breakdowns),
        Block::Table(shares),
    ];
    blocks.extend(other(analysis, &ciphers));
    blocks.push(Block::Heading("The heaviest symbols".into()));
    for (cipher, title) in ciphers {
        for build in &builds {
            if let Some(details) = symbols(analysis, build.name, cipher, title) {
                blocks.push(details);
            }
        }
    }
    blocks
}

/// How large `other` is, and what is in it.
fn other(analysis: &Analysis, ciphers: &[&(&str, &str)]) -> Vec<Block> {
    let mut heaviest: Vec<(f64, String, &'static str)> = Vec::new();
    for (cipher, title) in ciphers {
        for build in analysis.headline_builds() {
            if let Some(breakdown) = analysis.breakdown(build.name, cipher) {
                heaviest.push((breakdown.share("other"), (*title).to_owned(), build.name));
            }
        }
    }
    heaviest.sort_by(|a, b| b.0.total_cmp(&a.0));
    let Some((share, cipher, build)) = heaviest.first() else { return Vec::new() };
    let above = heaviest.iter().filter(|(share, ..)| *share >= 0.1).count();
    let verdict = if above == 0 {
        "below 10 % in every cell".to_owned()
    } else {
        format!("10 % or more in {above} of {} cells", heaviest.len())
    };
    let mut table = Table::new(
        "The heaviest symbols of other, by mean share over all cells",
        2,
        &["Symbol", "Object", "Mean share"],
    );
    let mut shares: std::collections::BTreeMap<(&str, &str), f64> = std::collections::BTreeMap::new();
    let profiles: Vec<_> = ciphers
        .iter()
        .flat_map(|(cipher, _)| {
            analysis.headline_builds().into_iter().filter_map(|b| analysis.headline_profile(b.name, cipher))
        })
        .collect();
    for symbol in profiles.iter().flat_map(|profile| &profile.symbols).filter(|s| s.category == "other") {
        *shares.entry((&symbol.symbol, &symbol.object)).or_default() += symbol.share / profiles.len() as f64;
    }
    let mut shares: Vec<_> = shares.into_iter().collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    for ((symbol, object), share) in shares.into_iter().take(15) {
        table.row(vec![symbol.into(), object.into(), format!("{} %", text::fixed(share * 100.0, 2))]);
    }
    let mut blocks = vec![Block::Text(format!(
        "“other” is what no rule matches: {verdict}, at most {} ({build}, {cipher}).",
        text::percent(*share)
    ))];
    if !table.rows.is_empty() {
        blocks.push(Block::Table(table));
    }
    blocks
}

fn symbols(analysis: &Analysis, build: &str, cipher: &str, title: &str) -> Option<Block> {
    let profile = analysis.headline_profile(build, cipher)?;
    let mut table = Table::new(
        format!("{build}, {title}"),
        3,
        &["Category", "Symbol", "Object", "Share of all CPU time"],
    );
    for symbol in &profile.symbols {
        table.row(vec![
            symbol.category.clone(),
            symbol.symbol.clone(),
            symbol.object.clone(),
            format!("{} %", text::fixed(symbol.share * 100.0, 2)),
        ]);
    }
    Some(Block::Details(
        format!(
            "{build}, {title}: {} symbols of {} samples in {} profiles",
            profile.symbols.len(),
            text::fixed(profile.samples as f64, 0),
            profile.profiles
        ),
        vec![Block::Table(table)],
    ))
}

fn ladders(analysis: &Analysis) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (name, builds) in LADDERS {
        for (cipher, title) in CIPHERS {
            let steps: Vec<Step> =
                builds.windows(2).filter_map(|pair| analysis.step(pair[0], pair[1], cipher)).collect();
            if !steps.is_empty() {
                blocks.push(Block::Table(ladder(&format!("{title}, {name}"), &steps)));
            }
        }
    }
    if blocks.is_empty() {
        return blocks;
    }
    blocks.insert(
        0,
        Block::Text(
            "Decrease in CPU time from build to build, ms/GiB by category; in brackets the speedup that Amdahl's law \
             predicts if that category alone changed. Below, what was measured: CPU time before by after, goodput \
             after by before, with their 95 % intervals."
                .into(),
        ),
    );
    let mut kernels = Table::new(
        "Steps inside the sandbox: the prediction from cryptography alone beside what was measured",
        2,
        &["Step", "Cipher", "crypto share", "crypto cut", "Predicted", "Measured, CPU", "Measured, goodput"],
    );
    for (cipher, title) in CIPHERS {
        for (from, to) in KERNEL_STEPS {
            let Some(step) = analysis.step(from, to, cipher) else { continue };
            let before = analysis.breakdown(from, cipher);
            let change = step.change("crypto");
            let cut = before.as_ref().zip(change).filter(|(b, _)| b.category("crypto") > 0.0);
            kernels.rows.push(Row {
                build: Some((*to).to_owned()),
                strong: *to == "wasm-sandquic",
                cells: vec![
                    format!("{from} → {to}"),
                    (*title).into(),
                    before.as_ref().map_or(text::NONE.into(), |b| text::percent(b.share("crypto"))),
                    cut.map_or(text::NONE.into(), |(b, change)| {
                        text::percent(change.decrease / b.category("crypto"))
                    }),
                    text::optional(change.and_then(|change| change.predicted)),
                    step.cpu.as_ref().map_or(text::NONE.into(), text::ratio),
                    step.goodput.as_ref().map_or(text::NONE.into(), text::ratio),
                ],
            });
        }
    }
    if !kernels.rows.is_empty() {
        blocks.push(Block::Table(kernels));
    }
    blocks
}

fn ladder(title: &str, steps: &[Step]) -> Table {
    let heads: Vec<String> = steps.iter().map(|step| format!("{} → {}", step.from, step.to)).collect();
    let mut columns = vec![""];
    columns.extend(heads.iter().map(String::as_str));
    let mut table = Table::new(title, 1, &columns);
    if steps.iter().any(|step| !step.changes.is_empty()) {
        for category in CATEGORIES {
            let mut cells = vec![category.name.to_owned()];
            cells.extend(steps.iter().map(|step| match step.change(category.name) {
                Some(change) => {
                    let decrease = text::fixed(change.decrease * 1e3, 0);
                    match change.predicted {
                        Some(predicted) => format!("{decrease} (×{})", text::fixed(predicted, 2)),
                        None => decrease,
                    }
                }
                None => "no profile".into(),
            }));
            table.row(cells);
        }
    }
    let mut line = |name: &str, of: &dyn Fn(&Step) -> String| {
        let mut cells = vec![name.to_owned()];
        cells.extend(steps.iter().map(of));
        table.rows.push(Row { build: None, strong: true, cells });
    };
    line("Total decrease", &|step| step.decrease.map_or(text::NONE.into(), |d| text::fixed(d * 1e3, 0)));
    line("Predicted from crypto alone", &|step| {
        text::optional(step.change("crypto").and_then(|change| change.predicted))
    });
    line("CPU-time ratio, measured", &|step| step.cpu.as_ref().map_or(text::NONE.into(), text::ratio));
    line("Goodput ratio, measured", &|step| step.goodput.as_ref().map_or(text::NONE.into(), text::ratio));
    table
}

fn estimates(analysis: &Analysis) -> Vec<Block> {
    let mut table = Table::new(
        "With the cryptographic CPU time of another build and all else as it is",
        3,
        &[
            "Build",
            "Cryptography of",
            "Cipher",
            "crypto share",
            "cut",
            "Speedup",
            "CPU, s/GiB",
            "Goodput, Mb/s",
            "of native-opt",
            "of native-quinn",
        ],
    );
    for (cipher, title) in CIPHERS {
        for (build, donor) in [
            ("wasm-base", "wasm-sandquic"),
            ("wasm-handvec", "wasm-sandquic"),
            ("wasm-handvec", "native-opt"),
            ("wasm-sandquic", "native-opt"),
            ("wasm-sandquic", "native-quinn"),
        ] {
            let Some(estimate) = analysis.estimate(build, donor, cipher) else { continue };
            let of = |other: &str| {
                analysis
                    .headline_mean(other, cipher, GOODPUT)
                    .zip(estimate.goodput)
                    .map_or(text::NONE.into(), |(other, own)| text::percent(own / other))
            };
            table.build(
                build,
                vec![
                    build.into(),
                    donor.into(),
                    (*title).into(),
                    text::percent(estimate.share),
                    text::percent(estimate.reduction),
                    text::number(estimate.speedup),
                    text::number(estimate.cpu),
                    text::optional(estimate.goodput),
                    of("native-opt"),
                    of("native-quinn"),
                ],
            );
        }
    }
    if table.rows.is_empty() {
        return Vec::new();
    }
    vec![
        Block::Text(
            "S = 1/(1 − c r), with c the share of cryptography in CPU time and r the fraction by which it shrinks. \
             Goodput is taken as inversely proportional to CPU time, which holds while the receiver is CPU-bound."
                .into(),
        ),
        Block::Table(table),
    ]
}

fn ratios(analysis: &Analysis) -> Vec<Block> {
    let builds = analysis.headline_builds();
    let mut blocks = Vec::new();
    for (metric, name) in [(CPU, "CPU time"), (GOODPUT, "goodput")] {
        for (cipher, title) in CIPHERS {
            let measured: Vec<_> = builds
                .iter()
                .filter(|build| {
                    analysis.headline(build.name, cipher).is_some_and(|c| c.metric(metric).is_some())
                })
                .collect();
            if measured.len() < 2 {
                continue;
            }
            let mut columns = vec![""];
            columns.extend(measured.iter().map(|build| build.name));
            let mut table = Table::new(format!("{title}, {name}: row by column"), 1, &columns);
            for build in &measured {
                let mut cells = vec![build.name.to_owned()];
                cells.extend(measured.iter().map(|to| {
                    if to.name == build.name {
                        return "1".into();
                    }
                    analysis
                        .build_ratio(metric, cipher, build.name, to.name)
                        .as_ref()
                        .map_or(text::NONE.into(), text::ratio)
                }));
                table.build(build.name, cells);
            }
            blocks.push(Block::Details(format!("{title}, {name}"), vec![Block::Table(table)]));
        }
    }
    if !blocks.is_empty() {
        blocks.insert(
            0,
            Block::Text(
                "Ratios of means of the headline's runs, with 95 % intervals by Fieller's theorem for independent means \
                 (variances of each build by itself, degrees of freedom by Welch and Satterthwaite)."
                    .into(),
            ),
        );
    }
    blocks
}
