//! Colours and style sheets.

use std::fmt::Write as _;

use crate::catalog::{BUILDS, CATEGORIES};

/// What charts need, in a page and by themselves.
pub(super) fn charts() -> String {
    let mut style = String::from(
        "svg text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:var(--ink)}\
         svg .t{font-weight:600;font-size:13px}svg .q{fill:var(--quiet);font-size:11px}svg .e{text-anchor:end}\
         svg .m{text-anchor:middle}svg .g{stroke:var(--grid)}svg .a{stroke:var(--quiet)}\
         svg .w{stroke:var(--ink);stroke-width:1.25;fill:none}svg .l{fill:none;stroke-width:1.75}\
         svg .s{stroke:var(--ground);stroke-width:1}svg .n{font-size:10.5px}svg .strong{font-weight:700}\n",
    );
    style.push_str(
        ":root{--ink:#1c2024;--quiet:#5a646e;--grid:#e1e5e9;--ground:#fff;--panel:#f6f8fa;--link:#0a58a8}\n",
    );
    for build in BUILDS {
        let _ = writeln!(style, ".b-{0}{{--c:{1}}}", build.name, build.light);
    }
    for category in CATEGORIES {
        let _ = writeln!(
            style,
            ".k-{0}{{fill:{1};background:{1}}}svg .i-{0}{{fill:{2}}}",
            category.name, category.colour, category.ink
        );
    }
    style.push_str(
        "@media (prefers-color-scheme:dark){\n\
         :root{--ink:#e4e8ec;--quiet:#9ba6b0;--grid:#333a41;--ground:#14171a;--panel:#1c2126;--link:#7cb8f2}\n",
    );
    for build in BUILDS {
        let _ = writeln!(style, ".b-{0}{{--c:{1}}}", build.name, build.dark);
    }
    style.push_str("}\n.f{fill:var(--c)}.o{stroke:var(--c)}\n");
    style
}

/// What a page needs beside its charts.
pub(super) const PAGE: &str = "\
html{color-scheme:light dark;background:var(--ground);color:var(--ink);-webkit-text-size-adjust:100%}
body{font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;margin:0 auto;max-width:1360px;padding:14px 20px 60px;overflow-wrap:break-word}
h1{font-size:16px;font-weight:600;color:var(--quiet);margin:0}
.lead p{max-width:none}
.question{font-size:22px;line-height:1.25;font-weight:650;margin:2px 0 6px}
h2{font-size:20px;margin:44px 0 8px;padding-top:10px;border-top:1px solid var(--grid)}
h3{font-size:16px;margin:22px 0 6px}
p,ul{max-width:900px;margin:6px 0 10px}
li{margin:3px 0}
.note{font-size:13px;color:var(--quiet)}
a{color:var(--link)}
nav{font-size:14px;margin:22px 0 0;line-height:1.8}
nav a{margin-right:14px;display:inline-block}
figure{margin:10px 0 16px;max-width:100%}
figcaption{font-size:13px;color:var(--quiet);margin-bottom:4px}
.scroll{overflow-x:auto;max-width:100%;border:1px solid var(--grid);border-radius:6px;width:fit-content}
table{border-collapse:collapse;font-size:13px;line-height:1.35;font-variant-numeric:tabular-nums}
th,td{padding:4px 10px;text-align:left;vertical-align:top;border-bottom:1px solid var(--grid)}
th{background:var(--panel);font-weight:600;vertical-align:bottom}
tbody tr:last-child td{border-bottom:0}
.num{text-align:right;white-space:nowrap}
th.num{white-space:normal}
th.lines{white-space:nowrap}
td{white-space:nowrap}
td.long{white-space:normal;min-width:220px;max-width:520px;overflow-wrap:anywhere}
td:first-child,th:first-child{position:sticky;left:0;background:var(--ground)}
th:first-child{background:var(--panel)}
tr.group td{border-top:2px solid var(--quiet)}
tr.strong td,tr.strong td:first-child{font-weight:650;background:var(--panel)}
.chip{display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:7px;background:var(--c)}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,340px),1fr));gap:14px 22px;margin:12px 0 16px}
.charts>div{min-width:0;max-width:440px}
.charts svg{display:block;width:100%;height:auto}
.legend{font-size:13px;display:flex;flex-wrap:wrap;gap:4px 16px;margin:10px 0}
.legend span span{display:inline-block;width:12px;height:12px;border-radius:2px;margin-right:6px;vertical-align:-1px}
details{margin:6px 0}
summary{cursor:pointer;font-size:14px;padding:3px 0}
.lead figure{margin:8px 0}
.lead table{font-size:12.5px}
.lead th{font-size:12px}
.lead th,.lead td{padding:4px 7px}
@media (min-width:1000px){.lead td.long{white-space:nowrap;max-width:none}}
@media (max-width:700px){.lead td:nth-child(2),.lead th:nth-child(2){display:none}}
@media (max-width:600px){body{padding:12px 12px 40px;font-size:14px}.question{font-size:19px}th,td{padding:4px 7px}}
@media print{.scroll{overflow:visible}}
";
