//! A report as HTML, as Markdown, as tables of numbers.

mod data;
mod html;
mod markdown;
mod style;
mod svg;

pub use data::{csv, json};
pub use html::html;
pub use markdown::{escape as escape_markdown, markdown, table as markdown_table};
pub use svg::standalone;

/// Text that may stand in HTML, SVG and their attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // No document may hold them.
            control if control.is_control() && !matches!(control, '\n' | '\t') => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}
