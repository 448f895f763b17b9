//! The page that lists a directory which has no index.

use std::fmt::Write;

use super::log::utc;
use super::path::{RequestPath, encode};
use super::root::{Entry, MAX_ENTRIES};

/// The page, in HTML.
pub(super) fn page(path: &RequestPath, entries: &[Entry]) -> String {
    let title = escape(&path.shown());
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n\
         <style>body{{font-family:sans-serif;margin:2em}}td{{padding:.1em 1em .1em 0}}\
         .n{{text-align:right;font-variant-numeric:tabular-nums}}</style>\n</head>\n<body>\n\
         <h1>{title}</h1>\n<table>\n"
    );
    if !path.is_root() {
        page.push_str("<tr><td><a href=\"../\">../</a></td><td></td><td></td></tr>\n");
    }
    for entry in entries {
        let slash = if entry.file.is_none() { "/" } else { "" };
        let href: String = encode(&entry.name).collect();
        let name = escape(&entry.name);
        let length = entry.file.map(|file| file.length.to_string()).unwrap_or_default();
        let modified = entry.file.and_then(|file| file.modified).map(utc).unwrap_or_default();
        // Writing to a string does not fail. The dot keeps a name with a colon from being read as a scheme.
        let _ = writeln!(
            page,
            "<tr><td><a href=\"./{href}{slash}\">{name}{slash}</a></td><td class=\"n\">{length}</td>\
             <td>{modified}</td></tr>"
        );
    }
    page.push_str("</table>\n");
    if entries.len() >= MAX_ENTRIES {
        let _ = writeln!(page, "<p>There are more than {MAX_ENTRIES} entries; these are some of them.</p>");
    }
    page.push_str("</body>\n</html>\n");
    page
}

/// Text as HTML.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::root::Facts;

    #[test]
    fn names_cannot_become_markup() {
        let file = Some(Facts { length: 12, modified: None });
        let entries = [
            Entry { name: "sub".into(), file: None },
            Entry { name: "<script>alert('\"&".into(), file },
            Entry { name: "javascript:alert(1)".into(), file },
        ];
        let page = page(&RequestPath::parse("/a%3Cb%3E/").unwrap(), &entries);
        assert!(page.contains("<title>/a&lt;b&gt;</title>"));
        assert!(page.contains("href=\"./sub/\">sub/</a>"));
        assert!(
            page.contains("href=\"./%3Cscript%3Ealert(%27%22%26\">&lt;script&gt;alert(&#39;&quot;&amp;</a>")
        );
        assert!(page.contains("href=\"./javascript:alert(1)\""));
        assert!(page.contains("<td class=\"n\">12</td>"));
        assert!(!page.contains("<script>"));
    }
}
