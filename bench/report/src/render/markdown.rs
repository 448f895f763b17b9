//! A report as Markdown: the tables and words, without the charts.

use std::fmt::Write as _;

use crate::document::{Block, Document, Table};

/// The text.
pub fn markdown(document: &Document) -> String {
    let mut out = format!("# {}\n\n**{}**\n\n", escape(&document.title), escape(&document.question));
    blocks(&mut out, &document.lead);
    for section in &document.sections {
        let _ = write!(out, "## {}\n\n", escape(&section.title));
        blocks(&mut out, &section.blocks);
    }
    while out.ends_with("\n\n") {
        out.pop();
    }
    out
}

fn blocks(out: &mut String, all: &[Block]) {
    for block in all {
        match block {
            Block::Text(text) | Block::Note(text) => {
                let _ = write!(out, "{}\n\n", escape(text));
            }
            Block::Heading(text) => {
                let _ = write!(out, "### {}\n\n", escape(text));
            }
            Block::List(items) => {
                for item in items {
                    let _ = writeln!(out, "- {}", escape(item));
                }
                out.push('\n');
            }
            Block::Table(table) => {
                let _ = write!(out, "{}:\n\n{}\n", escape(&table.caption), self::table(table));
            }
            Block::Charts(_) | Block::CategoryLegend => {}
            Block::Details(summary, inner) => {
                let _ = write!(out, "<details><summary>{}</summary>\n\n", super::escape(summary));
                blocks(out, inner);
                out.push_str("</details>\n\n");
            }
        }
    }
}

/// A table.
pub fn table(table: &Table) -> String {
    let mut out = String::new();
    let line = |out: &mut String, cells: &mut dyn Iterator<Item = String>| {
        out.push('|');
        for cell in cells {
            let _ = write!(out, " {cell} |");
        }
        out.push('\n');
    };
    line(&mut out, &mut table.columns.iter().map(|(head, _)| escape(head)));
    line(
        &mut out,
        &mut table.columns.iter().map(|(_, numeric)| if *numeric { "---:" } else { "---" }.to_owned()),
    );
    for row in &table.rows {
        line(
            &mut out,
            &mut row.cells.iter().map(|cell| match (row.strong, escape(cell)) {
                (true, cell) if !cell.is_empty() => format!("**{cell}**"),
                (_, cell) => cell,
            }),
        );
    }
    out
}

/// Text that stands for itself, on one line.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' => {
                escaped.push('\\');
                escaped.push(character);
            }
            '\n' | '\r' => escaped.push(' '),
            control if control.is_control() => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}
