//! Records of the evaluation and what is made of them.
//!
//! ```text
//! record (JSON lines) -> source -> analysis -> document -> render (HTML, SVG, Markdown)
//!                                           -> render::{csv, json}
//!                                           -> embed (the README's headline, the paper's claims)
//! ```
//! The runner writes records line by line ([`record`]) and this crate reads them; nothing here starts a process or
//! opens a socket.
#![forbid(unsafe_code)]

pub mod analysis;
pub mod catalog;
pub mod document;
pub mod embed;
mod mapping;
pub mod record;
pub mod render;
pub mod source;
pub mod stats;
mod text;

pub use analysis::Analysis;
pub use source::{Error, Source};

/// The files of a report, by name, with their content.
pub fn files(analysis: &Analysis) -> Vec<(&'static str, String)> {
    let document = document::document(analysis);
    vec![
        ("report.html", render::html(&document)),
        ("report.md", render::markdown(&document)),
        ("report.csv", render::csv(analysis)),
        ("report.json", format!("{:#}\n", render::json(analysis))),
    ]
}
