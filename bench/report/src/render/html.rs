//! A report as one page that needs nothing else.

use std::fmt::Write as _;

use super::{escape, style, svg};
use crate::catalog::CATEGORIES;
use crate::document::{Block, Document, Table};

/// The page.
pub fn html(document: &Document) -> String {
    let title = escape(&document.title);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>\n{}{}</style>\n</head>\n\
         <body>\n<header class=\"lead\">\n<h1>{title}</h1>\n<p class=\"question\">{}</p>\n",
        style::charts(),
        style::PAGE,
        escape(&document.question)
    );
    blocks(&mut out, &document.lead);
    out.push_str("</header>\n<nav aria-label=\"Sections\">\n");
    for section in &document.sections {
        let _ = writeln!(out, "<a href=\"#{}\">{}</a>", section.id, escape(&section.title));
    }
    out.push_str("</nav>\n<main>\n");
    for section in &document.sections {
        let _ = writeln!(out, "<section id=\"{}\">\n<h2>{}</h2>", section.id, escape(&section.title));
        blocks(&mut out, &section.blocks);
        out.push_str("</section>\n");
    }
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

fn blocks(out: &mut String, all: &[Block]) {
    for block in all {
        match block {
            Block::Text(text) => {
                let _ = writeln!(out, "<p>{}</p>", escape(text));
            }
            Block::Note(text) => {
                let _ = writeln!(out, "<p class=\"note\">{}</p>", escape(text));
            }
            Block::Heading(text) => {
                let _ = writeln!(out, "<h3>{}</h3>", escape(text));
            }
            Block::List(items) => {
                out.push_str("<ul>\n");
                for item in items {
                    let _ = writeln!(out, "<li>{}</li>", escape(item));
                }
                out.push_str("</ul>\n");
            }
            Block::Table(table) => self::table(out, table),
            Block::Charts(charts) => {
                out.push_str("<div class=\"charts\">\n");
                for chart in charts {
                    let _ = writeln!(out, "<div>{}</div>", svg::chart(chart));
                }
                out.push_str("</div>\n");
            }
            Block::CategoryLegend => {
                out.push_str("<div class=\"legend\">");
                for category in CATEGORIES {
                    let _ = write!(out, "<span><span class=\"k-{0}\"></span>{0}</span>", category.name);
                }
                out.push_str("</div>\n");
            }
            Block::Details(summary, inner) => {
                let _ = writeln!(out, "<details>\n<summary>{}</summary>", escape(summary));
                blocks(out, inner);
                out.push_str("</details>\n");
            }
        }
    }
}

/// Characters from which a cell of words may break into lines.
const LONG: usize = 34;

fn table(out: &mut String, table: &Table) {
    let _ = write!(
        out,
        "<figure>\n<figcaption>{}</figcaption>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table>\n",
        escape(&table.caption)
    );
    if table.columns.iter().any(|(head, _)| !head.is_empty()) {
        out.push_str("<thead><tr>");
        for (head, numeric) in &table.columns {
            // A head with a comma or a colon has its lines there, and not at the hyphens of a name.
            let lines = escape(head).replace(", ", ",<br>").replace(": ", ":<br>");
            let class = match (numeric, lines.contains("<br>")) {
                (true, true) => " class=\"num lines\"",
                (true, false) => " class=\"num\"",
                (false, _) => "",
            };
            let _ = write!(out, "<th scope=\"col\"{class}>{lines}</th>");
        }
        out.push_str("</tr></thead>\n");
    }
    out.push_str("<tbody>\n");
    for (at, row) in table.rows.iter().enumerate() {
        let mut classes = Vec::new();
        if row.strong {
            classes.push("strong");
        }
        if at > 0
            && table.group.is_some_and(|column| row.cells.get(column) != table.rows[at - 1].cells.get(column))
        {
            classes.push("group");
        }
        let _ = match classes.as_slice() {
            [] => write!(out, "<tr>"),
            classes => write!(out, "<tr class=\"{}\">", classes.join(" ")),
        };
        for (at, cell) in row.cells.iter().enumerate() {
            let class = match table.columns.get(at) {
                Some((_, true)) => " class=\"num\"",
                _ if cell.chars().count() > LONG => " class=\"long\"",
                _ => "",
            };
            let chip = match &row.build {
                Some(build) if at == 0 => format!("<span class=\"chip b-{}\"></span>", escape(build)),
                _ => String::new(),
            };
            let _ = write!(out, "<td{class}>{chip}{}</td>", escape(cell));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n</figure>\n");
}
