//! What is missing or doubtful, how it was measured, and where.

use super::{Block, Section, Table};
use crate::analysis::Analysis;
use crate::catalog::{self, CATEGORIES};
use crate::text;

pub(super) fn sections(analysis: &Analysis) -> Vec<Section> {
    vec![
        Section { id: "left-out", title: "Runs that do not count".into(), blocks: left_out(analysis) },
        Section { id: "missing", title: "What was not measured".into(), blocks: missing(analysis) },
        Section { id: "problems", title: "Problems with the records".into(), blocks: problems(analysis) },
        Section { id: "method", title: "Method".into(), blocks: method() },
        Section { id: "provenance", title: "Provenance".into(), blocks: provenance(analysis) },
    ]
}

fn left_out(analysis: &Analysis) -> Vec<Block> {
    let mut table = Table::new(
        "Runs whose bytes did not match or that have no result; no mean contains them",
        3,
        &["Build", "Cipher", "Scenario", "Counted", "Mismatched", "Failed", "What was wrong"],
    );
    table.columns[6].1 = false;
    table.group = None;
    let (mut mismatched, mut failed) = (0, 0);
    for cell in analysis.cells.iter().filter(|cell| cell.left_out() > 0) {
        mismatched += cell.mismatches.len();
        failed += cell.failures.len();
        let mut messages: Vec<&str> =
            cell.mismatches.iter().chain(&cell.failures).map(String::as_str).collect();
        messages.dedup();
        let options: String =
            cell.cell.options.iter().map(|(name, value)| format!(", {name} {value}")).collect();
        table.build(
            &cell.cell.build,
            vec![
                cell.cell.build.clone(),
                catalog::cipher(&cell.cell.cipher).unwrap_or(&cell.cell.cipher).into(),
                format!("{}{options}", cell.cell.scenario),
                cell.ok.to_string(),
                cell.mismatches.len().to_string(),
                cell.failures.len().to_string(),
                messages.join("; "),
            ],
        );
    }
    if table.rows.is_empty() {
        return vec![Block::Text("Every run delivered what was sent.".into())];
    }
    vec![
        Block::Text(format!(
            "Runs that delivered other bytes than were sent: {mismatched}. Runs without a result: {failed}. Both are failures."
        )),
        Block::Table(table),
    ]
}

fn missing(analysis: &Analysis) -> Vec<Block> {
    if analysis.gaps.is_empty() {
        return vec![Block::Text("Everything that an evaluation has was measured.".into())];
    }
    let mut table = Table::new("What is missing, and why", 3, &["Scenario", "What", "Why"]);
    for gap in &analysis.gaps {
        table.row(vec![gap.scenario.clone(), gap.what.clone(), gap.why.clone()]);
    }
    vec![Block::Table(table)]
}

fn problems(analysis: &Analysis) -> Vec<Block> {
    if analysis.problems.is_empty() {
        return vec![Block::Text("None: every line could be used.".into())];
    }
    vec![
        Block::Text("What could not be used is left out; everything else is used.".into()),
        Block::List(analysis.problems.clone()),
    ]
}

fn method() -> Vec<Block> {
    let mut blocks = vec![
        Block::List(
            [
                "Goodput is G = 8B/(10⁶ t) Mb/s: B bytes of content, t seconds from the request's write to the last \
                 byte, on the receiver's clock. CPU time is user and system time of the measured process over its whole \
                 life, in seconds a GiB. On two processors the CPU time is the figure to trust: sender, receiver and \
                 runner share them.",
                "The other end is native-quinn in every run, so that it limits nobody, except where packets are not \
                 protected: there it is a native server of ours with the same keys.",
                "Runs of different builds take turns. The receiver hashes what arrives and compares it with what the \
                 sender says it sent.",
                "Means have 95 % intervals by Student's t with n − 1 degrees of freedom. Ratios of means have intervals by \
                 Fieller's theorem for independent means, with the degrees of freedom of Welch and Satterthwaite. Lines \
                 are fitted by least squares, with intervals by Student's t with n − 2. Medians, minima and maxima are in \
                 the CSV and the JSON beside this report.",
                "A category's CPU time is its mean share over the profiles of a cell, times the mean CPU time of the \
                 counted runs. Amdahl's law then says what the whole gains if one category changes: S = T/(T − Δ). It is \
                 no independent check of the categories, since T and Δ come from the same profiles.",
                "Datagrams that find a full socket buffer are counted for the whole network namespace; runs with such \
                 drops are marked.",
            ]
            .map(str::to_owned)
            .to_vec(),
        ),
    ];
    let mut table = Table::new("Categories of CPU time", 2, &["Category", "What belongs to it"]);
    for category in CATEGORIES {
        table.row(vec![category.name.into(), category.what.into()]);
    }
    let mut builds = Table::new("Builds", 2, &["Build", "What it is"]);
    for build in catalog::BUILDS {
        let what = match build.role.whole() {
            Some(whole) if !build.what.contains(':') => format!("{whole}, {}", build.what),
            _ => build.what.to_owned(),
        };
        builds.build(build.name, vec![build.name.into(), what]);
    }
    blocks.push(Block::Table(table));
    blocks.push(Block::Details("All builds".into(), vec![Block::Table(builds)]));
    blocks
}

fn provenance(analysis: &Analysis) -> Vec<Block> {
    let mut blocks = Vec::new();
    for info in &analysis.sessions {
        let session = &info.session;
        let provenance = &session.provenance;
        let mut table = Table::new(
            format!("Session {} of {}, effort {}", session.session, info.record, session.effort),
            2,
            &["", ""],
        );
        let mut row = |name: &str, value: String| table.row(vec![name.to_owned(), value]);
        row("Began", text::date(provenance.unix_time));
        row("Command", provenance.command.join(" "));
        row("Commit", provenance.commit.clone());
        row("Version", format!("{}, {}", provenance.version, provenance.profile));
        row("Compiler", provenance.rustc.clone());
        row("Target", format!("{}, {}", provenance.target, provenance.target_features));
        row("Engine", provenance.engine.clone());
        row("Processor", format!("{} processors of {}", provenance.cpus, provenance.cpu));
        row("Its features", provenance.cpu_features.join(", "));
        row("Kernel", provenance.kernel.clone());
        for (name, value) in &session.setup {
            row(name, value.clone());
        }
        row("Lines", format!("{} runs, {} profiles", info.runs, info.profiles));
        blocks.push(Block::Table(table));
    }
    blocks
}
