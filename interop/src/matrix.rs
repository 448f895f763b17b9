//! The results as a table: on the terminal, and as the page of the documentation.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::case::CASES;
use crate::run::Outcome;

/// Which end the project is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    /// The peer fetches from our server.
    Server,
    /// We fetch from the peer's server.
    Client,
}

impl Role {
    /// Both.
    pub(crate) const ALL: [Self; 2] = [Self::Server, Self::Client];

    /// Which end is ours.
    pub(crate) fn ours(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
        }
    }
}

/// One result.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) role: Role,
    pub(crate) native: bool,
    pub(crate) peer: &'static str,
    pub(crate) case: &'static str,
    pub(crate) outcome: Outcome,
}

/// All results.
#[derive(Debug, Default)]
pub(crate) struct Matrix {
    pub(crate) entries: Vec<Entry>,
}

/// A column of a table.
type Column = (&'static str, bool);

impl Matrix {
    /// How many passed, failed, and were refused by the peer.
    pub(crate) fn counts(&self) -> (usize, usize, usize) {
        let count = |f: fn(&Outcome) -> bool| self.entries.iter().filter(|entry| f(&entry.outcome)).count();
        (
            count(|o| matches!(o, Outcome::Passed(_))),
            count(|o| matches!(o, Outcome::Failed(_))),
            count(|o| matches!(o, Outcome::Refused(_))),
        )
    }

    fn columns(&self, role: Role) -> Vec<Column> {
        let mut columns = Vec::new();
        for entry in self.entries.iter().filter(|entry| entry.role == role) {
            if !columns.contains(&(entry.peer, entry.native)) {
                columns.push((entry.peer, entry.native));
            }
        }
        columns
    }

    fn find(&self, role: Role, column: Column, case: &str) -> Option<&Entry> {
        self.entries.iter().find(|e| e.role == role && (e.peer, e.native) == column && e.case == case)
    }

    /// The tables for a terminal.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for role in Role::ALL {
            let columns = self.columns(role);
            if columns.is_empty() {
                continue;
            }
            let _ = write!(text, "\n{:<22}", format!("our {}", role.ours()));
            for (peer, native) in &columns {
                let _ = write!(text, "{:>12}", format!("{peer}{}", if *native { " (n)" } else { "" }));
            }
            text.push('\n');
            for case in CASES {
                let cells: Vec<_> =
                    columns.iter().map(|column| self.find(role, *column, case.name)).collect();
                if cells.iter().all(Option::is_none) {
                    continue;
                }
                let _ = write!(text, "{:<22}", case.name);
                for cell in cells {
                    let _ = write!(text, "{:>12}", cell.map_or("", |entry| word(&entry.outcome)));
                }
                text.push('\n');
            }
        }
        if self.entries.iter().any(|entry| entry.native) {
            text.push_str("\n(n): natively, the others in the sandbox\n");
        }
        text
    }

    /// The tables of the page, and the peers' words below.
    pub(crate) fn markdown(&self) -> String {
        let mut text = String::new();
        let mut words: BTreeMap<String, usize> = BTreeMap::new();
        let mut order: Vec<String> = Vec::new();
        for role in Role::ALL {
            let columns = self.columns(role);
            let _ = write!(text, "\n## Our {}\n| case |", role.ours());
            for (peer, native) in &columns {
                let _ = write!(text, " {peer}{} |", if *native { ", natively" } else { "" });
            }
            let _ = writeln!(text, "\n| --- |{}", " --- |".repeat(columns.len()));
            for case in CASES {
                let cells: Vec<_> =
                    columns.iter().map(|column| self.find(role, *column, case.name)).collect();
                let refused =
                    |cell: &Option<&Entry>| cell.is_none_or(|e| matches!(e.outcome, Outcome::Refused(_)));
                if cells.iter().all(refused) {
                    continue;
                }
                let _ = write!(text, "| {} |", case.name);
                for cell in cells {
                    let shown = match cell.map(|entry| &entry.outcome) {
                        None => String::new(),
                        Some(Outcome::Refused(said)) => {
                            let number = *words.entry(said.clone()).or_insert_with(|| {
                                order.push(said.clone());
                                order.len()
                            });
                            format!("no ({number})")
                        }
                        Some(outcome) => word(outcome).to_owned(),
                    };
                    let _ = write!(text, " {shown} |");
                }
                text.push('\n');
            }
        }
        text.push_str("\n\"no\": the peer has no way to do it. In its own words:\n");
        for (at, said) in order.iter().enumerate() {
            let _ = writeln!(text, "{}. {said}", at + 1);
        }
        text
    }
}

/// An outcome in a word.
fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Passed(_) => "passed",
        Outcome::Failed(_) => "FAILED",
        Outcome::Refused(_) => "no",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_result_has_its_cell() {
        let entry = |role, native, case, outcome| Entry { role, native, peer: "them", case, outcome };
        let refused = || Outcome::Refused("no such option".to_owned());
        let matrix = Matrix {
            entries: vec![
                entry(Role::Server, false, "handshake", Outcome::Passed(String::new())),
                entry(Role::Server, true, "handshake", refused()),
                entry(Role::Client, false, "retry", Outcome::Failed("why".to_owned())),
            ],
        };
        assert_eq!(matrix.counts(), (1, 1, 1));
        let page = matrix.markdown();
        assert!(page.contains("## Our server\n| case | them | them, natively |\n"), "{page}");
        assert!(page.contains("| handshake | passed | no (1) |"), "{page}");
        assert!(page.contains("## Our client\n| case | them |"), "{page}");
        assert!(page.contains("| retry | FAILED |") && page.contains("1. no such option"), "{page}");
        assert!(matrix.text().contains("them (n)"));
    }
}
