//! Figures inside other documents: what stands between two marks is replaced by what the records give.

use std::path::{Component, Path};

use crate::analysis::{Analysis, CPU};
use crate::catalog::CIPHERS;
use crate::document;
use crate::render;
use crate::source::Error;

pub use crate::mapping::mapping;

/// The place of the headline's chart, from the directory of the document that shows it.
pub const HEADLINE_CHART: &str = "docs/img/headline.svg";

/// Replaces what is between `<!-- NAME:begin -->` and `<!-- NAME:end -->`.
///
/// # Errors
/// [`Error::Marker`] if one of the two is missing, there more than once, or out of order.
pub fn replace(text: &str, name: &str, content: &str) -> Result<String, Error> {
    let (begin, end) = (format!("<!-- {name}:begin -->"), format!("<!-- {name}:end -->"));
    let only = |mark: &str| {
        let mut found = text.match_indices(mark);
        match (found.next(), found.next()) {
            (Some((at, _)), None) => Ok(at),
            (None, _) => {
                Err(Error::Marker(format!("there is no {mark}; the figures go between {begin} and {end}")))
            }
            _ => Err(Error::Marker(format!("{mark} is there more than once"))),
        }
    };
    let (from, to) = (only(&begin)? + begin.len(), only(&end)?);
    if to < from {
        return Err(Error::Marker(format!("{end} stands before {begin}")));
    }
    Ok(format!("{}\n{}\n{}", &text[..from], content.trim_end(), &text[to..]))
}

/// The headline as Markdown: the table, the chart, and where they come from.
pub fn headline(analysis: &Analysis, directory: &Path) -> String {
    let table = document::headline_table(analysis);
    let notes: String = [document::headline_drops(analysis), document::headline_doubts(analysis)]
        .iter()
        .flatten()
        .map(|note| format!(" {}", render::escape_markdown(note)))
        .collect();
    format!(
        "{}\n![CPU time of the receiving process for each build and cipher]({HEADLINE_CHART})\n\n{}; {}. From {}, by `sandquic report`.{notes}\n",
        render::markdown_table(&table),
        render::escape_markdown(&table.caption),
        render::escape_markdown(&summary(analysis)),
        links(analysis, directory)
    )
}

/// The records, as links from a directory.
pub(crate) fn links(analysis: &Analysis, directory: &Path) -> String {
    let links: Vec<String> = analysis
        .records
        .iter()
        .map(|record| {
            let path = relative(Path::new(record), directory);
            let target = path.replace(' ', "%20").replace('(', "%28").replace(')', "%29");
            format!("[{}]({target})", render::escape_markdown(&path))
        })
        .collect();
    links.join(", ")
}

/// What was measured how often and where, in a line.
pub(crate) fn summary(analysis: &Analysis) -> String {
    let cells = analysis
        .headline_builds()
        .into_iter()
        .flat_map(|build| CIPHERS.iter().filter_map(|(cipher, _)| analysis.headline(build.name, cipher)));
    let runs = document::runs(cells);
    let mut machines: Vec<String> = analysis
        .sessions
        .iter()
        .map(|info| {
            let p = &info.session.provenance;
            format!(
                "{} processors of {}, {}, commit {}",
                p.cpus,
                p.cpu,
                p.engine,
                p.commit.get(..12).unwrap_or(&p.commit)
            )
        })
        .collect();
    machines.dedup();
    format!("{runs}; {}", machines.join("; "))
}

/// The headline's chart as a file of its own.
pub fn headline_chart(analysis: &Analysis) -> String {
    render::standalone("CPU time of the receiving process, s/GiB", &document::headline_charts(analysis, CPU))
}

/// A path from a directory, with `/`, if it is below it or if both are below the working directory; otherwise the
/// file's name, so that no document holds a path of one machine.
pub(crate) fn relative(path: &Path, directory: &Path) -> String {
    let parts = |path: &Path| -> Vec<String> {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        path.components()
            .filter(|part| *part != Component::CurDir)
            .map(|part| part.as_os_str().to_string_lossy().into_owned())
            .collect()
    };
    let (path, directory, here) = (parts(path), parts(directory), parts(Path::new(".")));
    let common = path.iter().zip(&directory).take_while(|(a, b)| a == b).count();
    let up = directory.len() - common;
    let has_parents = path.iter().chain(&directory).any(|part| part == "..");
    let known = up == 0 || path.starts_with(&here) && directory.starts_with(&here);
    if has_parents || !known {
        return path.last().cloned().unwrap_or_default();
    }
    let mut parts = vec!["..".to_owned(); up];
    parts.extend_from_slice(&path[common..]);
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_between_the_marks_is_replaced_and_nothing_else() {
        let text = "a\n<!-- x:begin -->\nold\n<!-- x:end -->\nb <!-- y:begin -->";
        let new = replace(text, "x", "new\n").unwrap();
        assert_eq!(new, "a\n<!-- x:begin -->\nnew\n<!-- x:end -->\nb <!-- y:begin -->");
        assert_eq!(replace(&new, "x", "new").unwrap(), new);
        for (text, part) in [
            ("nothing", "no <!-- x:begin -->"),
            ("<!-- x:begin -->", "no <!-- x:end -->"),
            ("<!-- x:end --><!-- x:begin -->", "stands before"),
            ("<!-- x:begin --><!-- x:begin --><!-- x:end -->", "more than once"),
        ] {
            let message = replace(text, "x", "").unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn paths_are_relative_or_names() {
        assert_eq!(relative(Path::new("/a/b/c/d.jsonl"), Path::new("/a/b")), "c/d.jsonl");
        assert_eq!(relative(Path::new("/x/d.jsonl"), Path::new("/a/b")), "d.jsonl");
        assert_eq!(relative(Path::new("bench/r.jsonl"), Path::new("docs")), "../bench/r.jsonl");
        assert_eq!(relative(Path::new("bench/r.jsonl"), Path::new(".")), "bench/r.jsonl");
    }
}
