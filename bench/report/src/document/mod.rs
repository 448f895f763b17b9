//! What a report says, apart from how it looks: sections of paragraphs, tables and charts.

mod headline;
mod open;
mod paper;
mod quality;

use crate::analysis::{Analysis, CellSummary};

pub(crate) use headline::{charts as headline_charts, doubts as headline_doubts, table as headline_table};

/// A report.
#[derive(Debug, Clone)]
pub struct Document {
    /// What it is about.
    pub title: String,
    /// The question that it answers.
    pub question: String,
    /// What stands before the first section.
    pub lead: Vec<Block>,
    /// The sections.
    pub sections: Vec<Section>,
}

/// A section.
#[derive(Debug, Clone)]
pub struct Section {
    /// A short name for links.
    pub id: &'static str,
    /// The heading.
    pub title: String,
    /// What stands in it.
    pub blocks: Vec<Block>,
}

/// A part of a section.
#[derive(Debug, Clone)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// A remark beside a table or a chart, in small type.
    Note(String),
    /// A heading inside a section.
    Heading(String),
    /// A list.
    List(Vec<String>),
    /// A table.
    Table(Table),
    /// Charts side by side.
    Charts(Vec<Chart>),
    /// The categories with their colours.
    CategoryLegend,
    /// What is shown when asked for.
    Details(String, Vec<Block>),
}

/// A table.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// Heads of the columns, and whether the column holds numbers.
    pub columns: Vec<(String, bool)>,
    /// The column whose change begins a new group of rows.
    pub group: Option<usize>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// A row of a table.
#[derive(Debug, Clone, Default)]
pub struct Row {
    /// The build it is about, whose colour it bears.
    pub build: Option<String>,
    /// Whether it stands out.
    pub strong: bool,
    /// Its cells.
    pub cells: Vec<String>,
}

impl Table {
    /// A table without rows; the first `words` columns hold words, the others numbers.
    pub(crate) fn new(caption: impl Into<String>, words: usize, columns: &[&str]) -> Self {
        let columns = columns
            .iter()
            .enumerate()
            .map(|(at, column)| ((*column).to_owned(), at >= words))
            .collect::<Vec<_>>();
        let group = columns.iter().position(|(head, _): &(String, bool)| head == "Cipher");
        Self { caption: caption.into(), columns, group, rows: Vec::new() }
    }

    /// Adds a row about a build.
    pub(crate) fn build(&mut self, build: &str, cells: Vec<String>) {
        // The product in the sandbox is what the report is about.
        let strong = build == "wasm-sandquic";
        self.rows.push(Row { build: Some(build.to_owned()), strong, cells });
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(Row { build: None, strong: false, cells });
    }
}

/// A chart.
#[derive(Debug, Clone)]
pub enum Chart {
    /// Horizontal bars from zero, with whiskers.
    Bars(Bars),
    /// Horizontal bars from zero, in parts.
    Stacked(Stacked),
    /// Points with whiskers and lines, from zero on both axes.
    Lines(Lines),
}

/// Horizontal bars.
#[derive(Debug, Clone)]
pub struct Bars {
    /// What they are about.
    pub title: String,
    /// What the axis counts.
    pub unit: String,
    /// The bars, from above.
    pub bars: Vec<Bar>,
    /// What the axis reaches at least, so that charts beside one another have one scale.
    pub at_least: f64,
}

impl Bars {
    /// What the axis has to reach.
    pub fn reach(&self) -> f64 {
        let ends = self.bars.iter().filter_map(|bar| Some(bar.value? + bar.ci95.unwrap_or(0.0)));
        ends.fold(self.at_least, f64::max)
    }
}

/// A bar.
#[derive(Debug, Clone)]
pub struct Bar {
    /// Its build.
    pub build: String,
    /// Its value; `None` leaves its place empty and says so.
    pub value: Option<f64>,
    /// Half its interval.
    pub ci95: Option<f64>,
    /// A mark after its number.
    pub mark: &'static str,
}

/// Horizontal bars in parts.
#[derive(Debug, Clone)]
pub struct Stacked {
    /// What they are about.
    pub title: String,
    /// What the axis counts.
    pub unit: String,
    /// Build, and the value of each category in the order of the catalogue; `None` if there is no profile.
    pub bars: Vec<(String, Option<Vec<f64>>)>,
}

/// Points and lines.
#[derive(Debug, Clone)]
pub struct Lines {
    /// What they are about.
    pub title: String,
    /// What the horizontal axis counts.
    pub x: String,
    /// What the vertical axis counts.
    pub y: String,
    /// The lines.
    pub series: Vec<Series>,
}

/// A line.
#[derive(Debug, Clone)]
pub struct Series {
    /// Its build.
    pub build: String,
    /// Its name.
    pub label: String,
    /// Whether it is drawn in dashes.
    pub dashed: bool,
    /// Points: x, y, half the interval of y.
    pub points: Vec<(f64, f64, Option<f64>)>,
    /// The line: y at zero, slope.
    pub line: (f64, f64),
}

/// The mark of a figure whose runs lost datagrams at a full buffer.
pub(crate) const DROPS: &str = "†";

/// The whole report.
pub fn document(analysis: &Analysis) -> Document {
    let mut sections = vec![headline::section(analysis)];
    sections.extend(paper::sections(analysis));
    sections.extend(open::sections(analysis));
    sections.extend(quality::sections(analysis));
    sections.retain(|section| !section.blocks.is_empty());
    Document {
        title: "QUIC in the WebAssembly sandbox: the evaluation".to_owned(),
        question: "What does QUIC cost inside the WebAssembly sandbox, and what is left to gain?".to_owned(),
        lead: headline::lead(analysis),
        sections,
    }
}

/// A metric of a cell as text, with the mark of drops.
pub(crate) fn metric(summary: Option<&CellSummary>, name: &str) -> String {
    scaled_metric(summary, name, 1.0)
}

/// The same, times a factor.
pub(crate) fn scaled_metric(summary: Option<&CellSummary>, name: &str, factor: f64) -> String {
    let Some(cell) = summary else { return crate::text::NONE.to_owned() };
    let Some(summary) = cell.metric(name) else { return crate::text::NONE.to_owned() };
    format!("{}{}", crate::text::scaled(summary, factor), mark(cell))
}

/// The mark of a cell.
pub(crate) fn mark(cell: &CellSummary) -> &'static str {
    if cell.runs_with_drops > 0 { DROPS } else { "" }
}

/// What the mark of drops means in the headline, if it is there.
pub(crate) fn headline_drops(analysis: &Analysis) -> Option<String> {
    let builds = analysis.headline_builds();
    drops(builds.iter().flat_map(|build| {
        crate::catalog::CIPHERS.iter().filter_map(|(cipher, _)| analysis.headline(build.name, cipher))
    }))
}

/// What the mark of drops means, if it is there.
pub(crate) fn drops_note<'a>(cells: impl Iterator<Item = &'a CellSummary>) -> Option<Block> {
    drops(cells).map(Block::Note)
}

fn drops<'a>(cells: impl Iterator<Item = &'a CellSummary>) -> Option<String> {
    let (mut runs, mut with, mut drops) = (0, 0, 0.0);
    for cell in cells {
        runs += cell.ok;
        with += cell.runs_with_drops;
        drops += cell.drops;
    }
    (with > 0).then(|| {
        format!(
            "{DROPS} In {with} of {runs} runs datagrams ({} in all) found a full socket buffer: their goodput may be \
             that of the buffer.",
            crate::text::fixed(drops, 0)
        )
    })
}

/// What the time did not hold.
pub(crate) fn sizes_note(analysis: &Analysis, scenario: &str) -> Option<Block> {
    let sizes = analysis.reduced_sizes(scenario);
    (!sizes.is_empty())
        .then(|| Block::Note(format!("Sizes are reduced, runs are not: {}.", sizes.join("; "))))
}

/// How many runs a set of cells has, in words.
pub(crate) fn runs<'a>(cells: impl Iterator<Item = &'a CellSummary>) -> String {
    let (mut fewest, mut most, mut sizes) = (usize::MAX, 0, std::collections::BTreeSet::new());
    for cell in cells.filter(|cell| cell.ok > 0) {
        fewest = fewest.min(cell.ok);
        most = most.max(cell.ok);
        sizes.insert(cell.cell.bytes);
    }
    if most == 0 {
        return "no run".to_owned();
    }
    let sizes: Vec<String> = sizes.into_iter().map(crate::text::size).collect();
    let count = if fewest == most { format!("{most}") } else { format!("{fewest} to {most}") };
    let unit = if most == 1 { "run" } else { "runs" };
    format!("{count} {unit} of {} a cell", sizes.join(", "))
}
